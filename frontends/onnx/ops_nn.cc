// Convolution, pooling, normalisation, softmax.
#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/node.h"
#include "ir/core/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// What convolution and pooling share.
struct Window {
  std::vector<int64_t> strides, pads, dilations;
  std::string auto_pad;
};

absl::StatusOr<std::vector<int64_t>> SpatialList(const Node& node, std::string_view name,
                                                 size_t count, int64_t default_value, int64_t min) {
  TENON_ASSIGN_OR_RETURN(auto values, node.Ints(name));
  if (!values || (values->empty() && count > 0)) return std::vector<int64_t>(count, default_value);
  if (values->size() != count) {
    return node.Error(fmt::format("attribute \"{}\" of {} has {} elements, {} were expected", name,
                                  node.op_type(), values->size(), count));
  }
  for (int64_t value : *values) {
    if (value < min) {
      return node.Error(fmt::format("attribute \"{}\" of {} contains {}, less than {}", name,
                                    node.op_type(), value, min));
    }
  }
  return *std::move(values);
}

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
    return node.Error(fmt::format("auto_pad of {} is \"{}\"", node.op_type(), window.auto_pad));
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

absl::Status ImportConv(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  const Value w = node.input(1);
  TENON_ASSIGN_OR_RETURN(const size_t spatial, SpatialRank(node, w));
  TENON_ASSIGN_OR_RETURN(Window window, ReadWindow(node, spatial));
  TENON_ASSIGN_OR_RETURN(const auto kernel, node.Ints("kernel_shape"));
  for (size_t i = 0; kernel && i < kernel->size(); ++i) {
    const DimExpr dim = i < spatial ? w.type().dim(static_cast<int64_t>(i) + 2) : DimExpr();
    if (kernel->size() != spatial || (dim.is_constant() && dim.constant() != (*kernel)[i])) {
      return node.Error(
          fmt::format("kernel_shape of Conv contradicts its weights {}", w.type().text()));
    }
  }
  nn::ConvOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.group, node.Int("group", 1));
  attrs.strides = std::move(window.strides);
  attrs.pads = std::move(window.pads);
  attrs.dilations = std::move(window.dilations);
  attrs.auto_pad = std::move(window.auto_pad);
  return node.Return(node.Make<nn::ConvOp>(node.input(0), w, node.input(2), attrs));
}

absl::Status ImportMaxPool(Node& node) {
  TENON_RETURN_IF_ERROR(node.OnlyOutputsBefore(1, "the index output of MaxPool"));
  node.MarkRead("storage_order");
  TENON_ASSIGN_OR_RETURN(const nn::MaxPoolOp::Attrs attrs, ReadPool<nn::MaxPoolOp>(node));
  return node.Return(node.Make<nn::MaxPoolOp>(node.input(0), attrs));
}

absl::Status ImportAveragePool(Node& node) {
  TENON_ASSIGN_OR_RETURN(nn::AveragePoolOp::Attrs attrs, ReadPool<nn::AveragePoolOp>(node));
  TENON_ASSIGN_OR_RETURN(attrs.count_include_pad, node.Flag("count_include_pad", false));
  return node.Return(node.Make<nn::AveragePoolOp>(node.input(0), attrs));
}

absl::Status ImportBatchNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(5, 5));
  TENON_RETURN_IF_ERROR(node.OnlyOutputsBefore(1, "a statistics output of BatchNormalization"));
  TENON_ASSIGN_OR_RETURN(const bool training, node.Flag("training_mode", false));
  TENON_ASSIGN_OR_RETURN(const bool spatial, node.Flag("spatial", true));
  node.MarkRead("momentum");
  if (training || !spatial) {
    return node.Unsupported(training ? "BatchNormalization in training mode"
                                     : "BatchNormalization with spatial = 0");
  }
  nn::BatchNormOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-5f));
  for (int i = 1; i < 5; ++i) {
    if (node.input(i).type().dtype() != node.input(0).type().dtype()) {
      return node.Unsupported("BatchNormalization with mixed element types");
    }
  }
  return node.Return(node.Make<nn::BatchNormOp>(node.input(0), node.input(1), node.input(2),
                                                node.input(3), node.input(4), attrs));
}

absl::Status ImportLayerNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TENON_RETURN_IF_ERROR(node.OnlyOutputsBefore(1, "a statistics output of LayerNormalization"));
  node.MarkRead("stash_type");
  nn::LayerNormOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", -1));
  TENON_ASSIGN_OR_RETURN(attrs.axis, node.Axis(axis, node.input(0).type().rank()));
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-5f));
  return node.Return(
      node.Make<nn::LayerNormOp>(node.input(0), node.input(1), node.input(2), attrs));
}

absl::Status ImportRMSNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  node.MarkRead("stash_type");
  if (node.input(1).type().dtype() != node.input(0).type().dtype()) {
    return node.Unsupported("RMSNormalization with a scale of another element type");
  }
  nn::RmsNormOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", -1));
  TENON_ASSIGN_OR_RETURN(attrs.axis, node.Axis(axis, node.input(0).type().rank()));
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-5f));
  return node.Return(node.Make<nn::RmsNormOp>(node.input(0), node.input(1), attrs));
}

absl::Status ImportSoftmax(Node& node) { return ImportSoftmaxLike<nn::SoftmaxOp>(node); }
absl::Status ImportLogSoftmax(Node& node) { return ImportSoftmaxLike<nn::LogSoftmaxOp>(node); }

}  // namespace tenon::onnx
