// The values that are tried for a number that conditions compare.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "drr/check/instance.h"
#include "drr/check/sought.h"

namespace tenon::drr {
namespace {

bool IsComparison(const TermNode& term) {
  static constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
  return term.kind == TermNode::Kind::kCall && term.operands.size() == 2 &&
         std::find(std::begin(kSigns), std::end(kSigns), term.word->name) != std::end(kSigns);
}

// The number of so few bits that every float type holds it.
double OfFewBits(double value) {
  int exponent = 0;
  const double digits = std::frexp(value, &exponent);
  return std::ldexp(std::round(digits * 128), exponent - 7);
}

}  // namespace

struct SoughtNumbers::Search {
  int place;
  const Values& values;
  std::mt19937_64& random;
  std::vector<double> bounds = {};    // values of the place at which a comparison changes
  std::vector<double> beside = {};    // values beside them
  std::vector<AttrValue> lists = {};  // of a place that is a list
  bool is_bound = false;              // what Reach finds next is one of `bounds`

  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  void Found(double value) {
    if (std::isfinite(value)) (is_bound ? bounds : beside).push_back(value);
  }
};

void SoughtNumbers::AddBounds(const Part& part, Search& search) const {
  const ConditionNode& node = *part.node;
  if (node.term != nullptr) return AddBounds(part, *node.term, search);
  if (node.asks == ConditionNode::Asks::kDim) {
    if (Find({Place::Kind::kAxis, part.code->args[part.first].edge.node, node.axis}) ==
        search.place)
      search.bounds.push_back(static_cast<double>(node.number));
    return;
  }
  size_t first = part.first;
  for (const auto& conjunction : node.parts) {
    for (const auto& inner : conjunction) {
      AddBounds({part.code, inner.get(), first}, search);
      first += inner->args.size();
    }
  }
}

void SoughtNumbers::AddBounds(const Part& part, const TermNode& term, Search& search) const {
  if (term.kind != TermNode::Kind::kCall) return;
  if (IsCall(term, "power_of_two")) {
    search.is_bound = false;
    for (int i = 0; i < 8; ++i)
      Reach(part, *term.operands[0],
            std::ldexp(search.Pick(0, 3) == 0 ? -1 : 1, search.Pick(-12, 12)), search);
    return;
  }
  if (!IsComparison(term)) {
    for (const TermRef& operand : term.operands) AddBounds(part, *operand, search);
    return;
  }
  for (const size_t side : {0, 1}) {
    const std::optional<double> other =
        NumberOf(ValueOf(part, *term.operands[1 - side], search.values).data);
    if (!other || !std::isfinite(*other)) continue;
    const double r = *other, size = r == 0 ? 1 : std::abs(r);
    search.is_bound = true;
    Reach(part, *term.operands[side], r, search);
    search.is_bound = false;
    for (const double target : {r + size / 64, r - size / 64, r + size / 4096, r - size / 4096,
                                r + 1, r - 1, r + size, r - size / 2, -r, r + search.Pick(-8, 8)})
      Reach(part, *term.operands[side], target, search);
  }
}

void SoughtNumbers::ReachDim(uint16_t dim, double target, Search& search) const {
  const DimCode& code = rule_.dims[dim];
  if (code.kind == DimNode::Kind::kVariable) {
    if (Find({Place::Kind::kDim, code.variable, 0}) == search.place) search.Found(target);
    return;
  }
  if (code.kind == DimNode::Kind::kConstant || code.kind == DimNode::Kind::kAny) return;
  const std::optional<double> a = NumberOf(ValueOfDim(code.a, search.values).data);
  const std::optional<double> b = NumberOf(ValueOfDim(code.b, search.values).data);
  if (!a || !b) return;
  if (code.kind == DimNode::Kind::kAdd) ReachDim(code.a, target - *b, search);
  if (code.kind == DimNode::Kind::kAdd) ReachDim(code.b, target - *a, search);
  if (code.kind == DimNode::Kind::kSub) ReachDim(code.a, target + *b, search);
  if (code.kind == DimNode::Kind::kSub) ReachDim(code.b, *a - target, search);
  if (code.kind == DimNode::Kind::kMul) ReachDim(code.a, target / *b, search);
  if (code.kind == DimNode::Kind::kMul) ReachDim(code.b, target / *a, search);
}

void SoughtNumbers::Reach(const Part& part, const TermNode& term, double target,
                          Search& search) const {
  if (term.kind == TermNode::Kind::kArgument) {
    const ArgCode* arg = Argument(part, term);
    if (arg == nullptr || arg->edge.node != kNone) return;
    if (arg->dim != kNone) return ReachDim(arg->dim, target, search);
    if (PlaceOfAttr(arg->attr) == search.place) search.Found(target);
    return;
  }
  if (const std::optional<Place> place = PlaceIn(part, term)) {
    if (Find(*place) == search.place) search.Found(target);
    return;
  }
  for (const Place& bound : BoundsIn(part, term)) {
    const double size = std::abs(target);
    if (Find(bound) == search.place) search.Found(bound.kind == Place::Kind::kLow ? -size : size);
  }
  if (term.kind != TermNode::Kind::kCall) return;
  const std::string_view word = term.word->name;
  const auto reach = [&](size_t operand, double value) {
    Reach(part, *term.operands[operand], value, search);
  };
  const auto number = [&](size_t operand) {
    return NumberOf(ValueOf(part, *term.operands[operand], search.values).data);
  };
  // An element of a list that is the place itself.
  if (word == "only" || word == "smallest" || word == "[]") {
    const ArgCode* arg = term.operands[0]->kind == TermNode::Kind::kArgument
                             ? Argument(part, *term.operands[0])
                             : nullptr;
    if (arg == nullptr || arg->attr == kNone || PlaceOfAttr(arg->attr) != search.place) return;
    const I64s* list = std::get_if<I64s>(&search.values[static_cast<size_t>(search.place)]);
    if (list == nullptr || list->empty() || std::abs(target) > kLargestWritten) return;
    const auto size = static_cast<int64_t>(list->size());
    I64s changed = *list;
    int64_t at = word == "[]" ? static_cast<int64_t>(number(1).value_or(0)) : 0;
    at = at < 0 ? at + size : at;
    if (at < 0 || at >= size) return;
    for (int64_t i = 0; i < size; ++i)
      if (i == at || word == "smallest")
        changed[static_cast<size_t>(i)] = static_cast<int64_t>(std::round(target));
    search.lists.emplace_back(changed);
    return;
  }
  if (term.operands.size() == 1) {
    if (word == "-") reach(0, -target);
    if (word == "number" || word == "integer" || word == "floor") reach(0, target);
    if (word == "abs") reach(0, search.Pick(0, 1) == 0 ? target : -target);
    if (word == "sqrt") reach(0, target * target);
    if (word == "rsqrt") reach(0, 1 / (target * target));
    if (word == "exp") reach(0, std::log(target));
    if (word == "log") reach(0, std::exp(target));
    return;
  }
  if (word == "if" && term.operands.size() == 3) {
    reach(1, target);
    reach(2, target);
  }
  if (word == "held" && term.operands.size() == 2) reach(1, target);
  if (term.operands.size() != 2) return;
  const std::optional<double> a = number(0), b = number(1);
  if (!a || !b) return;
  if (word == "+") reach(0, target - *b), reach(1, target - *a);
  if (word == "-") reach(0, target + *b), reach(1, *a - target);
  if (word == "*") reach(0, target / *b), reach(1, target / *a);
  if (word == "/") reach(0, target * *b), reach(1, *a / target);
  if (word == "%") reach(0, target + *b * search.Pick(0, 8)), reach(1, *a - target);
  if (word == "min" || word == "max") reach(0, target), reach(1, target);
  if (word == "pow") reach(0, std::pow(target, 1 / *b)), reach(1, std::log(target) / std::log(*a));
}

std::vector<AttrValue> SoughtNumbers::ValuesToTry(int place, const Values& values,
                                                  std::mt19937_64& random) const {
  Search search = {place, values, random};
  for (const Condition& condition : conditions_)
    if (std::find(condition.reads.begin(), condition.reads.end(), place) != condition.reads.end())
      AddBounds(condition.part, search);
  std::vector<double> numbers = search.beside;
  for (size_t i = 0; i < search.bounds.size(); ++i) {
    const double a = search.bounds[i];
    numbers.push_back(a);
    for (size_t j = 0; j < i; ++j) {
      const double b = search.bounds[j];
      numbers.push_back(a + (b - a) * search.Pick(1, 15) / 16);
      if (a * b > 0) numbers.push_back(std::copysign(std::sqrt(a * b), a));
    }
  }
  const AttrValue& now = values[static_cast<size_t>(place)];
  std::vector<AttrValue> tried = std::move(search.lists);
  for (const double number : numbers) {
    if (std::holds_alternative<double>(now)) {
      tried.emplace_back(number);
      tried.emplace_back(OfFewBits(number));
    } else if (std::holds_alternative<int64_t>(now) && std::abs(number) <= kLargestWritten) {
      tried.emplace_back(static_cast<int64_t>(std::floor(number)));
      tried.emplace_back(static_cast<int64_t>(std::ceil(number)));
    }
  }
  const Place::Kind kind = places_[static_cast<size_t>(place)].kind;
  if (kind == Place::Kind::kDim || kind == Place::Kind::kAxis)
    std::erase_if(tried, [](const AttrValue& value) { return std::get<int64_t>(value) < 0; });
  std::shuffle(tried.begin(), tried.end(), random);
  return tried;
}

bool SoughtNumbers::Seek(Values& values, const std::vector<bool>& open,
                         std::mt19937_64& random) const {
  constexpr int kStarts = 4, kSteps = 24;
  const Values first = values;
  for (int step = 0; step < kStarts * kSteps; ++step) {
    if (step % kSteps == 0) values = first;
    std::vector<int> movable;  // of conditions that fail
    for (const Condition& condition : conditions_) {
      if (!Fails(condition, values)) continue;
      for (const int place : condition.reads)
        if (open[static_cast<size_t>(place)]) movable.push_back(place);
    }
    if (movable.empty()) break;
    const int place = movable[std::uniform_int_distribution<size_t>(0, movable.size() - 1)(random)];
    AttrValue& value = values[static_cast<size_t>(place)];
    AttrValue best = value;
    int64_t fewest = -1;
    for (const AttrValue& tried : ValuesToTry(place, values, random)) {
      value = tried;
      const int64_t failing =
          std::count_if(conditions_.begin(), conditions_.end(),
                        [&](const Condition& condition) { return Fails(condition, values); });
      if (fewest >= 0 && failing >= fewest) continue;
      best = tried;
      fewest = failing;
    }
    value = best;
  }
  if (!Fails(values)) return true;
  values = first;
  return false;
}

}  // namespace tenon::drr
