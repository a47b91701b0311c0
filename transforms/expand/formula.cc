#include "transforms/expand/formula.h"

#include <algorithm>
#include <array>

#include "fmt/format.h"
#include "ir/dialect/nn_ops.h"

namespace tenon {

Value OpFormula::And(Value a, Value b) {
  if (!a || !b) return a ? a : b;
  return Make<ten::AndOp>(a, b);
}

Value OpFormula::Cast(Value x, DType dtype) {
  if (!ok() || x.type().dtype() == dtype) return x;
  return Make<ten::CastOp>(x, ten::CastOp::Attrs{.to = dtype});
}

Value OpFormula::Scalar(DType dtype, double value) {
  Context& context = op_.context();
  std::array<std::byte, 8> bytes{};
  StoreFromDouble(dtype, value, bytes.data());
  const Type type = Type::Tensor(context, dtype, std::span<const int64_t>());
  const Attribute elements =
      Attribute::Elements(context, type, std::span(bytes).first(SizeOf(dtype)));
  return Make<core::ConstantOp>(core::ConstantOp::Attrs{.value = elements});
}

Value OpFormula::Integer(int64_t value) {
  Context& context = op_.context();
  const Type type = Type::Tensor(context, DType::kI64, std::span<const int64_t>());
  const Attribute elements =
      Attribute::Elements(context, type, std::as_bytes(std::span(&value, 1)));
  return Make<core::ConstantOp>(core::ConstantOp::Attrs{.value = elements});
}

Value OpFormula::Ints(std::span<const int64_t> values) {
  Context& context = op_.context();
  const int64_t size = static_cast<int64_t>(values.size());
  const Attribute elements = Attribute::Elements(
      context, Type::Tensor(context, DType::kI64, std::span(&size, 1)), std::as_bytes(values));
  return Make<core::ConstantOp>(core::ConstantOp::Attrs{.value = elements});
}

Value OpFormula::Extent(DimExpr dim) {
  if (dim.is_constant()) return Integer(dim.constant());
  return Make<core::DimsOp>(core::DimsOp::Attrs{.dims = {dim}, .scalar = true});
}

Value OpFormula::Reshape(Value x, Dims dims) {
  if (!ok()) return Value();
  const std::span<const DimExpr> now = x.type().dims();
  if (std::equal(now.begin(), now.end(), dims.begin(), dims.end(), DimExpr::ProvablyEqual)) {
    return x;
  }
  return Make<ten::ReshapeOp>(x, ten::ReshapeOp::Attrs{.shape = std::move(dims)});
}

Value OpFormula::Transpose(Value x, std::vector<int64_t> perm) {
  return Make<ten::TransposeOp>(x, ten::TransposeOp::Attrs{.perm = std::move(perm)});
}

Value OpFormula::Concat(std::span<const Value> parts, int64_t axis) {
  return Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = axis});
}

Value OpFormula::Slice(Value x, int64_t axis, DimExpr start, DimExpr end) {
  return Make<ten::SliceOp>(
      x, ten::SliceOp::Attrs{.axes = {axis}, .starts = {start}, .ends = {end}, .steps = {1}});
}

Value OpFormula::Iota(DimExpr first, DimExpr count) {
  const Value start = Extent(first), limit = Extent(first + count), step = Scalar(DType::kI64, 1);
  return Make<ten::RangeOp>(start, limit, step);
}

Value OpFormula::Activated(Value x, std::string_view name, float alpha, float beta) {
  if (name == "none") return x;
  if (name == "relu") return Make<ten::ReluOp>(x);
  if (name == "silu") return Make<nn::SiluOp>(x);
  if (name == "sigmoid") return Make<ten::SigmoidOp>(x);
  if (name == "tanh") return Make<ten::TanhOp>(x);
  if (name == "hard_swish") return Make<ten::HardSwishOp>(x);
  if (name == "mish") return Make<nn::MishOp>(x);
  if (name == "gelu") return Make<nn::GeluOp>(x, nn::GeluOp::Attrs{});
  if (name == "gelu_tanh") return Make<nn::GeluOp>(x, nn::GeluOp::Attrs{.approximate = "tanh"});
  if (name == "gelu_sigmoid") {
    return Make<nn::GeluOp>(x, nn::GeluOp::Attrs{.approximate = "sigmoid"});
  }
  if (name == "leaky_relu") {
    return Make<ten::LeakyReluOp>(x, ten::LeakyReluOp::Attrs{.alpha = alpha});
  }
  if (name == "hard_sigmoid") {
    return Make<ten::HardSigmoidOp>(x, ten::HardSigmoidOp::Attrs{.alpha = alpha, .beta = beta});
  }
  if (name == "clip") return Make<ten::ClipOp>(x, ten::ClipOp::Attrs{.min = alpha, .max = beta});
  Fail(fmt::format("{}: the activation {} is not known", op_.name(), name));
  return Value();
}

Value OpFormula::Norm(std::string_view norm, int64_t axis, float epsilon, Value x, Value scale,
                      Value bias) {
  if (norm == "layer") {
    return Make<nn::LayerNormOp>(x, scale, bias,
                                 nn::LayerNormOp::Attrs{.axis = axis, .epsilon = epsilon});
  }
  return Make<nn::RmsNormOp>(x, scale, nn::RmsNormOp::Attrs{.axis = axis, .epsilon = epsilon});
}

DimExpr OpFormula::DimOf(Value x, int64_t axis) const {
  return ok() ? x.type().dim(axis) : Number(1);
}

OpFormula::Dims OpFormula::DimsOf(Value x) const {
  if (!ok()) return {};
  return {x.type().dims().begin(), x.type().dims().end()};
}

void OpFormula::Fail(std::string message) {
  if (ok()) status_ = EmitError(op_.context(), op_.location(), std::move(message));
}

}  // namespace tenon
