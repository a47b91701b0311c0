#include "frontends/onnx/ops/image_attributes.h"

#include <fmt/format.h>

#include "ir/base/check.h"

namespace tenon::onnx {

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

}  // namespace tenon::onnx
