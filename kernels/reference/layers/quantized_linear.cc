// Reference kernel of q.linear.
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

int64_t ByteAt(const TensorView& bytes, int64_t i) {
  return bytes.dtype == DType::kI8 ? int64_t{bytes.as<int8_t>()[i]} : bytes.as<uint8_t>()[i];
}

KernelStatus QLinear(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &w_zero = args.inputs[3];
  const TensorView& out = args.outputs[0];
  const int64_t n = out.dim(-1), k = x.dim(-1);
  const int64_t rows = Product(out.shape.first(out.rank() - 1));
  const int64_t x_zero = ByteAt(args.inputs[2], 0), zero_step = w_zero.numel() > 1 ? 1 : 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += (ByteAt(x, i * k + p) - x_zero) *
               (ByteAt(w, p * n + j) - ByteAt(w_zero, j * zero_step));
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
