// What follows the structural match: dimensions, conditions, uses.
#include <algorithm>
#include <cmath>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "ir/base/guarded_read.h"
#include "ir/core/block.h"

namespace tenon::drr {

// True when the match is complete, or when there is a further root to look for.
bool Matcher::Finish() {
  finished_ = false;
  failed_ = kAllCauses;
  const bool whole = tolerance_ == 0 || start_.node == rule_->roots[0].node;
  if (whole && climb_ < rule_->climbs.size()) {
    const Climb& climb = rule_->climbs[climb_];
    if (bound_[climb.user].bound) {
      ++climb_;
      return true;
    }
    Goal goal;
    goal.kind = Goal::Kind::kValue;
    goal.edge = Edge{climb.from, climb.result, false};
    goal.value = ValueOf(goal.edge);
    goal.parent = matched_[0];
    goal.causes = bound_[climb.from].causes;
    if (!goal.value) {
      ++climb_;
      return Fail(matched_[0], [] { return std::string("a value shared by the roots is absent"); });
    }
    Choice choice = Snapshot(Choice::Kind::kUse, climb.from, goal);
    choice.use = goal.value.uses().first;
    return Open(choice);
  }
  finished_ = (tolerance_ > 0 || CountsOfRests()) && SolveDims() && FinishLets() &&
              LateConditions() && (!whole || UsesInside());
  return finished_;
}

// What the value of a condition's argument follows from.
Matcher::Causes Matcher::CausesOf(const ArgCode& arg) const {
  if (arg.edge.node != kNone) return bound_[arg.edge.node].causes;
  return arg.attr != kNone && attrs_[arg.attr].bound ? attrs_[arg.attr].causes : kAllCauses;
}

Matcher::Causes Matcher::CausesOf(const ConditionCode& condition) const {
  Causes causes = 0;
  for (const ArgCode& arg : condition.args) causes |= CausesOf(arg);
  return causes;
}

BoundArg Matcher::ReadArg(const ArgCode& arg, bool& bound) const {
  BoundArg read;
  bound = true;
  if (arg.edge.node != kNone) {
    read.value = ValueOf(arg.edge);
    bound = static_cast<bool>(read.value);
  } else if (arg.attr != kNone) {
    bound = attrs_[arg.attr].bound;
    if (bound) read = attrs_[arg.attr].arg;
  } else {
    std::optional<DimExpr> dim = EvaluateDim(arg.dim);
    bound = dim.has_value();
    if (bound) read.dim = *dim;
  }
  return read;
}

bool Matcher::EarlyConditions(uint16_t node, Operation* op) {
  for (uint16_t index : rule_->nodes[node].conditions) {
    if (CheckCondition(rule_->conditions[index], op)) continue;
    failed_ |= CausesOf(rule_->conditions[index]);
    return false;
  }
  return true;
}

bool Matcher::CheckCondition(const ConditionCode& condition, Operation* op) {
  const Assumption assumption = condition.source->assumption;
  if (fast_math_ && assumption != Assumption::kNone) return true;
  absl::InlinedVector<BoundArg, 6> args;
  for (const ArgCode& arg : condition.args) {
    bool bound;
    args.push_back(ReadArg(arg, bound));
    if (bound) continue;
    if (!condition.source->asks_presence) return true;
    args.back().absent = true;
  }
  const Truth answer = AnswerOf(*condition.source, args);
  if (answer == Truth(true)) return true;
  if (op == nullptr) op = MatchedOpOf(condition);
  if (assumption != Assumption::kNone) {
    const bool goes_on = Fail(op, [&] {
      const std::string proof = condition.source->args.empty()
                                    ? "has no proof that this is harmless"
                                    : "needs a proof that " + condition.source->text;
      return fmt::format("the rule {} and {} (--fast-math applies it without one)",
                         WordsOf(assumption), proof);
    });
    if (goes_on) mismatches_.back().kind = Mismatch::Kind::kUnproven;
    return goes_on;
  }
  return Fail(op, [&] {
    const bool told = condition.source->why != nullptr;
    std::string why = told ? GuardedRead([&] { return condition.source->why(args); }).value_or("")
                           : Particulars(condition);
    // What is not shown to be wrong surprises where a rule negates it.
    if (!answer && condition.source->asks == ConditionNode::Asks::kNot)
      why += why.empty() ? "that is not known" : ", which leaves that open";
    return fmt::format("the rule wants {}{}{}{}", told ? "" : "that ", condition.source->text,
                       why.empty() ? "" : ", and ", why);
  });
}

bool Matcher::FinishLets() {
  // Values may depend on each other, so go round until none is left.
  size_t left = lets_.size();
  absl::InlinedVector<bool, 8> done(lets_.size(), false);
  for (bool progress = true; left > 0 && progress;) {
    progress = false;
    for (size_t i = 0; i < lets_.size(); ++i) {
      if (done[i]) continue;
      const PendingLet& let = lets_[i];
      const AttrCode& code = let.code != nullptr ? *let.code : rule_->nodes[let.node].let_value;
      std::string reason;
      std::optional<AttrValue> value = Evaluate(code, 0, &reason);
      if (!value) {
        if (reason.empty()) continue;
        if (!Fail(let.op, [&] { return reason; })) return false;
        done[i] = progress = true;
        --left;
        continue;
      }
      done[i] = progress = true;
      --left;
      if (let.code != nullptr) {
        Attribute want = ToAttribute(*context_, code.type, *value);
        bool same = want == let.attr;
        if (!same && want && want.kind() == Attribute::Kind::kFloat && let.attr) {
          double a = want.float_value(), b = let.attr.float_value();
          same = std::abs(a - b) <= 1e-6 * std::abs(a);
        }
        if (!same && !Fail(let.op, [&] {
              return fmt::format("an attribute is {}, the rule computes {}",
                                 let.attr ? let.attr.text() : "absent",
                                 want ? want.text() : "no value");
            })) {
          return false;
        }
        continue;
      }
      uint16_t variable = rule_->nodes[let.node].let_variable;
      Causes causes = let.causes;
      for (const ArgCode& arg : code.args) causes |= CausesOf(arg);
      AttrBinding& binding = attrs_[variable];
      if (binding.bound) {
        BoundArg arg;
        arg.literal = &*value;
        if (!BindAttr(variable, arg, let.op, causes)) return false;
        continue;
      }
      binding.computed = *std::move(value);
      BoundArg arg;
      arg.literal = &binding.computed;
      BindAttr(variable, arg, let.op, causes);
    }
  }
  return left == 0 || !mismatches_.empty() || Fail(matched_[0], [] {
           return std::string("a computed attribute depends on an unbound one");
         });
}

std::optional<DimExpr> Matcher::EvaluateDim(uint16_t index) const {
  const DimCode& code = rule_->dims[index];
  switch (code.kind) {
    case DimNode::Kind::kConstant:
      return code.constant;
    case DimNode::Kind::kVariable:
      if (!dims_[code.variable]) return std::nullopt;
      return dims_[code.variable];
    case DimNode::Kind::kAny:
      return std::nullopt;
    default:
      break;
  }
  std::optional<DimExpr> a = EvaluateDim(code.a), b = EvaluateDim(code.b);
  if (!a || !b) return std::nullopt;
  if (code.kind == DimNode::Kind::kAdd) return *a + *b;
  return code.kind == DimNode::Kind::kSub ? *a - *b : *a * *b;
}

Matcher::Solved Matcher::Solve(uint16_t index, DimExpr actual) {
  const DimCode& code = rule_->dims[index];
  if (code.kind == DimNode::Kind::kAny) return Solved::kYes;
  if (std::optional<DimExpr> value = EvaluateDim(index)) {
    return DimExpr::ProvablyEqual(*value, actual) ? Solved::kYes : Solved::kNo;
  }
  if (code.kind == DimNode::Kind::kVariable) {
    if (actual.is_constant() && actual.constant() < 0) return Solved::kNo;
    dims_[code.variable] = actual;
    return Solved::kYes;
  }
  std::optional<DimExpr> a = EvaluateDim(code.a), b = EvaluateDim(code.b);
  if (!a && !b) return Solved::kNotYet;
  uint16_t unknown = a ? code.b : code.a;
  switch (code.kind) {
    case DimNode::Kind::kAdd:
      return Solve(unknown, actual - (a ? *a : *b));
    case DimNode::Kind::kSub:
      return Solve(unknown, a ? *a - actual : actual + *b);
    case DimNode::Kind::kMul: {
      std::optional<DimExpr> quotient = DimExpr::ExactDiv(actual, a ? *a : *b);
      return quotient ? Solve(unknown, *quotient) : Solved::kNo;
    }
    default:
      return Solved::kNo;
  }
}

// Products and differences may be solved in another order, with equations of other alternatives.
Matcher::Causes Matcher::CausesOfDims() const {
  Causes causes = 0;
  for (const Equation& equation : equations_) {
    const DimNode::Kind kind = rule_->dims[equation.code].kind;
    if (kind != DimNode::Kind::kVariable && kind != DimNode::Kind::kConstant &&
        kind != DimNode::Kind::kAny)
      return kAllCauses;
    causes |= equation.causes;
  }
  return causes;
}

// Adds the equations of `shape(x) == {…}`. Of a shape with a rest in the middle, the extents behind
// the rest count from the end.
bool Matcher::UnifyShape(const ConditionCode& condition) {
  const Value value = ValueOf(condition.args[0].edge);
  if (!value) return true;
  const Type type = value.type();
  const Causes causes = bound_[condition.args[0].edge.node].causes;
  const auto named = static_cast<int64_t>(condition.shape.size());
  const int rest = condition.source->rest;
  if (!type.is_tensor() || (rest < 0 ? type.rank() != named : type.rank() < named)) {
    failed_ = causes;
    Operation* op = MatchedOpOf(value);
    // What follows from another mismatch says nothing new.
    return !mismatches_.empty() || Fail(op, [&] {
      return fmt::format("the rule wants {}, and it is {}", condition.source->text, type.text());
    });
  }
  for (int64_t i = 0; i < named; ++i) {
    const int64_t axis = rest >= 0 && i >= rest ? type.rank() - named + i : i;
    equations_.push_back({condition.shape[static_cast<size_t>(i)], type.dim(axis), nullptr, value,
                          NameOf(condition.args[0].edge), causes});
  }
  return true;
}

bool Matcher::SolveDims() {
  std::fill(dims_.begin(), dims_.end(), DimExpr());
  for (const ConditionCode& condition : rule_->conditions) {
    if (condition.source->kind != ConditionNode::Kind::kShape) continue;
    const uint32_t items = ItemsOf(condition);
    bool holds = true;
    for (item_ = 0; holds && item_ < items; ++item_) holds = UnifyShape(condition);
    item_ = 0;
    if (!holds) return false;
  }
  absl::InlinedVector<bool, 16> done(equations_.size(), false);
  size_t left = equations_.size();
  for (bool progress = true; left > 0 && progress;) {
    progress = false;
    for (size_t i = 0; i < equations_.size(); ++i) {
      if (done[i]) continue;
      const Equation& equation = equations_[i];
      Solved solved = Solve(equation.code, equation.actual);
      if (solved == Solved::kNotYet) continue;
      if (solved == Solved::kNo) {
        failed_ = CausesOfDims();
        Operation* op = equation.op != nullptr ? equation.op : MatchedOpOf(equation.value);
        if (mismatches_.empty() && !Fail(op, [&] {
              std::optional<DimExpr> value = EvaluateDim(equation.code);
              const std::string want = value ? value->text() : DimText(equation.code);
              const std::string name = DimText(equation.code, true);
              return fmt::format(
                  "a dimension{} is {}, the rule wants {}{}",
                  equation.what.empty() ? "" : fmt::format(" of '{}'", equation.what),
                  equation.actual.text(), want, name == want ? "" : fmt::format(" (its {})", name));
            })) {
          return false;
        }
      }
      done[i] = progress = true;
      --left;
    }
  }
  failed_ = kAllCauses;
  return left == 0 || !mismatches_.empty() || Fail(matched_[0], [] {
           return std::string(
               "the shapes here do not determine the dimensions that the rule names");
         });
}

std::string Matcher::DimText(uint16_t index, bool names) const {
  const DimCode& code = rule_->dims[index];
  switch (code.kind) {
    case DimNode::Kind::kConstant:
      return code.constant.text();
    case DimNode::Kind::kVariable:
      return dims_[code.variable] && !names ? dims_[code.variable].text()
                                            : rule_->dim_names[code.variable];
    case DimNode::Kind::kAny:
      return "?";
    default: {
      const char* sign = code.kind == DimNode::Kind::kAdd   ? "+"
                         : code.kind == DimNode::Kind::kSub ? "-"
                                                            : "*";
      return fmt::format("({} {} {})", DimText(code.a, names), sign, DimText(code.b, names));
    }
  }
}

uint32_t Matcher::ItemsOf(const ConditionCode& condition) const {
  return condition.list == kNone ? 1 : bound_[condition.list].count;
}

bool Matcher::LateConditions() {
  for (const ConditionCode& condition : rule_->conditions) {
    if (!mismatches_.empty()) break;
    if (condition.early || condition.source->kind == ConditionNode::Kind::kShape) continue;
    const uint32_t items = ItemsOf(condition);
    bool holds = true;
    for (item_ = 0; holds && item_ < items; ++item_) holds = CheckCondition(condition, nullptr);
    item_ = 0;
    if (holds) continue;
    failed_ = CausesOf(condition);
    return false;
  }
  return true;
}

// Could another way to match have the op in it? Not one that the rule has no such operation for,
// nor, below a single root, one behind it.
bool Matcher::MayBeMatched(const Operation* user) const {
  const bool known = std::any_of(rule_->nodes.begin(), rule_->nodes.end(), [&](const Node& node) {
    return node.in_source && node.kind == ValNode::Kind::kOp && node.info->id() == user->id();
  });
  if (!rule_->coincide.empty() || !known || !rule_->climbs.empty())
    return known || !rule_->coincide.empty();
  const Operation* anchor = matched_[0];
  return user->block() != anchor->block() || user->IsBeforeInBlock(anchor);
}

bool Matcher::UsesInside() {
  for (size_t n = 0; n < rule_->nodes.size(); ++n) {
    const Node& node = rule_->nodes[n];
    if (!node.inner || !bound_[n].bound) continue;
    Operation* op = bound_[n].op;
    if (op->Has(Trait::kConstantLike)) continue;
    // Another node of the pattern may have the same op stay.
    bool stays = false;
    for (size_t m = 0; m < rule_->nodes.size() && !stays; ++m) {
      stays = rule_->nodes[m].kind == ValNode::Kind::kOp && bound_[m].op == op &&
              !rule_->nodes[m].inner && rule_->nodes[m].in_source;
    }
    if (!stays && !UsesInside(static_cast<uint16_t>(n), op)) return false;
  }
  for (size_t i = 0; i < matched_.size(); ++i) {
    const Node& node = rule_->nodes[matched_nodes_[i]];
    if (node.mapped && node.inner && !UsesInside(matched_nodes_[i], matched_[i])) return false;
  }
  return true;
}

uint16_t Matcher::VariableOf(Value value) const {
  for (size_t v = 0; v < rule_->nodes.size(); ++v) {
    const Binding& binding = bound_[v];
    if (!rule_->nodes[v].read || !binding.bound) continue;
    bool is = rule_->nodes[v].kind == ValNode::Kind::kVariable && binding.value == value;
    if (rule_->nodes[v].kind == ValNode::Kind::kEach) {
      for (uint32_t i = 0; i < binding.count && !is; ++i) is = EachItem(binding, i) == value;
    }
    if (is) return static_cast<uint16_t>(v);
  }
  return kNone;
}

bool Matcher::UsesInside(uint16_t n, Operation* op) {
  for (unsigned r = 0; r < op->num_results(); ++r) {
    Value value = op->result(r);
    bool replaced = std::any_of(rule_->roots.begin(), rule_->roots.end(), [&](const Edge& root) {
      return root.rest ? bound_[root.node].op == op && r >= root.result : ValueOf(root) == value;
    });
    if (replaced) continue;
    if (const uint16_t v = VariableOf(value); v != kNone) {
      failed_ = kAllCauses;
      if (!Fail(op, [&] {
            return fmt::format(
                "its result is also '{}', so that it would stay, and the rule would compute it "
                "once more",
                NameOf(Edge{v, 0, false}));
          })) {
        return false;
      }
    }
    for (OpOperand& use : value.uses()) {
      Operation* user = use.owner();
      if (IsMatched(user) || std::find(passed_.begin(), passed_.end(), user) != passed_.end())
        continue;
      failed_ = MayBeMatched(user) || rule_->nodes[n].mapped ? kAllCauses : bound_[n].causes;
      if (!Fail(op, [&] {
            // An op made of several is named after the first of them, its result after the last.
            const std::vector<std::string> nodes = DescribeAllLocations(*context_, op->location());
            const bool several = nodes.size() > 1 && nodes.size() < Location::kMaxFused;
            return fmt::format(
                "its result{} is also used by {} outside the match",
                several ? fmt::format(" (that of {})", nodes.back()) : "",
                user->name() == "func.return" ? "func.return, as an output," : DescribeOp(user));
          })) {
        return false;
      }
      break;
    }
  }
  return true;
}

const AttrCode* Matcher::LetOf(uint16_t variable) const {
  for (const PendingLet& let : lets_) {
    const Node& node = rule_->nodes[let.node];
    if (let.code == nullptr && node.let_variable == variable) return &node.let_value;
  }
  return nullptr;
}

bool Matcher::IsComputed(const AttrCode& code) const {
  if (code.kind == AttrCode::Kind::kCompute) return true;
  if (code.kind != AttrCode::Kind::kVariable) return false;
  const AttrCode* let = LetOf(code.variable);
  return let != nullptr && IsComputed(*let);
}

std::vector<double> Matcher::NumbersRead(const AttrCode& code) const {
  std::vector<double> numbers;
  const auto read = [&](uint16_t variable) {
    if (const AttrCode* let = LetOf(variable); let != nullptr && IsComputed(*let)) {
      const std::vector<double> inner = NumbersRead(*let);
      numbers.insert(numbers.end(), inner.begin(), inner.end());
      return;
    }
    if (!attrs_[variable].bound) return;
    const AttrValue value = ToAttrValue(attrs_[variable].arg);
    if (const double* number = std::get_if<double>(&value)) numbers.push_back(*number);
  };
  if (code.kind == AttrCode::Kind::kVariable) read(code.variable);
  for (const ArgCode& arg : code.args)
    if (arg.attr != kNone) read(arg.attr);
  return numbers;
}

std::optional<AttrValue> Matcher::Evaluate(const AttrCode& code, int64_t rank,
                                           std::string* reason) const {
  switch (code.kind) {
    case AttrCode::Kind::kLiteral:
      return AttrValue(code.literal);
    case AttrCode::Kind::kAxis:
      return AttrValue(std::get<int64_t>(code.source->literal) + rank);
    case AttrCode::Kind::kAxes: {
      I64s axes = std::get<I64s>(code.source->literal);
      for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
      std::sort(axes.begin(), axes.end());
      return AttrValue(axes);
    }
    case AttrCode::Kind::kVariable:
      if (!attrs_[code.variable].bound) return std::nullopt;
      return ToAttrValue(attrs_[code.variable].arg);
    case AttrCode::Kind::kCompute: {
      std::vector<BoundArg> args;
      for (const ArgCode& arg : code.args) {
        bool bound;
        args.push_back(ReadArg(arg, bound));
        if (!bound && !code.source->asks_presence) return std::nullopt;
        args.back().absent = !bound;
      }
      // A function that reads what is not there has no value.
      AttrValue value =
          GuardedRead([&] { return code.source->compute(args); }).value_or(AttrValue());
      if (std::holds_alternative<std::monostate>(value)) {
        if (reason != nullptr)
          *reason = fmt::format("{} has no value here", drr::ToString(*code.source));
        return std::nullopt;
      }
      return value;
    }
    case AttrCode::Kind::kDim: {
      std::optional<DimExpr> dim = EvaluateDim(code.dims[0]);
      if (dim && dim->is_constant()) return AttrValue(dim->constant());
      if (reason != nullptr)
        *reason = fmt::format("{} is not a constant", dim ? dim->text() : DimText(code.dims[0]));
      return std::nullopt;
    }
    case AttrCode::Kind::kDims: {
      Dims dims;
      for (uint16_t index : code.dims) {
        std::optional<DimExpr> dim = EvaluateDim(index);
        if (!dim) {
          if (reason != nullptr) *reason = fmt::format("{} is not bound", DimText(index));
          return std::nullopt;
        }
        dims.push_back(*dim);
      }
      return AttrValue(dims);
    }
    case AttrCode::Kind::kAny:
      break;
  }
  return std::nullopt;
}

}  // namespace tenon::drr
