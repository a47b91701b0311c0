// Preprocessing of ai.onnx.ml: tables of features before and behind a model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/onnx/ops/containers/strings.h"
#include "frontends/onnx/ops/ml/scores.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx::ml {
namespace {

// The numbers of an attribute, one for all columns of x or one a column, as a constant [1 or
// columns] of the type of x.
absl::StatusOr<Value> OfColumns(Formula& f, Node& node, Value x, std::string_view name,
                                std::span<const double> values) {
  const auto count = static_cast<int64_t>(values.size());
  const DimExpr columns = x.type().dim(-1);
  if (count != 1 && columns.is_constant() && !columns.is_constant(count)) {
    return node.Error(fmt::format("{} of {} has {} elements, expected 1 or {}", name,
                                  node.op_type(), count, columns.constant()));
  }
  return Table(f, node, x.type().dtype(), std::span(&count, 1), values);
}

Value SumOfRows(Formula& f, Value x) {
  return f.Make<ten::ReduceSumOp>(
      x, ten::ReduceSumOp::Attrs{.axes = {x.type().rank() - 1}, .keepdims = true});
}

}  // namespace

absl::Status ImportMlScaler(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const auto offset, Numbers(node, "offset"));
  TENON_ASSIGN_OR_RETURN(const auto scale, Numbers(node, "scale"));
  TENON_ASSIGN_OR_RETURN(Value x, Rows(f, node));
  if (offset) {
    TENON_ASSIGN_OR_RETURN(const Value value, OfColumns(f, node, x, "offset", *offset));
    x = f.Sub(x, value);
  }
  if (scale) {
    TENON_ASSIGN_OR_RETURN(const Value value, OfColumns(f, node, x, "scale", *scale));
    x = f.Mul(x, value);
  }
  return f.Return(f.Cast(x, DType::kF32));
}

absl::Status ImportMlNormalizer(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const std::string norm, node.Str("norm", "MAX"));
  TENON_ASSIGN_OR_RETURN(Value x, Rows(f, node));
  x = f.Cast(x, DType::kF32);
  Value size;
  if (norm == "MAX") {
    size = f.Make<ten::ReduceMaxOp>(x, ten::ReduceMaxOp::Attrs{.axes = {1}, .keepdims = true});
  } else if (norm == "L1") {
    size = SumOfRows(f, f.Make<ten::AbsOp>(x));
  } else if (norm == "L2") {
    size = f.Make<ten::SqrtOp>(SumOfRows(f, f.Mul(x, x)));
  } else {
    return node.Error(fmt::format("Normalizer has the norm {} (expected MAX, L1 or L2)", norm));
  }
  // Rows of zeros stay as they are.
  const Value one = f.Scalar(DType::kF32, 1), zero = f.Scalar(DType::kF32, 0);
  return f.Return(f.Div(x, f.Where(f.Make<ten::EqualOp>(size, zero), one, size)));
}

absl::Status ImportMlBinarizer(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const float threshold, node.Float("threshold", 0));
  const DType dtype = node.input(0).type().dtype();
  const Value above = f.Make<ten::GreaterOp>(node.input(0), f.Scalar(dtype, threshold));
  return f.Return(f.Cast(above, dtype));
}

absl::Status ImportMlImputer(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  const Value x = node.input(0);
  const DType dtype = x.type().dtype();
  const bool of_ints = dtype == DType::kI64;
  if (!of_ints && dtype != DType::kF32) {
    return node.Unsupported(fmt::format("Imputer of {}", Name(dtype)), "f32 or i64");
  }
  if (x.type().rank() < 1) return node.Error("Imputer needs at least one dimension");
  TENON_ASSIGN_OR_RETURN(const auto ints, node.Ints("imputed_value_int64s"));
  TENON_ASSIGN_OR_RETURN(const auto floats, node.Floats("imputed_value_floats"));
  TENON_ASSIGN_OR_RETURN(const int64_t missing_int, node.Int("replaced_value_int64", 0));
  TENON_ASSIGN_OR_RETURN(const float missing, node.Float("replaced_value_float", 0));
  std::vector<double> values;
  if (of_ints && ints) values.assign(ints->begin(), ints->end());
  if (!of_ints && floats) values.assign(floats->begin(), floats->end());
  if (values.empty()) return node.Error(fmt::format("Imputer has no values of {}", Name(dtype)));
  TENON_ASSIGN_OR_RETURN(const Value made, OfColumns(f, node, x, "the imputed value", values));
  const Value is_missing =
      !of_ints && std::isnan(missing)
          ? f.Make<ten::IsNanOp>(x)
          : f.Make<ten::EqualOp>(
                x, f.Scalar(dtype, of_ints ? static_cast<double>(missing_int) : missing));
  return f.Return(f.Where(is_missing, made, x));
}

absl::Status ImportMlArrayFeatureExtractor(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  Formula f(node);
  Value x = node.input(0);
  const Formula::Dims dims = Formula::DimsOf(x), of_index = Formula::DimsOf(node.input(1));
  if (dims.empty()) return node.Error("ArrayFeatureExtractor needs at least one dimension");
  DimExpr count = f.One();
  for (const DimExpr dim : of_index) count = count * dim;
  if (dims.size() == 1) x = f.Reshape(x, {f.One(), dims[0]});
  const Value index = f.Reshape(node.input(1), {count});
  // A negative index is an error, which a gather would count from the end.
  const Value last = f.Sub(f.Extent(dims.back()), f.Scalar(DType::kI64, 1));
  const Value checked = f.CheckUpTo(index, last, "an index of ArrayFeatureExtractor");
  const int64_t axis = static_cast<int64_t>(std::max<size_t>(dims.size(), 2)) - 1;
  return f.Return(f.Make<ten::GatherOp>(x, checked, ten::GatherOp::Attrs{.axis = axis}));
}

absl::Status ImportMlFeatureVectorizer(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1 << 16));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const auto sizes, node.Ints("inputdimensions"));
  std::vector<Value> parts;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Value x = node.input(i);
    if (!x) return node.Error(fmt::format("input {} of FeatureVectorizer is missing", i));
    Formula::Dims dims = Formula::DimsOf(x);
    if (dims.empty() || dims.size() > 2) {
      return node.Unsupported(fmt::format("FeatureVectorizer of {}", x.type().text()),
                              "one or two dimensions");
    }
    if (dims.size() == 1) dims.insert(dims.begin(), f.One());
    if (sizes && (static_cast<int>(sizes->size()) != node.num_inputs() ||
                  (dims[1].is_constant() && !dims[1].is_constant((*sizes)[i])))) {
      return node.Unsupported("FeatureVectorizer with other inputdimensions than its inputs have",
                              "the number of columns of each input");
    }
    if (sizes) dims[1] = node.Dim((*sizes)[i]);  // a run checks it
    parts.push_back(f.Reshape(f.Cast(x, DType::kF32), dims));
  }
  return f.Return(f.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 1}));
}

absl::Status ImportMlOneHotEncoder(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const auto ints, node.Ints("cats_int64s"));
  TENON_ASSIGN_OR_RETURN(const bool zeros, node.Flag("zeros", true));
  TENON_ASSIGN_OR_RETURN(const std::vector<std::string> words, Strings(node, "cats_strings"));
  if (ints.has_value() == HasStrings(node, 0) || ints.has_value() != words.empty()) {
    return node.Error("OneHotEncoder needs cats_int64s for numbers or cats_strings for strings");
  }
  const auto count = static_cast<int64_t>(ints ? ints->size() : words.size());
  Value x, cats;
  if (ints) {
    // As ONNX Runtime does, floats lose their fractions.
    x = f.Cast(node.input(0), DType::kI64);
    cats = Table(f, node, std::span(&count, 1), *ints);
  } else {
    TENON_ASSIGN_OR_RETURN(const Container strings, StringsInput(node, 0));
    TENON_ASSIGN_OR_RETURN(const Container table,
                           ConstantStrings(node, std::span(&count, 1), words));
    x = FindStrings(f, strings, table);
    cats = f.Iota(node.Dim(count), 0, 1);
  }
  TENON_RETURN_IF_ERROR(f.status());
  Formula::Dims dims = Formula::DimsOf(x);
  dims.push_back(f.One());
  Value hit = f.Make<ten::EqualOp>(f.Reshape(x, dims), cats);
  hit = f.Cast(hit, DType::kF32);
  if (!zeros) {
    // A number that is no category is an error then.
    const Value one = f.Scalar(DType::kI64, 1);
    const Value found = f.Cast(SumOfRows(f, hit), DType::kI64);
    const Value checked = f.CheckRange(found, one, one, "the number of categories of an element");
    hit = f.Mul(hit, f.Cast(checked, DType::kF32));
  }
  return f.Return(hit);
}

}  // namespace tenon::onnx::ml
