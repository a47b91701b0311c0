// Reference kernels of matrix products: ten.matmul and fused.linear.
#include "kernels/kernel_list.h"
#include "kernels/matmul_shape.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/activation.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

template <typename T>
Accumulate<T> DotProduct(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t n) {
  Accumulate<T> sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += static_cast<Accumulate<T>>(static_cast<Compute<T>>(a[i * a_stride])) *
           static_cast<Accumulate<T>>(static_cast<Compute<T>>(b[i * b_stride]));
  }
  return sum;
}

KernelStatus MatMul(const RunArgs& args) {
  const auto& attrs = args.get<ten::MatmulAttrs>();
  const MatMulShape s =
      MatMulShape::Of(args.inputs[0], args.inputs[1], attrs.transpose_a, attrs.transpose_b);
  return DispatchNumber(args.outputs[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = args.outputs[0].as<T>();
    StridedWalk<2> walk(View(s.batch), {s.a_batch, s.b_batch});
    for (int64_t batch = s.batch_count(); batch > 0; --batch, walk.Next()) {
      const T* a = args.inputs[0].as<T>() + walk[0];
      const T* b = args.inputs[1].as<T>() + walk[1];
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          *out++ =
              static_cast<T>(DotProduct(a + i * s.a_row, s.a_col, b + j * s.b_col, s.b_row, s.k));
        }
      }
    }
    return KernelStatus::Ok();
  });
}

KernelStatus Linear(const RunArgs& args) {
  const auto& attrs = args.get<fused::LinearAttrs>();
  const Activation activation = ToActivation(attrs);
  const TensorView &x = args.inputs[0], &w = args.inputs[1], &out = args.outputs[0];
  const bool has_bias = args.inputs.size() > 2 && args.inputs[2].present();
  const bool has_residual = args.inputs.size() > 3 && args.inputs[3].present();
  const int64_t n = out.dim(-1), k = x.dim(-1), rows = Product(x.shape.first(x.rank() - 1));
  const int64_t w_row = attrs.transpose_w ? 1 : n, w_col = attrs.transpose_w ? k : 1;
  StridedWalk<1> residual_at(out.shape,
                             {has_residual ? BroadcastStrides(args.inputs[3].shape, out.shape)
                                           : Dims(out.shape.size(), 0)});
  return DispatchFloat(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    T* result = out.as<T>();
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < n; ++j, residual_at.Next()) {
        double sum = DotProduct(x.as<T>() + i * k, 1, w.as<T>() + j * w_col, w_row, k);
        if (has_bias) sum += static_cast<C>(args.inputs[2].as<T>()[j]);
        double value = Activate(activation, sum);
        if (has_residual) value += static_cast<C>(args.inputs[3].as<T>()[residual_at[0]]);
        *result++ = static_cast<T>(value);
      }
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefFusedLinear() {
  return {.op = "fused.linear", .name = "ref.fused_linear", .run = Linear};
}

Kernel RefMatMul() { return {.op = "ten.matmul", .name = "ref.matmul", .run = MatMul}; }

}  // namespace tenon::kernels
