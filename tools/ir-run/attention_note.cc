#include "tools/ir-run/attention_note.h"

#include <algorithm>
#include <string_view>

#include "drr/compile/compiled.h"
#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "ir/core/context/context.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "patterns/shared_rules.h"

namespace tenon::ir_run {
namespace {

// How far the product with the values, and the root of a rule, may lie behind the softmax.
constexpr int kSteps = 4;

// Ops through which probabilities pass on their way to the values.
bool PassesOn(const Operation& op) {
  return op.num_operands() > 0 && op.num_results() == 1 &&
         (op.Has(Trait::kElementwise) || op.Has(Trait::kView) || Isa<ten::TransposeOp>(op) ||
          Isa<ten::CastOp>(op) || Isa<ten::ExpandOp>(op));
}

// Does the value reach a product within a few steps?
bool FeedsMatmul(Value value, int steps) {
  for (OpOperand& use : value.uses()) {
    Operation* user = use.owner();
    if (Isa<ten::MatmulOp>(user) || Isa<ten::EinsumOp>(user)) return true;
    if (steps > 0 && PassesOn(*user) && FeedsMatmul(user->result(), steps - 1)) return true;
  }
  return false;
}

void CollectUsers(Operation* op, int steps, std::vector<Operation*>& users) {
  for (unsigned i = 0; i < op->num_results(); ++i) {
    for (OpOperand& use : op->result(i).uses()) {
      if (std::find(users.begin(), users.end(), use.owner()) != users.end()) continue;
      users.push_back(use.owner());
      if (steps > 0) CollectUsers(use.owner(), steps - 1, users);
    }
  }
}

std::string NodeOf(const Operation& op) {
  std::string node = DescribeLocation(op.context(), op.location());
  return node.empty() ? std::string(op.name()) : node;
}

// The attention rules that begin at a softmax, tried around those that were left over.
class WhyNot {
 public:
  explicit WhyNot(Context& context) : matcher_(context) {
    const pattern::Family* family = pattern::FindFamily("attention");
    if (family == nullptr) return;
    compiled_ = drr::CompiledRules::OnDemand(pattern::SharedRulesOf(*family), context);
    const size_t count = compiled_.list().rules().size();
    for (size_t i = 0; i < count; ++i) {
      const auto rule = compiled_.Get(static_cast<uint16_t>(i));
      if (rule.ok() && MatchesSoftmax(**rule)) rules_.push_back(*rule);
    }
  }

  // Of the attempts that got farthest: the rule, and what stopped it.
  std::string Reason(Operation* softmax) {
    std::vector<Operation*> anchors;
    CollectUsers(softmax, kSteps, anchors);
    std::string best;
    double farthest = -1;
    for (const drr::CompiledRule* rule : rules_) {
      for (Operation* anchor : anchors) {
        if (std::find(rule->anchors.begin(), rule->anchors.end(), anchor->id()) ==
            rule->anchors.end()) {
          continue;
        }
        drr::NearMiss miss;
        if (matcher_.Match(*rule, anchor, &miss)) {
          return fmt::format("rule {} matches, but was not applied", rule->rule->name());
        }
        const double part = static_cast<double>(miss.matched_ops) / std::max(rule->num_ops, 1);
        if (miss.stopped_at == nullptr || part <= farthest) continue;
        farthest = part;
        best = fmt::format("rule {} matched {} of {} ops; stopped at {}: {}", rule->rule->name(),
                           miss.matched_ops, rule->num_ops, NodeOf(*miss.stopped_at), miss.reason);
      }
    }
    return best.empty() ? "no attention rule begins here" : best;
  }

 private:
  static bool MatchesSoftmax(const drr::CompiledRule& rule) {
    return std::any_of(rule.nodes.begin(), rule.nodes.end(), [](const drr::Node& node) {
      return node.in_source && node.info != nullptr && node.info->id() == nn::SoftmaxOp::kId;
    });
  }

  drr::Matcher matcher_;
  drr::CompiledRules compiled_;
  std::vector<const drr::CompiledRule*> rules_;
};

}  // namespace

std::vector<std::string> AttentionNotes(Operation* module) {
  int64_t fused = 0;
  std::vector<Operation*> rest;
  module->Walk([&](Operation* op) {
    if (Isa<fused::AttentionOp>(op) || Isa<nn::AttentionOp>(op)) ++fused;
    if (Isa<nn::SoftmaxOp>(op) && FeedsMatmul(op->result(), kSteps)) rest.push_back(op);
  });
  std::vector<std::string> notes;
  if (rest.empty()) return notes;
  notes.push_back(fmt::format("{} of {} attention blocks are fused", fused,
                              fused + static_cast<int64_t>(rest.size())));
  WhyNot why_not(module->context());
  for (Operation* softmax : rest) {
    notes.push_back(
        fmt::format("attention at {} is not fused: {}", NodeOf(*softmax), why_not.Reason(softmax)));
  }
  return notes;
}

}  // namespace tenon::ir_run
