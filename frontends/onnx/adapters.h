// From ONNX op types to functions that import them.
#ifndef TENON_FRONTENDS_ONNX_ADAPTERS_H_
#define TENON_FRONTENDS_ONNX_ADAPTERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tenon::onnx {

class Node;

// Imports a node: makes ops, sets the node's outputs. All inputs that are present are ranked
// tensors. Its errors have been reported; Unimplemented means: no counterpart, make it an opaque
// op.
using AdapterFn = absl::Status (*)(Node& node);

// Ops that are read from an older opset on than 1: what came before had other attributes.
int64_t MinOpset(std::string_view op_type);
// Adapters know what changed up to here.
inline constexpr int64_t kNewestOpset = 28;

// The adapter of an op of the standard domain; null if there is none.
AdapterFn FindAdapter(std::string_view op_type);
// The adapter of an op of the domain com.microsoft; null if there is none.
AdapterFn FindMicrosoftAdapter(std::string_view op_type);
// All op types of the standard domain with an adapter, sorted.
std::vector<std::string_view> AdaptedOps();

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_ADAPTERS_H_
