// Choice points of matching: what else could fit, and how an attempt is undone.
#include <algorithm>

#include "drr/match/matcher.h"
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
  choice.views = views_;
  choice.passed = passed_.size();
  choice.items = items_.size();
  choice.lost = lost_;
  choice.surely_lost = surely_lost_;
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
  matched_nodes_.resize(choice.matched);
  items_.resize(choice.items);
  if (tolerance_ > 0) {
    mismatches_.resize(choice.mismatches);
    views_ = choice.views;
    passed_.resize(choice.passed);
    lost_ = choice.lost;
    surely_lost_ = choice.surely_lost;
  }
  goals_ = choice.goals;
  climb_ = choice.climb;
}

bool Matcher::Backtrack() {
  while (!choices_.empty()) {
    Choice& last = choices_.back();
    Undo(last);
    // What is counted in mismatches follows from everything.
    const Causes causes = tolerance_ > 0 ? kAllCauses : failed_;
    if ((causes & CauseOf(choices_.size() - 1)) == 0) {
      choices_.pop_back();
      continue;
    }
    last.failed |= causes;
    if (Take()) return true;
  }
  return false;
}

bool Matcher::Open(const Choice& choice) {
  choices_.push_back(choice);
  return Take();
}

bool Matcher::Exhausted() {
  const Choice& last = choices_.back();
  const Causes own = CauseOf(choices_.size() - 1);
  failed_ = last.goal.causes | (choices_.size() <= 64 ? last.failed & ~own : last.failed);
  choices_.pop_back();
  return false;
}

// Takes the next alternative of the last choice, whose effects have been undone. False: it failed
// at once, or there is none, and the choice is closed.
bool Matcher::Take() {
  const size_t at = choices_.size() - 1;
  Choice& choice = choices_[at];
  const Causes causes = choice.goal.causes | CauseOf(at);
  failed_ = causes;
  --steps_;
  switch (choice.kind) {
    case Choice::Kind::kSwap: {
      if (choice.alternative == 2) return Exhausted();
      const bool swapped = choice.alternative++ == 1;
      return PushOperands(choice.node, choice.goal.op, swapped, causes);
    }
    case Choice::Kind::kAlternative: {
      const Node& node = rule_->nodes[choice.node];
      while (choice.alternative < node.alternatives.size()) {
        uint32_t taken = choice.alternative++;
        const Edge& edge = node.alternatives[taken];
        if (tolerance_ == 0 && !Likely(edge, choice.goal.value)) continue;
        if (thorough_ && !Feasible(edge, choice.goal.value)) continue;
        bound_[choice.node].alternative = static_cast<int>(taken);
        Goal goal = choice.goal;
        goal.edge = edge;
        goal.causes = causes;
        Push(goal);
        return true;
      }
      const Goal goal = choice.goal;
      Exhausted();
      // Align has tried each alternative, with what is wrong of it.
      return tolerance_ == 0 && Fail(goal.parent, [&] {
               return fmt::format("{} is {}, none of the {} alternatives of the rule",
                                  OperandOf(goal), Describe(goal.value), node.alternatives.size());
             });
    }
    case Choice::Kind::kEachCount: {
      // The number of operands that an Each takes; the rest of the group must still fit.
      const auto [first, total] = choice.goal.op->operand_group(choice.goal.group);
      const uint32_t count = choice.alternative;
      if (choice.goal.position + count + SinglesBehind(choice.goal) > total) return Exhausted();
      ++choice.alternative;
      Binding& binding = bound_[choice.node];
      binding.bound = true;
      binding.op = choice.goal.op;
      binding.first = first + choice.goal.position;
      binding.count = count;
      binding.causes = causes;
      trail_.push_back(choice.node);
      Goal rest = choice.goal;
      rest.position += count;
      rest.causes = causes;
      ++rest.item;
      const uint16_t node = choice.node;
      Push(rest);
      return rule_->nodes[node].chain.empty() || MatchMapped(node, causes);
    }
    case Choice::Kind::kUse: {
      const Climb& climb = rule_->climbs[choice.climb];
      while (choice.use != nullptr && choice.alternative < kMaxUses) {
        Operation* user = choice.use->owner();
        ++choice.alternative;
        choice.use = choice.use->next_use();
        if (user->id() != rule_->nodes[climb.user].info->id()) continue;
        climb_ = choice.climb + 1;
        Goal goal;
        goal.kind = Goal::Kind::kOp;
        goal.edge = Edge{climb.user, 0, false};
        goal.op = user;
        goal.causes = causes;
        Push(goal);
        return true;
      }
      const Choice last = choice;
      Exhausted();
      climb_ = last.climb + 1;
      return Fail(last.goal.parent, [&] {
        return fmt::format(
            "no fitting {} {}", rule_->nodes[climb.user].info->name(),
            last.use == nullptr ? "uses it" : fmt::format("is among the {} latest uses", kMaxUses));
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
    case ValNode::Kind::kAnyOf:
      return std::any_of(node.leads.begin(), node.leads.end(),
                         [&](const Edge& e) { return Likely(e, value); });
    case ValNode::Kind::kEach:
      return true;
  }
  return true;
}

}  // namespace tenon::drr
