// The structural part of matching: goals, and what follows from each.
#include "drr/matcher.h"

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
  goals_ = -1;
  climb_ = 0;
}

bool Matcher::Match(const CompiledRule& rule, Operation* anchor, NearMiss* miss) {
  Start(rule, miss);
  if (anchor->num_results() <= rule.roots[0].result) return false;
  Goal goal;
  goal.kind = Goal::Kind::kValue;
  goal.edge = rule.roots[0];
  goal.value = anchor->result(rule.roots[0].result);
  goal.parent = anchor;
  Push(goal);
  return Run();
}

bool Matcher::Run() {
  finished_ = false;
  while (!finished_) {
    if (tolerance_ > 0 && steps_-- <= 0) return false;
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
  switch (goal.kind) {
    case Goal::Kind::kValue:
      return MatchValue(goal);
    case Goal::Kind::kOp:
      return MatchOp(goal.edge.node, goal.op);
    case Goal::Kind::kSequence:
      return Sequence(goal);
  }
  return false;
}

bool Matcher::BindValue(uint16_t node, Value value) {
  bound_[node].bound = true;
  bound_[node].value = value;
  trail_.push_back(node);
  return true;
}

bool Matcher::MatchValue(const Goal& goal) {
  const uint16_t n = goal.edge.node;
  const Node& node = rule_->nodes[n];
  Binding& binding = bound_[n];
  switch (node.kind) {
    case ValNode::Kind::kVariable: {
      if (binding.bound) {
        return binding.value == goal.value || Fail(goal.parent, [&] {
                 return fmt::format("{} is {}, the rule wants '{}' again, which is {}",
                                    OperandOf(goal), Describe(goal.value), node.source->name,
                                    Describe(binding.value));
               });
      }
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
      BindValue(n, goal.value);
      return EarlyConditions(n, goal.parent);
    }
    case ValNode::Kind::kSplat:
      return MatchSplat(node, goal) && BindValue(n, goal.value) && EarlyConditions(n, goal.parent);
    case ValNode::Kind::kLet: {
      if (binding.bound) {
        return binding.value == goal.value || Fail(goal.parent, [&] {
                 return fmt::format("{} is {}, and was {} elsewhere", OperandOf(goal),
                                    Describe(goal.value), Describe(binding.value));
               });
      }
      BindValue(n, goal.value);
      if (node.let_value.kind == AttrCode::Kind::kLiteral) {
        BoundArg arg;
        arg.literal = &node.let_value.source->literal;
        if (!BindAttr(node.let_variable, arg, goal.parent)) return false;
      } else {
        lets_.push_back({n, goal.parent, nullptr, Attribute()});
      }
      Goal inner = goal;
      inner.edge = node.alternatives[0];
      Push(inner);
      return EarlyConditions(n, goal.parent);
    }
    case ValNode::Kind::kAnyOf: {
      if (binding.bound) {
        return binding.value == goal.value || Fail(goal.parent, [&] {
                 return fmt::format("{} is {}, and was {} elsewhere", OperandOf(goal),
                                    Describe(goal.value), Describe(binding.value));
               });
      }
      BindValue(n, goal.value);
      if (!EarlyConditions(n, goal.parent)) return false;
      Choice choice = Snapshot(Choice::Kind::kAlternative, n, goal);
      return Resume(choice);
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
  return MatchOp(n, op);
}

bool Matcher::MatchOp(uint16_t n, Operation* op) {
  const Node& node = rule_->nodes[n];
  Binding& binding = bound_[n];
  if (binding.bound) {
    return binding.op == op || Fail(op, [&] {
             return fmt::format("another {} than the one matched before", node.info->name());
           });
  }
  if (!matched_.empty() && op->block() != matched_[0]->block() && !MayReach(matched_[0], op)) {
    return Fail(op, [] { return std::string("it lies in another region"); });
  }
  for (const AttrCode& code : node.attrs) {
    if (!MatchAttr(code, op)) return false;
  }
  binding.bound = true;
  binding.op = op;
  trail_.push_back(n);
  matched_.push_back(op);
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
      choices_.push_back(Snapshot(Choice::Kind::kSwap, n, goal));
    }
    return PushOperands(n, op, swapped && !straight && tolerance_ == 0);
  }
  return PushOperands(n, op, false);
}

bool Matcher::PushOperands(uint16_t n, Operation* op, bool swapped) {
  const Node& node = rule_->nodes[n];
  for (size_t g = node.operands.size(); g-- > 0;) {
    const std::vector<Edge>& pattern = node.operands[swapped && g < 2 ? 1 - g : g];
    auto [first, size] = op->operand_group(static_cast<unsigned>(g));
    const Arity arity = node.info->def().operands[g].arity;
    if (arity == Arity::kVariadic) {
      Goal goal;
      goal.kind = Goal::Kind::kSequence;
      goal.edge = Edge{n, 0, false};
      goal.group = static_cast<uint16_t>(g);
      goal.op = op;
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
    goal.parent = op;
    Push(goal);
  }
  return true;
}

bool Matcher::Sequence(Goal goal) {
  const std::vector<Edge>& pattern = rule_->nodes[goal.edge.node].operands[goal.group];
  const std::pair<unsigned, unsigned> group = goal.op->operand_group(goal.group);
  const unsigned first = group.first, size = group.second;
  if (goal.item == pattern.size()) {
    return goal.position == size || Fail(goal.op, [&] {
             return fmt::format("{} operands, the rule wants {}", size, pattern.size());
           });
  }
  const Edge& edge = pattern[goal.item];
  if (rule_->nodes[edge.node].kind == ValNode::Kind::kEach) {
    Choice choice = Snapshot(Choice::Kind::kEachCount, edge.node, goal);
    if (goal.item + size_t{1} == pattern.size()) choice.alternative = size - goal.position;
    return Resume(choice);
  }
  if (goal.position >= size) {
    return Fail(goal.op, [&] {
      return fmt::format("{} operands, the rule wants {}", size, pattern.size());
    });
  }
  Goal rest = goal;
  ++rest.item;
  ++rest.position;
  Push(rest);
  Goal value;
  value.kind = Goal::Kind::kValue;
  value.edge = edge;
  value.value = goal.op->operand(first + goal.position);
  value.parent = goal.op;
  Push(value);
  return true;
}

Value Matcher::ValueOf(const Edge& edge) const {
  const Binding& binding = bound_[edge.node];
  if (!binding.bound) return Value();
  if (rule_->nodes[edge.node].kind != ValNode::Kind::kOp) return binding.value;
  return edge.result < binding.op->num_results() ? binding.op->result(edge.result) : Value();
}

std::vector<Value> Matcher::EachOf(uint16_t node) const {
  const Binding& binding = bound_[node];
  std::vector<Value> values;
  for (uint32_t i = 0; i < binding.count; ++i)
    values.push_back(binding.op->operand(binding.first + i));
  return values;
}

bool Matcher::IsMatched(const Operation* op) const {
  return std::find(matched_.begin(), matched_.end(), op) != matched_.end();
}

}  // namespace tenon::drr
