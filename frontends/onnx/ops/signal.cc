// Signal processing: Fourier transforms, windows and filters of mel frequencies.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/formula.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// A result with more elements fits no memory.
constexpr double kMostElements = 0x1p48;

absl::StatusOr<DType> WindowType(const Node& node) {
  TENON_ASSIGN_OR_RETURN(const int64_t type,
                         node.Int("output_datatype", onnxpb::TensorProto::FLOAT));
  const DType dtype =
      type == static_cast<int32_t>(type) ? DTypeOf(static_cast<int32_t>(type)) : DType::kInvalid;
  if (dtype != DType::kInvalid && dtype != DType::kBool) return dtype;
  return node.Unsupported(fmt::format("{} with the output_datatype {}", node.op_type(), type),
                          "floats of 16 to 64 bits or integers of 8 to 64 bits");
}

// Input i, which must have one element, as a scalar.
Value OneElement(Formula& f, const Node& node, int i, DType dtype) {
  const Value x = node.input(i);
  return f.Cast(x.type().rank() == 0 ? x : f.Reshape(x, {}), dtype);
}

// Input i as a scalar of i64, checked at run time; `what` names it.
Value Count(Formula& f, const Node& node, int i, double low, std::string what) {
  return f.CheckRange(OneElement(f, node, i, DType::kI64), f.Scalar(DType::kI64, low),
                      f.Scalar(DType::kI64, kMostElements), std::move(what));
}

// 0, 1, … below `end`, as a vector of f64.
Value Steps(Formula& f, Value end) { return f.Cast(f.Steps(end), DType::kF64); }

// The window a - b * cos(x) + c * cos(2 * x), where x goes once around.
absl::Status CosineWindow(Node& node, double a, double b, double c) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const bool periodic, node.Flag("periodic", true));
  TENON_ASSIGN_OR_RETURN(const DType dtype, WindowType(node));
  Formula f(node);
  const auto number = [&](double value) { return f.Scalar(DType::kF64, value); };
  const Value size = Count(f, node, 0, 0, fmt::format("the size of {}", node.op_type()));
  const Value turn = f.Cast(periodic ? size : f.Sub(size, f.Scalar(DType::kI64, 1)), DType::kF64);
  const Value x = f.Div(f.Mul(Steps(f, size), number(2 * std::numbers::pi)), turn);
  Value y = f.Sub(number(a), f.Mul(f.Make<ten::CosOp>(x), number(b)));
  if (c != 0) {
    y = f.Add(y, f.Mul(f.Make<ten::CosOp>(f.Mul(x, number(2))), number(c)));
  }
  return f.Return(f.Cast(y, dtype));
}

}  // namespace

absl::Status ImportHannWindow(Node& node) { return CosineWindow(node, 0.5, 0.5, 0); }

absl::Status ImportHammingWindow(Node& node) { return CosineWindow(node, 25.0 / 46, 21.0 / 46, 0); }

absl::Status ImportBlackmanWindow(Node& node) { return CosineWindow(node, 0.42, 0.5, 0.08); }

// Triangles over the bins of a spectrum, whose corners lie at equal distances on the mel scale.
absl::Status ImportMelWeightMatrix(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(5, 5));
  TENON_ASSIGN_OR_RETURN(const DType dtype, WindowType(node));
  Formula f(node);
  const auto number = [&](double value) { return f.Scalar(DType::kF64, value); };
  const auto floats = [&](Value x) { return f.Cast(x, DType::kF64); };
  const Value mels = Count(f, node, 0, 0, "num_mel_bins of MelWeightMatrix");
  const Value length = Count(f, node, 1, 0, "dft_length of MelWeightMatrix");
  const Value rate = floats(Count(f, node, 2, 1, "sample_rate of MelWeightMatrix"));
  // 2595 * log10(1 + hertz / 700) is kScale * log(1 + hertz / 700).
  constexpr double kScale = 2595 / std::numbers::ln10, kBreak = 700;
  const auto mel = [&](int input) {
    const Value hertz = OneElement(f, node, input, DType::kF64);
    const Value ratio = f.Add(f.Div(hertz, number(kBreak)), number(1));
    return f.Mul(f.Make<ten::LogOp>(ratio), number(kScale));
  };
  const Value low = mel(3);
  const Value step = f.Div(f.Sub(mel(4), low), f.Add(floats(mels), number(2)));
  const Value filters = Steps(f, mels);
  const Value rows = f.Add(f.Div(length, f.Scalar(DType::kI64, 2)), f.Scalar(DType::kI64, 1));
  const Value bins = f.Along(Steps(f, rows), 0, 2);
  // The bin of corner `corner` of each filter.
  const auto edge = [&](double corner) {
    const Value at = f.Add(f.Mul(f.Add(filters, number(corner)), step), low);
    const Value power = f.Make<ten::ExpOp>(f.Div(at, number(kScale)));
    const Value hertz = f.Mul(f.Sub(power, number(1)), number(kBreak));
    const Value scaled = f.Mul(f.Add(floats(length), number(1)), hertz);
    return f.Make<ten::FloorOp>(f.Div(scaled, rate));
  };
  const Value lower = edge(0), center = edge(1), upper = edge(2);
  const auto from = [&](Value low_end) { return f.Make<ten::GreaterEqualOp>(bins, low_end); };
  const Value rising = f.And(from(lower), f.Make<ten::LessEqualOp>(bins, center));
  const Value falling = f.And(from(center), f.Make<ten::LessOp>(bins, upper));
  Value out = f.Where(rising, f.Div(f.Sub(bins, lower), f.Sub(center, lower)), number(0));
  // Without a rise, the center alone has the weight 1.
  out =
      f.Where(f.Make<ten::EqualOp>(lower, center), floats(f.Make<ten::EqualOp>(bins, center)), out);
  out = f.Where(falling, f.Div(f.Sub(upper, bins), f.Sub(upper, center)), out);
  return f.Return(f.Cast(out, dtype));
}

absl::Status ImportDFT(Node& node) {
  const bool axis_is_input = node.version() >= 20;
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, axis_is_input ? 3 : 2));
  const Value x = node.input(0);
  const int64_t rank = x.type().rank();
  if (rank < 2) return node.Error(fmt::format("DFT needs a rank of 2 or more, got {}", rank));
  ten::DftOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.inverse, node.Flag("inverse", false));
  TENON_ASSIGN_OR_RETURN(attrs.onesided, node.Flag("onesided", false));
  std::optional<int64_t> axis = -2;
  if (!axis_is_input) {
    TENON_ASSIGN_OR_RETURN(axis, node.Int("axis", 1));
  } else if (node.input(2)) {
    TENON_ASSIGN_OR_RETURN(const auto given, node.ConstantInts(2));
    if (given && given->size() != 1) return node.Error("the axis of DFT must be one element");
    axis = given ? std::optional(given->front()) : std::nullopt;
  }
  if (axis) {
    TENON_ASSIGN_OR_RETURN(attrs.axis, node.Axis(*axis, rank));
    if (attrs.axis == rank - 1) {
      return node.Error("DFT along the last axis, which holds the parts of numbers");
    }
  }
  std::optional<int64_t> length = 0;
  if (node.input(1)) {
    TENON_ASSIGN_OR_RETURN(const auto given, node.ConstantInts(1));
    if (given && (given->size() != 1 || given->front() < 1)) {
      return node.Error("the dft_length of DFT must be one element, 1 or more");
    }
    length = given ? std::optional(given->front()) : std::nullopt;
  }
  if (axis && length) {
    attrs.length = *length;
    return node.Return(node.Make<ten::DftOp>(x, attrs));
  }
  Formula f(node);
  const Value at = axis ? f.Scalar(DType::kI64, static_cast<double>(attrs.axis)) : node.input(2);
  Value result = f.Make<ten::DynamicDftOp>(
      x, at, node.input(1),
      ten::DynamicDftOp::Attrs{.inverse = attrs.inverse, .onesided = attrs.onesided});
  if (!axis || !f.ok()) return f.Return(result);
  // Only this axis and the last one have other extents than x.
  Formula::Dims dims = Formula::DimsOf(x);
  for (const int64_t i : {attrs.axis, rank - 1}) dims[i] = result.type().dim(i);
  result.set_type(WithDims(result.type(), dims));
  return f.Return(result);
}

// Transforms of frames: parts of the signal that begin every `frame_step` elements.
absl::Status ImportSTFT(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 4));
  const Value signal = node.input(0), window = node.input(2);
  TENON_ASSIGN_OR_RETURN(const bool onesided, node.Flag("onesided", true));
  if (signal.type().rank() != 3) {
    return node.Error(
        fmt::format("STFT needs a signal [batch, length, parts], got {}", signal.type().text()));
  }
  Formula f(node);
  const DimExpr extent = signal.type().dim(1);
  const Value whole = f.Extent(extent), one = f.Scalar(DType::kI64, 1);
  const auto check = [&](Value x, Value most, std::string what) {
    return f.CheckRange(x, one, most, std::move(what));
  };
  const Value step = check(OneElement(f, node, 1, DType::kI64),
                           f.Scalar(DType::kI64, kMostElements), "the frame_step of STFT");
  Value length = whole;
  if (node.input(3)) {
    length = OneElement(f, node, 3, DType::kI64);
  } else if (window && window.type().rank() == 1) {
    length = f.Extent(window.type().dim(0));
  }
  length = check(length, whole, "the frame_length of STFT");
  const Value count = f.Add(f.Div(f.Sub(whole, length), step), one);
  const Value starts = f.Mul(f.Steps(count), step), steps = f.Steps(length);
  if (!f.ok()) return f.status();
  const DimExpr frame = steps.type().dim(0);
  const Value at = f.Add(f.Along(starts, 0, 2), f.Along(steps, 1, 2));
  Value frames = f.Make<ten::GatherOp>(signal, at, ten::GatherOp::Attrs{.axis = 1});
  if (window) frames = f.Mul(frames, f.Along(window, 0, 2, frame));
  return f.Return(f.Make<ten::DftOp>(frames, ten::DftOp::Attrs{.axis = 2, .onesided = onesided}));
}

}  // namespace tenon::onnx
