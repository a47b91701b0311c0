// Matrix products of floats through oneDNN: ten.matmul and fused.linear.
#include <cstring>

#include "kernels/cpu/epilogue.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/matmul_shape.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

using cpu::OnednnCall;
using cpu::PlainDesc;

// One product, possibly with a batch axis inside oneDNN, possibly repeated over batches by us.
struct Gemm {
  int64_t batch = 1, m = 1, n = 1, k = 1;  // batch: inside the primitive
  // Strides in elements: batch, row, column.
  int64_t a[3] = {}, b[3] = {};
  bool bias = false;
};

struct GemmState : KernelState {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  OnednnCall call;
  int a = -1, b = -1, bias = -1, out = -1, scratchpad = -1;
  bool constant = false;  // b is bound for good
  PackedBytes weights;    // its packed form, unless it is used as it is
  int threads = 1;
  bool reference = false;  // left to the reference kernel: empty, or refused by oneDNN
  // Products beyond what one primitive does.
  Dims batch, a_batch, b_batch;
};

// oneDNN takes one of the two last strides to be 1; a stride of an axis of one element is free.
std::vector<int64_t> StridesOf(const int64_t (&s)[3], int64_t rows, int64_t cols, bool batched) {
  const int64_t row = rows == 1 ? std::max(s[1], s[2] == 1 ? cols : int64_t{1}) : s[1];
  const int64_t col = cols == 1 ? std::max(s[2], s[1] == 1 ? rows : int64_t{1}) : s[2];
  return batched ? std::vector<int64_t>{s[0], row, col} : std::vector<int64_t>{row, col};
}

std::vector<int64_t> DimsOf(int64_t batch, int64_t rows, int64_t cols, bool batched) {
  return batched ? std::vector<int64_t>{batch, rows, cols} : std::vector<int64_t>{rows, cols};
}

// `weights`: the bytes of b when it is constant.
KernelStatus PrepareGemm(PrepareArgs& args, const Gemm& gemm, const void* weights,
                         GemmState& state) {
  const double flops = 2.0 * static_cast<double>(gemm.batch) * static_cast<double>(gemm.m) *
                       static_cast<double>(gemm.n) * static_cast<double>(gemm.k);
  state.threads = cpu::ThreadsFor(flops, *args.device);
  const cpu::OnednnThreads threads(state.threads);
  return cpu::GuardOnednn([&] {
    const bool batched = gemm.batch > 1;
    const auto a_desc = PlainDesc(DimsOf(gemm.batch, gemm.m, gemm.k, batched),
                                  StridesOf(gemm.a, gemm.m, gemm.k, batched));
    const auto b_dims = DimsOf(gemm.batch, gemm.k, gemm.n, batched);
    const auto b_desc = PlainDesc(b_dims, StridesOf(gemm.b, gemm.k, gemm.n, batched));
    const auto out_desc = PlainDesc(DimsOf(gemm.batch, gemm.m, gemm.n, batched));
    const dnnl::memory::desc packed(b_dims, dnnl::memory::data_type::f32,
                                    dnnl::memory::format_tag::any);
    const auto& wanted = weights != nullptr ? packed : b_desc;
    const auto bias_desc = PlainDesc(DimsOf(1, 1, gemm.n, batched));
    const auto description = gemm.bias ? dnnl::matmul::desc(a_desc, wanted, bias_desc, out_desc)
                                       : dnnl::matmul::desc(a_desc, wanted, out_desc);
    const dnnl::matmul::primitive_desc made(description, cpu::UserScratchpad(), state.engine);
    state.call = OnednnCall(state.engine, dnnl::matmul(made));
    state.a = state.call.Add(DNNL_ARG_SRC, made.src_desc());
    state.b = state.call.Add(DNNL_ARG_WEIGHTS, made.weights_desc());
    if (gemm.bias) state.bias = state.call.Add(DNNL_ARG_BIAS, bias_desc);
    state.out = state.call.Add(DNNL_ARG_DST, made.dst_desc());
    state.scratchpad = state.call.Add(DNNL_ARG_SCRATCHPAD, made.scratchpad_desc());
    args.scratch_bytes = made.scratchpad_desc().get_size();
    state.constant = weights != nullptr;
    if (!state.constant) return KernelStatus::Ok();
    if (made.weights_desc() == b_desc) {
      state.call.Bind(state.b, weights);
      return KernelStatus::Ok();
    }
    state.weights =
        cpu::PackWeights(args, 1, state.engine, state.stream, b_desc, made.weights_desc());
    if (state.weights == nullptr) return KernelStatus::Internal("no memory for packed weights");
    state.call.Bind(state.b, state.weights.get());
    return KernelStatus::Ok();
  });
}

// ---- ten.matmul ---------------------------------------------------------------------------------

// The whole batch as one stride, if there is one: {stride}, and false if the operand repeats
// unevenly.
bool EvenBatch(const Dims& batch, const Dims& strides, int64_t& stride) {
  Dims shape = batch;
  std::array<Dims, 1> joined = {strides};
  Coalesce(shape, joined);
  if (shape.size() != 1) return false;
  stride = joined[0][0];
  return true;
}

KernelStatus PrepareMatMul(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const ten::MatmulAttrs*>(args.attrs);
  MatMulShape s =
      MatMulShape::Of(args.inputs[0], args.inputs[1], attrs.transpose_a, attrs.transpose_b);
  auto state = std::make_shared<GemmState>();
  Gemm gemm = {.batch = 1,
               .m = s.m,
               .n = s.n,
               .k = s.k,
               .a = {0, s.a_row, s.a_col},
               .b = {0, s.b_row, s.b_col}};
  out = state;
  state->reference = args.outputs[0].numel() == 0 || s.k == 0;
  if (state->reference) return KernelStatus::Ok();
  int64_t a_stride = 0, b_stride = 0;
  const int64_t count = s.batch_count();
  if (count > 1 && EvenBatch(s.batch, s.a_batch, a_stride) &&
      EvenBatch(s.batch, s.b_batch, b_stride) && a_stride > 0) {
    if (b_stride == 0 && a_stride == s.m * s.k && s.a_col == 1) {
      gemm.m = count * s.m;  // one matrix b for all rows of all batches
    } else if (b_stride > 0) {
      gemm.batch = count;
      gemm.a[0] = a_stride;
      gemm.b[0] = b_stride;
    } else {
      state->batch = s.batch, state->a_batch = s.a_batch, state->b_batch = s.b_batch;
    }
  } else if (count > 1) {
    state->batch = s.batch, state->a_batch = s.a_batch, state->b_batch = s.b_batch;
  }
  const void* weights = gemm.batch == 1 && state->batch.empty() ? args.inputs[1].data : nullptr;
  state->reference = !PrepareGemm(args, gemm, weights, *state).ok();
  return KernelStatus::Ok();
}

KernelStatus MatMul(const RunArgs& args) {
  auto& state = *static_cast<GemmState*>(args.state);
  if (state.reference) return RefMatMul().run(args);
  const cpu::OnednnThreads threads(state.threads);
  state.call.Bind(state.scratchpad, args.scratch);
  const int64_t count = Product(View(state.batch));
  const int64_t size = args.outputs[0].numel() / count;
  StridedWalk<2> walk(View(state.batch), {state.a_batch, state.b_batch});
  for (int64_t i = 0; i < count; ++i, walk.Next()) {
    state.call.Bind(state.a, args.inputs[0].as<float>() + walk[0]);
    if (!state.constant) state.call.Bind(state.b, args.inputs[1].as<float>() + walk[1]);
    state.call.Bind(state.out, args.outputs[0].as<float>() + i * size);
    if (KernelStatus status = state.call.Execute(state.stream); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

// ---- fused.linear -------------------------------------------------------------------------------

KernelStatus PrepareLinear(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const fused::LinearAttrs*>(args.attrs);
  const TensorView &x = args.inputs[0], &w = args.inputs[1];
  auto state = std::make_shared<GemmState>();
  const int64_t k = x.dim(-1), n = args.outputs[0].dim(-1);
  Gemm gemm = {.batch = 1,
               .m = Product(x.shape.first(x.shape.size() - 1)),
               .n = n,
               .k = k,
               .a = {0, k, 1},
               .b = {0, n, 1},
               .bias = cpu::Present(args.inputs, 2)};
  if (attrs.transpose_w) gemm.b[1] = 1, gemm.b[2] = k;
  out = state;
  state->reference =
      gemm.m == 0 || n == 0 || k == 0 || !PrepareGemm(args, gemm, w.data, *state).ok();
  return KernelStatus::Ok();
}

KernelStatus Linear(const RunArgs& args) {
  auto& state = *static_cast<GemmState*>(args.state);
  if (state.reference) return RefFusedLinear().run(args);
  {
    const cpu::OnednnThreads threads(state.threads);
    state.call.Bind(state.scratchpad, args.scratch);
    state.call.Bind(state.a, args.inputs[0].data);
    if (!state.constant) state.call.Bind(state.b, args.inputs[1].data);
    if (state.bias >= 0) state.call.Bind(state.bias, args.inputs[2].data);
    state.call.Bind(state.out, args.outputs[0].data);
    if (KernelStatus status = state.call.Execute(state.stream); !status.ok()) return status;
  }
  cpu::Epilogue(args, ToActivation(args.get<fused::LinearAttrs>()),
                cpu::Present(args.inputs, 3) ? &args.inputs[3] : nullptr);
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuFusedLinear() {
  return {.op = "fused.linear",
          .name = "cpu.fused_linear.onednn",
          .priority = 10,
          .run = Linear,
          .prepare = PrepareLinear,
          .supports = cpu::RequireF32};
}

Kernel CpuMatMul() {
  return {.op = "ten.matmul",
          .name = "cpu.matmul.onednn",
          .priority = 10,
          .run = MatMul,
          .prepare = PrepareMatMul,
          .supports = cpu::RequireF32};
}

}  // namespace tenon::kernels
