// inline: puts the bodies of functions in the place of their calls, callees first.
#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/core/block.h"
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

class Inline : public Pass {
 public:
  explicit Inline(int64_t max_ops) : max_ops_(max_ops) {}

  absl::StatusOr<PassResult> Run(Operation* module, PassContext& context) override {
    const CallGraph graph(module);
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
        const int64_t more = size.at(callee);
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
