// fuse: applies the fusion rules, family by family: all, those of a list, or those of a stage of
// the order, which lets other passes work between two stages. The rules that a run is given are
// applied before the first family and behind each.
#include <fmt/format.h>

#include <algorithm>

#include "ir/core/context/diagnostic.h"
#include "transforms/passes.h"
#include "transforms/rules/rule_phase.h"

namespace tenon {
namespace {

// The families of phase `fuse` that lie in the stage, always in the order of families.def,
// whatever the order of the names.
absl::StatusOr<std::vector<const pattern::Family*>> FamiliesOf(const PassOptionValues& options) {
  const std::vector<std::string> names = options.GetStringList("rules");
  const std::string from = options.GetString("from"), before = options.GetString("before");
  std::vector<const pattern::Family*> families;
  bool in_stage = from.empty();
  for (const pattern::Family& family : pattern::Families()) {
    if (family.name == before) break;
    in_stage |= family.name == from;
    const bool named = names.empty()
                           ? family.when == pattern::Family::When::kAlways
                           : std::find(names.begin(), names.end(), family.name) != names.end();
    if (family.phase == "fuse" && in_stage && named) families.push_back(&family);
  }
  if (in_stage) return families;
  return absl::InvalidArgumentError(fmt::format(
      "fuse{{from={} before={}}} has no families: {} does not come behind {} in their order", from,
      before, before, from));
}

class Fuse : public Pass {
 public:
  Fuse(absl::StatusOr<std::vector<const pattern::Family*>> families, HostRules rules)
      : families_(std::move(families)), rules_(std::move(rules)) {}

  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    const absl::StatusOr<const GivenRules*> given =
        RuleCacheOf(context).FindGiven(rules_, context.rule_files, op->context());
    for (const absl::Status& status : {families_.status(), given.status()}) {
      if (!status.ok()) return EmitError(op->context(), Location(), std::string(status.message()));
    }
    return ApplyFamilies(*families_, *given == nullptr ? nullptr : &(*given)->fusion, op, context);
  }

 private:
  const absl::StatusOr<std::vector<const pattern::Family*>> families_;
  const HostRules rules_;
};

}  // namespace

PassInfo FusePassInfo() { return FusePassInfo(HostRules()); }

PassInfo FusePassInfo(HostRules rules) {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"dead", "operations without use, removed"},
                     {"folded", "operations folded in place"},
                     {"rewrites", "rewrites by rules"}};
  info.steps = PassSteps::kEach;
  std::vector<std::string> names;
  for (const pattern::Family& family : pattern::Families()) {
    if (family.phase == "fuse") names.emplace_back(family.name);
  }
  info.options = {{"rules", PassOption::Type::kStringList, "",
                   "families to apply (none given: all but those on request)", names},
                  {"from", PassOption::Type::kString, "",
                   "only this family and those behind it in their order", names},
                  {"before", PassOption::Type::kString, "",
                   "only families in front of this one in their order", names}};
  info.create = [rules = std::move(rules)](const PassOptionValues& values) {
    return std::make_unique<Fuse>(FamiliesOf(values), rules);
  };
  return info;
}

}  // namespace tenon
