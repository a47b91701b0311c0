// final-rules: applies the rules that a run is given, in files and by a host, once more, and those
// of them that wait for the end.
#include "ir/core/context/diagnostic.h"
#include "transforms/passes.h"
#include "transforms/rules/rule_phase.h"

namespace tenon {
namespace {

class FinalRules : public Pass {
 public:
  explicit FinalRules(HostRules rules) : rules_(std::move(rules)) {}

  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    const absl::StatusOr<const GivenRules*> given =
        RuleCacheOf(context).FindGiven(rules_, context.rule_files, op->context());
    if (!given.ok())
      return EmitError(op->context(), Location(), std::string(given.status().message()));
    if (*given == nullptr) return PassResult();
    return ApplyAndLog((*given)->all, op, context);
  }

 private:
  const HostRules rules_;
};

}  // namespace

PassInfo FinalRulesPassInfo() { return FinalRulesPassInfo(HostRules()); }

PassInfo FinalRulesPassInfo(HostRules rules) {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"dead", "operations without use, removed"},
                     {"folded", "operations folded in place"},
                     {"rewrites", "rewrites by rules"}};
  info.steps = PassSteps::kEach;
  info.create = [rules = std::move(rules)](const PassOptionValues&) {
    return std::make_unique<FinalRules>(rules);
  };
  return info;
}

}  // namespace tenon
