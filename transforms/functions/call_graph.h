// Which functions of a module call which.
#ifndef TENON_TRANSFORMS_FUNCTIONS_CALL_GRAPH_H_
#define TENON_TRANSFORMS_FUNCTIONS_CALL_GRAPH_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/core/operation.h"
#include "ir/core/verify/symbol_table.h"

namespace tenon {

// The functions inside of `root`, those of nested modules included. A snapshot.
class CallGraph {
 public:
  // A call and the function with a body that it runs.
  struct Call {
    Operation *op, *callee;
  };
  explicit CallGraph(Operation* root);
  // All functions with a body. A function comes behind those that it calls, except those that may
  // recurse.
  const std::vector<Operation*>& callees_first() const { return order_; }
  // True if `function` may call itself, directly or not. Also true for a function between two that
  // do.
  bool MayRecurse(Operation* function) const;
  // The calls in the body of a function whose callee is known, in the order of the text.
  const std::vector<Call>& CallsIn(Operation* function) const;
  // The function with a body that the symbol `path` names, as seen from `from`, which may be newer
  // than the snapshot. Null if there is none. Reads each table of symbols once: not thread-safe.
  Operation* FunctionAt(const Operation& from, std::string_view path) const;

 private:
  struct Node {
    std::vector<Call> calls;
    std::vector<Operation*> callers;  // functions, once for each call
    bool recursive = true;
  };
  void FindRecursion(const std::vector<Operation*>& functions);
  void Order(const std::vector<Operation*>& functions);
  absl::flat_hash_map<Operation*, Node> nodes_;
  mutable absl::flat_hash_map<Operation*, std::unique_ptr<SymbolTable>> tables_;
  std::vector<Operation*> order_;
};

}  // namespace tenon

#endif  // TENON_TRANSFORMS_FUNCTIONS_CALL_GRAPH_H_
