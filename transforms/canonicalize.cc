// canonicalize: one form for what can be written in several ways; folds; removes dead operations.
#include "transforms/passes.h"
#include "transforms/rule_phase.h"

namespace tenon {
namespace {

class Canonicalize : public Pass {
 public:
  Canonicalize() : phase_({pattern::FindFamily("canonicalize")}) {}
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    return phase_.Run(op, context);
  }

 private:
  RulePhase phase_;
};

}  // namespace

PassInfo CanonicalizePassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.create = [](const PassOptionValues&) { return std::make_unique<Canonicalize>(); };
  return info;
}

}  // namespace tenon
