// fuse: applies the fusion rules, family by family.
#include <algorithm>

#include "fmt/format.h"
#include "ir/core/diagnostic.h"
#include "transforms/passes.h"
#include "transforms/rule_phase.h"

namespace tenon {
namespace {

class Fuse : public Pass {
 public:
  explicit Fuse(std::vector<std::string> names)
      : names_(std::move(names)), phase_(Families(names_)) {}

  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    for (const std::string& name : names_) {
      const pattern::Family* family = pattern::FindFamily(name);
      if (family == nullptr || family->phase != "fuse") {
        std::string known;
        for (const pattern::Family& f : pattern::Families()) {
          if (f.phase == "fuse") known += fmt::format("{}{}", known.empty() ? "" : ", ", f.name);
        }
        return EmitError(op->context(), op->location(),
                         fmt::format("fuse: no family of rules '{}' (there are: {})", name, known));
      }
    }
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

  std::vector<std::string> names_;
  RulePhase phase_;
};

}  // namespace

PassInfo FusePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.options = {
      {"rules", PassOption::Type::kStringList, "", "families to apply (none given: all)"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<Fuse>(values.GetStringList("rules"));
  };
  return info;
}

}  // namespace tenon
