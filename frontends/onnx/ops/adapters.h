// Functions that import ONNX ops, by op type.
#ifndef TENON_FRONTENDS_ONNX_OPS_ADAPTERS_H_
#define TENON_FRONTENDS_ONNX_OPS_ADAPTERS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tenon::onnx {

class Node;

// Imports a node: creates ops and sets the outputs of the node. All present inputs are ranked
// tensors. Errors have been reported. Unimplemented means that there is no counterpart, so that the
// node becomes an opaque op.
using AdapterFn = absl::Status (*)(Node& node);

// Returns the first opset whose attributes the adapter of this op reads; 1 for most ops.
int64_t MinOpset(std::string_view op_type);
// The newest opset that the adapters know.
inline constexpr int64_t kNewestOpset = 28;

// Returns the adapter of an op of the standard domain; null if there is none.
AdapterFn FindAdapter(std::string_view op_type);
// Returns true for an operator that ONNX Runtime has and ONNX has not: those of com.microsoft, and
// SimplifiedLayerNormalization, which exporters put into the standard domain.
bool IsOfOnnxRuntime(std::string_view domain, std::string_view op_type);
// Returns true for a domain besides the standard one whose ops have adapters: "com.microsoft".
bool HasAdapters(std::string_view domain);
// Returns the adapter of an op of such a domain; null if there is none.
AdapterFn FindAdapterOf(std::string_view domain, std::string_view op_type);
// Returns all op types of the standard domain that have an adapter, sorted.
std::vector<std::string_view> AdaptedOps();

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_ADAPTERS_H_
