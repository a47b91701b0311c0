// apply-rules: applies the rules of a text file.
#include "transforms/passes.h"
#include "transforms/rule_phase.h"

namespace tenon {
namespace {

class ApplyRulesOfFile : public Pass {
 public:
  explicit ApplyRulesOfFile(const std::string& file) : phase_({}, false, {file}) {}
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    return phase_.Run(op, context);
  }

 private:
  RulePhase phase_;
};

}  // namespace

PassInfo ApplyRulesPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.options = {{.name = "file",
                   .type = PassOption::Type::kString,
                   .default_text = "",
                   .help = "rules as docs/writing-a-rule.md writes them",
                   .required = true}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<ApplyRulesOfFile>(values.GetString("file"));
  };
  return info;
}

}  // namespace tenon
