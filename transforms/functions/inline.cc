// inline: puts the bodies of functions in the place of their calls.
#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/limits.h"
#include "ir/core/block.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/core/verify/symbol_uses.h"
#include "pass/analysis_manager.h"
#include "transforms/functions/call_graph.h"
#include "transforms/functions/inline_call.h"
#include "transforms/passes.h"
#include "transforms/shapes/dim_facts.h"

namespace tenon {
namespace {

int64_t OpsIn(Operation* function) {
  int64_t ops = 0;
  function->WalkPreOrder([&](Operation* /*op*/) {
    ++ops;
    return true;
  });
  return ops;
}

// Levels of regions inside of `op`, its own included.
int64_t LevelsIn(const Operation& op) {
  int64_t levels = 0;
  for (unsigned r = 0; r < op.num_regions(); ++r) {
    for (const Block& block : op.region(r)) {
      for (const Operation& inner : block) levels = std::max(levels, LevelsIn(inner));
    }
  }
  return levels + (op.num_regions() > 0 ? 1 : 0);
}

int64_t LevelsAround(const Operation& op) {
  int64_t levels = 0;
  for (const Operation* at = op.parent_op(); at != nullptr; at = at->parent_op()) ++levels;
  return levels;
}

// Symbols in the body mean what they mean where the function is.
bool KeepsSymbols(const Operation& call, Operation& callee) {
  if (NearestSymbolTable(call) == NearestSymbolTable(callee)) return true;
  bool has_symbols = false;
  callee.WalkPreOrder([&](Operation* op) {
    for (const Attribute slot : op->slots())
      has_symbols |= slot && slot.kind() == Attribute::Kind::kSymbolRef;
    return !has_symbols;
  });
  return !has_symbols;
}

// Operations of a module that copies may lead to. A chain of public functions would have the square
// of its length. The number does not depend on the module, so that a second run changes nothing.
constexpr int64_t kMaxModuleOps = 300'000;

class Inline : public Pass {
 public:
  explicit Inline(int64_t max_ops) : max_ops_(max_ops) {}

  absl::StatusOr<PassResult> Run(Operation* module, PassContext& context) override {
    graph_ = &context.analyses->Get<CallGraph>(module);
    size_.clear();
    references_.clear();
    inlined_.clear();
    copies_ = kMaxModuleOps - OpsIn(module);
    CountReferences(module);
    bool changed = false;
    // Callers first: what nothing calls any more then stays as it is.
    const std::vector<Operation*>& order = graph_->callees_first();
    for (auto it = order.rbegin(); it != order.rend(); ++it) changed |= InlineInto(*it, context);
    graph_ = nullptr;
    return PassResult{changed};
  }

 private:
  void CountReferences(Operation* module) {
    module->WalkPreOrder([&](Operation* op) {
      ForEachSymbolRef(*op, [&](std::string_view path) {
        if (Operation* const function = graph_->FunctionAt(*op, path)) ++references_[function];
      });
      return true;
    });
  }

  int64_t SizeOf(Operation* function) {
    const auto [at, inserted] = size_.try_emplace(function, 0);
    if (inserted) at->second = OpsIn(function);
    return at->second;
  }

  bool InlineInto(Operation* function, PassContext& context) {
    if (!IsPublicSymbol(*function) && inlined_.contains(function) && references_[function] == 0) {
      for (const auto& [call, callee] : graph_->CallsIn(function)) --references_[callee];
      return false;
    }
    std::vector<CallGraph::Call> calls = graph_->CallsIn(function);
    if (calls.empty()) return false;
    std::reverse(calls.begin(), calls.end());
    Caller caller(function);
    KeepInputs(*function, caller.facts);
    int64_t ops = SizeOf(function);
    bool changed = false;
    // The last one is the next one.
    while (!calls.empty()) {
      const auto [call, callee] = calls.back();
      calls.pop_back();
      const int64_t more = SizeOf(callee);
      if (const char* why = WhyNot(*function, *call, *callee, ops + more)) {
        context.statistics->Add(why);
        continue;
      }
      if (!InlineCall(call, callee, caller)) {
        context.statistics->Add("skipped-not-possible");
        continue;
      }
      ops += more;
      copies_ -= more;
      --references_[callee];
      inlined_.insert(callee);
      for (auto it = caller.calls.rbegin(); it != caller.calls.rend(); ++it) {
        Operation* const next = graph_->FunctionAt(**it, CalleeOf(**it));
        if (next == nullptr) continue;
        ++references_[next];
        calls.push_back({*it, next});
      }
      caller.calls.clear();
      changed = true;
      context.statistics->Add("calls-inlined");
    }
    if (changed) Resolve(function, caller.facts);
    size_[function] = ops;
    return changed;
  }

  // The statistic of a call that stays; null if it need not.
  const char* WhyNot(Operation& function, Operation& call, Operation& callee, int64_t ops) const {
    if (&callee == &function || graph_->MayRecurse(&callee)) return "skipped-recursive";
    if (LevelsAround(call) + LevelsIn(callee) >= kMaxNesting) return "skipped-too-deep";
    if (!KeepsSymbols(call, callee)) return "skipped-other-symbols";
    if (ops > max_ops_) return "skipped-too-large";
    if (size_.at(&callee) > copies_) return "skipped-too-many-copies";
    return nullptr;
  }

  static void KeepInputs(Operation& function, DimFacts& facts) {
    std::vector<std::string_view> symbols;
    Block& entry = function.region().front();
    for (unsigned i = 0; i < entry.num_arguments(); ++i) {
      const Type type = entry.argument(i).type();
      if (!type.is_tensor()) continue;
      for (DimExpr d : type.dims()) d.CollectSymbols(symbols);
    }
    for (std::string_view symbol : symbols) facts.Keep(symbol);
  }

  // Extents that the results of calls have named are those of what was returned.
  static void Resolve(Operation* function, const DimFacts& facts) {
    function->WalkPreOrder([&](Operation* op) {
      if (op != function) facts.Resolve(*op);
      for (unsigned r = 0; r < op->num_regions(); ++r) {
        for (Block& block : op->region(r)) facts.Resolve(block);
      }
      return true;
    });
  }

  int64_t max_ops_;
  const CallGraph* graph_ = nullptr;
  absl::flat_hash_map<Operation*, int64_t> size_;        // in operations
  absl::flat_hash_map<Operation*, int64_t> references_;  // to a function, except from dead ones
  absl::flat_hash_set<Operation*> inlined_;              // somewhere
  int64_t copies_ = 0;                                   // operations that may still be copied
};

}  // namespace

PassInfo InlinePassInfo() {
  PassInfo info;
  info.anchor = "builtin.module";
  info.statistics = {
      {"calls-inlined", "calls replaced by the body"},
      {"skipped-not-possible", "calls that check an extent of which the caller knows nothing"},
      {"skipped-other-symbols", "calls whose callee refers to other symbols of the same names"},
      {"skipped-recursive", "calls that may recurse"},
      {"skipped-too-deep", "calls in too many levels of nesting"},
      {"skipped-too-large", "calls beyond the size of a function"},
      {"skipped-too-many-copies", "calls beyond the size of a module"}};
  info.options = {{"max-ops", PassOption::Type::kCount, "100000",
                   "a call stays where its function would have more operations than that"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<Inline>(values.GetInt("max-ops"));
  };
  return info;
}

}  // namespace tenon
