#include "kernels/gpu/support.h"

namespace tenon::kernels::gpu {

std::string CheckRanks(const CallSignature& call) {
  const auto check = [](std::span<const TensorView> views) {
    for (const TensorView& view : views) {
      if (view.rank() > kMaxAxes) {
        return "needs at most " + std::to_string(kMaxAxes) + " axes, got " +
               std::to_string(view.rank());
      }
    }
    return std::string();
  };
  std::string reason = check(call.inputs);
  return reason.empty() ? check(call.outputs) : reason;
}

std::string RequireFloats(const CallSignature& call) { return RequireFloats(call, ~uint32_t{0}); }

std::string RequireFloats(const CallSignature& call, uint32_t operands) {
  if (call.outputs.empty()) return "needs a result";
  const DType dtype = call.outputs[0].dtype;
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) {
    return std::string("needs f32, f16 or bf16, got ") + Name(dtype);
  }
  const auto other = [&](const TensorView& view) {
    return view.present() && view.dtype != dtype ? std::string("needs one element type, got ") +
                                                       Name(dtype) + " and " + Name(view.dtype)
                                                 : std::string();
  };
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (i < 32 && ((operands >> i) & 1) == 0) continue;
    if (std::string reason = other(call.inputs[i]); !reason.empty()) return reason;
  }
  for (const TensorView& output : call.outputs) {
    if (std::string reason = other(output); !reason.empty()) return reason;
  }
  return CheckRanks(call);
}

Dims StridesIn(const TensorView& view, DimSpan out) {
  return view.present() ? BroadcastStrides(view.shape, out) : Dims(out.size(), 0);
}

}  // namespace tenon::kernels::gpu
