// Linear layers of floats with what comes before or after them: a norm, or more layers. The rows go
// through all steps in blocks, so that what lies between two steps stays in the cache.
#include <vector>

#include "kernels/cpu/linear/linear_part.h"
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/kernel_list.h"

namespace tenon::kernels {
namespace {

constexpr size_t kW = 1, kBias = 2, kResidual = 3, kScale = 4, kNormBias = 5;
constexpr size_t kChainResidual = 1, kLayers = 2;  // inputs of fused.linear_chain

size_t PadTo64(size_t bytes) { return (bytes + 63) / 64 * 64; }

const float* FloatsOf(const RunArgs& args, size_t i) {
  return cpu::Present(args.inputs, i) ? args.inputs[i].as<float>() : nullptr;
}

struct LinearsState : KernelState {
  bool reference = false;  // left to the reference kernel: empty, or a residual that broadcasts
  int64_t rows = 0, block = 0;
  std::vector<cpu::BlockedLinear> linears;
  // Places in the scratch: what lies between two steps, in turn, and the scratch of a linear.
  size_t between[2] = {0, 0}, linear_scratch = 0;
};

template <typename Attrs>
fused::LinearAttrs AsLinear(const Attrs& attrs) {
  return {.transpose_w = attrs.transpose_w,
          .activation = static_cast<fused::LinearActivation>(attrs.activation),
          .alpha = attrs.alpha,
          .beta = attrs.beta};
}

// Lays out the scratch: `count` buffers of `floats` numbers, and that of the largest linear.
void LayOut(PrepareArgs& args, LinearsState& state, int count, int64_t floats) {
  size_t end = 0;
  for (int i = 0; i < count; ++i) {
    state.between[i] = end;
    end += PadTo64(static_cast<size_t>(floats) * sizeof(float));
  }
  state.linear_scratch = end;
  size_t most = 0;
  for (const cpu::BlockedLinear& linear : state.linears) {
    most = std::max(most, linear.scratch_bytes());
  }
  args.scratch_bytes = end + most;
}

// Prepares the linear of the ops with one and a norm. kXBetween: its operand lies in the scratch.
template <typename Attrs, bool kXBetween>
KernelStatus PrepareWithNorm(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& attrs = *static_cast<const Attrs*>(args.attrs);
  auto made = std::make_shared<LinearsState>();
  LinearsState& state = *made;
  out = made;
  const TensorView &x = args.inputs[0], &y = args.outputs[0];
  const int64_t depth = x.dim(-1), columns = y.dim(-1);
  state.rows = Product(x.shape.first(x.shape.size() - 1));
  state.reference = state.rows == 0 || depth == 0 || columns == 0 ||
                    (cpu::Present(args.inputs, kResidual) &&
                     args.inputs[kResidual].numel() != state.rows * columns);
  if (state.reference) return KernelStatus::Ok();
  state.block = cpu::RowsOfBlock(state.rows, depth + columns, depth * columns);
  if (KernelStatus status = state.linears.emplace_back().Prepare(args, kW, kBias, state.rows,
                                                                 state.block, AsLinear(attrs));
      !status.ok())
    return status;
  LayOut(args, state, kXBetween ? 1 : 0, state.block * depth);
  return KernelStatus::Ok();
}

// Norms of `rows` rows of n neighboring numbers.
void NormRowsOf(const RunArgs& args, const float* x, float* out, int64_t rows, int64_t n,
                float epsilon, bool layer) {
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  const float *scale = FloatsOf(args, kScale), *bias = FloatsOf(args, kNormBias);
  (*args.device->parallel)(rows, cpu::RowGrain(n, 4), [&](int64_t begin, int64_t end) {
    ops.norm({.rows = end - begin,
              .x = x + begin * n,
              .x_step = n,
              .scale = scale,
              .bias = bias,
              .out = out + begin * n,
              .n = n,
              .epsilon = epsilon,
              .subtract_mean = layer});
  });
}

template <typename T>
T* ScratchAt(void* scratch, size_t offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(scratch) + offset);
}

KernelStatus LinearNorm(const RunArgs& args) {
  const auto& state = *static_cast<const LinearsState*>(args.state);
  if (state.reference) return RefLinearNorm().run(args);
  const auto& attrs = args.get<fused::LinearNormAttrs>();
  const cpu::BlockedLinear& linear = state.linears[0];
  const int64_t k = linear.depth(), n = linear.columns();
  const float *x = FloatsOf(args, 0), *residual = FloatsOf(args, kResidual);
  float* out = args.outputs[0].as<float>();
  float* sum = cpu::Present(args.outputs, 1) ? args.outputs[1].as<float>() : out;
  for (int64_t at = 0; at < state.rows; at += state.block) {
    const int64_t rows = std::min(state.block, state.rows - at);
    if (KernelStatus status =
            linear.Of(rows).Run(args, x + at * k, residual == nullptr ? nullptr : residual + at * n,
                                sum + at * n, ScratchAt<void>(args.scratch, state.linear_scratch));
        !status.ok())
      return status;
    NormRowsOf(args, sum + at * n, out + at * n, rows, n, attrs.epsilon,
               attrs.norm == fused::LinearNormNorm::kLayer);
  }
  return KernelStatus::Ok();
}

KernelStatus NormLinear(const RunArgs& args) {
  const auto& state = *static_cast<const LinearsState*>(args.state);
  if (state.reference) return RefNormLinear().run(args);
  const auto& attrs = args.get<fused::NormLinearAttrs>();
  const cpu::BlockedLinear& linear = state.linears[0];
  const int64_t k = linear.depth(), n = linear.columns();
  const float *x = FloatsOf(args, 0), *residual = FloatsOf(args, kResidual);
  float* out = args.outputs[0].as<float>();
  float* normed = ScratchAt<float>(args.scratch, state.between[0]);
  for (int64_t at = 0; at < state.rows; at += state.block) {
    const int64_t rows = std::min(state.block, state.rows - at);
    NormRowsOf(args, x + at * k, normed, rows, k, attrs.epsilon,
               attrs.norm == fused::NormLinearNorm::kLayer);
    if (KernelStatus status =
            linear.Of(rows).Run(args, normed, residual == nullptr ? nullptr : residual + at * n,
                                out + at * n, ScratchAt<void>(args.scratch, state.linear_scratch));
        !status.ok())
      return status;
  }
  return KernelStatus::Ok();
}

KernelStatus PrepareChain(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  const auto& chain = *static_cast<const fused::LinearChainAttrs*>(args.attrs);
  fused::LinearAttrs attrs = AsLinear(chain);
  const size_t step = chain.biased ? 2 : 1;
  auto made = std::make_shared<LinearsState>();
  LinearsState& state = *made;
  out = made;
  const TensorView& x = args.inputs[0];
  state.rows = Product(x.shape.first(x.shape.size() - 1));
  state.reference =
      state.rows == 0 || (cpu::Present(args.inputs, kChainResidual) &&
                          args.inputs[kChainResidual].numel() != args.outputs[0].numel());
  int64_t widest = 0, matrices = 0, floats = x.dim(-1);
  for (size_t i = kLayers; i < args.inputs.size(); i += step) {
    const int64_t columns = args.inputs[i].dim(attrs.transpose_w ? 0 : 1);
    state.reference |= args.inputs[i].numel() == 0;
    if (i + step < args.inputs.size()) widest = std::max(widest, columns);
    matrices += args.inputs[i].numel();
    floats += columns;
  }
  if (state.reference) return KernelStatus::Ok();
  state.block = cpu::RowsOfBlock(state.rows, floats, matrices);
  for (size_t i = kLayers; i < args.inputs.size(); i += step) {
    if (i + step == args.inputs.size() && !chain.activate_last)
      attrs.activation = fused::LinearActivation::kNone;
    const size_t bias = chain.biased ? i + 1 : args.inputs.size();
    if (KernelStatus status =
            state.linears.emplace_back().Prepare(args, i, bias, state.rows, state.block, attrs);
        !status.ok())
      return status;
  }
  LayOut(args, state, 2, state.block * widest);
  return KernelStatus::Ok();
}

KernelStatus LinearChain(const RunArgs& args) {
  const auto& state = *static_cast<const LinearsState*>(args.state);
  if (state.reference) return RefLinearChain().run(args);
  const int64_t k = state.linears.front().depth(), n = state.linears.back().columns();
  const float* residual = FloatsOf(args, kChainResidual);
  for (int64_t at = 0; at < state.rows; at += state.block) {
    const int64_t rows = std::min(state.block, state.rows - at);
    const float* x = args.inputs[0].as<float>() + at * k;
    for (size_t i = 0; i < state.linears.size(); ++i) {
      const bool last = i + 1 == state.linears.size();
      float* out = last ? args.outputs[0].as<float>() + at * n
                        : ScratchAt<float>(args.scratch, state.between[i % 2]);
      if (KernelStatus status = state.linears[i].Of(rows).Run(
              args, x, last && residual != nullptr ? residual + at * n : nullptr, out,
              ScratchAt<void>(args.scratch, state.linear_scratch));
          !status.ok())
        return status;
      x = out;
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuLinearChain() {
  return {.op = "fused.linear_chain",
          .name = "cpu.linear_chain",
          .priority = 10,
          .run = LinearChain,
          .prepare = PrepareChain,
          .supports = cpu::RequireF32,
          .inplace_mask = 1u << kChainResidual,
          .packs_once = true};
}

Kernel CpuLinearNorm() {
  return {.op = "fused.linear_norm",
          .name = "cpu.linear_norm",
          .priority = 10,
          .run = LinearNorm,
          .prepare = PrepareWithNorm<fused::LinearNormAttrs, false>,
          .supports = cpu::RequireF32,
          .inplace_mask = 1u << kResidual,
          .packs_once = true};
}

Kernel CpuNormLinear() {
  return {.op = "fused.norm_linear",
          .name = "cpu.norm_linear",
          .priority = 10,
          .run = NormLinear,
          .prepare = PrepareWithNorm<fused::NormLinearAttrs, true>,
          .supports = cpu::RequireF32,
          .inplace_mask = 1u << kResidual,
          .packs_once = true};
}

}  // namespace tenon::kernels
