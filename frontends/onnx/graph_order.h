// The order in which the nodes of a graph can be imported.
#ifndef TENON_FRONTENDS_ONNX_GRAPH_ORDER_H_
#define TENON_FRONTENDS_ONNX_GRAPH_ORDER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/onnx.pb.h"

namespace tenon::onnx {

using NodeList = google::protobuf::RepeatedPtrField<onnxpb::NodeProto>;
using NameSet = absl::flat_hash_set<std::string>;

// Returns a node's name; "<OpType>:<first output>" for an unnamed one.
std::string NodeName(const onnxpb::NodeProto& node);

// Adds the names that a node reads, those that its graphs capture included.
void CollectReads(const onnxpb::NodeProto& node, NameSet& reads);
// Returns the names that a node reads, those that its graphs capture included.
NameSet ReadsOf(const onnxpb::NodeProto& node);

// The result of OrderNodes.
struct GraphOrder {
  std::vector<int> nodes;  // indices; in the order of the file where possible
  NameSet used;            // names that a node, or a graph inside of it, reads
};

// What exists before the first node.
struct Surroundings {
  // Whether a name is defined, in the graph or around it.
  std::function<bool(const std::string&)> is_visible;
  // Whether a name is defined in the graph itself, so that no node may define it again.
  std::function<bool(const std::string&)> is_own;
};

// Returns an order. The error names a node that reads an undefined value, a value that is defined
// twice, or the nodes of a cycle.
absl::StatusOr<GraphOrder> OrderNodes(const NodeList& nodes, const Surroundings& surroundings);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_GRAPH_ORDER_H_
