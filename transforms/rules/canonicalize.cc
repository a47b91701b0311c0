// canonicalize: one form for what can be written in several ways; folds; removes dead operations.
#include "transforms/passes.h"
#include "transforms/rules/rule_phase.h"

namespace tenon {
namespace {

class Canonicalize : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    return ApplyFamilies(families_, nullptr, op, context);
  }

 private:
  static std::vector<const pattern::Family*> Families() {
    std::vector<const pattern::Family*> families;
    for (const pattern::Family& family : pattern::Families()) {
      if (family.phase == "canonicalize") families.push_back(&family);
    }
    // Scores leave views of views behind, which the general rules then join.
    families.push_back(pattern::FindFamily("canonicalize"));
    return families;
  }

  const std::vector<const pattern::Family*> families_ = Families();
};

}  // namespace

PassInfo CanonicalizePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"dead", "operations without use, removed"},
                     {"folded", "operations folded in place"},
                     {"rewrites", "rewrites by rules"}};
  info.steps = PassSteps::kEach;
  info.create = [](const PassOptionValues&) { return std::make_unique<Canonicalize>(); };
  return info;
}

}  // namespace tenon
