#include "frontends/onnx/ops/ml/scores.h"

#include <fmt/format.h>

#include <cmath>

#include "frontends/onnx/ops/containers/strings.h"
#include "ir/base/check.h"
#include "ir/base/dtype.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx::ml {
namespace {

using onnxpb::AttributeProto;

// The inverse of the error function, in the approximation that ONNX Runtime has.
Value InverseErf(Formula& f, Value x) {
  const DType dtype = x.type().dtype();
  const auto number = [&](double value) { return f.Scalar(dtype, value); };
  const Value rest = f.Mul(f.Sub(number(1), x), f.Add(number(1), x));
  const Value log = f.Make<ten::LogOp>(rest);
  const Value v = f.Add(number(2 / (3.14159 * 0.147)), f.Mul(number(0.5), log));
  const Value root = f.Make<ten::SqrtOp>(f.Sub(f.Mul(v, v), f.Mul(number(1 / 0.147), log)));
  return f.Mul(f.Make<ten::SignOp>(x), f.Make<ten::SqrtOp>(f.Sub(root, v)));
}

// Softmax in which zeros count nothing in the sum and stay zeros.
Value SoftmaxZero(Formula& f, Value scores) {
  const DType dtype = scores.type().dtype();
  const int64_t last = scores.type().rank() - 1;
  const Value largest =
      f.Make<ten::ReduceMaxOp>(scores, ten::ReduceMaxOp::Attrs{.axes = {last}, .keepdims = true});
  const Value is_zero = f.Make<ten::LessEqualOp>(f.Make<ten::AbsOp>(scores), f.Scalar(dtype, 1e-7));
  const Value power = f.Make<ten::ExpOp>(f.Sub(scores, largest));
  const Value counted = f.Where(is_zero, f.Scalar(dtype, 0), power);
  const Value sum =
      f.Make<ten::ReduceSumOp>(counted, ten::ReduceSumOp::Attrs{.axes = {last}, .keepdims = true});
  const Value near_zero = f.Mul(scores, f.Make<ten::ExpOp>(f.Make<ten::NegOp>(largest)));
  return f.Div(f.Where(is_zero, near_zero, power), sum);
}

}  // namespace

absl::StatusOr<PostTransform> ReadPostTransform(const Node& node) {
  TENON_ASSIGN_OR_RETURN(const std::string name, node.Str("post_transform", "NONE"));
  static constexpr std::pair<std::string_view, PostTransform> kNames[] = {
      {"NONE", PostTransform::kNone},
      {"SOFTMAX", PostTransform::kSoftmax},
      {"LOGISTIC", PostTransform::kLogistic},
      {"SOFTMAX_ZERO", PostTransform::kSoftmaxZero},
      {"PROBIT", PostTransform::kProbit}};
  for (const auto& [known, transform] : kNames) {
    if (known == name) return transform;
  }
  return node.Error(
      fmt::format("{} has the post_transform {} (expected NONE, SOFTMAX, LOGISTIC, "
                  "SOFTMAX_ZERO or PROBIT)",
                  node.op_type(), name));
}

Value Transformed(Formula& f, PostTransform transform, Value scores) {
  if (!f.ok()) return Value();
  const DType dtype = scores.type().dtype();
  switch (transform) {
    case PostTransform::kNone:
      break;
    case PostTransform::kSoftmax:
      return f.Make<nn::SoftmaxOp>(scores, nn::SoftmaxOp::Attrs{.axis = scores.type().rank() - 1});
    case PostTransform::kLogistic:
      return f.Make<ten::SigmoidOp>(scores);
    case PostTransform::kSoftmaxZero:
      return SoftmaxZero(f, scores);
    case PostTransform::kProbit: {
      const Value twice = f.Sub(f.Mul(f.Scalar(dtype, 2), scores), f.Scalar(dtype, 1));
      return f.Mul(f.Scalar(dtype, std::sqrt(2.0)), InverseErf(f, twice));
    }
  }
  return scores;
}

Value ScoresOfTwo(Formula& f, PostTransform transform, Value s, bool complement_of_one) {
  if (!f.ok()) return Value();
  Value first = complement_of_one && transform != PostTransform::kLogistic
                    ? f.Sub(f.Scalar(s.type().dtype(), 1), s)
                    : f.Make<ten::NegOp>(s);
  if (transform == PostTransform::kLogistic) {
    first = Transformed(f, transform, first);
    s = Transformed(f, transform, s);
  }
  const Value parts[] = {first, s};
  return f.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 1});
}

Value IsAbove(Formula& f, Value s, double limit) {
  if (!f.ok()) return Value();
  const Value above = f.Make<ten::GreaterOp>(s, f.Scalar(s.type().dtype(), limit));
  return f.Reshape(f.Cast(above, DType::kI64), {s.type().dim(0)});
}

absl::StatusOr<Labels> ReadLabels(const Node& node, std::string_view ints) {
  Labels labels;
  TENON_ASSIGN_OR_RETURN(const auto numbers, node.Ints(ints));
  TENON_ASSIGN_OR_RETURN(const std::vector<std::string> words,
                         Strings(node, "classlabels_strings"));
  if (numbers) labels.ints = *numbers;
  if (labels.ints.empty()) labels.strings = words;
  labels.count = static_cast<int64_t>(labels.ints.empty() ? words.size() : labels.ints.size());
  if (labels.count == 0) return node.Error(fmt::format("{} has no labels", node.op_type()));
  return labels;
}

absl::Status ReturnLabels(Formula& f, Node& node, const Labels& labels, Value index) {
  const int64_t count[] = {labels.count};
  if (labels.ints.empty()) {
    TENON_RETURN_IF_ERROR(f.status());
    TENON_ASSIGN_OR_RETURN(const Container table, ConstantStrings(node, count, labels.strings));
    return ReturnStrings(f, node, GatherStrings(f, table, index));
  }
  return f.Return(
      f.Make<ten::GatherOp>(Table(f, node, count, labels.ints), index, ten::GatherOp::Attrs{}));
}

Value Largest(Formula& f, Value scores) {
  return f.Make<ten::ArgmaxOp>(scores, ten::ArgmaxOp::Attrs{.axis = 1, .keepdims = false});
}

absl::StatusOr<std::optional<std::vector<double>>> TensorNumbers(const Node& node,
                                                                 std::string_view name) {
  const AttributeProto* attribute = node.Find(name);
  if (attribute == nullptr) return std::nullopt;
  if (AttributeTypeOf(*attribute) != AttributeProto::TENSOR) {
    return node.Error(fmt::format("attribute \"{}\" of {} must be TENSOR", name, node.op_type()));
  }
  const absl::StatusOr<Attribute> elements =
      DecodeElements(node.context(), attribute->t(), node.importer().source());
  if (absl::IsUnimplemented(elements.status())) {
    return node.Unsupported(fmt::format("{} whose {} holds {}", node.op_type(), name,
                                        OnnxTypeName(attribute->t().data_type())),
                            "numbers");
  }
  if (!elements.ok()) {
    return node.Error(fmt::format("attribute \"{}\": {}", name, MessageOf(elements.status())));
  }
  std::vector<double> values(static_cast<size_t>(elements->type().num_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = elements->ElementAsDouble(static_cast<int64_t>(i));
  }
  return values;
}

absl::StatusOr<std::optional<std::vector<double>>> Numbers(const Node& node,
                                                           std::string_view name) {
  TENON_ASSIGN_OR_RETURN(const auto floats, node.Floats(name));
  if (floats) return std::vector<double>(floats->begin(), floats->end());
  return TensorNumbers(node, fmt::format("{}_as_tensor", name));
}

absl::StatusOr<std::vector<std::string>> Strings(const Node& node, std::string_view name) {
  const AttributeProto* attribute = node.Find(name);
  if (attribute == nullptr) return std::vector<std::string>();
  if (attribute->strings_size() == 0 && AttributeTypeOf(*attribute) != AttributeProto::STRINGS) {
    return node.Error(fmt::format("attribute \"{}\" of {} must be STRINGS", name, node.op_type()));
  }
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

absl::StatusOr<Value> Rows(Formula& f, const Node& node) {
  const Type type = node.input(0).type();
  if (type.dtype() == DType::kBool || type.rank() < 1 || type.rank() > 2) {
    return node.Unsupported(fmt::format("{} of {}", node.op_type(), type.text()),
                            "one or two dimensions, of numbers");
  }
  Value x = type.dtype() == DType::kF64 ? node.input(0) : f.Cast(node.input(0), DType::kF32);
  if (type.rank() == 1) x = f.Reshape(x, {f.One(), type.dim(0)});
  if (!f.ok()) return f.status();
  return x;
}

Value Table(Formula& f, Node& node, DType dtype, std::span<const int64_t> dims,
            std::span<const double> values) {
  const size_t size = SizeOf(dtype);
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) StoreFromDouble(dtype, values[i], &bytes[i * size]);
  return f.Take(node.MakeConstant(Attribute::Elements(
      node.context(), Type::Tensor(node.context(), dtype, dims), std::span(bytes))));
}

Value Table(Formula& f, Node& node, std::span<const int64_t> dims,
            std::span<const int64_t> values) {
  return f.Take(node.MakeConstant(Attribute::Elements(
      node.context(), Type::Tensor(node.context(), DType::kI64, dims), std::as_bytes(values))));
}

}  // namespace tenon::onnx::ml
