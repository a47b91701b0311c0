// Host side of linear layers with weights in fewer bits. Few rows are multiplied by a kernel that
// reads the weights as they are. More are a product of the library: bf16 weights with x in bf16,
// and i8 weights as f32, to which they are widened some columns at a time.
#include <algorithm>
#include <cstdint>

#include "ir/base/weight_group.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/linear_tail.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels::gpu {
namespace {

// The kernel reads the weights once for four rows: i8 ones so often at most for fewer bytes than
// four times widened take.
constexpr int64_t kFewRows = 4, kFewRowsOfBytes = 16;
// Of weights that are f32 at a time, for so many columns at least: less than the cache of a large
// GPU holds, from where the product then reads them.
constexpr int64_t kMostWideBytes = int64_t{32} << 20, kFewestColumns = 64;

struct CompressedState : KernelState {
  bool few_rows;
  int64_t columns;  // of w, widened at once
};

struct Extents {
  int64_t rows, n, k;
};
Extents ExtentsOf(const TensorView& x, const TensorView& out) {
  const int64_t n = out.dim(-1);
  return {n == 0 ? 0 : out.numel() / n, n, x.dim(-1)};
}

KernelStatus Prepare(PrepareArgs& args, std::shared_ptr<KernelState>& out_state) {
  const bool bytes = args.inputs[1].dtype == DType::kI8;
  const Extents e = ExtentsOf(args.inputs[0], args.outputs[0]);
  auto state = std::make_shared<CompressedState>();
  // Depths are numbers of 32 bits in the kernel.
  state->few_rows = e.k == 0 || (e.rows <= (bytes ? kFewRowsOfBytes : kFewRows) && e.k < INT32_MAX);
  state->columns = 0;
  int64_t elements = 0;
  bool countable = true;
  if (!state->few_rows && e.rows > 0) {
    if (bytes) {
      const int64_t most = kMostWideBytes / static_cast<int64_t>(sizeof(float)) / e.k;
      state->columns =
          std::min(e.n, std::max(most / kFewestColumns * kFewestColumns, kFewestColumns));
    }
    countable = !__builtin_mul_overflow(bytes ? state->columns : e.rows, e.k, &elements) &&
                !__builtin_mul_overflow(elements, bytes ? 4 : 2, &elements);
  }
  args.scratch_bytes = countable ? static_cast<size_t>(elements) : SIZE_MAX;
  out_state = std::move(state);
  return KernelStatus::Ok();
}

KernelStatus RunFewRows(const RunArgs& args, const Extents& e, const Activation& activation) {
  const auto& attrs = args.get<fused::CompressedLinearAttrs>();
  const TensorView &out = args.outputs[0], residual = Operand(args.inputs, 3);
  ThinProductParams p = {};
  p.dtype = out.dtype;
  p.weights = args.inputs[1].dtype;
  p.transpose_w = attrs.transpose_w;
  p.activation = activation.kind;
  p.alpha = activation.alpha;
  p.beta = activation.beta;
  p.x = args.inputs[0].data;
  p.w = args.inputs[1].data;
  if (args.inputs[1].dtype == DType::kI8) p.scale = args.inputs[4].as<float>();
  p.bias = Operand(args.inputs, 2).data;
  p.residual = residual.data;
  p.out = out.data;
  p.rows = e.rows;
  p.n = e.n;
  p.k = e.k;
  p.group = WeightsPerFactor(attrs.group, e.k);
  p.residual_at = ToStrided<1>(ToDims(out.shape), {StridesIn(residual, out.shape)});
  return QueueOf(args).Launch(p);
}

// A product with i8 weights, of which `columns` at a time are widened.
KernelStatus LaunchWidened(const RunArgs& args, const MatMulParams& product, int64_t columns) {
  const auto& attrs = args.get<fused::CompressedLinearAttrs>();
  Queue& queue = QueueOf(args);
  const auto from = [](const void* data, int64_t first) {
    return data == nullptr ? nullptr : static_cast<const float*>(data) + first;
  };
  for (int64_t first = 0; first < product.n; first += columns) {
    WidenParams wide = {};
    wide.transpose_w = attrs.transpose_w;
    wide.w = args.inputs[1].as<int8_t>();
    wide.scale = args.inputs[4].as<float>();
    wide.out = static_cast<float*>(args.scratch);
    wide.n = product.n;
    wide.k = product.k;
    wide.group = WeightsPerFactor(attrs.group, product.k);
    wide.first = first;
    wide.columns = std::min(columns, product.n - first);
    if (KernelStatus status = queue.Launch(wide); !status.ok()) return status;
    MatMulParams p = product;
    p.b = args.scratch;
    p.bias = from(product.bias, first);
    p.residual = from(product.residual, first);
    p.out = static_cast<float*>(product.out) + first;
    p.out_pitch = product.n;
    p.n = wide.columns;
    if (KernelStatus status = queue.Launch(p); !status.ok()) return status;
  }
  return KernelStatus::Ok();
}

KernelStatus CompressedLinear(const RunArgs& args) {
  const auto& state = *static_cast<const CompressedState*>(args.state);
  const auto& attrs = args.get<fused::CompressedLinearAttrs>();
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  const Extents e = ExtentsOf(x, out);
  if (state.few_rows) return RunFewRows(args, e, ToActivation(attrs));
  Queue& queue = QueueOf(args);
  MatMulParams p = {};
  p.dtype = w.dtype == DType::kI8 ? DType::kF32 : DType::kBF16;
  p.out_dtype = DType::kF32;
  p.transpose_b = attrs.transpose_w;
  p.a = x.data;
  p.out = out.data;
  p.m = e.rows;
  p.n = e.n;
  p.k = e.k;
  p.batch = 1;
  p.out_stride = p.m * p.n;
  LinearTail tail = {out, Operand(args.inputs, 2), Operand(args.inputs, 3), ToActivation(attrs)};
  tail.PutInto(p);
  KernelStatus status;
  if (w.dtype == DType::kI8) {
    status = LaunchWidened(args, p, state.columns);
  } else {
    status = queue.Launch(CastParams{DType::kF32, DType::kBF16, x.data, args.scratch, x.numel()});
    p.a = args.scratch;
    p.b = w.data;
    if (status.ok()) status = queue.Launch(p);
  }
  return status.ok() ? tail.Launch(queue) : std::move(status);
}

std::string Supports(const CallSignature& call) {
  const DType dtype = call.outputs[0].dtype;
  return dtype == DType::kF32 ? CheckRanks(call) : std::string("needs f32, got ") + Name(dtype);
}

}  // namespace

void AddCompressedKernels(KernelRegistry& registry) {
  Kernel kernel =
      MakeKernel("fused.compressed_linear", "cuda.compressed_linear", CompressedLinear, Supports);
  kernel.prepare = Prepare;
  registry.Add(kernel);
}

}  // namespace tenon::kernels::gpu
