// The table of patterns: what holds for a number and a type.
#include "drr/automaton/patterns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "drr/match/same_number.h"

namespace tenon::drr {
namespace {

// The number that a term is, whatever matches: 2, -0.5.
std::optional<double> LiteralOf(const TermNode& term) {
  if (const double* number = std::get_if<double>(&term.literal)) return *number;
  if (const int64_t* number = std::get_if<int64_t>(&term.literal))
    return static_cast<double>(*number);
  if (term.kind != TermNode::Kind::kCall || term.word->name != "-" || term.operands.size() != 1)
    return std::nullopt;
  const std::optional<double> number = LiteralOf(*term.operands[0]);
  return number ? std::optional(-*number) : std::nullopt;
}

}  // namespace

bool Holds(const TypeQuestion& question, Value value) {
  using Asks = ConditionNode::Asks;
  const Type type = value.type();
  switch (question.asks) {
    case Asks::kRank:
      return type.is_tensor() && type.rank() == question.number;
    case Asks::kRankAtLeast:
      return type.is_tensor() && type.rank() >= question.number;
    case Asks::kDType:
      return type.is_any_tensor() && type.dtype() == question.dtype;
    case Asks::kFloat:
      return type.is_any_tensor() && IsFloat(type.dtype());
    case Asks::kDim: {
      const int64_t axis = question.axis;
      return type.is_tensor() && type.rank() >= (axis < 0 ? -axis : axis + 1) &&
             type.dim(axis).is_constant(question.number);
    }
    default:
      break;
  }
  BoundArg arg;
  arg.value = value;
  const absl::InlinedVector<BoundArg, 6> args(question.condition->args.size(), arg);
  return Holds(*question.condition, args);
}

PatternTable::PatternTable() {
  kinds_.resize(1);  // kAnything
  constant_ = Intern({}, 0).first;
}

std::pair<PatternId, bool> PatternTable::Intern(Key key, unsigned height) {
  const auto [it, inserted] =
      known_.try_emplace(std::move(key), static_cast<PatternId>(kinds_.size()));
  if (inserted) kinds_.emplace_back().height = static_cast<uint8_t>(height);
  return {it->second, inserted};
}

// Bounds include the numbers of `<` and `>`, so that rounding an integer excludes nothing.
void PatternTable::AddNumberConditions(std::vector<const ConditionNode*> all, PatternId pattern) {
  NumberConditions made;
  for (const ConditionNode* condition : all) {
    const TermNode* term = condition->term.get();
    if (term == nullptr || term->kind != TermNode::Kind::kCall || term->operands.size() != 2)
      continue;
    const std::string_view word = term->word->name;
    const bool argument_first = term->operands[0]->kind == TermNode::Kind::kArgument;
    const TermNode& argument = *term->operands[argument_first ? 0 : 1];
    const std::optional<double> bound = LiteralOf(*term->operands[argument_first ? 1 : 0]);
    if (argument.kind != TermNode::Kind::kArgument || !bound) continue;
    const bool less = word == "<" || word == "<=", greater = word == ">" || word == ">=";
    if (word == "==" || (argument_first ? greater : less)) made.low = std::max(made.low, *bound);
    if (word == "==" || (argument_first ? less : greater)) made.high = std::min(made.high, *bound);
  }
  made.all = std::move(all);
  made.pattern = pattern;
  number_conditions_.push_back(std::move(made));
}

void PatternTable::Finish() {
  std::stable_sort(numbers_.begin(), numbers_.end(), [](const auto& a, const auto& b) {
    return std::strong_order(a.first, b.first) < 0;
  });
  std::sort(unknown_.begin(), unknown_.end());
}

void PatternTable::AppendNumbers(Attribute elements, std::vector<PatternId>& patterns) const {
  const double got = elements.ElementAsDouble(0);
  const DType dtype = elements.type().dtype();
  // Numbers that are not finite are equal or not; NaN of any kind stands at either end.
  double low = got, high = got;
  if (std::isfinite(got)) {
    const double reach = std::abs(got) * 2 * kLargestTolerance;
    low = got - reach;
    high = got + reach;
  }
  auto at = numbers_.begin();
  if (!std::isnan(got)) {
    at = std::lower_bound(
        numbers_.begin(), numbers_.end(), low, [](const auto& entry, double number) {
          return std::isnan(entry.first) ? std::signbit(entry.first) : entry.first < number;
        });
  }
  for (; at != numbers_.end(); ++at) {
    if (!std::isnan(got) && (std::isnan(at->first) || at->first > high)) break;
    if (SameNumber(at->first, got, dtype)) patterns.push_back(at->second);
  }
  BoundArg arg;
  arg.number = got;
  for (const NumberConditions& conditions : number_conditions_) {
    if (got < conditions.low || got > conditions.high) continue;
    const bool hold = std::all_of(
        conditions.all.begin(), conditions.all.end(), [&](const ConditionNode* condition) {
          const absl::InlinedVector<BoundArg, 6> args(condition->args.size(), arg);
          return Holds(*condition, args);
        });
    if (hold) patterns.push_back(conditions.pattern);
  }
}

void PatternTable::AppendFollowing(PatternId part, const std::vector<bool>& answers,
                                   std::vector<PatternId>& patterns) const {
  const Kind& kind = kinds_[part];
  patterns.insert(patterns.end(), kind.either.begin(), kind.either.end());
  for (const PatternId typed : kind.typed) {
    const std::vector<uint32_t>& questions = typed_[kinds_[typed].index];
    if (std::all_of(questions.begin(), questions.end(),
                    [&](uint32_t question) { return answers[question]; }))
      patterns.push_back(typed);
  }
}

}  // namespace tenon::drr
