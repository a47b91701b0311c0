// fuse: applies the fusion rules, family by family.
#include <algorithm>

#include "transforms/passes.h"
#include "transforms/rule_phase.h"

namespace tenon {
namespace {

class Fuse : public Pass {
 public:
  explicit Fuse(const std::vector<std::string>& names) : phase_(Families(names), true) {}

  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    return phase_.Run(op, context);
  }

 private:
  // Always in the order of families.def, whatever the order of the names.
  static std::vector<const pattern::Family*> Families(const std::vector<std::string>& names) {
    std::vector<const pattern::Family*> families;
    for (const pattern::Family& family : pattern::Families()) {
      bool wanted =
          names.empty() || std::find(names.begin(), names.end(), family.name) != names.end();
      if (family.phase == "fuse" && wanted) families.push_back(&family);
    }
    return families;
  }

  RulePhase phase_;
};

}  // namespace

PassInfo FusePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  PassOption rules = {"rules", PassOption::Type::kStringList, "",
                      "families to apply (none given: all)"};
  for (const pattern::Family& family : pattern::Families()) {
    if (family.phase == "fuse") rules.choices.emplace_back(family.name);
  }
  info.options = {std::move(rules)};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<Fuse>(values.GetStringList("rules"));
  };
  return info;
}

}  // namespace tenon
