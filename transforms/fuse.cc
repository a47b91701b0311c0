// fuse: applies the fusion rules, family by family: all, those of a list, or those of a stage of
// the order, which lets other passes work between two stages.
#include <fmt/format.h>

#include <algorithm>

#include "ir/core/diagnostic.h"
#include "transforms/passes.h"
#include "transforms/rule_phase.h"

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
    const bool named =
        names.empty() || std::find(names.begin(), names.end(), family.name) != names.end();
    if (family.phase == "fuse" && in_stage && named) families.push_back(&family);
  }
  if (in_stage) return families;
  return absl::InvalidArgumentError(fmt::format(
      "fuse{{from={} before={}}} has no families: {} does not come behind {} in their order", from,
      before, before, from));
}

class Fuse : public Pass {
 public:
  Fuse(absl::StatusOr<std::vector<const pattern::Family*>> families, std::vector<drr::Rule> first)
      : status_(families.status()),
        phase_(families.ok() ? *std::move(families) : std::vector<const pattern::Family*>(), true) {
    phase_.ApplyFirst(std::move(first));
  }

  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    if (!status_.ok()) {
      return EmitError(op->context(), Location(), std::string(status_.message()));
    }
    return phase_.Run(op, context);
  }

 private:
  absl::Status status_;
  RulePhase phase_;
};

}  // namespace

PassInfo FusePassInfo() { return FusePassInfo(std::vector<drr::Rule>()); }

PassInfo FusePassInfo(std::vector<drr::Rule> rules) {
  PassInfo info;
  info.anchor = "func.func";
  std::vector<std::string> names;
  for (const pattern::Family& family : pattern::Families()) {
    if (family.phase == "fuse") names.emplace_back(family.name);
  }
  info.options = {
      {"rules", PassOption::Type::kStringList, "", "families to apply (none given: all)", names},
      {"from", PassOption::Type::kString, "", "only this family and those behind it in their order",
       names},
      {"before", PassOption::Type::kString, "", "only families in front of this one in their order",
       names}};
  info.create = [rules = std::move(rules)](const PassOptionValues& values) {
    return std::make_unique<Fuse>(FamiliesOf(values), rules);
  };
  return info;
}

}  // namespace tenon
