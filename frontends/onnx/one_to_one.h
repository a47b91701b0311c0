// Import of ops that are one of ours under another name.
#ifndef TENON_FRONTENDS_ONNX_ONE_TO_ONE_H_
#define TENON_FRONTENDS_ONNX_ONE_TO_ONE_H_

#include <string_view>

#include "absl/status/status.h"

namespace tenon::onnx {

class Node;

// Makes the op `op_name` from the node's inputs and the attributes of the same names. REQUIRES: the
// op has single operands only, and its defaults are ONNX's (the code generator checks the first).
absl::Status ImportOneToOne(Node& node, std::string_view op_name);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_ONE_TO_ONE_H_
