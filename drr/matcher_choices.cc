// Choice points of matching: what else could fit, and how an attempt is undone.
#include <algorithm>

#include "drr/matcher.h"
#include "fmt/format.h"

namespace tenon::drr {

Matcher::Choice Matcher::Snapshot(Choice::Kind kind, uint16_t node, const Goal& goal) {
  Choice choice;
  choice.kind = kind;
  choice.node = node;
  choice.goals = goals_;
  choice.goal = goal;
  choice.arena = arena_.size();
  choice.trail = trail_.size();
  choice.equations = equations_.size();
  choice.lets = lets_.size();
  choice.matched = matched_.size();
  choice.climb = climb_;
  choice.mismatches = mismatches_.size();
  choice.passed = passed_.size();
  choice.lost = lost_;
  return choice;
}

void Matcher::Undo(const Choice& choice) {
  while (trail_.size() > choice.trail) {
    uint32_t entry = trail_.back();
    trail_.pop_back();
    if (entry & kAttrBit) {
      attrs_[entry & ~kAttrBit].bound = false;
    } else {
      bound_[entry] = Binding();
    }
  }
  arena_.resize(choice.arena);
  equations_.resize(choice.equations);
  lets_.resize(choice.lets);
  matched_.resize(choice.matched);
  if (tolerance_ > 0) {
    mismatches_.resize(choice.mismatches);
    passed_.resize(choice.passed);
    lost_ = choice.lost;
  }
  goals_ = choice.goals;
  climb_ = choice.climb;
}

bool Matcher::Backtrack() {
  while (!choices_.empty()) {
    Undo(choices_.back());
    // Resume puts the entry back when it has more to try.
    Choice choice = choices_.back();
    choices_.pop_back();
    if (Resume(choice)) return true;
  }
  return false;
}

// Takes the next alternative of a choice whose effects have been undone. False: it failed at once
// or there is none.
bool Matcher::Resume(Choice& choice) {
  switch (choice.kind) {
    case Choice::Kind::kSwap:
      return PushOperands(choice.node, choice.goal.op, true);
    case Choice::Kind::kAlternative: {
      const Node& node = rule_->nodes[choice.node];
      while (choice.alternative < node.alternatives.size()) {
        uint32_t taken = choice.alternative++;
        const Edge& edge = node.alternatives[taken];
        if (tolerance_ == 0 && !Likely(edge, choice.goal.value)) continue;
        if (choice.alternative < node.alternatives.size()) choices_.push_back(choice);
        bound_[choice.node].alternative = static_cast<int>(taken);
        Goal goal = choice.goal;
        goal.edge = edge;
        Push(goal);
        return true;
      }
      return Fail(choice.goal.parent, [&] {
        return fmt::format("{} is {}, none of the {} alternatives of the rule",
                           OperandOf(choice.goal), Describe(choice.goal.value),
                           node.alternatives.size());
      });
    }
    case Choice::Kind::kEachCount: {
      // The number of operands that an Each takes; the rest of the group must still fit.
      uint32_t total = choice.goal.op->operand_group(choice.goal.group).second;
      uint32_t count = choice.alternative++;
      if (choice.goal.position + count > total) return false;
      choices_.push_back(choice);
      Binding& binding = bound_[choice.node];
      binding.bound = true;
      binding.op = choice.goal.op;
      binding.first = choice.goal.op->operand_group(choice.goal.group).first + choice.goal.position;
      binding.count = count;
      trail_.push_back(choice.node);
      Goal rest = choice.goal;
      rest.position += count;
      ++rest.item;
      Push(rest);
      return true;
    }
    case Choice::Kind::kUse: {
      const Climb& climb = rule_->climbs[choice.climb];
      while (choice.use != nullptr && choice.alternative < kMaxUses) {
        Operation* user = choice.use->owner();
        ++choice.alternative;
        choice.use = choice.use->next_use();
        if (user->id() != rule_->nodes[climb.user].info->id()) continue;
        choices_.push_back(choice);
        climb_ = choice.climb + 1;
        Goal goal;
        goal.kind = Goal::Kind::kOp;
        goal.edge = Edge{climb.user, 0, false};
        goal.op = user;
        Push(goal);
        return true;
      }
      climb_ = choice.climb + 1;
      return Fail(choice.goal.parent, [&] {
        return fmt::format("no fitting {} {}", rule_->nodes[climb.user].info->name(),
                           choice.use == nullptr
                               ? "uses it"
                               : fmt::format("is among the {} latest uses", kMaxUses));
      });
    }
  }
  return false;
}

bool Matcher::Likely(const Edge& edge, Value value) const {
  const Node& node = rule_->nodes[edge.node];
  Operation* op = value.defining_op();
  switch (node.kind) {
    case ValNode::Kind::kOp:
      return op != nullptr && op->id() == node.info->id() && value.result_index() == edge.result;
    case ValNode::Kind::kSplat:
      return op != nullptr && op->Has(Trait::kConstantLike);
    case ValNode::Kind::kVariable:
      return !node.source->constant || (op != nullptr && op->Has(Trait::kConstantLike));
    case ValNode::Kind::kLet:
      return Likely(node.alternatives[0], value);
    case ValNode::Kind::kAnyOf:
      return std::any_of(node.alternatives.begin(), node.alternatives.end(),
                         [&](const Edge& e) { return Likely(e, value); });
    case ValNode::Kind::kEach:
      return true;
  }
  return true;
}

}  // namespace tenon::drr
