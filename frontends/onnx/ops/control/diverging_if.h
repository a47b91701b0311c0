// An If whose branches give values of different ranks or element types. Internal to the importer.
#ifndef TENON_FRONTENDS_ONNX_OPS_CONTROL_DIVERGING_IF_H_
#define TENON_FRONTENDS_ONNX_OPS_CONTROL_DIVERGING_IF_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/onnx/graph_importer.h"

namespace tenon::onnx {

// The nodes of a graph that come after one that is imported.
struct Following {
  // What has become of a node. Blocked: it waits for an If that is imported.
  enum class State : uint8_t { kWaiting, kImported, kBlocked };

  const NodeList& nodes;       // of the graph
  std::span<const int> order;  // indices of those that come after
  const NameSet& returned;     // names that the graph returns
  std::vector<State>& states;  // by index
};

// Imports an If, and each node that reads a value on whose rank or element type its branches do not
// agree. Such a node becomes a part of both branches. Nodes that do not depend on the If come
// before it. Returns false, and creates no If, if a value of that kind is returned or has another
// reader that cannot be in the branches.
absl::StatusOr<bool> ImportDivergingIf(Node& node, Scope& scope, OpBuilder& builder,
                                       const Frame& frame, const Following& following);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_CONTROL_DIVERGING_IF_H_
