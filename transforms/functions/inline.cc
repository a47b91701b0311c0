// inline: puts the bodies of functions in the place of their calls, callees first.
#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/base/limits.h"
#include "ir/core/block.h"
#include "ir/core/verify/symbol_table.h"
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

class Inline : public Pass {
 public:
  explicit Inline(int64_t max_ops) : max_ops_(max_ops) {}

  absl::StatusOr<PassResult> Run(Operation* module, PassContext& context) override {
    const CallGraph& graph = context.analyses->Get<CallGraph>(module);
    absl::flat_hash_map<Operation*, int64_t> size;
    bool changed = false;
    for (Operation* function : graph.callees_first()) {
      int64_t& ops = size[function] = OpsIn(function);
      DimFacts facts;
      KeepInputs(*function, facts);
      bool inlined = false;
      for (const auto& [call, callee] : graph.CallsIn(function)) {
        if (callee == function || graph.MayRecurse(callee)) {
          context.statistics->Add("skipped-recursive");
          continue;
        }
        if (LevelsAround(*call) + LevelsIn(*callee) >= kMaxNesting) {
          context.statistics->Add("skipped-too-deep");
          continue;
        }
        if (!KeepsSymbols(*call, *callee)) {
          context.statistics->Add("skipped-other-symbols");
          continue;
        }
        // Functions that recurse come before the ones that they call.
        const auto known = size.find(callee);
        const int64_t more = known != size.end() ? known->second : OpsIn(callee);
        if (ops + more > max_ops_) {
          context.statistics->Add("skipped-too-large");
          continue;
        }
        if (!InlineCall(call, callee, facts)) {
          context.statistics->Add("skipped-not-possible");
          continue;
        }
        ops += more;
        inlined = true;
        context.statistics->Add("calls-inlined");
      }
      if (inlined) Resolve(function, facts);
      changed |= inlined;
    }
    return PassResult{changed};
  }

 private:
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
};

}  // namespace

PassInfo InlinePassInfo() {
  PassInfo info;
  info.anchor = "builtin.module";
  info.options = {{"max-ops", PassOption::Type::kCount, "100000",
                   "a call stays where its function would have more operations than that"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<Inline>(values.GetInt("max-ops"));
  };
  return info;
}

}  // namespace tenon
