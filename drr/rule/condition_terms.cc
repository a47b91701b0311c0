// Conditions that are terms.
#include <algorithm>

#include "drr/rule/condition.h"
#include "drr/rule/words.h"
#include "ir/base/limits.h"

namespace tenon::drr {
namespace {

bool Calls(const TermNode& term, std::string_view word, size_t operands) {
  return term.kind == TermNode::Kind::kCall && term.word->name == word &&
         term.operands.size() == operands;
}

const int64_t* Integer(const TermNode& term) {
  return term.kind == TermNode::Kind::kLiteral ? std::get_if<int64_t>(&term.literal) : nullptr;
}

std::optional<Val> AsVal(const TermNode& term) {
  if (term.kind != TermNode::Kind::kArgument || !term.argument.val) return std::nullopt;
  return Val(ValRef{term.argument.val, term.argument.result});
}

// The value that `word` asks about, as in rank(x).
std::optional<Val> Asked(const TermNode& term, std::string_view word, size_t operands = 1) {
  return Calls(term, word, operands) ? AsVal(*term.operands[0]) : std::nullopt;
}

// A list of dimensions with one `...` among them.
std::optional<Condition> OpenShape(const Val& x, const TermNode& list) {
  if (list.kind != TermNode::Kind::kList) return std::nullopt;
  std::vector<Dim> dims;
  int rest = -1;
  for (const TermRef& operand : list.operands) {
    if (operand->kind == TermNode::Kind::kRest && rest < 0) {
      rest = static_cast<int>(dims.size());
      continue;
    }
    const std::optional<Dim> dim = AsDim(*operand);
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
  }
  return rest < 0 ? std::nullopt : std::optional<Condition>(ShapeIs(x, dims, rest));
}

std::optional<Condition> EqualityAsCondition(const TermNode& a, const TermNode& b) {
  const int64_t* number = Integer(b);
  if (const auto x = Asked(a, "rank");
      x && number != nullptr && *number >= 0 && *number <= kMaxRank)
    return Rank(*x, static_cast<int>(*number));
  if (const auto x = Asked(a, "dim", 2); x && number != nullptr) {
    const int64_t* axis = Integer(*a.operands[1]);
    if (axis != nullptr && *axis >= -kMaxRank && *axis < kMaxRank)
      return DimIs(*x, static_cast<int>(*axis), *number);
  }
  if (const auto x = Asked(a, "dtype"); x && b.kind == TermNode::Kind::kLiteral) {
    if (const DType* dtype = std::get_if<DType>(&b.literal)) return DTypeIs(*x, *dtype);
  }
  if (const auto x = Asked(a, "shape")) {
    if (const auto y = Asked(b, "shape")) return SameShape(*x, *y);
    if (const auto dims = AsDims(b)) return ShapeIs(*x, *dims);
    if (const auto open = OpenShape(*x, b)) return open;
  }
  return std::nullopt;
}

std::optional<Condition> AsCondition(const TermNode& term) {
  if (Calls(term, "!", 1)) return !Condition(Term(term.operands[0]));
  if (Calls(term, "&&", 2))
    return Condition(Term(term.operands[0])) && Condition(Term(term.operands[1]));
  if (Calls(term, "||", 2))
    return Condition(Term(term.operands[0])) || Condition(Term(term.operands[1]));
  if (Calls(term, "==", 2)) return EqualityAsCondition(*term.operands[0], *term.operands[1]);
  if (Calls(term, ">=", 2)) {
    const int64_t* number = Integer(*term.operands[1]);
    const auto x = Asked(*term.operands[0], "rank");
    if (x && number != nullptr && *number >= 0 && *number <= kMaxRank)
      return RankAtLeast(*x, static_cast<int>(*number));
  }
  if (const auto x = Asked(term, "constant")) return IsConstant(*x);
  if (const auto x = Asked(term, "float")) return IsFloat(*x);
  if (const auto x = Asked(term, "of_constants")) return FollowsFromConstants(*x);
  if (term.kind == TermNode::Kind::kCall && term.word->name == "same_type") {
    std::vector<Val> vals;
    for (const TermRef& operand : term.operands) {
      const auto val = AsVal(*operand);
      if (!val) return std::nullopt;
      vals.push_back(*val);
    }
    return SameTypes(vals);
  }
  return std::nullopt;
}

}  // namespace

Condition::Condition(const Term& term) {
  if (std::optional<Condition> same = AsCondition(*term.node())) {
    nodes_ = same->nodes();
    return;
  }
  auto bound = std::make_shared<BoundTerm>(term.node());
  ConditionNode node;
  node.text = ToString(*term.node());
  node.term = term.node();
  node.args = bound->args();
  node.asks_presence = AsksPresence(*term.node());
  node.answer = [bound](std::span<const BoundArg> args) {
    const TermValue value = bound->Evaluate(args);
    const bool* flag = std::get_if<bool>(&value.data);
    return flag != nullptr ? Truth(*flag) : std::nullopt;
  };
  nodes_.push_back(std::make_shared<ConditionNode>(std::move(node)));
}

Condition operator==(const Term& a, const Term& b) { return Compare(a, "==", b); }
Condition operator!=(const Term& a, const Term& b) { return Compare(a, "!=", b); }
Condition operator<(const Term& a, const Term& b) { return Compare(a, "<", b); }
Condition operator<=(const Term& a, const Term& b) { return Compare(a, "<=", b); }
Condition operator>(const Term& a, const Term& b) { return Compare(a, ">", b); }
Condition operator>=(const Term& a, const Term& b) { return Compare(a, ">=", b); }

}  // namespace tenon::drr
