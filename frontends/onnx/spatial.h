// Attributes of operations on images.
#ifndef TENON_FRONTENDS_ONNX_SPATIAL_H_
#define TENON_FRONTENDS_ONNX_SPATIAL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/onnx/node.h"
#include "ir/dialect/nn_ops.h"

namespace tenon::onnx {

// The `count` numbers of a list attribute, none below `min`; all are `default_value` where it is
// absent or empty.
absl::StatusOr<std::vector<int64_t>> SpatialList(const Node& node, std::string_view name,
                                                 size_t count, int64_t default_value, int64_t min);

// The attributes of Conv and of its quantised forms, whose weights are w; an error if they
// contradict it.
absl::StatusOr<nn::ConvOp::Attrs> ReadConv(const Node& node, Value w);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_SPATIAL_H_
