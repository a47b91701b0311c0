// The square of a product minus the product of squares. Rows go through both products in blocks, so
// that what lies between them stays in the cache.
#include <algorithm>

#include "kernels/cpu/linear/linear_part.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"

namespace tenon::kernels {
namespace {

constexpr size_t kMatrix = 1, kMatrixOfSquares = 2;

struct SquaredMatSubState : KernelState {
  bool reference = false;  // empty: left to the reference kernel
  int64_t rows = 0, block = 0;
  cpu::BlockedLinear sums, squares;
  // Places in the scratch: squares of x, products of squares, and the scratch of a linear.
  size_t of_products = 0, of_linear = 0;
};

size_t AlignedBytes(int64_t floats) {
  return (static_cast<size_t>(floats) * sizeof(float) + 63) / 64 * 64;
}

KernelStatus PrepareSquaredMatSub(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const fused::SquaredMatSubAttrs*>(args.attrs);
  auto made = std::make_shared<SquaredMatSubState>();
  SquaredMatSubState& state = *made;
  out = made;
  const TensorView& x = args.inputs[0];
  const int64_t depth = x.dim(-1), columns = args.outputs[0].dim(-1);
  state.rows = Product(x.shape.first(x.shape.size() - 1));
  state.reference = state.rows == 0 || depth == 0 || columns == 0;
  if (state.reference) return KernelStatus::Ok();
  state.block = cpu::RowsOfBlock(state.rows, 2 * (depth + columns), 2 * depth * columns);
  const fused::LinearAttrs linear = {.transpose_w = attrs.transpose_w};
  const size_t no_bias = args.inputs.size();
  if (KernelStatus status =
          state.sums.Prepare(args, kMatrix, no_bias, state.rows, state.block, linear);
      !status.ok())
    return status;
  if (KernelStatus status =
          state.squares.Prepare(args, kMatrixOfSquares, no_bias, state.rows, state.block, linear);
      !status.ok())
    return status;
  state.of_products = AlignedBytes(state.block * depth);
  state.of_linear = state.of_products + AlignedBytes(state.block * columns);
  args.scratch_bytes =
      state.of_linear + std::max(state.sums.scratch_bytes(), state.squares.scratch_bytes());
  return KernelStatus::Ok();
}

KernelStatus SquaredMatSub(const RunArgs& args) {
  const auto& state = *static_cast<const SquaredMatSubState*>(args.state);
  if (state.reference) return RefSquaredMatSub().run(args);
  const float scale = args.get<fused::SquaredMatSubAttrs>().scale;
  const int64_t k = state.sums.depth(), n = state.sums.columns();
  std::byte* scratch = static_cast<std::byte*>(args.scratch);
  float* squared = reinterpret_cast<float*>(scratch);
  float* products = reinterpret_cast<float*>(scratch + state.of_products);
  void* of_linear = scratch + state.of_linear;
  const auto multiply = cpu::LoopOf(cpu::BinaryOp::kMul),
             subtract = cpu::LoopOf(cpu::BinaryOp::kSub);
  for (int64_t at = 0; at < state.rows; at += state.block) {
    const int64_t rows = std::min(state.block, state.rows - at);
    const float* x = args.inputs[0].as<float>() + at * k;
    float* out = args.outputs[0].as<float>() + at * n;
    (*args.device->parallel)(rows, cpu::RowGrain(k), [&](int64_t begin, int64_t end) {
      multiply(x + begin * k, x + begin * k, squared + begin * k, (end - begin) * k);
    });
    if (KernelStatus status =
            state.squares.Of(rows).Run(args, squared, nullptr, products, of_linear);
        !status.ok())
      return status;
    if (KernelStatus status = state.sums.Of(rows).Run(args, x, nullptr, out, of_linear);
        !status.ok())
      return status;
    (*args.device->parallel)(rows, cpu::RowGrain(n, 3), [&](int64_t begin, int64_t end) {
      float* to = out + begin * n;
      const int64_t count = (end - begin) * n;
      multiply(to, to, to, count);
      subtract(to, products + begin * n, to, count);
      if (scale != 1) cpu::Apply(cpu::UnaryOp::kAffine, to, to, count, scale, 0);
    });
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuSquaredMatSub() {
  return {.op = "fused.squared_mat_sub",
          .name = "cpu.squared_mat_sub",
          .priority = 10,
          .run = SquaredMatSub,
          .prepare = PrepareSquaredMatSub,
          .supports = cpu::RequireF32,
          .packs_once = true};
}

}  // namespace tenon::kernels
