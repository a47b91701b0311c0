// Convolution, pooling, sampling and softmax.
#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/node.h"
#include "frontends/onnx/ops/image_attributes.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// What convolution and pooling share.
struct Window {
  std::vector<int64_t> strides, pads, dilations;
  std::string auto_pad;
};

absl::StatusOr<Window> ReadWindow(const Node& node, size_t spatial) {
  Window window;
  TENON_ASSIGN_OR_RETURN(window.strides, SpatialList(node, "strides", spatial, 1, 1));
  TENON_ASSIGN_OR_RETURN(window.dilations, SpatialList(node, "dilations", spatial, 1, 1));
  TENON_ASSIGN_OR_RETURN(window.pads, SpatialList(node, "pads", 2 * spatial, 0, 0));
  TENON_ASSIGN_OR_RETURN(window.auto_pad, node.Str("auto_pad", "NOTSET"));
  if (window.auto_pad == "NOTSET" || window.auto_pad.empty()) {
    window.auto_pad = "NOTSET";
    return window;
  }
  std::fill(window.pads.begin(), window.pads.end(), 0);
  if (window.auto_pad == "VALID") {
    window.auto_pad = "NOTSET";
  } else if (window.auto_pad != "SAME_UPPER" && window.auto_pad != "SAME_LOWER") {
    return node.Error(
        fmt::format("auto_pad of {} is \"{}\" (expected NOTSET, VALID, SAME_UPPER or SAME_LOWER)",
                    node.op_type(), window.auto_pad));
  }
  return window;
}

absl::StatusOr<size_t> SpatialRank(const Node& node, Value value) {
  const int64_t rank = value.type().rank();
  if (rank < 3) {
    return node.Error(fmt::format("{} needs an input of rank 3 or more, got {}", node.op_type(),
                                  value.type().text()));
  }
  return static_cast<size_t>(rank - 2);
}

template <typename Op>
absl::StatusOr<typename Op::Attrs> ReadPool(const Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const size_t spatial, SpatialRank(node, node.input(0)));
  TENON_ASSIGN_OR_RETURN(Window window, ReadWindow(node, spatial));
  typename Op::Attrs attrs;
  if (node.Find("kernel_shape") == nullptr) {
    return node.Error(fmt::format("{} needs the attribute \"kernel_shape\"", node.op_type()));
  }
  TENON_ASSIGN_OR_RETURN(attrs.kernel, SpatialList(node, "kernel_shape", spatial, 1, 1));
  TENON_ASSIGN_OR_RETURN(attrs.ceil_mode, node.Flag("ceil_mode", false));
  attrs.strides = std::move(window.strides);
  attrs.pads = std::move(window.pads);
  attrs.dilations = std::move(window.dilations);
  attrs.auto_pad = std::move(window.auto_pad);
  return attrs;
}

// Before opset 13 softmax runs over all axes from `axis` on, as if they were one.
template <typename Op>
absl::Status ImportSoftmaxLike(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const Value x = node.input(0);
  const std::span<const DimExpr> dims = x.type().dims();
  const int64_t rank = static_cast<int64_t>(dims.size());
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", node.version() < 13 ? 1 : -1));
  if (rank == 0) return node.Error(fmt::format("{} of a scalar", node.op_type()));
  // The old default is an axis behind the last one for a vector.
  if (node.version() < 13 && axis == rank) axis = rank - 1;
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, rank));
  const bool single =
      node.version() >= 13 ||
      std::all_of(dims.begin() + axis + 1, dims.end(), [](DimExpr d) { return d.is_constant(1); });
  if (single) return node.Return(node.Make<Op>(x, typename Op::Attrs{.axis = axis}));
  ten::ReshapeOp::Attrs flat, back;
  flat.shape.assign(dims.begin(), dims.begin() + axis);
  flat.shape.push_back(Product(node.context(), dims.subspan(axis)));
  back.shape.assign(dims.begin(), dims.end());
  TENON_ASSIGN_OR_RETURN(Value result, node.Make<ten::ReshapeOp>(x, flat));
  TENON_ASSIGN_OR_RETURN(result, node.Make<Op>(result, typename Op::Attrs{.axis = axis}));
  return node.Return(node.Make<ten::ReshapeOp>(result, back));
}

}  // namespace

absl::StatusOr<nn::ConvOp::Attrs> ReadConv(const Node& node, Value w) {
  TENON_ASSIGN_OR_RETURN(const size_t spatial, SpatialRank(node, w));
  TENON_ASSIGN_OR_RETURN(Window window, ReadWindow(node, spatial));
  TENON_ASSIGN_OR_RETURN(const auto kernel, node.Ints("kernel_shape"));
  for (size_t i = 0; kernel && i < kernel->size(); ++i) {
    const DimExpr dim = i < spatial ? w.type().dim(static_cast<int64_t>(i) + 2) : DimExpr();
    if (kernel->size() != spatial || (dim.is_constant() && dim.constant() != (*kernel)[i])) {
      return node.Error(fmt::format("kernel_shape of {} contradicts its weights {}", node.op_type(),
                                    w.type().text()));
    }
  }
  nn::ConvOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.group, node.Int("group", 1));
  attrs.strides = std::move(window.strides);
  attrs.pads = std::move(window.pads);
  attrs.dilations = std::move(window.dilations);
  attrs.auto_pad = std::move(window.auto_pad);
  return attrs;
}

absl::Status ImportConv(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TENON_ASSIGN_OR_RETURN(const nn::ConvOp::Attrs attrs, ReadConv(node, node.input(1)));
  return node.Return(node.Make<nn::ConvOp>(node.input(0), node.input(1), node.input(2), attrs));
}

absl::Status ImportMaxPool(Node& node) {
  TENON_ASSIGN_OR_RETURN(const nn::MaxPoolOp::Attrs attrs, ReadPool<nn::MaxPoolOp>(node));
  TENON_ASSIGN_OR_RETURN(const bool column_major, node.Flag("storage_order", false));
  if (!node.IsOutputUsed(1)) return node.Return(node.Make<nn::MaxPoolOp>(node.input(0), attrs));
  TENON_ASSIGN_OR_RETURN(const Value out, node.Make<nn::MaxPoolWithIndicesOp>(
                                              node.input(0), nn::MaxPoolWithIndicesOp::Attrs{
                                                                 .kernel = attrs.kernel,
                                                                 .strides = attrs.strides,
                                                                 .pads = attrs.pads,
                                                                 .dilations = attrs.dilations,
                                                                 .ceil_mode = attrs.ceil_mode,
                                                                 .auto_pad = attrs.auto_pad,
                                                                 .column_major = column_major}));
  node.SetOutput(1, out.defining_op()->result(1));
  return node.Return(out);
}

absl::Status ImportLpPool(Node& node) {
  TENON_ASSIGN_OR_RETURN(nn::LpPoolOp::Attrs attrs, ReadPool<nn::LpPoolOp>(node));
  TENON_ASSIGN_OR_RETURN(attrs.p, node.Int("p", 2));
  if (attrs.p < 1)
    return node.Error(fmt::format("LpPool has the order {} (expected 1 or more)", attrs.p));
  return node.Return(node.Make<nn::LpPoolOp>(node.input(0), attrs));
}

absl::Status ImportConvTranspose(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  const Value x = node.input(0), w = node.input(1);
  TENON_ASSIGN_OR_RETURN(const size_t spatial, SpatialRank(node, w));
  TENON_ASSIGN_OR_RETURN(Window window, ReadWindow(node, spatial));
  node.MarkRead("kernel_shape");  // the weights'
  nn::ConvTransposeOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.group, node.Int("group", 1));
  TENON_ASSIGN_OR_RETURN(attrs.output_padding, SpatialList(node, "output_padding", spatial, 0, 0));
  TENON_ASSIGN_OR_RETURN(const auto output_shape, node.Ints("output_shape"));
  if (x.type().rank() != w.type().rank()) {
    return node.Error(
        fmt::format("ConvTranspose of {} with weights {}", x.type().text(), w.type().text()));
  }
  const bool upper = window.auto_pad == "SAME_UPPER",
             same = upper || window.auto_pad == "SAME_LOWER";
  const bool given = output_shape && !output_shape->empty();
  if (given && output_shape->size() != spatial && output_shape->size() != spatial + 2) {
    return node.Error(
        fmt::format("the output_shape of ConvTranspose has {} elements", output_shape->size()));
  }
  for (size_t i = 0; (given || same) && i < spatial; ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    const DimExpr extent = x.type().dim(axis);
    const DimExpr span = (w.type().dim(axis) - 1) * window.dilations[i] + 1;
    const DimExpr full = (extent - 1) * window.strides[i] + span + attrs.output_padding[i];
    const DimExpr wanted = given ? node.Dim((*output_shape)[output_shape->size() - spatial + i])
                                 : extent * window.strides[i];
    const DimExpr total = full - wanted;
    if (!total.is_constant()) {
      return node.Opaque(
          fmt::format(
              "ConvTranspose with {} needs a constant extent of axis {} of the input, which "
              "is {}",
              given ? "output_shape" : "auto_pad", axis, x.type().text()),
          "a constant extent, or the attribute pads");
    }
    // What is missing at the end is output padding.
    const int64_t pads = std::max<int64_t>(0, total.constant());
    attrs.output_padding[i] += pads - total.constant();
    window.pads[i] = upper ? pads / 2 : pads - pads / 2;
    window.pads[spatial + i] = pads - window.pads[i];
  }
  attrs.strides = std::move(window.strides);
  attrs.pads = std::move(window.pads);
  attrs.dilations = std::move(window.dilations);
  return node.Return(node.Make<nn::ConvTransposeOp>(x, w, node.input(2), attrs));
}

absl::Status ImportGridSample(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  nn::GridSampleOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.mode, node.Str("mode", node.version() < 20 ? "bilinear" : "linear"));
  TENON_ASSIGN_OR_RETURN(attrs.padding, node.Str("padding_mode", "zeros"));
  TENON_ASSIGN_OR_RETURN(attrs.align_corners, node.Flag("align_corners", false));
  if (attrs.mode == "bilinear") attrs.mode = "linear";
  if (attrs.mode == "bicubic") attrs.mode = "cubic";
  if (attrs.mode != "linear" && attrs.mode != "nearest" && attrs.mode != "cubic") {
    return node.Error(fmt::format(
        "GridSample has the mode \"{}\" (expected linear, nearest or cubic)", attrs.mode));
  }
  if (attrs.padding != "zeros" && attrs.padding != "border" && attrs.padding != "reflection") {
    return node.Error(
        fmt::format("GridSample has the padding_mode \"{}\" (expected zeros, border or reflection)",
                    attrs.padding));
  }
  return node.Return(node.Make<nn::GridSampleOp>(node.input(0), node.input(1), attrs));
}

absl::Status ImportAveragePool(Node& node) {
  TENON_ASSIGN_OR_RETURN(nn::AveragePoolOp::Attrs attrs, ReadPool<nn::AveragePoolOp>(node));
  TENON_ASSIGN_OR_RETURN(attrs.count_include_pad, node.Flag("count_include_pad", false));
  return node.Return(node.Make<nn::AveragePoolOp>(node.input(0), attrs));
}

absl::Status ImportSoftmax(Node& node) { return ImportSoftmaxLike<nn::SoftmaxOp>(node); }
absl::Status ImportHardmax(Node& node) { return ImportSoftmaxLike<nn::HardmaxOp>(node); }
absl::Status ImportLogSoftmax(Node& node) { return ImportSoftmaxLike<nn::LogSoftmaxOp>(node); }

}  // namespace tenon::onnx
