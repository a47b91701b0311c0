// Comparisons of numbers, extents, element types, texts and attributes.
#include "drr/conflicts/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "drr/conflicts/subsumption.h"

namespace tenon::drr {
namespace {

using Asks = ConditionNode::Asks;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

std::optional<double> NumberIn(const AttrValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return std::nullopt;
}

bool IsSameValue(const AttrValue& a, const AttrValue& b) {
  const std::optional<double> x = NumberIn(a), y = NumberIn(b);
  return x && y ? *x == *y : a == b;
}

bool IsCallOf(const TermNode& term, std::string_view word) {
  return term.kind == TermNode::Kind::kCall && term.word->name == word;
}

// Values that are numbers are bounds as well.
void SetValues(Claim& claim, std::vector<AttrValue> values) {
  double low = kUnbounded, high = -kUnbounded;
  bool are_numbers = !values.empty();
  for (const AttrValue& value : values) {
    const std::optional<double> number = NumberIn(value);
    are_numbers = are_numbers && number.has_value();
    low = std::min(low, number.value_or(low));
    high = std::max(high, number.value_or(high));
  }
  if (are_numbers) std::tie(claim.low, claim.high) = std::pair(low, high);
  claim.values = std::move(values);
}

std::optional<Claim> ClaimOfTerm(const TermNode& term) {
  Claim claim;
  if (term.kind != TermNode::Kind::kCall || term.operands.size() != 2) return std::nullopt;
  const TermNode &left = *term.operands[0], &right = *term.operands[1];
  if (IsCallOf(term, "in")) {
    std::vector<AttrValue> values;
    for (const TermRef& element : right.operands) {
      if (element->kind != TermNode::Kind::kLiteral) return std::nullopt;
      values.push_back(element->literal);
    }
    if (right.kind != TermNode::Kind::kList || values.empty()) return std::nullopt;
    claim.term = &left;
    SetValues(claim, std::move(values));
    return claim;
  }
  const bool is_first = left.kind == TermNode::Kind::kLiteral;
  if (is_first == (right.kind == TermNode::Kind::kLiteral)) return std::nullopt;
  const AttrValue& value = is_first ? left.literal : right.literal;
  claim.term = is_first ? &right : &left;
  if (IsCallOf(term, "==")) {
    SetValues(claim, {value});
    return claim;
  }
  const std::optional<double> number = NumberIn(value);
  if (!number || std::isnan(*number)) return std::nullopt;
  if (IsCallOf(term, "!=")) {
    claim.but = *number;
    return claim;
  }
  const bool is_less = IsCallOf(term, "<") || IsCallOf(term, "<=");
  const bool is_greater = IsCallOf(term, ">") || IsCallOf(term, ">=");
  if (!is_less && !is_greater) return std::nullopt;
  const bool is_strict = IsCallOf(term, "<") || IsCallOf(term, ">");
  if (is_less != is_first) {
    claim.high = *number;
    claim.below_high = is_strict;
  } else {
    claim.low = *number;
    claim.above_low = is_strict;
  }
  return claim;
}

}  // namespace

std::optional<Claim> ClaimOf(const ConditionNode& node) {
  Claim claim;
  const auto number = static_cast<double>(node.number);
  switch (node.asks) {
    case Asks::kRank:
    case Asks::kRankAtLeast:
      claim.word = "rank";
      if (node.asks == Asks::kRankAtLeast) {
        claim.low = number;
      } else {
        SetValues(claim, {AttrValue(node.number)});
      }
      return claim;
    case Asks::kDim:
      claim.word = "dim";
      claim.axis = node.axis;
      SetValues(claim, {AttrValue(node.number)});
      return claim;
    case Asks::kDType:
      claim.word = "dtype";
      claim.values = {AttrValue(node.dtype)};
      return claim;
    case Asks::kOther:
      return node.term != nullptr ? ClaimOfTerm(*node.term) : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool Implies(const Claim& known, const Claim& asked) {
  const auto is_asked = [&](const AttrValue& value) {
    return std::any_of(asked.values.begin(), asked.values.end(),
                       [&](const AttrValue& one) { return IsSameValue(one, value); });
  };
  if (!asked.values.empty())
    return !known.values.empty() && std::all_of(known.values.begin(), known.values.end(), is_asked);
  if (asked.but) {
    const double number = *asked.but;
    const bool are_numbers =
        std::all_of(known.values.begin(), known.values.end(),
                    [](const AttrValue& v) { return NumberIn(v).has_value(); });
    if (!known.values.empty() && are_numbers)
      return std::none_of(known.values.begin(), known.values.end(),
                          [&](const AttrValue& v) { return NumberIn(v) == number; });
    return known.low > number || known.high < number || (known.above_low && known.low == number) ||
           (known.below_high && known.high == number);
  }
  // Infinite bounds say nothing: not even that it is a number.
  const bool from_low = asked.low == -kUnbounded && !asked.above_low;
  const bool to_high = asked.high == kUnbounded && !asked.below_high;
  if (from_low && to_high) return false;
  const bool is_low = from_low || known.low > asked.low ||
                      (known.low == asked.low && (known.above_low || !asked.above_low));
  const bool is_high = to_high || known.high < asked.high ||
                       (known.high == asked.high && (known.below_high || !asked.below_high));
  return is_low && is_high;
}

// The subject that a part of the term of a fact is; null if it is none.
const Subsumption::Subject* Subsumption::SubjectOf(const TermNode& part, const Fact& fact) {
  if (part.kind != TermNode::Kind::kArgument) return nullptr;
  const std::vector<ArgRef>& args = fact.condition->args;
  for (size_t i = 0; i < args.size() && i < fact.args.size(); ++i)
    if (args[i].val == part.argument.val && args[i].result == part.argument.result &&
        args[i].attr == part.argument.attr && args[i].dim == part.argument.dim)
      return &fact.args[i];
  return nullptr;
}

bool Subsumption::ComparisonFollows(const Fact& asked, const std::vector<Fact>& facts) const {
  if (asked.negated) return false;
  // An extent is itself.
  const TermNode* const term = asked.condition->term.get();
  if (term != nullptr &&
      (IsCallOf(*term, "==") || IsCallOf(*term, ">=") || IsCallOf(*term, "<="))) {
    const Subject* const a = SubjectOf(*term->operands[0], asked);
    const Subject* const b = SubjectOf(*term->operands[1], asked);
    if (a != nullptr && b != nullptr && *a == *b && a->kind == Subject::Kind::kDim) return true;
  }
  const std::optional<Claim> want = ClaimOf(*asked.condition);
  if (!want) return false;
  // Is a term the quantity that another claim has a word for?
  const auto is_word = [](const Claim& word, const Fact& of_word, const TermNode& quantity,
                          const Fact& of_term) {
    if (!IsCallOf(quantity, word.word) || of_word.args.empty()) return false;
    const Subject* const subject = SubjectOf(*quantity.operands[0], of_term);
    if (subject == nullptr || *subject != of_word.args[0]) return false;
    if (quantity.operands.size() < 2) return true;
    const auto* const axis = std::get_if<int64_t>(&quantity.operands[1]->literal);
    return axis != nullptr && *axis == word.axis;
  };
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
    if (fact.negated) return false;
    const std::optional<Claim> known = ClaimOf(*fact.condition);
    if (!known || !Implies(*known, *want)) return false;
    if (want->term != nullptr && known->term != nullptr)
      return SameTerm(*want->term, asked, *known->term, fact);
    if (want->term != nullptr) return is_word(*known, fact, *want->term, asked);
    if (known->term != nullptr) return is_word(*want, asked, *known->term, fact);
    return want->word == known->word && want->axis == known->axis && !asked.args.empty() &&
           !fact.args.empty() && asked.args[0] == fact.args[0];
  });
}

bool Subsumption::HoldsForLiterals(const ConditionCode& condition) const {
  if (condition.source->answer == nullptr || condition.args.empty()) return false;
  // A number of a splat is one of those that the type rounds to it, unless few bits say it.
  std::vector<AttrValue> values;
  std::vector<bool> is_rounded;
  for (const ArgCode& arg : condition.args) {
    const auto it = arg.attr != kNone ? state_.attrs.find(arg.attr) : state_.attrs.end();
    if (it == state_.attrs.end() || it->second == nullptr ||
        it->second->kind != AttrCode::Kind::kLiteral)
      return false;
    values.push_back(ToAttrValue(it->second->literal));
    const std::optional<double> number = NumberIn(values.back());
    int exponent = 0;
    const double digits = number ? std::frexp(*number, &exponent) * 256 : 0;
    is_rounded.push_back(std::isfinite(digits) && std::floor(digits) != digits);
  }
  constexpr std::array<double, 3> kFactors = {1, 1 - 2e-5, 1 + 2e-5};
  return std::all_of(kFactors.begin(), kFactors.end(), [&](double factor) {
    std::vector<AttrValue> moved = values;
    for (size_t i = 0; i < moved.size(); ++i)
      if (auto* const real = std::get_if<double>(&moved[i]); real != nullptr && is_rounded[i])
        *real *= factor;
    std::vector<BoundArg> args(moved.size());
    for (size_t i = 0; i < args.size(); ++i) args[i].literal = &moved[i];
    return AnswerOf(*condition.source, args) == Truth(true);
  });
}

}  // namespace tenon::drr
