#include "kernels/cpu/support.h"

namespace tenon::kernels::cpu {

std::string RequireDtype(const CallSignature& call, DType dtype) {
  auto check = [&](std::span<const TensorView> views, const char* what) -> std::string {
    for (size_t i = 0; i < views.size(); ++i) {
      if (!views[i].present() || views[i].dtype == dtype) continue;
      return std::string("needs ") + Name(dtype) + ", " + what + " " + std::to_string(i) + " is " +
             Name(views[i].dtype);
    }
    return {};
  };
  std::string reason = check(call.inputs, "operand");
  return reason.empty() ? check(call.outputs, "result") : reason;
}

}  // namespace tenon::kernels::cpu
