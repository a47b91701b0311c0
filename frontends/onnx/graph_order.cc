#include "frontends/onnx/graph_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

#include "absl/container/flat_hash_map.h"

namespace tenon::onnx {
namespace {

using onnxpb::AttributeProto;
using onnxpb::GraphProto;
using onnxpb::NodeProto;

void CollectFreeNames(const GraphProto& graph, NameSet& free) {
  NameSet reads;
  for (const NodeProto& node : graph.node()) CollectReads(node, reads);
  for (const auto& output : graph.output()) reads.insert(output.name());
  for (const auto& input : graph.input()) reads.erase(input.name());
  for (const auto& tensor : graph.initializer()) reads.erase(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) reads.erase(tensor.values().name());
  for (const NodeProto& node : graph.node()) {
    for (const std::string& name : node.output()) reads.erase(name);
  }
  free.insert(reads.begin(), reads.end());
}

}  // namespace

void CollectReads(const NodeProto& node, NameSet& reads) {
  for (const std::string& name : node.input()) {
    if (!name.empty()) reads.insert(name);
  }
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) CollectFreeNames(attribute.g(), reads);
    for (const GraphProto& graph : attribute.graphs()) CollectFreeNames(graph, reads);
  }
}

namespace {

class Sorter {
 public:
  explicit Sorter(const NodeList& nodes) : nodes_(nodes), inputs_(nodes.size()) {}

  absl::StatusOr<GraphOrder> Run(const Surroundings& surroundings) {
    absl::flat_hash_map<std::string, int> producers;
    for (int i = 0; i < nodes_.size(); ++i) {
      for (const std::string& name : nodes_[i].output()) {
        if (name.empty()) continue;
        if (!producers.emplace(name, i).second || surroundings.is_own(name)) {
          return absl::InvalidArgumentError(
              fmt::format("node \"{}\" defines the value \"{}\", which exists already",
                          NodeName(nodes_[i]), name));
        }
      }
    }
    GraphOrder order;
    std::vector<std::vector<int>> users(nodes_.size());
    std::vector<int> missing(nodes_.size(), 0);
    for (int i = 0; i < nodes_.size(); ++i) {
      NameSet reads;
      CollectReads(nodes_[i], reads);
      for (const std::string& name : reads) {
        if (auto it = producers.find(name); it != producers.end()) {
          users[it->second].push_back(i);
          inputs_[i].push_back(it->second);
          ++missing[i];
        } else if (!surroundings.is_visible(name)) {
          undefined_.insert(name);
        }
      }
      if (!undefined_.empty()) return Undefined(nodes_[i]);
      order.used.insert(reads.begin(), reads.end());
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (int i = 0; i < nodes_.size(); ++i) {
      if (missing[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const int at = ready.top();
      ready.pop();
      order.nodes.push_back(at);
      for (int user : users[at]) {
        if (--missing[user] == 0) ready.push(user);
      }
    }
    if (order.nodes.size() < static_cast<size_t>(nodes_.size())) return Cycle(missing);
    return order;
  }

 private:
  absl::Status Undefined(const NodeProto& node) const {
    // The alphabetically first, so that the message is always the same.
    const std::string& name = *std::min_element(undefined_.begin(), undefined_.end());
    return absl::InvalidArgumentError(fmt::format(
        "node \"{}\" reads the value \"{}\", which nothing defines", NodeName(node), name));
  }

  // Every node left over reads from another one left over: following these reads leads into a
  // cycle.
  absl::Status Cycle(const std::vector<int>& missing) {
    std::vector<int> seen(nodes_.size(), -1), path;
    int at = 0;
    while (missing[at] == 0) ++at;
    while (seen[at] < 0) {
      seen[at] = static_cast<int>(path.size());
      path.push_back(at);
      int next = -1;
      for (int input : inputs_[at]) {
        if (missing[input] > 0 && (next < 0 || input < next)) next = input;
      }
      at = next;
    }
    std::string text = fmt::format("\"{}\"", NodeName(nodes_[at]));
    constexpr size_t kMaxShown = 8;
    const size_t length = path.size() - seen[at];
    for (size_t i = 0; i < length; ++i) {
      if (i == kMaxShown) {
        text += fmt::format(" <- … {} more", length - i);
        break;
      }
      text +=
          fmt::format(" <- \"{}\"", NodeName(nodes_[i + 1 < length ? path[seen[at] + i + 1] : at]));
    }
    return absl::InvalidArgumentError(
        fmt::format("the graph has a cycle, each node reads from the next: {}", text));
  }

  const NodeList& nodes_;
  std::vector<std::vector<int>> inputs_;  // producers of what each node reads
  NameSet undefined_;
};

}  // namespace

NameSet ReadsOf(const NodeProto& node) {
  NameSet reads;
  CollectReads(node, reads);
  return reads;
}

std::string NodeName(const NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return fmt::format("{}:{}", node.op_type(), output);
  }
  return node.op_type();
}

absl::StatusOr<GraphOrder> OrderNodes(const NodeList& nodes, const Surroundings& surroundings) {
  return Sorter(nodes).Run(surroundings);
}

}  // namespace tenon::onnx
