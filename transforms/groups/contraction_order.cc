#include "transforms/groups/contraction_order.h"

#include <algorithm>

#include "ir/base/check.h"
#include "ir/dialect/ctl.h"

namespace tenon {
namespace {

constexpr size_t kMaxVisited = 256;            // nodes of one search
constexpr int kMaxUses = 32;                   // of a node's results, when its readers are asked
constexpr uint64_t kLabelStride = 1ull << 40;  // between neighbours, when labels are given anew

}  // namespace

ContractionOrder::ContractionOrder(Block& block)
    : block_(block), captured_(CapturedInBlock(block)) {
  block_.Renumber();
  for (Operation& op : block_) {
    const size_t node = nodes_.size();
    node_of_.push_back(node);
    nodes_.emplace_back().ops.push_back(&op);
    if (node > 0) {
      nodes_[node].prev = node - 1;
      nodes_[node - 1].next = node;
    }
  }
  if (!nodes_.empty()) first_ = 0;
  Relabel();
}

bool ContractionOrder::CanContract(size_t a, size_t b) {
  if (nodes_[b].label < nodes_[a].label) std::swap(a, b);
  return NothingReadsBetween(a, b) || Between(a, b).has_value();
}

void ContractionOrder::Contract(size_t a, size_t b) {
  const bool in_order = nodes_[a].label < nodes_[b].label;
  const size_t earlier = in_order ? a : b, later = in_order ? b : a;
  size_t place = later;
  if (!NothingReadsBetween(earlier, later)) {
    place = earlier;
    std::optional<std::vector<size_t>> between = Between(earlier, later);
    TENON_CHECK(between.has_value());
    std::sort(between->begin(), between->end(),
              [this](size_t x, size_t y) { return nodes_[x].label < nodes_[y].label; });
    for (const size_t node : *between) {
      Unlink(node);
      LinkBefore(node, earlier);
    }
  }
  if (place == b) {
    Unlink(a);
    LinkBefore(a, b);
  }
  Unlink(b);
  std::vector<Operation*>& ops = nodes_[a].ops;
  const auto position = [](const Operation* op) { return op->position_after_renumbering(); };
  for (Operation* op : nodes_[b].ops) {
    node_of_[position(op)] = a;
    ops.push_back(op);
  }
  nodes_[b].ops.clear();
  std::sort(ops.begin(), ops.end(),
            [&](Operation* x, Operation* y) { return position(x) < position(y); });
}

bool ContractionOrder::NothingReadsBetween(size_t earlier, size_t later) const {
  int uses = 0;
  for (const Operation* op : nodes_[earlier].ops) {
    for (unsigned i = 0; i < op->num_results(); ++i) {
      for (const OpOperand& use : op->result(i).uses()) {
        if (++uses > kMaxUses) return false;
        const Operation* reader = use.owner();
        while (reader != nullptr && reader->block() != &block_) reader = reader->parent_op();
        if (reader == nullptr) continue;  // another block of the region, which runs later
        const size_t node = NodeOf(reader);
        if (node != earlier && nodes_[node].label < nodes_[later].label) return false;
      }
    }
  }
  return true;
}

std::optional<std::vector<size_t>> ContractionOrder::Between(size_t earlier, size_t later) {
  const uint64_t search = ++searches_;
  const uint64_t lowest = nodes_[earlier].label;
  std::vector<size_t> found;
  bool needs_earlier = false;
  size_t from = later;
  const auto visit = [&](size_t node) {
    if (node == earlier) needs_earlier |= from != later;
    if (nodes_[node].label <= lowest || node == later || nodes_[node].seen == search) return;
    nodes_[node].seen = search;
    found.push_back(node);
  };
  VisitReads(later, visit);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found.size() > kMaxVisited) return std::nullopt;
    from = found[i];
    VisitReads(from, visit);
    if (needs_earlier) return std::nullopt;
  }
  return found;
}

template <typename Visit>
void ContractionOrder::VisitReads(size_t node, Visit visit) const {
  const auto read = [&](Value value) {
    const Operation* op = value.defining_op();
    if (op != nullptr && op->block() == &block_) visit(NodeOf(op));
  };
  for (const Operation* op : nodes_[node].ops) {
    for (const OpOperand& operand : op->operands()) read(operand.get());
    if (op->num_regions() == 0) continue;
    const auto captured = captured_.find(op);
    if (captured == captured_.end()) continue;
    for (const Value value : captured->second) read(value);
  }
}

void ContractionOrder::Unlink(size_t node) {
  Node& n = nodes_[node];
  (n.prev != kNone ? nodes_[n.prev].next : first_) = n.next;
  if (n.next != kNone) nodes_[n.next].prev = n.prev;
  n.prev = n.next = kNone;
}

// Several nodes often go before the same one, each behind the one before: most of the room between
// the labels is left for those that follow.
void ContractionOrder::LinkBefore(size_t node, size_t next) {
  Node& n = nodes_[node];
  n.next = next;
  n.prev = nodes_[next].prev;
  nodes_[next].prev = node;
  (n.prev != kNone ? nodes_[n.prev].next : first_) = node;
  const uint64_t low = n.prev != kNone ? nodes_[n.prev].label : 0;
  const uint64_t room = nodes_[next].label - low;
  if (room < 2) return Relabel();
  n.label = low + std::max<uint64_t>(1, room / 256);
}

void ContractionOrder::Relabel() {
  uint64_t label = 0;
  for (size_t node = first_; node != kNone; node = nodes_[node].next) {
    nodes_[node].label = label += kLabelStride;
  }
}

}  // namespace tenon
