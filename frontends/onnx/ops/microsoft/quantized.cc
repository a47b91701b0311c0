// What ONNX Runtime's quantizers write beside the standard ops: operations on quantised numbers, as
// those on the numbers that they stand for, and products by packed weights.
#include <fmt/format.h>

#include <functional>

#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/quantized_arithmetic.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {

absl::Status ImportQuantizeLinear(Node& node);
absl::Status ImportDequantizeLinear(Node& node);

namespace {

Value AsScalar(Formula& f, Value v) {
  return v && v.type().rank() == 1 && v.type().dim(0).is_constant(1) ? f.Reshape(v, {}) : v;
}

// Input i as one number; null if it is absent.
absl::StatusOr<Value> OneNumber(const Node& node, Formula& f, int i) {
  const Value v = node.input(i);
  if (!v || v.type().rank() == 0) return v;
  if (v.type().rank() > 1 || (v.type().dim(0).is_constant() && !v.type().dim(0).is_constant(1))) {
    return node.Error(fmt::format("input {} of {} must be one number, got {}", i, node.op_type(),
                                  v.type().text()));
  }
  return f.Reshape(v, {});
}

// Input i less its zero point, input i + 2, as whole numbers of f32.
absl::StatusOr<Value> WholeNumbers(const Node& node, Formula& f, int i) {
  TENON_ASSIGN_OR_RETURN(const Value zero, OneNumber(node, f, i + 2));
  const Value x = f.Cast(node.input(i), DType::kF32);
  return zero ? f.Sub(x, f.Cast(zero, DType::kF32)) : x;
}

// The numbers that input i stands for, whose scale and zero point follow it.
absl::StatusOr<Value> Meant(const Node& node, Formula& f, int i) {
  TENON_ASSIGN_OR_RETURN(const Value scale, OneNumber(node, f, i + 1));
  TENON_ASSIGN_OR_RETURN(const Value x, WholeNumbers(node, f, i));
  return f.Mul(x, scale);
}

// y, whole numbers, as bytes of the type of the zero point in input i.
absl::Status ReturnBytes(Node& node, Formula& f, Value y, int i) {
  const DType result = node.input(i) ? node.input(i).type().dtype() : node.input(0).type().dtype();
  if (result != DType::kU8 && result != DType::kI8) {
    return node.Unsupported(fmt::format("{} to {}", node.op_type(), Name(result)), "i8 or ui8");
  }
  const bool is_signed = result == DType::kI8;
  y = f.Make<ten::ClipOp>(
      y, ten::ClipOp::Attrs{.min = is_signed ? -128.0 : 0.0, .max = is_signed ? 127.0 : 255.0});
  return f.Return(f.Cast(y, result));
}

// y, in steps of the result, rounded around the zero point in input i, as the zero point's type.
absl::Status ReturnSteps(Node& node, Formula& f, Value y, int i) {
  TENON_ASSIGN_OR_RETURN(const Value zero, OneNumber(node, f, i));
  y = f.Make<ten::RoundOp>(y);
  if (zero) y = f.Add(y, f.Cast(zero, DType::kF32));
  return ReturnBytes(node, f, y, i);
}

// y in the scale and around the zero point of inputs i and i + 1, as the zero point's type.
absl::Status ReturnAs(Node& node, Formula& f, Value y, int i) {
  TENON_ASSIGN_OR_RETURN(const Value scale, OneNumber(node, f, i));
  return ReturnSteps(node, f, f.Div(y, scale), i + 1);
}

absl::Status CheckPresent(const Node& node, std::initializer_list<int> inputs) {
  for (const int i : inputs) {
    if (!node.input(i))
      return node.Error(fmt::format("input {} of {} is missing", i, node.op_type()));
  }
  return absl::OkStatus();
}

// y = g(x) of inputs x, its scale and zero point, y's scale and zero point.
absl::Status OfOne(Node& node, const std::function<Value(Formula&, Value)>& g) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 5));
  TENON_RETURN_IF_ERROR(CheckPresent(node, {3}));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Value x, Meant(node, f, 0));
  return ReturnAs(node, f, g(f, x), 3);
}

// The constant input i, `count` elements of 2, 4 or 8 bits for each of `lines` lines, which begin
// at whole bytes: as bytes in `rows` rows.
absl::StatusOr<Value> Unpacked(Node& node, int i, int64_t bits, int64_t lines, int64_t count,
                               int64_t rows) {
  const Attribute bytes = node.Constant(i);
  if (!bytes)
    return node.Unsupported(fmt::format("{} whose input {} is not constant", node.op_type(), i),
                            "an initializer");
  const int64_t in_byte = 8 / bits, packed = (count + in_byte - 1) / in_byte;
  const int64_t size = bytes.type().num_elements();
  if (bytes.type().dtype() != DType::kU8 || size % lines != 0 || size / lines != packed) {
    return node.Error(fmt::format("input {} of {} is {}, not {} lines of {} bytes", i,
                                  node.op_type(), bytes.type().text(), lines, packed));
  }
  const std::span<const std::byte> from = bytes.raw_bytes();
  const auto mask = static_cast<unsigned>((1 << bits) - 1);
  const int64_t dims[] = {rows, lines / rows * count};
  return node.MakeConstant(Attribute::Elements(
      node.context(), Type::Tensor(node.context(), DType::kU8, dims),
      Blob::Make(lines * count, [&](std::byte* out) {
        for (int64_t line = 0; line < lines; ++line) {
          for (int64_t j = 0; j < count; ++j) {
            const int64_t at = line * packed + j / in_byte;
            const auto byte = static_cast<unsigned>(from[bytes.is_splat() ? 0 : at]);
            *out++ = static_cast<std::byte>(byte >> (j % in_byte * bits) & mask);
          }
        }
      })));
}

}  // namespace

absl::Status ImportMicrosoftQuantizeLinear(Node& node) { return ImportQuantizeLinear(node); }
absl::Status ImportMicrosoftDequantizeLinear(Node& node) { return ImportDequantizeLinear(node); }

// Rounds as ONNX Runtime does on processors with fused multiply-add: in steps of the result, with
// one constant for all zero points.
absl::Status ImportMicrosoftQLinearAdd(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 8));
  TENON_RETURN_IF_ERROR(CheckPresent(node, {3, 4, 6}));
  Formula f(node);
  const auto zero = [&](int i) -> absl::StatusOr<Value> {
    TENON_ASSIGN_OR_RETURN(const Value v, OneNumber(node, f, i));
    return v ? f.Cast(v, DType::kF32) : f.Scalar(DType::kF32, 0);
  };
  TENON_ASSIGN_OR_RETURN(const Value a_scale, OneNumber(node, f, 1));
  TENON_ASSIGN_OR_RETURN(const Value a_zero, zero(2));
  TENON_ASSIGN_OR_RETURN(const Value b_scale, OneNumber(node, f, 4));
  TENON_ASSIGN_OR_RETURN(const Value b_zero, zero(5));
  TENON_ASSIGN_OR_RETURN(const Value scale, OneNumber(node, f, 6));
  TENON_ASSIGN_OR_RETURN(const Value y_zero, zero(7));
  const auto fma = [&](Value a, Value b, Value c) { return f.Make<ten::FmaOp>(a, b, c); };
  const Value a = f.Cast(node.input(0), DType::kF32), b = f.Cast(node.input(3), DType::kF32);
  const Value a_ratio = f.Div(a_scale, scale), b_ratio = f.Div(b_scale, scale);
  const Value offset = f.Sub(y_zero, fma(a_ratio, a_zero, f.Mul(b_ratio, b_zero)));
  const Value steps = fma(a, a_ratio, fma(b, b_ratio, offset));
  return ReturnBytes(node, f, f.Make<ten::RoundOp>(steps), 7);
}

// Rounds as ONNX Runtime does: the product of the integers is exact, and has one factor.
absl::Status ImportMicrosoftQLinearMul(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 8));
  TENON_RETURN_IF_ERROR(CheckPresent(node, {3, 4, 6}));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Value a, WholeNumbers(node, f, 0));
  TENON_ASSIGN_OR_RETURN(const Value b, WholeNumbers(node, f, 3));
  TENON_ASSIGN_OR_RETURN(const Value a_scale, OneNumber(node, f, 1));
  TENON_ASSIGN_OR_RETURN(const Value b_scale, OneNumber(node, f, 4));
  TENON_ASSIGN_OR_RETURN(const Value scale, OneNumber(node, f, 6));
  const Value factor = f.Div(f.Mul(a_scale, b_scale), scale), product = f.Mul(a, b);
  return ReturnSteps(node, f, f.Mul(product, factor), 7);
}

absl::Status ImportMicrosoftQLinearSigmoid(Node& node) {
  return OfOne(node, [](Formula& f, Value x) { return f.Make<ten::SigmoidOp>(x); });
}

absl::Status ImportMicrosoftQLinearLeakyRelu(Node& node) {
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 0.01f));
  return OfOne(node, [&](Formula& f, Value x) {
    return f.Make<ten::LeakyReluOp>(x, ten::LeakyReluOp::Attrs{.alpha = alpha});
  });
}

// `opset` is that of the Softmax it came from: before 13 all axes from `axis` on are one.
absl::Status ImportMicrosoftQLinearSoftmax(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 5));
  TENON_ASSIGN_OR_RETURN(const int64_t opset, node.Int("opset", 13));
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", opset < 13 ? 1 : -1));
  const int64_t rank = node.input(0).type().rank();
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, rank));
  if (opset < 13 && axis != rank - 1)
    return node.Unsupported("QLinearSoftmax over several axes", "opset = 13, or the last axis");
  return OfOne(node, [&](Formula& f, Value x) {
    return f.Make<nn::SoftmaxOp>(x, nn::SoftmaxOp::Attrs{.axis = axis});
  });
}

// Sums of integers are exact in any order, so that layouts do not decide how a mean is rounded.
absl::Status ImportMicrosoftQLinearGlobalAveragePool(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 5));
  TENON_ASSIGN_OR_RETURN(const bool last, node.Flag("channels_last", false));
  const int64_t rank = node.input(0).type().rank();
  std::vector<int64_t> axes;
  for (int64_t axis = last ? 1 : 2; axis < rank - (last ? 1 : 0); ++axis) axes.push_back(axis);
  TENON_RETURN_IF_ERROR(CheckPresent(node, {1, 3}));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Value x_scale, OneNumber(node, f, 1));
  TENON_ASSIGN_OR_RETURN(const Value y_scale, OneNumber(node, f, 3));
  TENON_ASSIGN_OR_RETURN(const Value x, WholeNumbers(node, f, 0));
  const Value sums = f.Make<ten::ReduceSumOp>(x, ten::ReduceSumOp::Attrs{.axes = axes});
  DimExpr count = f.One();
  for (const int64_t axis : axes) count = count * node.input(0).type().dim(axis);
  const Value elements = count.is_constant()
                             ? f.Scalar(DType::kF32, static_cast<double>(count.constant()))
                             : f.Cast(f.Extent(count), DType::kF32);
  const Value factor = f.Div(x_scale, f.Mul(y_scale, elements));
  return ReturnSteps(node, f, f.Mul(sums, factor), 4);
}

// The result's scale and zero point come first, then three inputs for each tensor.
absl::Status ImportMicrosoftQLinearConcat(Node& node) {
  if (node.num_inputs() < 5 || node.num_inputs() % 3 != 2) {
    return node.Error(fmt::format("QLinearConcat has {} inputs (expected 2, and 3 for each tensor)",
                                  node.num_inputs()));
  }
  TENON_RETURN_IF_ERROR(CheckPresent(node, {0, 1, 2}));
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, node.input(2).type().rank()));
  Formula f(node);
  std::vector<Value> parts;
  for (int i = 2; i < node.num_inputs(); i += 3) {
    TENON_RETURN_IF_ERROR(CheckPresent(node, {i, i + 1}));
    TENON_ASSIGN_OR_RETURN(parts.emplace_back(), Meant(node, f, i));
  }
  if (!f.ok()) return f.status();
  return ReturnAs(node, f, f.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = axis}), 0);
}

// alpha * a @ b + c, c being in steps of the product's scale; in f32 where the result has no scale.
absl::Status ImportMicrosoftQGemm(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 9));
  TENON_RETURN_IF_ERROR(CheckPresent(node, {1, 3, 4}));
  ten::MatmulOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.transpose_a, node.Flag("transA", false));
  TENON_ASSIGN_OR_RETURN(attrs.transpose_b, node.Flag("transB", false));
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.0f));
  Formula f(node);
  const auto columns = [&](Value v) {
    return attrs.transpose_b && v && v.type().rank() == 1 && !v.type().dim(0).is_constant(1)
               ? f.Along(v, 0, 2)
               : AsScalar(f, v);
  };
  TENON_ASSIGN_OR_RETURN(const Value a_scale, OneNumber(node, f, 1));
  TENON_ASSIGN_OR_RETURN(const Value a_zero, OneNumber(node, f, 2));
  const Value b_zero = columns(node.input(5));
  Value a = f.Cast(node.input(0), DType::kF32), b = f.Cast(node.input(3), DType::kF32);
  if (a_zero) a = f.Sub(a, f.Cast(a_zero, DType::kF32));
  if (b_zero) b = f.Sub(b, f.Cast(b_zero, DType::kF32));
  Value sums = f.Make<ten::MatmulOp>(a, b, attrs);
  if (node.input(6)) sums = f.Add(sums, f.Cast(node.input(6), DType::kF32));
  Value scale = f.Mul(a_scale, AsScalar(f, node.input(4)));
  if (alpha != 1.0f) scale = f.Mul(scale, f.Scalar(DType::kF32, alpha));
  const Value y = f.Mul(sums, scale);
  return node.input(7) ? ReturnAs(node, f, y, 7) : f.Return(y);
}

// a * b + bias for bytes a and b, whose scales and zero points are inputs 2 to 5.
absl::Status ImportMicrosoftMatMulIntegerToFloat(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(4, 7));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Value scale, OneNumber(node, f, 2));
  TENON_ASSIGN_OR_RETURN(const Value zero, OneNumber(node, f, 4));
  Value y = ScaledProduct(f, node.input(0), zero, node.input(1), node.input(5),
                          f.Mul(scale, node.input(3)));
  if (node.input(6)) y = f.Add(y, node.input(6));
  return f.Return(y);
}

// The same for floats a, which are quantised by their range.
absl::Status ImportMicrosoftDynamicQuantizeMatMul(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 5));
  Formula f(node);
  const QuantizedByRange a = QuantizeByRange(f, node.input(0));
  Value y = ScaledProduct(f, f.Cast(a.elements, DType::kU8), f.Cast(a.zero_point, DType::kU8),
                          node.input(1), node.input(3), f.Mul(a.scale, node.input(2)));
  if (node.input(4)) y = f.Add(y, node.input(4));
  return f.Return(y);
}

// The product by the transpose of a matrix [N, K] of 2, 4 or 8 bits an element, packed from the low
// bits on, with a scale and a zero point for each block of a row.
absl::Status ImportMicrosoftMatMulNBits(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 6));
  node.MarkRead("accuracy_level");
  TENON_ASSIGN_OR_RETURN(const int64_t bits, node.Int("bits", 4));
  TENON_ASSIGN_OR_RETURN(const int64_t block, node.Int("block_size", 0));
  TENON_ASSIGN_OR_RETURN(const int64_t rows, node.Int("N", 0));
  TENON_ASSIGN_OR_RETURN(const int64_t depth, node.Int("K", 0));
  if (node.input(4))
    return node.Unsupported("MatMulNBits with g_idx", "weights in the order of their blocks");
  if ((bits != 2 && bits != 4 && bits != 8) || block < 1 || rows < 1 || depth < 1 ||
      block > INT32_MAX || rows > INT32_MAX || depth > INT32_MAX) {
    return node.Error(
        fmt::format("MatMulNBits has {} x {} elements of {} bits in blocks of {} (expected 2, 4 or "
                    "8 bits and positive 32-bit sizes)",
                    rows, depth, bits, block));
  }
  const int64_t blocks = (depth + block - 1) / block;
  const auto unpack = [&](int i, int64_t lines, int64_t count) {
    return Unpacked(node, i, bits, lines, count, rows);
  };
  Formula f(node);
  const DType dtype = node.input(0).type().dtype();
  const DimExpr n = node.Dim(rows), count = node.Dim(blocks), width = node.Dim(block);
  TENON_ASSIGN_OR_RETURN(const Value elements, unpack(1, rows * blocks, block));
  Value zero = f.Scalar(dtype, static_cast<double>(1 << (bits - 1)));
  if (node.input(3) && node.input(3).type().dtype() != DType::kU8) {
    zero = f.Reshape(node.input(3), {n, count, f.One()});
  } else if (node.input(3)) {
    TENON_ASSIGN_OR_RETURN(const Value points, unpack(3, rows, blocks));
    zero = f.Reshape(f.Cast(points, dtype), {n, count, f.One()});
  }
  Value w = f.Sub(f.Cast(f.Reshape(elements, {n, count, width}), dtype), zero);
  w = f.Mul(w, f.Reshape(node.input(2), {n, count, f.One()}));
  w = f.Reshape(w, {n, node.Dim(blocks * block)});
  if (blocks * block != depth) {
    w = f.Make<ten::SliceOp>(
        w, ten::SliceOp::Attrs{
               .axes = {1}, .starts = {node.Dim(0)}, .ends = {node.Dim(depth)}, .steps = {1}});
  }
  Value y = f.Make<ten::MatmulOp>(node.input(0), w, ten::MatmulOp::Attrs{.transpose_b = true});
  if (node.input(5)) y = f.Add(y, node.input(5));
  return f.Return(y);
}

// Rows of a table of 2, 4 or 8 bits an element, packed in bytes, as floats: each block of a row has
// a scale and a zero point.
absl::Status ImportMicrosoftGatherBlockQuantized(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 4));
  TENON_ASSIGN_OR_RETURN(const int64_t bits, node.Int("bits", 4));
  TENON_ASSIGN_OR_RETURN(const int64_t block, node.Int("block_size", 128));
  TENON_ASSIGN_OR_RETURN(int64_t row_axis, node.Int("gather_axis", 0));
  TENON_ASSIGN_OR_RETURN(int64_t block_axis, node.Int("quantize_axis", 1));
  const Type table = node.input(0).type(), scales = node.input(2).type();
  TENON_ASSIGN_OR_RETURN(row_axis, node.Axis(row_axis, table.rank()));
  TENON_ASSIGN_OR_RETURN(block_axis, node.Axis(block_axis, table.rank()));
  const bool is_static = table.rank() == 2 && scales.rank() == 2 && table.num_elements() > 0 &&
                         scales.num_elements() > 0;
  if (!is_static || table.dtype() != DType::kU8 || row_axis != 0 || block_axis != 1) {
    return node.Unsupported(
        fmt::format("GatherBlockQuantized of {} along axis {} in blocks of axis {}", table.text(),
                    row_axis, block_axis),
        "a constant matrix of ui8, gather_axis = 0 and quantize_axis = 1");
  }
  const int64_t rows = table.dim(0).constant(), blocks = scales.dim(1).constant();
  if ((bits != 2 && bits != 4 && bits != 8) || block < 1 || block > INT32_MAX / blocks ||
      scales.dim(0).constant() != rows) {
    return node.Error(
        fmt::format("GatherBlockQuantized of {} with scales {}, {} bits in blocks of {}",
                    table.text(), scales.text(), bits, block));
  }
  const int64_t columns = blocks * block;
  if (table.dim(1).constant() * (8 / bits) != columns) {
    return node.Unsupported(
        fmt::format("GatherBlockQuantized of {}", table.text()),
        fmt::format("rows of {} blocks of {} elements of {} bits", blocks, block, bits));
  }
  Formula f(node);
  const DType dtype = scales.dtype();
  const auto picked = [&](Value v) { return f.Make<ten::GatherOp>(v, node.input(1)); };
  TENON_ASSIGN_OR_RETURN(const Value elements, Unpacked(node, 0, bits, rows, columns, rows));
  const auto with = [&](std::initializer_list<int64_t> last) {
    Formula::Dims all = Formula::DimsOf(node.input(1));
    for (const int64_t extent : last) all.push_back(node.Dim(extent));
    return all;
  };
  Value zero = f.Scalar(dtype, static_cast<double>(1 << (bits - 1)));
  if (node.input(3)) {
    TENON_ASSIGN_OR_RETURN(const Value points, Unpacked(node, 3, bits, rows, blocks, rows));
    zero = f.Reshape(f.Cast(picked(points), dtype), with({blocks, 1}));
  }
  const Value whole = f.Reshape(f.Cast(picked(elements), dtype), with({blocks, block}));
  const Value scale = f.Reshape(picked(node.input(2)), with({blocks, 1}));
  return f.Return(f.Reshape(f.Mul(f.Sub(whole, zero), scale), with({columns})));
}

}  // namespace tenon::onnx
