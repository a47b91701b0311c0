// Softmax of floats over the last axis.
#include "kernels/cpu/support.h"
#include "kernels/cpu/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

template <typename Attrs>
std::string Supports(const CallSignature& call) {
  const int64_t rank = call.inputs[0].rank();
  if (NormalizeAxis(static_cast<const Attrs*>(call.attrs)->axis, rank) != rank - 1) {
    return "needs the last axis";
  }
  return cpu::RequireF32(call);
}

template <bool kLog>
KernelStatus Softmax(const RunArgs& args) {
  const float* x = args.inputs[0].as<float>();
  float* out = args.outputs[0].as<float>();
  const int64_t total = args.outputs[0].numel();
  if (total == 0) return KernelStatus::Ok();
  const int64_t n = args.inputs[0].dim(-1);
  const cpu::VectorOps& ops = cpu::GetVectorOps();
  (*args.device->parallel)(total / n, cpu::RowGrain(n, 4), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * n; row < end * n; row += n) {
      if constexpr (kLog) {
        ops.log_softmax(x + row, out + row, n);
      } else {
        ops.softmax(x + row, out + row, n);
      }
    }
  });
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuLogSoftmax() {
  return {.op = "nn.log_softmax",
          .name = "cpu.log_softmax",
          .priority = 10,
          .run = Softmax<true>,
          .supports = Supports<nn::LogSoftmaxAttrs>,
          .inplace_mask = 1};
}

Kernel CpuSoftmax() {
  return {.op = "nn.softmax",
          .name = "cpu.softmax",
          .priority = 10,
          .run = Softmax<false>,
          .supports = Supports<nn::SoftmaxAttrs>,
          .inplace_mask = 1};
}

}  // namespace tenon::kernels
