// The reference kernel of fused.expert_linear.
#include "kernels/calls/expert_call.h"
#include "kernels/kernel_list.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

KernelStatus ExpertLinear(const RunArgs& args) {
  const ExpertCall call(args.inputs, args.attrs);
  if (KernelStatus status = call.CheckIndices(); !status.ok()) return status;
  return DispatchFloat(args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t row = 0; row < call.rows; ++row) {
      const T* x = args.inputs[0].as<T>() + row * call.k;
      const T* w = args.inputs[1].as<T>() + call.Expert(row) * call.k * call.n;
      for (int64_t j = 0; j < call.n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < call.k; ++p) {
          sum +=
              static_cast<double>(x[p]) * static_cast<double>(w[p * call.w_row + j * call.w_col]);
        }
        args.outputs[0].as<T>()[row * call.n + j] = static_cast<T>(sum);
      }
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefExpertLinear() {
  return {.op = "fused.expert_linear", .name = "ref.expert_linear", .run = ExpertLinear};
}

}  // namespace tenon::kernels
