// Random numbers, and what draws them.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/control/loop_body.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/random_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Dims = Formula::Dims;

// Reads the seed, if the node has one, and gives the node its own stream.
template <typename Attrs>
absl::Status ReadSeed(Node& node, Attrs& attrs) {
  attrs.stream = node.importer().NextStream();
  if (node.Find("seed") == nullptr) return absl::OkStatus();
  if (AttributeTypeOf(*node.Find("seed")) == onnxpb::AttributeProto::INT) {
    TENON_ASSIGN_OR_RETURN(const int64_t seed, node.Int("seed", 0));
    attrs.seed = static_cast<double>(seed);
    return absl::OkStatus();
  }
  TENON_ASSIGN_OR_RETURN(attrs.seed, node.Float("seed", 0.0f));
  return absl::OkStatus();
}

// Reads `dtype`; `otherwise` if it is absent.
absl::StatusOr<DType> ReadDType(const Node& node, DType otherwise) {
  if (node.Find("dtype") == nullptr) return otherwise;
  TENON_ASSIGN_OR_RETURN(const int64_t number, node.Int("dtype", 0));
  const auto type = static_cast<int32_t>(number);
  const DType dtype = number == type ? DTypeOf(type) : DType::kInvalid;
  if (dtype == DType::kInvalid) {
    return node.Unsupported(fmt::format("{} of {}", node.op_type(), OnnxTypeName(type)),
                            "a type of numbers or booleans");
  }
  return dtype;
}

absl::StatusOr<Value> Uniform(Node& node, const Dims& dims, DType dtype) {
  random::UniformOp::Attrs attrs{.shape = dims, .to = dtype};
  TENON_RETURN_IF_ERROR(ReadSeed(node, attrs));
  return node.Make<random::UniformOp>(attrs);
}

absl::Status DrawUniform(Node& node, const Dims& dims, DType dtype) {
  random::UniformOp::Attrs attrs{.shape = dims, .to = dtype};
  TENON_ASSIGN_OR_RETURN(attrs.low, node.Float("low", 0.0f));
  TENON_ASSIGN_OR_RETURN(attrs.high, node.Float("high", 1.0f));
  TENON_RETURN_IF_ERROR(ReadSeed(node, attrs));
  return node.Return(node.Make<random::UniformOp>(attrs));
}

absl::Status DrawNormal(Node& node, const Dims& dims, DType dtype) {
  random::NormalOp::Attrs attrs{.shape = dims, .to = dtype};
  TENON_ASSIGN_OR_RETURN(attrs.mean, node.Float("mean", 0.0f));
  TENON_ASSIGN_OR_RETURN(attrs.scale, node.Float("scale", 1.0f));
  TENON_RETURN_IF_ERROR(ReadSeed(node, attrs));
  return node.Return(node.Make<random::NormalOp>(attrs));
}

using DrawFn = absl::Status (*)(Node& node, const Dims& dims, DType dtype);

absl::Status DrawFloats(Node& node, const Dims& dims, DType dtype, DrawFn draw) {
  if (IsFloat(dtype)) return draw(node, dims, dtype);
  return node.Unsupported(fmt::format("{} of {}", node.op_type(), Name(dtype)),
                          "a floating-point type");
}

// A node whose attributes say the shape.
absl::Status DrawShape(Node& node, DrawFn draw) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(0, 0));
  TENON_ASSIGN_OR_RETURN(const auto shape, node.Ints("shape"));
  if (!shape) return node.Error(fmt::format("{} needs the attribute \"shape\"", node.op_type()));
  Dims dims;
  for (int64_t extent : *shape) dims.push_back(node.Dim(extent));
  TENON_ASSIGN_OR_RETURN(const DType dtype, ReadDType(node, DType::kF32));
  return DrawFloats(node, dims, dtype, draw);
}

// A node that draws as many numbers as its input has elements.
absl::Status DrawLike(Node& node, DrawFn draw) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Type type = node.input(0).type();
  TENON_ASSIGN_OR_RETURN(const DType dtype, ReadDType(node, type.dtype()));
  return DrawFloats(node, Formula::DimsOf(node.input(0)), dtype, draw);
}

// The type in which probabilities of this type are compared with random numbers.
DType DrawType(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

}  // namespace

absl::Status ImportRandomNormal(Node& node) { return DrawShape(node, DrawNormal); }
absl::Status ImportRandomNormalLike(Node& node) { return DrawLike(node, DrawNormal); }
absl::Status ImportRandomUniform(Node& node) { return DrawShape(node, DrawUniform); }
absl::Status ImportRandomUniformLike(Node& node) { return DrawLike(node, DrawUniform); }

absl::Status ImportBernoulli(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value x = node.input(0);
  TENON_ASSIGN_OR_RETURN(const DType dtype, ReadDType(node, x.type().dtype()));
  const DType type = DrawType(x.type().dtype());
  TENON_ASSIGN_OR_RETURN(const Value drawn, Uniform(node, Formula::DimsOf(x), type));
  Formula f(node);
  return f.Return(f.Cast(f.Make<ten::LessOp>(drawn, f.Cast(x, type)), dtype));
}

// A draw takes the first class whose running sum of probabilities is above a random number.
absl::Status ImportMultinomial(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value x = node.input(0);
  if (x.type().rank() != 2) {
    return node.Error(
        fmt::format("the input of Multinomial is {} (expected rank 2)", x.type().text()));
  }
  TENON_ASSIGN_OR_RETURN(const int64_t count, node.Int("sample_size", 1));
  if (count < 0) {
    return node.Error(
        fmt::format("Multinomial has the sample_size {} (expected 0 or more)", count));
  }
  TENON_ASSIGN_OR_RETURN(const DType dtype, ReadDType(node, DType::kI32));
  const DType type = DrawType(x.type().dtype());
  const DimExpr batch = x.type().dim(0), classes = x.type().dim(1), one = node.Dim(1);
  TENON_ASSIGN_OR_RETURN(const Value drawn, Uniform(node, {batch, node.Dim(count), one}, type));
  Formula f(node);
  const Value weights = f.Make<nn::SoftmaxOp>(f.Cast(x, type), nn::SoftmaxOp::Attrs{.axis = 1});
  const Value sums = f.Make<ten::CumsumOp>(weights, ten::CumsumOp::Attrs{.axis = 1});
  // The last sum need not be 1. A draw below it is below it also after rounding.
  const Value sum = f.Make<ten::ReduceMaxOp>(sums, ten::ReduceMaxOp::Attrs{.axes = {1}});
  const Value place = f.Mul(drawn, f.Reshape(sum, {batch, one, one}));
  const Value passed = f.Make<ten::LessEqualOp>(f.Reshape(sums, {batch, one, classes}), place);
  Value classes_passed = f.Make<ten::ReduceSumOp>(
      f.Cast(passed, DType::kI64), ten::ReduceSumOp::Attrs{.axes = {2}, .keepdims = false});
  // Without a class there is nothing to draw.
  if (!DimExpr::ProvablyLessEqual(one, classes)) {
    classes_passed =
        f.CheckUpTo(classes_passed, f.Extent(classes + node.Dim(-1)), "a class of Multinomial");
  }
  return f.Return(f.Cast(classes_passed, dtype));
}

// In inference the input, and a mask that keeps everything. In training each element is kept with
// the probability 1 - ratio, and scaled so that the expected value stays.
absl::Status ImportDropout(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 3));
  for (const char* name : {"ratio", "seed", "is_test"}) node.MarkRead(name);
  const Value x = node.input(0);
  Formula f(node);
  std::optional<double> training = 0.0, ratio;
  if (node.input(2)) {
    TENON_ASSIGN_OR_RETURN(training, node.ConstantScalar(2));
    TENON_ASSIGN_OR_RETURN(ratio, node.ConstantScalar(1));
  }
  const bool keeps_all = (node.input(1) && ratio && *ratio == 0) || (training && *training == 0);
  if (keeps_all) {
    TENON_RETURN_IF_ERROR(node.Return(x));
    if (!node.IsOutputUsed(1)) return absl::OkStatus();
    // Until opset 10 the mask was of the input's type.
    const DType dtype = node.version() < 10 ? x.type().dtype() : DType::kBool;
    return f.Return(f.Expand(f.Scalar(dtype, 1), Formula::DimsOf(x)), 1);
  }
  const DType type = DrawType(x.type().dtype());
  Value rate = f.Scalar(type, 0.5);
  if (node.input(1)) {
    TENON_ASSIGN_OR_RETURN(const Value given, ToScalar(node, node.input(1)));
    rate = f.Cast(given, type);
    if (ratio && !(*ratio >= 0 && *ratio < 1)) {
      return node.Error(
          fmt::format("the ratio of Dropout is {} (expected at least 0 and less than 1)", *ratio));
    }
    if (!ratio) {
      const double most =
          type == DType::kF64 ? std::nextafter(1.0, 0.0) : std::nextafter(1.0f, 0.0f);
      rate = f.CheckRange(rate, f.Scalar(type, 0), f.Scalar(type, most), "the ratio of Dropout");
    }
  }
  TENON_ASSIGN_OR_RETURN(const Value drawn, Uniform(node, Formula::DimsOf(x), type));
  const Value one = f.Scalar(type, 1);
  Value kept = f.Make<ten::GreaterEqualOp>(drawn, rate);
  Value factor = f.Div(one, f.Sub(one, rate));
  if (!training) {
    TENON_ASSIGN_OR_RETURN(const Value trains, ToScalar(node, node.input(2)));
    kept = f.Make<ten::OrOp>(kept, f.Make<ten::NotOp>(trains));
    factor = f.Where(trains, factor, one);
  }
  const DType dtype = x.type().dtype();
  const Value scaled = f.Mul(x, f.Cast(factor, dtype));
  TENON_RETURN_IF_ERROR(f.Return(f.Where(kept, scaled, f.Scalar(dtype, 0))));
  return node.IsOutputUsed(1) ? f.Return(kept, 1) : absl::OkStatus();
}

}  // namespace tenon::onnx
