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

// A node's name; "<OpType>:<first output>" for an unnamed one.
std::string NodeName(const onnxpb::NodeProto& node);

struct GraphOrder {
  std::vector<int> nodes;  // indices; the file's order wherever that is possible
  NameSet used;            // names that a node, or a graph within one, reads
};

// What exists before the first node.
struct Surroundings {
  // Is a name defined, in the graph or around it?
  std::function<bool(const std::string&)> is_visible;
  // Is it defined in the graph itself, so that a node must not define it again?
  std::function<bool(const std::string&)> is_own;
};

// The error names a node that reads an undefined value, a value defined twice, or the nodes of a
// cycle.
absl::StatusOr<GraphOrder> OrderNodes(const NodeList& nodes, const Surroundings& surroundings);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_GRAPH_ORDER_H_
