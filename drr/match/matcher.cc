// The structural part of matching: goals, and what follows from each.
#include "drr/match/matcher.h"

#include <algorithm>

#include "fmt/format.h"

namespace tenon::drr {

namespace {

// May a match with this anchor include an op of another block? What it computes moves to the anchor
// then: into a branch, but not into a loop, where it would be computed in every run.
bool MayReach(const Operation* anchor, const Operation* op) {
  const Operation* at = anchor;
  while (at != nullptr && at->block() != op->block()) {
    at = at->parent_op();
    if (at != nullptr && at->name() != "ctl.if") return false;
  }
  return at != nullptr;
}

}  // namespace

void Matcher::Start(const CompiledRule& rule, NearMiss* miss) {
  rule_ = &rule;
  miss_ = miss;
  tolerance_ = 0;
  mismatches_.clear();
  passed_.clear();
  if (!feasible_.empty()) feasible_.clear();
  thorough_ = exhausted_ = false;
  failed_ = 0;
  bound_.assign(rule.nodes.size(), Binding());
  if (attrs_.size() < rule.attr_names.size()) attrs_.resize(rule.attr_names.size());
  for (size_t i = 0; i < rule.attr_names.size(); ++i) attrs_[i].bound = false;
  dims_.assign(rule.dim_names.size(), DimExpr());
  arena_.clear();
  choices_.clear();
  trail_.clear();
  equations_.clear();
  lets_.clear();
  matched_.clear();
  matched_nodes_.clear();
  items_.clear();
  item_ = 0;
  goals_ = -1;
  climb_ = 0;
}

bool Matcher::Match(const CompiledRule& rule, Operation* anchor, NearMiss* miss) {
  used_ = 0;
  for (const bool thorough : {false, true}) {
    Start(rule, miss);
    if (anchor->num_results() <= rule.roots[0].result) return false;
    Goal goal;
    goal.kind = Goal::Kind::kValue;
    goal.edge = rule.roots[0];
    goal.value = anchor->result(rule.roots[0].result);
    goal.parent = anchor;
    Push(goal);
    thorough_ = thorough;
    const int64_t most = thorough ? kMostSteps : kPlainSteps;
    steps_ = most;
    const bool matched = Run();
    used_ += most - std::max<int64_t>(steps_, 0);
    if (matched || !exhausted_) return matched;
  }
  return false;
}

bool Matcher::Run() {
  finished_ = false;
  while (!finished_) {
    if (steps_-- <= 0) {
      exhausted_ = true;
      return false;
    }
    bool held = goals_ >= 0 ? Step() : Finish();
    if (!held && !Backtrack()) return false;
  }
  return true;
}

void Matcher::Push(Goal goal) {
  goal.next = goals_;
  goals_ = static_cast<int>(arena_.size());
  arena_.push_back(goal);
}

bool Matcher::Step() {
  Goal goal = arena_[goals_];
  goals_ = goal.next;
  // Where a failure follows from more, it is added there.
  failed_ = goal.causes;
  switch (goal.kind) {
    case Goal::Kind::kValue:
      return MatchValue(goal);
    case Goal::Kind::kOp:
      return MatchOp(goal.edge.node, goal.op, goal.causes);
    case Goal::Kind::kSequence:
      return Sequence(goal);
  }
  return false;
}

void Matcher::BindValue(uint16_t node, const Goal& goal) {
  bound_[node].bound = true;
  bound_[node].value = goal.value;
  bound_[node].causes = goal.causes;
  trail_.push_back(node);
}

// A value that is bound already.
bool Matcher::MatchAgain(const Goal& goal, const Node& node) {
  const Binding& binding = bound_[goal.edge.node];
  failed_ |= binding.causes;
  if (binding.value == goal.value) return true;
  if (node.kind == ValNode::Kind::kSplat) {
    // The same number may be another constant. What is asked of the first must be true of it too.
    const Type was = binding.value.type(), is = goal.value.type();
    if (was == is || (node.conditions.empty() && was.dtype() == is.dtype()))
      return MatchSplat(node, goal);
  }
  return Fail(goal.parent, [&] {
    return node.kind == ValNode::Kind::kVariable
               ? fmt::format("{} is {}, the rule wants '{}' again, which is {}", OperandOf(goal),
                             Describe(goal.value), node.source->name, Describe(binding.value))
               : fmt::format("{} is {}, and was {} elsewhere", OperandOf(goal),
                             Describe(goal.value), Describe(binding.value));
  });
}

bool Matcher::MatchValue(const Goal& goal) {
  const uint16_t n = goal.edge.node;
  const Node& node = rule_->nodes[n];
  if (bound_[n].bound && node.kind != ValNode::Kind::kOp) return MatchAgain(goal, node);
  switch (node.kind) {
    case ValNode::Kind::kVariable: {
      if (node.source->constant && !Likely(goal.edge, goal.value)) {
        if (!Fail(goal.parent, [&] {
              return fmt::format("{} is {}, the rule wants a constant '{}'", OperandOf(goal),
                                 Describe(goal.value), node.source->name);
            })) {
          return false;
        }
        mismatches_.back().found = goal.value.defining_op();
        return true;
      }
      BindValue(n, goal);
      return EarlyConditions(n, goal.parent);
    }
    case ValNode::Kind::kSplat: {
      const size_t wrong = mismatches_.size();
      if (!MatchSplat(node, goal)) return false;
      if (mismatches_.size() > wrong) return true;  // Align goes on, and there is nothing to bind
      BindValue(n, goal);
      return EarlyConditions(n, goal.parent);
    }
    case ValNode::Kind::kLet: {
      BindValue(n, goal);
      if (node.let_value.kind == AttrCode::Kind::kLiteral) {
        BoundArg arg;
        arg.literal = &node.let_value.source->literal;
        if (!BindAttr(node.let_variable, arg, goal.parent, goal.causes)) return false;
      } else {
        lets_.push_back({n, goal.parent, nullptr, Attribute(), goal.causes});
      }
      Goal inner = goal;
      inner.edge = node.alternatives[0];
      Push(inner);
      // Conditions may count on the op that the rule wants here.
      return !Likely(goal.edge, goal.value) || EarlyConditions(n, goal.parent);
    }
    case ValNode::Kind::kAnyOf: {
      BindValue(n, goal);
      if (Likely(goal.edge, goal.value) && !EarlyConditions(n, goal.parent)) return false;
      return Open(Snapshot(Choice::Kind::kAlternative, n, goal));
    }
    case ValNode::Kind::kEach:
      return false;
    case ValNode::Kind::kOp:
      break;
  }
  Operation* op = goal.value.defining_op();
  if (op == nullptr || op->id() != node.info->id() ||
      goal.value.result_index() != goal.edge.result) {
    return OtherOp(goal, node, op);
  }
  return MatchOp(n, op, goal.causes);
}

// Is the op another node's already? Operations of a match are different ones.
bool Matcher::IsOtherOp(uint16_t n, Operation* op) {
  if (op->Has(Trait::kConstantLike)) return false;
  for (size_t i = 0; i < matched_.size(); ++i) {
    if (matched_[i] != op || rule_->MayCoincide(n, matched_nodes_[i])) continue;
    failed_ |=
        rule_->nodes[matched_nodes_[i]].mapped ? kAllCauses : bound_[matched_nodes_[i]].causes;
    return true;
  }
  return false;
}

bool Matcher::MatchOp(uint16_t n, Operation* op, Causes causes) {
  const Node& node = rule_->nodes[n];
  Binding& binding = bound_[n];
  if (binding.bound) {
    failed_ |= binding.causes;
    return binding.op == op || Fail(op, [&] {
             return fmt::format("it is another {} than the one matched before", node.info->name());
           });
  }
  if (!matched_.empty() && op->block() != matched_[0]->block() && !MayReach(matched_[0], op)) {
    return Fail(op, [] { return std::string("it lies in another region"); });
  }
  if (IsOtherOp(n, op)) {
    return Fail(op, [&] {
      return fmt::format("the rule wants another {} than the one matched before",
                         node.info->name());
    });
  }
  for (const AttrCode& code : node.attrs) {
    if (!MatchAttr(code, op, causes)) return false;
  }
  binding.bound = true;
  binding.op = op;
  binding.causes = causes;
  trail_.push_back(n);
  matched_.push_back(op);
  matched_nodes_.push_back(n);
  if (!EarlyConditions(n, op)) return false;
  if (node.commutative && op->num_operands() >= 2) {
    const Edge &a = node.operands[0][0], &b = node.operands[1][0];
    bool straight = Likely(a, op->operand(0)) && Likely(b, op->operand(1));
    bool swapped = Likely(a, op->operand(1)) && Likely(b, op->operand(0));
    const bool open = (straight && swapped) || tolerance_ > 0;
    if (open && op->operand(0) != op->operand(1)) {
      Goal goal;
      goal.kind = Goal::Kind::kOp;
      goal.edge = Edge{n, 0, false};
      goal.op = op;
      goal.causes = causes;
      return Open(Snapshot(Choice::Kind::kSwap, n, goal));
    }
    return PushOperands(n, op, swapped && !straight && tolerance_ == 0, causes);
  }
  return PushOperands(n, op, false, causes);
}

bool Matcher::PushOperands(uint16_t n, Operation* op, bool swapped, Causes causes, int without) {
  const Node& node = rule_->nodes[n];
  if (thorough_ && without == kNoGroup && !AllFeasible(node, op, swapped)) {
    return Fail(op, [&] {
      return fmt::format("its operands do not fit those of the rule's {}", node.info->name());
    });
  }
  for (size_t g = node.operands.size(); g-- > 0;) {
    if (static_cast<int>(g) == without) continue;
    const std::vector<Edge>& pattern = node.operands[swapped && g < 2 ? 1 - g : g];
    auto [first, size] = op->operand_group(static_cast<unsigned>(g));
    const Arity arity = node.info->def().operands[g].arity;
    if (arity == Arity::kVariadic) {
      Goal goal;
      goal.kind = Goal::Kind::kSequence;
      goal.edge = Edge{n, 0, false};
      goal.group = static_cast<uint16_t>(g);
      goal.op = op;
      goal.causes = causes;
      Push(goal);
      continue;
    }
    const std::string& name = node.info->def().operands[g].name;
    if (pattern.empty()) {
      if (size != 0 && !Fail(op, [&] {
            return fmt::format("operand '{}' is present, the rule wants none", name);
          })) {
        return false;
      }
      continue;
    }
    if (size == 0) {
      if (pattern[0].maybe) continue;
      if (!Fail(op, [&] { return fmt::format("operand '{}' is absent", name); })) return false;
      continue;
    }
    Goal goal;
    goal.kind = Goal::Kind::kValue;
    goal.edge = pattern[0];
    goal.value = op->operand(first);
    goal.position = first;
    goal.parent = op;
    goal.causes = causes;
    Push(goal);
  }
  return true;
}

Value Matcher::ValueOf(const Edge& edge) const {
  const Binding& binding = bound_[edge.node];
  if (!binding.bound) return Value();
  const ValNode::Kind kind = rule_->nodes[edge.node].kind;
  if (kind == ValNode::Kind::kEach)
    return item_ < binding.count ? EachItem(binding, item_) : Value();
  if (kind != ValNode::Kind::kOp) return binding.value;
  return edge.result < binding.op->num_results() ? binding.op->result(edge.result) : Value();
}

std::vector<Value> Matcher::ValuesOf(const Edge& root) const {
  std::vector<Value> values;
  Edge edge = root;
  for (Value value = ValueOf(edge); value; value = ValueOf(edge)) {
    values.push_back(value);
    if (!root.rest) break;
    ++edge.result;
  }
  return values;
}

std::vector<Value> Matcher::EachOf(uint16_t node) const {
  const Binding& binding = bound_[node];
  std::vector<Value> values;
  for (uint32_t i = 0; i < binding.count; ++i) values.push_back(EachItem(binding, i));
  return values;
}

bool Matcher::IsMatched(const Operation* op) const {
  return std::find(matched_.begin(), matched_.end(), op) != matched_.end();
}

}  // namespace tenon::drr
