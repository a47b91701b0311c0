// Transposes together with what comes before or after them: a sum, or a concatenation.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "kernels/cpu/movement/copy_plan.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// ---- add_transpose -----------------------------------------------------------------------------

struct AddTransposeState final : KernelState {
  // Matrices whose rows and columns change places, in tiles of so many rows; otherwise the whole
  // sum is made first, and then copied.
  bool tiles = false;
  int64_t matrices = 1, rows = 1, columns = 1, tile = 1;
  std::array<int64_t, 2> periods = {1, 1};  // numbers of x and y, which repeat along the sum
  Dims shape;                               // of the sum
  cpu::CopyPlan plan;
  std::shared_ptr<KernelState> add;  // of cpu.add
  size_t add_scratch_at = 0;
};

// Whether `view` repeats along `shape`: its axes, without leading ones, are the last ones there.
bool Repeats(const TensorView& view, const Dims& shape) {
  size_t first = 0;
  while (first < view.shape.size() && view.shape[first] == 1) ++first;
  const size_t count = view.shape.size() - first;
  return std::equal(view.shape.begin() + static_cast<ptrdiff_t>(first), view.shape.end(),
                    shape.end() - static_cast<ptrdiff_t>(count));
}

KernelStatus PrepareAddTranspose(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& perm = static_cast<const fused::AddTransposeAttrs*>(args.attrs)->perm;
  const TensorView &x = args.inputs[0], &y = args.inputs[1], &to = args.outputs[0];
  auto made = std::make_shared<AddTransposeState>();
  AddTransposeState& s = *made;
  out = made;
  if (to.numel() == 0) return KernelStatus::Ok();
  s.shape = BroadcastShape(x.shape, y.shape);
  const Dims strides = RowMajorStrides(View(s.shape));
  Dims moved = ToDims(to.shape);
  std::array<Dims, 1> from;
  for (int64_t axis : perm) from[0].push_back(strides[static_cast<size_t>(axis)]);
  s.plan = cpu::CopyPlan(moved, from[0], RowMajorStrides(to.shape), sizeof(float));
  Coalesce(moved, from);
  const size_t rank = moved.size();
  if (rank >= 2 && rank <= 3 && from[0][rank - 2] == 1 && from[0][rank - 1] == moved[rank - 2]) {
    s.columns = moved[rank - 2], s.rows = moved[rank - 1];
    s.matrices = rank == 3 ? moved[0] : 1;
    s.periods = {x.numel(), y.numel()};
    s.tiles = Repeats(x, s.shape) && Repeats(y, s.shape) && x.numel() % s.columns == 0 &&
              y.numel() % s.columns == 0;
  }
  if (s.tiles) {
    constexpr int64_t kTileFloats = 16 * 1024;
    s.tile = std::clamp<int64_t>(kTileFloats / s.columns / 16 * 16, 16, 256);
    args.scratch_bytes = static_cast<size_t>(args.device->parallel->num_threads()) * 2 *
                         static_cast<size_t>(s.tile * s.columns) * sizeof(float);
    return KernelStatus::Ok();
  }
  s.add_scratch_at = (static_cast<size_t>(to.bytes()) + 63) / 64 * 64;
  const ten::AddAttrs add_attrs;
  const TensorView sum = {nullptr, DType::kF32, View(s.shape)};
  PrepareArgs add = {.inputs = args.inputs,
                     .outputs = std::span(&sum, 1),
                     .attrs = &add_attrs,
                     .device = args.device,
                     .weights = args.weights};
  KernelStatus status = KernelStatus::Ok();
  if (const PrepareFn prepare = CpuAdd().prepare) status = prepare(add, s.add);
  args.scratch_bytes = s.add_scratch_at + add.scratch_bytes;
  return status;
}

// Tiles are shared out in as many parts as there are buffers for.
void AddTransposeTiles(const RunArgs& args, const AddTransposeState& s) {
  ParallelFor& parallel = *args.device->parallel;
  const float *x = args.inputs[0].as<float>(), *y = args.inputs[1].as<float>();
  auto* out = args.outputs[0].as<uint32_t>();
  const auto add = cpu::LoopOf(cpu::BinaryOp::kAdd);
  const cpu::CopyBlocks& blocks = cpu::GetCopyBlocks();
  const int64_t tiles = (s.rows + s.tile - 1) / s.tile, units = s.matrices * tiles;
  const int64_t work = s.matrices * s.rows * s.columns;
  const int64_t parts =
      std::min<int64_t>({units, int64_t{2} * parallel.num_threads(), 1 + work / cpu::kGrain});
  parallel(parts, 1, [&](int64_t part, int64_t part_end) {
    for (; part < part_end; ++part) {
      float* tile = static_cast<float*>(args.scratch) + part * s.tile * s.columns;
      for (int64_t unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const int64_t first = unit % tiles * s.tile, rows = std::min(s.tile, s.rows - first);
        const int64_t matrix = unit / tiles;
        for (int64_t i = 0; i < rows; ++i) {
          const int64_t at = (matrix * s.rows + first + i) * s.columns;
          add(x + at % s.periods[0], y + at % s.periods[1], tile + i * s.columns, s.columns);
        }
        blocks.transpose(reinterpret_cast<const uint32_t*>(tile), s.columns,
                         out + matrix * s.rows * s.columns + first, s.rows, s.columns, rows);
      }
    }
  });
}

KernelStatus AddTranspose(const RunArgs& args) {
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const auto& s = *static_cast<const AddTransposeState*>(args.state);
  if (s.tiles) {
    AddTransposeTiles(args, s);
    return KernelStatus::Ok();
  }
  const TensorView sum = {args.scratch, DType::kF32, View(s.shape)};
  const ten::AddAttrs attrs;
  if (KernelStatus status =
          CpuAdd().run({.inputs = args.inputs,
                        .outputs = std::span(&sum, 1),
                        .attrs = &attrs,
                        .device = args.device,
                        .state = s.add.get(),
                        .scratch = static_cast<std::byte*>(args.scratch) + s.add_scratch_at});
      !status.ok())
    return status;
  s.plan.Run(sum.as<char>(), args.outputs[0].as<char>(), *args.device->parallel);
  return KernelStatus::Ok();
}

// ---- transpose_concat --------------------------------------------------------------------------

struct TransposeConcatState final : KernelState {
  std::vector<cpu::CopyPlan> plans;  // by input
};

KernelStatus PrepareTransposeConcat(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const fused::TransposeConcatAttrs*>(args.attrs);
  const auto element = static_cast<int64_t>(SizeOf(args.outputs[0].dtype));
  auto made = std::make_shared<TransposeConcatState>();
  out = made;
  int64_t column = 0;
  for (const TensorView& input : args.inputs) {
    cpu::CopyPlan& plan = made->plans.emplace_back();
    if (input.numel() == 0) continue;
    const Dims strides = RowMajorStrides(input.shape);
    Dims shape, from;
    for (int64_t axis : attrs.perm) {
      shape.push_back(input.shape[static_cast<size_t>(axis)]);
      from.push_back(strides[static_cast<size_t>(axis)]);
    }
    // Rows of the result are further apart than those of the transpose; an axis of one element at
    // the end is contiguous, whatever comes before.
    const auto axis = static_cast<size_t>(attrs.axis);
    const int64_t columns = Product(View(shape).subspan(axis)), pitch = args.outputs[0].dim(1);
    Dims to = RowMajorStrides(View(shape));
    for (size_t i = 0; i < axis; ++i) to[i] = to[i] / columns * pitch;
    shape.push_back(1), from.push_back(1), to.push_back(1);
    plan = cpu::CopyPlan(shape, from, to, element);
    plan.to_offset = column * element;
    column += columns;
  }
  return KernelStatus::Ok();
}

KernelStatus TransposeConcat(const RunArgs& args) {
  const auto& state = *static_cast<const TransposeConcatState*>(args.state);
  for (size_t i = 0; i < state.plans.size(); ++i) {
    state.plans[i].Run(args.inputs[i].as<char>(), args.outputs[0].as<char>(),
                       *args.device->parallel);
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuAddTranspose() {
  return {.op = "fused.add_transpose",
          .name = "cpu.add_transpose",
          .priority = 10,
          .run = AddTranspose,
          .prepare = PrepareAddTranspose,
          .supports = cpu::RequireF32};
}

Kernel CpuTransposeConcat() {
  return {.op = "fused.transpose_concat",
          .name = "cpu.transpose_concat",
          .priority = 10,
          .run = TransposeConcat,
          .prepare = PrepareTransposeConcat};
}

}  // namespace tenon::kernels
