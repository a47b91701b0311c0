#include "kernels/cpu/linear/linear_part.h"

#include <algorithm>
#include <array>

#include "kernels/kernel_list.h"

namespace tenon::kernels::cpu {
namespace {

constexpr size_t kPartW = 1, kPartBias = 2;  // inputs of fused.linear

// Packs for the part what it asks for, from the inputs of the kernel around it.
class PartStore : public WeightStore {
 public:
  PartStore(const PrepareArgs& outer, size_t w, TensorView& view, PackedMatrix& packed)
      : outer_(outer), w_(w), view_(view), packed_(packed) {}

  PackedBytes Pack(std::span<const int>, std::string_view layout, size_t bytes,
                   const std::function<void(std::byte*)>& fill) override {
    if (packed_.bytes != nullptr && packed_.layout == layout) return packed_.bytes;
    const int from[] = {static_cast<int>(w_)};
    packed_ = {std::string(layout), outer_.Pack(from, layout, bytes, [&](std::byte* out) {
                 view_.data = outer_.inputs[w_].data;  // only here it is sure to be in memory
                 fill(out);
               })};
    return packed_.bytes;
  }
  void Release(int, size_t begin, size_t end) override {
    outer_.Release(static_cast<int>(w_), begin, end);
  }

 private:
  const PrepareArgs& outer_;
  const size_t w_;
  TensorView& view_;
  PackedMatrix& packed_;
};

}  // namespace

KernelStatus LinearPart::Prepare(PrepareArgs& args, size_t w, size_t bias, int64_t rows,
                                 const fused::LinearAttrs& attrs, PackedMatrix& packed) {
  attrs_ = attrs, w_ = w, bias_ = bias, rows_ = rows;
  const TensorView& matrix = args.inputs[w];
  depth_ = matrix.dim(attrs.transpose_w ? 1 : 0);
  columns_ = matrix.dim(attrs.transpose_w ? 0 : 1);
  const int64_t x_shape[] = {rows, depth_}, out_shape[] = {rows, columns_};
  std::array<TensorView, 3> inputs = {TensorView{nullptr, DType::kF32, x_shape}, matrix, {}};
  if (bias < args.inputs.size()) inputs[kPartBias] = args.inputs[bias];
  const TensorView out = {nullptr, DType::kF32, out_shape};
  PartStore store(args, w, inputs[kPartW], packed);
  PrepareArgs part = {.inputs = inputs,
                      .outputs = std::span(&out, 1),
                      .attrs = &attrs_,
                      .device = args.device,
                      .weights = &store};
  KernelStatus status = CpuFusedLinear().prepare(part, state_);
  scratch_bytes_ = part.scratch_bytes;
  return status;
}

KernelStatus LinearPart::Run(const RunArgs& args, const float* x, const float* residual, float* out,
                             void* scratch) const {
  const int64_t x_shape[] = {rows_, depth_}, out_shape[] = {rows_, columns_};
  const auto view = [](const float* data, std::span<const int64_t> shape) {
    return TensorView{const_cast<float*>(data), DType::kF32, shape};
  };
  const std::array<TensorView, 4> inputs = {
      view(x, x_shape), args.inputs[w_],
      bias_ < args.inputs.size() ? args.inputs[bias_] : TensorView(),
      residual == nullptr ? TensorView() : view(residual, out_shape)};
  const TensorView result = view(out, out_shape);
  return CpuFusedLinear().run({.inputs = inputs,
                               .outputs = std::span(&result, 1),
                               .attrs = &attrs_,
                               .device = args.device,
                               .state = state_.get(),
                               .scratch = scratch});
}

KernelStatus BlockedLinear::Prepare(PrepareArgs& args, size_t w, size_t bias, int64_t rows,
                                    int64_t block, const fused::LinearAttrs& attrs) {
  block_ = block;
  PackedMatrix packed;
  if (KernelStatus status = whole_.Prepare(args, w, bias, block, attrs, packed); !status.ok())
    return status;
  return rows % block == 0 ? KernelStatus::Ok()
                           : last_.Prepare(args, w, bias, rows % block, attrs, packed);
}

int64_t RowsOfBlock(int64_t rows, int64_t row_floats, int64_t matrix_floats) {
  constexpr int64_t kMostMatrixFloats = 96 * 1024, kBlockFloats = 128 * 1024, kFewestRows = 112;
  if (matrix_floats > kMostMatrixFloats) return rows;
  const int64_t block = std::max(kFewestRows, kBlockFloats / std::max<int64_t>(1, row_floats));
  return block < rows ? block : rows;
}

}  // namespace tenon::kernels::cpu
