// Products of bytes: sums of products of f32 numbers, which hold every byte less its zero point.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/image_attributes.h"
#include "frontends/onnx/ops/quantized_arithmetic.h"
#include "ir/base/check.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/q_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// A tensor of bytes, and where its zero point is, which may be absent.
struct Bytes {
  int input, zero;
};

absl::Status CheckBytes(const Node& node, std::initializer_list<Bytes> tensors) {
  for (const auto& [input, zero] : tensors) {
    const DType dtype = node.input(input).type().dtype();
    if (!IsByte(dtype)) {
      return node.Unsupported(fmt::format("{} of {}", node.op_type(), Name(dtype)), "i8 or ui8");
    }
    if (node.input(zero) && node.input(zero).type().dtype() != dtype) {
      return node.Error(fmt::format("the zero point {} of {} is not {}, as the numbers are",
                                    node.input(zero).type().text(), node.op_type(), Name(dtype)));
    }
  }
  return absl::OkStatus();
}

// Of a convolution's numbers and of its results there is one scale and one zero point each.
absl::Status CheckOneNumber(const Node& node, std::initializer_list<int> inputs) {
  for (const int i : inputs) {
    const Formula::Dims dims = Formula::DimsOf(node.input(i));
    if (dims.empty() || (dims.size() == 1 && dims[0].is_constant(1))) continue;
    return node.Error(fmt::format("input {} of {} is {} (expected one number)", i, node.op_type(),
                                  node.input(i).type().text()));
  }
  return absl::OkStatus();
}

// One number for all, or one for each row of a matrix: as a column if there are several.
Value PerRow(Formula& f, Value v) {
  const Formula::Dims dims = Formula::DimsOf(v);
  if (dims.size() != 1) return v;
  return dims[0].is_constant(1) ? f.Reshape(v, {}) : f.Reshape(v, {dims[0], f.One()});
}

// One number for all, or one for each column of a matrix.
Value PerColumn(Formula& f, Value v) {
  const Formula::Dims dims = Formula::DimsOf(v);
  return dims.size() == 1 && dims[0].is_constant(1) ? f.Reshape(v, {}) : v;
}

// One number for all, or one for each index of an axis.
Value PerIndex(Formula& f, Value v, int64_t axis, int64_t rank) {
  const Formula::Dims dims = Formula::DimsOf(v);
  if (dims.size() != 1) return v;
  return dims[0].is_constant(1) ? f.Reshape(v, {}) : f.Along(v, axis, rank);
}

// x - zero as a float; `zero` has been laid out and may be null.
Value Centred(Formula& f, Value x, Value zero, DType dtype) {
  const Value number = f.Cast(x, dtype);
  return zero ? f.Sub(number, f.Cast(zero, dtype)) : number;
}

// The largest |x - zero| that the type of input i allows.
absl::StatusOr<double> LargestDistance(const Node& node, int i, int zero) {
  const bool is_signed = node.input(i).type().dtype() == DType::kI8;
  const double low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  if (!node.input(zero)) return std::max(-low, high);
  const Attribute at = node.Constant(zero);
  if (!at || at.type().num_elements() != 1) return 255;
  const double value = at.ElementAsDouble(0);
  return std::max(value - low, high - value);
}

// Sums of whole numbers are exact in f32 up to here.
constexpr double kExact = 1 << 24;

Value Slice(Formula& f, const Node& node, Value x, int64_t axis, int64_t begin, int64_t end) {
  return f.Make<ten::SliceOp>(
      x, ten::SliceOp::Attrs{
             .axes = {axis}, .starts = {node.Dim(begin)}, .ends = {node.Dim(end)}, .steps = {1}});
}

// What is left of a quantised operation: round(sums * factor) + zero, as `zero`'s type.
absl::Status ReturnQuantized(Formula& f, Value sums, Value factor, Value zero, DType result) {
  const bool is_signed = result == DType::kI8;
  Value y = f.Make<ten::RoundOp>(f.Mul(sums, factor));
  y = f.Add(y, f.Cast(zero, DType::kF32));
  y = f.Make<ten::ClipOp>(
      y, ten::ClipOp::Attrs{.min = is_signed ? -128.0 : 0.0, .max = is_signed ? 127.0 : 255.0});
  return f.Return(f.Cast(y, result));
}

}  // namespace

// The sums are exact: where f32 could round one, the contracted axis is cut into slices that are
// added as integers.
absl::Status ImportMatMulInteger(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 4));
  TENON_RETURN_IF_ERROR(CheckBytes(node, {{0, 2}, {1, 3}}));
  Formula f(node);
  const Value a = node.input(0), b = node.input(1);
  if (const Value sums = QuantizedLinear(f, a, node.input(2), b, node.input(3), DType::kI32)) {
    return f.Return(sums);
  }
  const int64_t a_rank = a.type().rank(), b_rank = b.type().rank();
  if (a_rank == 0 || b_rank == 0) return node.Error("MatMulInteger of a scalar");
  const int64_t axis = b_rank == 1 ? 0 : b_rank - 2;
  const DimExpr depth =
      b.type().dim(axis).is_constant() ? b.type().dim(axis) : a.type().dim(a_rank - 1);
  const Value a_zero = node.input(2) ? PerRow(f, node.input(2)) : Value();
  const Value b_zero = node.input(3) ? PerColumn(f, node.input(3)) : Value();
  const DType wide = depth.is_constant() ? DType::kF32 : DType::kF64;
  const Value x = Centred(f, a, a_zero, wide), y = Centred(f, b, b_zero, wide);
  if (!depth.is_constant()) return f.Return(f.Cast(f.Make<ten::MatmulOp>(x, y), DType::kI32));
  TENON_ASSIGN_OR_RETURN(const double a_distance, LargestDistance(node, 0, 2));
  TENON_ASSIGN_OR_RETURN(const double b_distance, LargestDistance(node, 1, 3));
  const auto width = static_cast<int64_t>(kExact / (a_distance * b_distance));
  Value sum;
  for (int64_t begin = 0; begin == 0 || begin < depth.constant(); begin += width) {
    const int64_t end = std::min(depth.constant(), begin + width);
    const bool whole = begin == 0 && end == depth.constant();
    const Value left = whole ? x : Slice(f, node, x, a_rank - 1, begin, end);
    const Value right = whole ? y : Slice(f, node, y, axis, begin, end);
    const Value part = f.Cast(f.Make<ten::MatmulOp>(left, right), DType::kI32);
    sum = sum ? f.Add(sum, part) : part;
  }
  return f.Return(sum);
}

// A convolution as q.conv: of bytes with constant filters over one or two spatial axes, where there
// are kernels. Null where it has another form. `to`: of the result, whose factors are `scale`.
struct ByteConv {
  Value x = {}, x_zero = {}, w = {}, w_zero = {}, bias = {}, scale = {}, out_zero = {};
  DType to;
};

Value QuantizedConv(Formula& f, const ByteConv& c, const nn::ConvOp::Attrs& attrs) {
  const Type x = c.x.type(), w = c.w.type();
  const auto is_constant = [](Value v) { return !v || DefinedBy<core::ConstantOp>(v); };
  if (!x.is_tensor() || x.rank() < 3 || x.rank() > 4) return Value();
  if (!w.is_tensor() || !is_constant(c.w) || !is_constant(c.w_zero)) return Value();
  if (c.w_zero && c.w_zero.type().rank() > 1) return Value();
  const auto zero = [&](Value v, DType dtype) { return v ? v : f.Scalar(dtype, 0); };
  return f.Make<q::ConvOp>(c.x, c.w, zero(c.x_zero, x.dtype()), zero(c.w_zero, w.dtype()), c.bias,
                           c.scale, c.out_zero,
                           q::ConvOp::Attrs{.to = c.to,
                                            .strides = attrs.strides,
                                            .pads = attrs.pads,
                                            .dilations = attrs.dilations,
                                            .group = attrs.group,
                                            .auto_pad = attrs.auto_pad});
}

// Without q.conv, the sums are those of a convolution in f32, rounded to the nearest integer.
absl::Status ImportConvInteger(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 4));
  TENON_RETURN_IF_ERROR(CheckBytes(node, {{0, 2}, {1, 3}}));
  TENON_RETURN_IF_ERROR(CheckOneNumber(node, {2}));
  const Value w = node.input(1);
  TENON_ASSIGN_OR_RETURN(const nn::ConvOp::Attrs attrs, ReadConv(node, w));
  Formula f(node);
  const ByteConv bytes = {.x = node.input(0),
                          .x_zero = node.input(2),
                          .w = w,
                          .w_zero = node.input(3),
                          .to = DType::kI32};
  if (const Value sums = QuantizedConv(f, bytes, attrs)) return f.Return(sums);
  const Value x_zero = node.input(2) ? PerColumn(f, node.input(2)) : Value();
  const Value w_zero = node.input(3) ? PerIndex(f, node.input(3), 0, w.type().rank()) : Value();
  const Value sums = f.Make<nn::ConvOp>(Centred(f, node.input(0), x_zero, DType::kF32),
                                        Centred(f, w, w_zero, DType::kF32), Value(), attrs);
  return f.Return(f.Cast(f.Make<ten::RoundOp>(sums), DType::kI32));
}

absl::Status ImportQLinearMatMul(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(8, 8));
  TENON_RETURN_IF_ERROR(CheckBytes(node, {{0, 2}, {3, 5}, {7, 7}}));
  Formula f(node);
  const auto scale = [&](Value v) { return f.Cast(v, DType::kF32); };
  const Value x = Centred(f, node.input(0), PerRow(f, node.input(2)), DType::kF32);
  const Value y = Centred(f, node.input(3), PerColumn(f, node.input(5)), DType::kF32);
  const Value factor =
      f.Div(f.Mul(scale(PerRow(f, node.input(1))), scale(PerColumn(f, node.input(4)))),
            scale(PerRow(f, node.input(6))));
  return ReturnQuantized(f, f.Make<ten::MatmulOp>(x, y), factor, PerRow(f, node.input(7)),
                         node.input(7).type().dtype());
}

absl::Status ImportQLinearConv(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(8, 9));
  TENON_RETURN_IF_ERROR(CheckBytes(node, {{0, 2}, {3, 5}, {7, 7}}));
  TENON_RETURN_IF_ERROR(CheckOneNumber(node, {1, 2, 6, 7}));
  const Value w = node.input(3);
  const int64_t rank = w.type().rank();
  TENON_ASSIGN_OR_RETURN(const nn::ConvOp::Attrs attrs, ReadConv(node, w));
  Formula f(node);
  const ByteConv bytes = {.x = node.input(0),
                          .x_zero = node.input(2),
                          .w = w,
                          .w_zero = node.input(5),
                          .bias = node.input(8),
                          .scale = f.Div(f.Mul(PerColumn(f, node.input(1)), node.input(4)),
                                         PerColumn(f, node.input(6))),
                          .out_zero = node.input(7),
                          .to = node.input(7).type().dtype()};
  if (const Value y = QuantizedConv(f, bytes, attrs)) return f.Return(y);
  const Value x = Centred(f, node.input(0), PerColumn(f, node.input(2)), DType::kF32);
  const Value kernel = Centred(f, w, PerIndex(f, node.input(5), 0, rank), DType::kF32);
  const Value bias = node.input(8) ? f.Cast(node.input(8), DType::kF32) : Value();
  const Value factor =
      f.Div(f.Mul(PerColumn(f, node.input(1)), PerIndex(f, node.input(4), 1, rank)),
            PerColumn(f, node.input(6)));
  return ReturnQuantized(f, f.Make<nn::ConvOp>(x, kernel, bias, attrs), factor,
                         PerColumn(f, node.input(7)), node.input(7).type().dtype());
}

}  // namespace tenon::onnx
