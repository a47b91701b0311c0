// Matrix products of floats: ten.matmul and fused.linear.
#include <algorithm>
#include <array>

#include "kernels/calls/matmul_shape.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/linear/linear_epilogue.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

using cpu::GemmArgs;
using cpu::GemmMatrix;

size_t Align64(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Products of m x k and k x n matrices, one per element of `batch`.
struct ProductState : KernelState {
  bool reference = false;  // left to the reference kernel: empty
  int64_t m = 1, n = 1, k = 1;
  int64_t a_row = 0, a_col = 0, b_row = 0, b_col = 0;
  Dims batch, a_batch, b_batch;  // empty batch: one product
  bool pack_a = false;
  PackedBytes weights;  // all matrices of b, packed; null if b is not constant
  // Otherwise each of `slots` parts of the work has scratch for `group` packed panels of b (none
  // where b is used in place) and, with pack_a, for a.
  bool in_place = false;
  int64_t group = 1;
  int64_t slots = 1;
  size_t b_bytes = 0, a_bytes = 0;

  int64_t batch_count() const { return Product(View(batch)); }
  bool simple() const { return weights != nullptr && batch.empty(); }
};

std::string LayoutOf(const ProductState& s) {
  return cpu::PackedLayoutOfB(s.k, s.n) + (s.b_col == 1 ? "" : ".transposed");
}

// `b`: the second operand, input 1.
KernelStatus PrepareProduct(PrepareArgs& args, ProductState& s) {
  const TensorView& b = args.inputs[1];
  s.pack_a = s.a_col != 1 || cpu::PackingAPays(s.m, s.n, s.a_row);
  s.a_bytes = s.pack_a ? Align64(cpu::PackedBytesOfA(s.m, s.k)) : 0;
  if (b.data != nullptr) {
    const int64_t matrices = b.numel() / (s.k * s.n);
    const size_t each = cpu::PackedBytesOfB(s.k, s.n) / sizeof(float);
    constexpr int kFrom[] = {1};
    s.weights =
        args.Pack(kFrom, LayoutOf(s), static_cast<size_t>(matrices) * each * sizeof(float),
                  [&](std::byte* out) {
                    for (int64_t i = 0; i < matrices; ++i) {
                      const int64_t at = i * s.k * s.n;
                      const auto bytes = [at](int64_t floats) {
                        return static_cast<size_t>(at + floats) * sizeof(float);
                      };
                      cpu::PackB({b.as<float>() + at, s.b_row, s.b_col}, s.k, s.n,
                                 reinterpret_cast<float*>(out) + static_cast<size_t>(i) * each,
                                 *args.device->parallel, [&](int64_t first, int64_t last) {
                                   args.Release(1, bytes(first), bytes(last));
                                 });
                    }
                  });
    if (s.weights == nullptr) return KernelStatus::OutOfMemory("no memory for packed weights");
    if (s.simple()) {
      args.scratch_bytes = s.a_bytes;
      return KernelStatus::Ok();
    }
  }
  // Few rows are not worth copying b for.
  constexpr int64_t kFewRows = 28;
  constexpr int64_t kGroupFloats = 64 * 1024;
  const int64_t panel = cpu::GemmPanel();
  s.in_place = s.b_col == 1 && s.m <= kFewRows;
  s.group = std::clamp<int64_t>(kGroupFloats / (s.k * panel), 1, 4);
  const bool packs = s.weights == nullptr && !(s.in_place && s.n % panel == 0);
  if (packs) s.b_bytes = Align64(cpu::PackedBytesOfB(s.k, s.group * panel));
  const int64_t units = s.batch_count() * ((cpu::GemmPanels(s.n) + s.group - 1) / s.group);
  const double flops = 2.0 * static_cast<double>(s.batch_count()) * static_cast<double>(s.m) *
                       static_cast<double>(s.n) * static_cast<double>(s.k);
  const int threads = cpu::ThreadsFor(flops, *args.device);
  s.slots = threads == 1 ? 1 : std::min<int64_t>(units, int64_t{2} * threads);
  args.scratch_bytes = static_cast<size_t>(s.slots) * (s.b_bytes + s.a_bytes);
  return KernelStatus::Ok();
}

// Products whose second operand changes from run to run or from batch to batch.
void RunBatches(const ProductState& s, const GemmArgs& call, const float* a, const float* b,
                std::byte* scratch, ParallelFor& parallel) {
  const int64_t panel = cpu::GemmPanel();
  const int64_t groups = (cpu::GemmPanels(s.n) + s.group - 1) / s.group;
  const int64_t units = s.batch_count() * groups;
  const auto each = static_cast<int64_t>(cpu::PackedBytesOfB(s.k, s.n) / sizeof(float));
  parallel(s.slots, 1, [&](int64_t slot, int64_t slot_end) {
    for (; slot < slot_end; ++slot) {
      const int64_t begin = units * slot / s.slots, end = units * (slot + 1) / s.slots;
      std::byte* space = scratch + static_cast<size_t>(slot) * (s.b_bytes + s.a_bytes);
      auto* b_space = reinterpret_cast<float*>(space);
      auto* a_space = reinterpret_cast<float*>(space + s.b_bytes);
      StridedWalk<2> walk(View(s.batch), {s.a_batch, s.b_batch}, begin / groups);
      GemmArgs g = call;
      int64_t batch = -1;
      for (int64_t unit = begin; unit < end; ++unit) {
        if (unit / groups != batch) {
          if (batch >= 0) walk.Next();
          batch = unit / groups;
          g.a = a + walk[0];
          g.c = call.c + batch * s.m * s.n;
          if (s.pack_a) {
            cpu::PackA({g.a, s.a_row, s.a_col}, s.m, s.k, a_space);
            g.a = a_space;
          }
        }
        // A group of panels is a product of its own.
        const int64_t col = unit % groups * s.group * panel;
        GemmArgs part = cpu::ColumnsOf(g, col, s.group * panel);
        if (s.weights != nullptr) {
          const auto* packed = reinterpret_cast<const float*>(s.weights.get());
          part.b = packed + walk[1] / (s.k * s.n) * each + col * s.k;
        } else if (s.in_place && part.n % panel == 0) {
          part.b = b + walk[1] + col, part.b_row = s.b_row;
        } else {
          const GemmMatrix columns = {b + walk[1] + col * s.b_col, s.b_row, s.b_col};
          cpu::PackB(columns, s.k, part.n, b_space, 0, cpu::GemmPanels(part.n));
          part.b = b_space;
        }
        cpu::GemmBlock(part, 0, cpu::GemmTiles(part), 0, cpu::GemmPanels(part.n));
      }
    }
  });
}

void RunProduct(const ProductState& s, const RunArgs& args, const cpu::GemmEpilogue& epilogue) {
  const auto* a = args.inputs[0].as<float>();
  ParallelFor& parallel = *args.device->parallel;
  GemmArgs g = {.m = s.m, .n = s.n, .k = s.k, .a = a, .a_row = s.a_row, .a_packed = s.pack_a};
  g.c = args.outputs[0].as<float>(), g.c_row = s.n;
  g.epilogue = epilogue;
  auto* scratch = static_cast<std::byte*>(args.scratch);
  if (!s.simple()) {
    RunBatches(s, g, a, args.inputs[1].as<float>(), scratch, parallel);
    return;
  }
  if (s.pack_a) {
    auto* packed = reinterpret_cast<float*>(scratch);
    cpu::PackA({a, s.a_row, s.a_col}, s.m, s.k, packed, parallel);
    g.a = packed;
  }
  g.b = reinterpret_cast<const float*>(s.weights.get());
  cpu::Gemm(g, parallel);
}

// ---- ten.matmul ---------------------------------------------------------------------------------

// Whether the operand's matrices follow one another without repetition.
bool IsDense(const Dims& batch, const Dims& strides, int64_t size) {
  Dims shape = batch;
  std::array<Dims, 1> joined = {strides};
  Coalesce(shape, joined);
  return shape.size() == 1 && joined[0][0] == size;
}

bool IsShared(const Dims& strides) {
  return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
}

KernelStatus PrepareMatMul(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const ten::MatmulAttrs*>(args.attrs);
  const MatMulShape shape =
      MatMulShape::Of(args.inputs[0], args.inputs[1], attrs.transpose_a, attrs.transpose_b);
  auto state = std::make_shared<ProductState>();
  ProductState& s = *state;
  out = state;
  s.m = shape.m, s.n = shape.n, s.k = shape.k;
  s.a_row = shape.a_row, s.a_col = shape.a_col, s.b_row = shape.b_row, s.b_col = shape.b_col;
  s.reference = args.outputs[0].numel() == 0 || s.k == 0;
  if (s.reference) return KernelStatus::Ok();
  const int64_t count = shape.batch_count();
  if (count > 1 && IsShared(shape.b_batch) && s.a_col == 1 &&
      IsDense(shape.batch, shape.a_batch, s.m * s.k)) {
    s.m *= count;  // one matrix b for all rows of all batches
  } else if (count > 1) {
    s.batch = shape.batch, s.a_batch = shape.a_batch, s.b_batch = shape.b_batch;
  }
  return PrepareProduct(args, s);
}

KernelStatus MatMul(const RunArgs& args) {
  const auto& state = *static_cast<const ProductState*>(args.state);
  if (state.reference) return RefMatMul().run(args);
  RunProduct(state, args, {});
  return KernelStatus::Ok();
}

// ---- fused.linear -------------------------------------------------------------------------------

KernelStatus PrepareLinear(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const fused::LinearAttrs*>(args.attrs);
  const TensorView& x = args.inputs[0];
  auto state = std::make_shared<ProductState>();
  ProductState& s = *state;
  out = state;
  s.k = x.dim(-1), s.n = args.outputs[0].dim(-1);
  s.m = Product(x.shape.first(x.shape.size() - 1));
  s.a_row = s.k, s.a_col = 1;
  s.b_row = attrs.transpose_w ? 1 : s.n, s.b_col = attrs.transpose_w ? s.k : 1;
  s.reference = s.m == 0 || s.n == 0 || s.k == 0;
  if (s.reference) return KernelStatus::Ok();
  return PrepareProduct(args, s);
}

KernelStatus Linear(const RunArgs& args) {
  const auto& state = *static_cast<const ProductState*>(args.state);
  if (state.reference) return RefFusedLinear().run(args);
  const cpu::LinearEpilogue epilogue(args, ToActivation(args.get<fused::LinearAttrs>()));
  RunProduct(state, args, epilogue.fused);
  epilogue.Rest(args);
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuFusedLinear() {
  return {.op = "fused.linear",
          .name = "cpu.fused_linear",
          .priority = 10,
          .run = Linear,
          .prepare = PrepareLinear,
          .supports = cpu::RequireF32,
          .inplace_mask = 8,  // the residual
          .unaligned_inputs = 2,
          .packs_once = true};
}

Kernel CpuMatMul() {
  return {.op = "ten.matmul",
          .name = "cpu.matmul",
          .priority = 10,
          .run = MatMul,
          .prepare = PrepareMatMul,
          .supports = cpu::RequireF32,
          .unaligned_inputs = 2,
          .packs_once = true};
}

}  // namespace tenon::kernels
