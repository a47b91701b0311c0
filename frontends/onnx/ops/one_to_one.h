// Importing ops that exist in Tenon under another name.
#ifndef TENON_FRONTENDS_ONNX_OPS_ONE_TO_ONE_H_
#define TENON_FRONTENDS_ONNX_OPS_ONE_TO_ONE_H_

#include <string_view>

#include "absl/status/status.h"

namespace tenon::onnx {

class Node;

// Creates the op `op_name` from the node's inputs and attributes of the same names. Requires that
// the op has single operands only, which the code generator checks, and the same defaults as ONNX.
absl::Status ImportOneToOne(Node& node, std::string_view op_name);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_ONE_TO_ONE_H_
