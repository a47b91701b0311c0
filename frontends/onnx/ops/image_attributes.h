// Attributes of operations on images.
#ifndef TENON_FRONTENDS_ONNX_OPS_IMAGE_ATTRIBUTES_H_
#define TENON_FRONTENDS_ONNX_OPS_IMAGE_ATTRIBUTES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/onnx/node.h"
#include "ir/dialect/nn_ops.h"

namespace tenon::onnx {

// Returns the `count` numbers of a list attribute, none below `min`. All are `default_value` if it
// is absent or empty.
absl::StatusOr<std::vector<int64_t>> SpatialList(const Node& node, std::string_view name,
                                                 size_t count, int64_t default_value, int64_t min);

// Reads the attributes of Conv and its quantized forms. An error if they contradict the weights
// `w`.
absl::StatusOr<nn::ConvOp::Attrs> ReadConv(const Node& node, Value w);

// Imports Col2Im with sizes that only a run knows.
absl::Status ImportCol2ImAtRunTime(Node& node);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_IMAGE_ATTRIBUTES_H_
