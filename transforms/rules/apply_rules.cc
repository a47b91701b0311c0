// apply-rules: applies the rules of a text file.
#include "ir/core/context/diagnostic.h"
#include "transforms/passes.h"
#include "transforms/rules/rule_phase.h"

namespace tenon {
namespace {

// All of them at once, whatever stage they say: the pipeline says when.
class ApplyRulesOfFile : public Pass {
 public:
  explicit ApplyRulesOfFile(std::string file) : files_{std::move(file)} {}
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    const absl::StatusOr<const GivenRules*> rules =
        cache_.FindGiven(nullptr, files_, op->context());
    if (!rules.ok())
      return EmitError(op->context(), Location(), std::string(rules.status().message()));
    if (*rules == nullptr) return PassResult();
    return ApplyAndLog((*rules)->all, op, context);
  }

 private:
  const std::vector<std::string> files_;
  RuleCache cache_;  // its own: that of a run holds the rules that the run is given
};

}  // namespace

PassInfo ApplyRulesPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"dead", "operations without use, removed"},
                     {"folded", "operations folded in place"},
                     {"rewrites", "rewrites by rules"}};
  info.steps = PassSteps::kEach;
  info.options = {{.name = "file",
                   .type = PassOption::Type::kString,
                   .default_text = "",
                   .help = "rules as docs/guide/write-a-rule.md writes them",
                   .required = true}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<ApplyRulesOfFile>(values.GetString("file"));
  };
  return info;
}

}  // namespace tenon
