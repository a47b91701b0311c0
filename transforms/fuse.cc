// fuse: applies the fusion rules, family by family.
#include <algorithm>

#include "transforms/passes.h"
#include "transforms/rule_phase.h"

namespace tenon {
namespace {

class Fuse : public Pass {
 public:
  Fuse(const std::vector<std::string>& names, std::vector<drr::Rule> first)
      : phase_(Families(names), true) {
    phase_.ApplyFirst(std::move(first));
  }

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

PassInfo FusePassInfo() { return FusePassInfo(std::vector<drr::Rule>()); }

PassInfo FusePassInfo(std::vector<drr::Rule> rules) {
  PassInfo info;
  info.anchor = "func.func";
  PassOption families = {"rules", PassOption::Type::kStringList, "",
                         "families to apply (none given: all)"};
  for (const pattern::Family& family : pattern::Families()) {
    if (family.phase == "fuse") families.choices.emplace_back(family.name);
  }
  info.options = {std::move(families)};
  info.create = [rules = std::move(rules)](const PassOptionValues& values) {
    return std::make_unique<Fuse>(values.GetStringList("rules"), rules);
  };
  return info;
}

}  // namespace tenon
