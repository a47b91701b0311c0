#include "pass/analysis_manager.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "ir/base/check.h"

namespace tenon {

// The analyses of one op. Nodes for ops without analyses lie on the way to others.
struct AnalysisManager::Node {
  explicit Node(Operation* of) : op(of) {}

  void Drop(const PreservedAnalyses& preserved) {
    std::erase_if(analyses, [&](const auto& entry) {
      const std::vector<TypeId>& needs = entry.second->needs;
      return entry.second->IsStale(entry.first, preserved) ||
             std::any_of(needs.begin(), needs.end(),
                         [&](TypeId need) { return !preserved.Has(need); });
    });
  }

  Operation* op;
  std::vector<std::pair<TypeId, std::unique_ptr<AnyHolder>>> analyses;  // few
  absl::flat_hash_map<Operation*, std::shared_ptr<Node>> inside;
};

AnalysisManager::AnalysisManager(Operation* root) : root_(std::make_shared<Node>(root)) {}

std::vector<Operation*> AnalysisManager::PathTo(Operation* op) const {
  std::vector<Operation*> path;
  for (; op != root_->op; op = op->parent_op()) {
    TENON_CHECK_MSG(op != nullptr, "analysis of an operation outside of the one that is changed");
    path.push_back(op);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

AnalysisManager::AnyHolder* AnalysisManager::FindRaw(Operation* op, TypeId type) {
  const Node* node = root_.get();
  for (Operation* step : PathTo(op)) {
    const auto next = node->inside.find(step);
    if (next == node->inside.end()) return nullptr;
    node = next->second.get();
  }
  const auto found = std::find_if(node->analyses.begin(), node->analyses.end(),
                                  [&](const auto& entry) { return entry.first == type; });
  if (found == node->analyses.end()) return nullptr;
  AnyHolder* const holder = found->second.get();
  if (!building_.empty()) {
    std::vector<TypeId>& needs = building_.back();
    needs.push_back(type);
    needs.insert(needs.end(), holder->needs.begin(), holder->needs.end());
  }
  return holder;
}

void AnalysisManager::Keep(Operation* op, TypeId type, std::unique_ptr<AnyHolder> made) {
  made->needs = std::move(building_.back());
  building_.pop_back();
  Nested(op).root_->analyses.emplace_back(type, std::move(made));
  FindRaw(op, type);  // what is being made around it needs it too
}

void AnalysisManager::InvalidateAround(Operation* op, const PreservedAnalyses& preserved) {
  if (preserved.all()) return;
  Node* node = root_.get();
  for (Operation* step : PathTo(op)) {
    node->Drop(preserved);
    const auto next = node->inside.find(step);
    if (next == node->inside.end()) return;
    node = next->second.get();
  }
}

void AnalysisManager::Invalidate(Operation* op, const PreservedAnalyses& preserved) {
  if (preserved.all()) return;
  InvalidateAround(op, preserved);
  Node& node = *Nested(op).root_;
  node.Drop(preserved);
  // Ops inside may be gone, and others lie where they were.
  node.inside.clear();
}

AnalysisManager AnalysisManager::Nested(Operation* op) {
  std::shared_ptr<Node> node = root_;
  for (Operation* step : PathTo(op)) {
    std::shared_ptr<Node>& next = node->inside[step];
    if (next == nullptr) next = std::make_shared<Node>(step);
    node = next;
  }
  AnalysisManager nested(*this);
  nested.root_ = std::move(node);
  nested.building_.clear();
  return nested;
}

}  // namespace tenon
