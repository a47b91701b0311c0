// Reference kernels of matrix products: ten.matmul, fused.linear and fused.compressed_linear.
#include <algorithm>

#include "ir/base/weight_group.h"
#include "kernels/calls/matmul_shape.h"
#include "kernels/half.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/reference/elementwise/activation.h"

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

// w in fewer bits: element (p, j) of it as a number.
struct CompressedWeights {
  CompressedWeights(const RunArgs& args, int64_t k, int64_t n) : w(args.inputs[1]), columns(n) {
    const auto& attrs = args.get<fused::CompressedLinearAttrs>();
    row = attrs.transpose_w ? 1 : n, col = attrs.transpose_w ? k : 1;
    group = WeightsPerFactor(attrs.group, k);
    if (w.dtype == DType::kI8) scale = args.inputs[4].as<float>();
  }
  double at(int64_t p, int64_t j) const {
    const int64_t i = p * row + j * col;
    if (scale == nullptr) return double{static_cast<float>(w.as<BFloat16>()[i])};
    return static_cast<double>(w.as<int8_t>()[i]) * scale[p / group * columns + j];
  }

  const TensorView& w;
  const float* scale = nullptr;
  int64_t columns, row, col, group;
};

KernelStatus CompressedLinear(const RunArgs& args) {
  const Activation activation = ToActivation(args.get<fused::CompressedLinearAttrs>());
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  const bool has_bias = args.inputs.size() > 2 && args.inputs[2].present();
  const bool has_residual = args.inputs.size() > 3 && args.inputs[3].present();
  const int64_t n = out.dim(-1), k = x.dim(-1), rows = Product(x.shape.first(x.rank() - 1));
  const CompressedWeights w(args, k, n);
  const bool rounds = args.inputs[1].dtype == DType::kBF16;
  StridedWalk<1> residual_at(out.shape,
                             {has_residual ? BroadcastStrides(args.inputs[3].shape, out.shape)
                                           : Dims(out.shape.size(), 0)});
  auto* result = out.as<float>();
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = x.as<float>() + i * k;
    for (int64_t j = 0; j < n; ++j, residual_at.Next()) {
      double sum = has_bias ? args.inputs[2].as<float>()[j] : 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += w.at(p, j) * (rounds ? static_cast<float>(BFloat16(row[p])) : row[p]);
      }
      double value = Activate(activation, sum);
      if (has_residual) value += args.inputs[3].as<float>()[residual_at[0]];
      *result++ = static_cast<float>(value);
    }
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefCompressedLinear() {
  return {
      .op = "fused.compressed_linear", .name = "ref.compressed_linear", .run = CompressedLinear};
}

Kernel RefFusedLinear() {
  return {.op = "fused.linear", .name = "ref.fused_linear", .run = Linear};
}

Kernel RefMatMul() { return {.op = "ten.matmul", .name = "ref.matmul", .run = MatMul}; }

}  // namespace tenon::kernels
