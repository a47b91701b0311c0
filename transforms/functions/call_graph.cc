#include "transforms/functions/call_graph.h"

#include <memory>
#include <string_view>

#include "ir/core/block.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/dialect/func_ops.h"

namespace tenon {

CallGraph::CallGraph(Operation* root) {
  std::vector<Operation*> functions;
  root->WalkPreOrder([&](Operation* op) {
    if (Isa<func::FuncOp>(op) && !op->region().empty()) functions.push_back(op);
    return true;
  });
  for (Operation* function : functions) nodes_[function];
  for (Operation* function : functions) {
    function->WalkPreOrder([&](Operation* op) {
      Operation* const callee = FunctionAt(*op, CalleeOf(*op));
      if (callee == nullptr) return true;
      nodes_.at(function).calls.push_back({op, callee});
      nodes_.at(callee).callers.push_back(function);
      return true;
    });
  }
  FindRecursion(functions);
  Order(functions);
}

Operation* CallGraph::FunctionAt(const Operation& from, std::string_view path) const {
  if (path.empty()) return nullptr;
  Operation* found = nullptr;
  Operation* const table = NearestSymbolTable(from);
  if (table == nullptr || path.find("::@") != std::string_view::npos) {
    found = LookupSymbolFrom(from, path);
  } else {
    std::unique_ptr<SymbolTable>& symbols = tables_[table];
    if (symbols == nullptr) symbols = std::make_unique<SymbolTable>(table);
    found = symbols->Lookup(path);
  }
  return nodes_.contains(found) ? found : nullptr;
}

// Takes away functions that call none that is left, then functions that none that is left calls.
void CallGraph::FindRecursion(const std::vector<Operation*>& functions) {
  absl::flat_hash_map<Operation*, size_t> calls_left, callers_left;
  std::vector<Operation*> work;
  for (Operation* function : functions) {
    const Node& node = nodes_.at(function);
    calls_left[function] = node.calls.size();
    if (node.calls.empty()) work.push_back(function);
  }
  while (!work.empty()) {
    Node& node = nodes_.at(work.back());
    work.pop_back();
    node.recursive = false;
    for (Operation* caller : node.callers) {
      if (--calls_left.at(caller) == 0) work.push_back(caller);
    }
  }
  for (Operation* function : functions) {
    const Node& node = nodes_.at(function);
    size_t& left = callers_left[function];
    for (Operation* caller : node.callers) left += nodes_.at(caller).recursive ? 1 : 0;
    if (node.recursive && left == 0) work.push_back(function);
  }
  while (!work.empty()) {
    Node& node = nodes_.at(work.back());
    work.pop_back();
    node.recursive = false;
    for (const auto& [call, callee] : node.calls) {
      if (nodes_.at(callee).recursive && --callers_left.at(callee) == 0) work.push_back(callee);
    }
  }
}

void CallGraph::Order(const std::vector<Operation*>& functions) {
  absl::flat_hash_map<Operation*, size_t> left;
  std::vector<Operation*> ready;
  for (Operation* function : functions) {
    if (nodes_.at(function).recursive) order_.push_back(function);
  }
  for (Operation* function : functions) {
    const Node& node = nodes_.at(function);
    if (node.recursive) continue;
    size_t& count = left[function];
    for (const Call& call : node.calls) count += nodes_.at(call.callee).recursive ? 0 : 1;
    if (count == 0) ready.push_back(function);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    order_.push_back(ready[i]);
    for (Operation* caller : nodes_.at(ready[i]).callers) {
      const auto at = left.find(caller);
      if (at != left.end() && --at->second == 0) ready.push_back(caller);
    }
  }
}

bool CallGraph::MayRecurse(Operation* function) const {
  const auto found = nodes_.find(function);
  return found == nodes_.end() || found->second.recursive;
}

const std::vector<CallGraph::Call>& CallGraph::CallsIn(Operation* function) const {
  return nodes_.at(function).calls;
}

}  // namespace tenon
