// Reference kernel of q.linear.
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Numbers of dtype ui8 or i8; absent: 0.
struct Bytes {
  explicit Bytes(const RunArgs& args, size_t input) {
    if (input < args.inputs.size() && args.inputs[input].present()) view = &args.inputs[input];
  }
  int64_t at(int64_t i) const {
    if (view == nullptr) return 0;
    return view->dtype == DType::kI8 ? int64_t{view->as<int8_t>()[i]} : view->as<uint8_t>()[i];
  }
  const TensorView* view = nullptr;
};

KernelStatus QLinear(const RunArgs& args) {
  const Bytes x(args, 0), w(args, 1), x_zero(args, 2), w_zero(args, 3);
  const TensorView& out = args.outputs[0];
  const int64_t n = out.dim(-1), k = args.inputs[0].dim(-1);
  const int64_t rows = Product(out.shape.first(out.rank() - 1));
  const int64_t zero_step = w_zero.view != nullptr && w_zero.view->numel() > 1 ? 1 : 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += (x.at(i * k + p) - x_zero.at(0)) * (w.at(p * n + j) - w_zero.at(j * zero_step));
      }
      const auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(sum));
      if (out.dtype == DType::kF32) {
        out.as<float>()[i * n + j] = static_cast<float>(wrapped);
      } else {
        out.as<int32_t>()[i * n + j] = wrapped;
      }
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefQLinear() { return {.op = "q.linear", .name = "ref.q_linear", .run = QLinear}; }

}  // namespace tenon::kernels
