#include "drr/check/sought.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "drr/check/instance.h"
#include "ir/base/guarded_read.h"

namespace tenon::drr {
namespace {

Truth Flag(const TermValue& value) {
  const bool* flag = std::get_if<bool>(&value.data);
  return flag != nullptr ? Truth(*flag) : std::nullopt;
}

// Of a conjunction, or of a disjunction if `decides` is true.
Truth Join(Truth a, Truth b, bool decides) {
  if (a == Truth(decides) || b == Truth(decides)) return decides;
  return a && b ? Truth(!decides) : std::nullopt;
}

}  // namespace

// ---- what conditions read

bool SoughtNumbers::IsCall(const TermNode& term, std::string_view word) {
  return term.kind == TermNode::Kind::kCall && term.word->name == word;
}

SoughtNumbers::SoughtNumbers(const CompiledRule& rule) : rule_(rule) {
  for (const ConditionCode& code : rule.conditions) {
    if (code.list != kNone) continue;
    Condition condition = {{&code, code.source, 0}, {}, false};
    condition.only_numbers = Reads(condition.part, condition.reads);
    if (!condition.reads.empty()) conditions_.push_back(std::move(condition));
  }
}

int SoughtNumbers::Find(const Place& place) const {
  const auto at = std::find(places_.begin(), places_.end(), place);
  return at == places_.end() ? -1 : static_cast<int>(at - places_.begin());
}

int SoughtNumbers::PlaceOf(const Place& place) {
  const int known = Find(place);
  if (known >= 0) return known;
  places_.push_back(place);
  return static_cast<int>(places_.size()) - 1;
}

int SoughtNumbers::PlaceOfAttr(uint16_t variable) const {
  return Find({Place::Kind::kAttr, variable, 0});
}

bool SoughtNumbers::Reads(const Part& part, std::vector<int>& reads) {
  const ConditionNode& node = *part.node;
  if (node.term != nullptr) return Reads(part, *node.term, reads);
  if (node.asks == ConditionNode::Asks::kDim) {
    reads.push_back(
        PlaceOf({Place::Kind::kAxis, part.code->args[part.first].edge.node, node.axis}));
    return true;
  }
  if (node.asks != ConditionNode::Asks::kEither && node.asks != ConditionNode::Asks::kNot)
    return false;
  bool only = true;
  size_t first = part.first;
  for (const auto& conjunction : node.parts) {
    for (const auto& inner : conjunction) {
      only = Reads({part.code, inner.get(), first}, reads) && only;
      first += inner->args.size();
    }
  }
  return only;
}

bool SoughtNumbers::Reads(const Part& part, const TermNode& term, std::vector<int>& reads) {
  if (term.kind == TermNode::Kind::kLiteral) return true;
  if (term.kind == TermNode::Kind::kArgument) {
    const ArgCode* arg = Argument(part, term);
    if (arg == nullptr || arg->edge.node != kNone) return false;
    if (arg->dim != kNone) return ReadsDim(arg->dim, reads);
    reads.push_back(PlaceOf({Place::Kind::kAttr, arg->attr, 0}));
    return true;
  }
  if (const std::optional<Place> place = PlaceIn(part, term)) {
    reads.push_back(PlaceOf(*place));
    return true;
  }
  if (const std::vector<Place> bounds = BoundsIn(part, term); !bounds.empty()) {
    for (const Place& bound : bounds) reads.push_back(PlaceOf(bound));
    return true;
  }
  bool only = term.kind == TermNode::Kind::kCall || term.kind == TermNode::Kind::kList;
  for (const TermRef& operand : term.operands) only = Reads(part, *operand, reads) && only;
  return only;
}

bool SoughtNumbers::ReadsDim(uint16_t dim, std::vector<int>& reads) {
  const DimCode& code = rule_.dims[dim];
  if (code.kind == DimNode::Kind::kConstant) return true;
  if (code.kind == DimNode::Kind::kAny) return false;
  if (code.kind != DimNode::Kind::kVariable)
    return ReadsDim(code.a, reads) && ReadsDim(code.b, reads);
  reads.push_back(PlaceOf({Place::Kind::kDim, code.variable, 0}));
  return true;
}

const ArgCode* SoughtNumbers::Argument(const Part& part, const TermNode& term) const {
  const std::vector<ArgRef>& args = part.node->args;
  for (size_t i = 0; i < args.size() && part.first + i < part.code->args.size(); ++i)
    if (args[i].val == term.argument.val && args[i].result == term.argument.result &&
        args[i].attr == term.argument.attr && args[i].dim == term.argument.dim)
      return &part.code->args[part.first + i];
  return nullptr;
}

std::optional<SoughtNumbers::Place> SoughtNumbers::PlaceIn(const Part& part,
                                                           const TermNode& term) const {
  const bool is_low = IsCall(term, "lower_bound"), is_high = IsCall(term, "upper_bound");
  if (!is_low && !is_high && !IsCall(term, "dim")) return std::nullopt;
  if (term.operands[0]->kind != TermNode::Kind::kArgument) return std::nullopt;
  const ArgCode* arg = Argument(part, *term.operands[0]);
  if (arg == nullptr || arg->edge.node == kNone) return std::nullopt;
  if (is_low) return Place{Place::Kind::kLow, arg->edge.node, 0};
  if (is_high) return Place{Place::Kind::kHigh, arg->edge.node, 0};
  const int64_t* axis = std::get_if<int64_t>(&term.operands[1]->literal);
  if (axis == nullptr) return std::nullopt;
  return Place{Place::Kind::kAxis, arg->edge.node, *axis};
}

std::vector<SoughtNumbers::Place> SoughtNumbers::BoundsIn(const Part& part,
                                                          const TermNode& term) const {
  if (!IsCall(term, "magnitude") || term.operands[0]->kind != TermNode::Kind::kArgument) return {};
  const ArgCode* arg = Argument(part, *term.operands[0]);
  if (arg == nullptr || arg->edge.node == kNone) return {};
  return {{Place::Kind::kLow, arg->edge.node, 0}, {Place::Kind::kHigh, arg->edge.node, 0}};
}

// ---- whether conditions hold

bool SoughtNumbers::Fails(const Condition& condition, const Values& values) const {
  const bool known =
      condition.only_numbers &&
      std::none_of(condition.reads.begin(), condition.reads.end(), [&](int place) {
        return std::holds_alternative<std::monostate>(values[static_cast<size_t>(place)]);
      });
  const Truth truth = TruthOf(condition.part, values);
  return known ? truth != Truth(true) : truth == Truth(false);
}

bool SoughtNumbers::Fails(const Values& values) const {
  return std::any_of(conditions_.begin(), conditions_.end(),
                     [&](const Condition& condition) { return Fails(condition, values); });
}

Truth SoughtNumbers::TruthOf(const Part& part, const Values& values) const {
  const ConditionNode& node = *part.node;
  if (node.term != nullptr) return Flag(ValueOf(part, *node.term, values));
  if (node.asks == ConditionNode::Asks::kDim) {
    const int at = Find({Place::Kind::kAxis, part.code->args[part.first].edge.node, node.axis});
    const int64_t* extent = std::get_if<int64_t>(&values[static_cast<size_t>(at)]);
    return extent != nullptr ? Truth(*extent == node.number) : std::nullopt;
  }
  if (node.asks != ConditionNode::Asks::kEither && node.asks != ConditionNode::Asks::kNot)
    return std::nullopt;
  Truth any = false;
  size_t first = part.first;
  for (const auto& conjunction : node.parts) {
    Truth all = true;
    for (const auto& inner : conjunction) {
      all = Join(all, TruthOf({part.code, inner.get(), first}, values), false);
      first += inner->args.size();
    }
    any = Join(any, all, true);
  }
  return node.asks == ConditionNode::Asks::kNot && any ? Truth(!*any) : any;
}

TermValue SoughtNumbers::ValueOfDim(uint16_t dim, const Values& values) const {
  const DimCode& code = rule_.dims[dim];
  if (code.kind == DimNode::Kind::kConstant) return {code.constant.constant(), {}};
  if (code.kind == DimNode::Kind::kAny) return {};
  if (code.kind == DimNode::Kind::kVariable) {
    const int at = Find({Place::Kind::kDim, code.variable, 0});
    return at < 0 ? TermValue() : TermValue{values[static_cast<size_t>(at)], {}};
  }
  const std::array<TermValue, 2> sides = {ValueOfDim(code.a, values), ValueOfDim(code.b, values)};
  const std::string_view sign = code.kind == DimNode::Kind::kAdd   ? "+"
                                : code.kind == DimNode::Kind::kSub ? "-"
                                                                   : "*";
  if (!sides[0].has_value() || !sides[1].has_value()) return {};
  return FindOperator(sign, 2)->compute(sides);
}

TermValue SoughtNumbers::ValueOf(const Part& part, const TermNode& term,
                                 const Values& values) const {
  if (term.kind == TermNode::Kind::kLiteral) return {term.literal, {}};
  if (term.kind == TermNode::Kind::kArgument) {
    const ArgCode* arg = Argument(part, term);
    if (arg == nullptr || arg->edge.node != kNone) return {};
    if (arg->dim != kNone) return ValueOfDim(arg->dim, values);
    const int at = PlaceOfAttr(arg->attr);
    return at < 0 ? TermValue() : TermValue{values[static_cast<size_t>(at)], {}};
  }
  if (const std::optional<Place> place = PlaceIn(part, term))
    return {values[static_cast<size_t>(Find(*place))], {}};
  if (const std::vector<Place> bounds = BoundsIn(part, term); !bounds.empty()) {
    const std::optional<double> low = NumberOf(values[static_cast<size_t>(Find(bounds[0]))]);
    const std::optional<double> high = NumberOf(values[static_cast<size_t>(Find(bounds[1]))]);
    return low && high ? TermValue{std::max(std::abs(*low), std::abs(*high)), {}} : TermValue();
  }
  if (term.kind == TermNode::Kind::kList) {
    I64s list;
    for (const TermRef& operand : term.operands) {
      const TermValue element = ValueOf(part, *operand, values);
      const int64_t* number = std::get_if<int64_t>(&element.data);
      if (number == nullptr) return {};
      list.push_back(*number);
    }
    return {list, {}};
  }
  if (term.kind != TermNode::Kind::kCall) return {};
  if (IsCall(term, "&&") || IsCall(term, "||")) {
    const Truth a = Flag(ValueOf(part, *term.operands[0], values));
    const Truth b = Flag(ValueOf(part, *term.operands[1], values));
    const Truth both = Join(a, b, term.word->name == "||");
    return both ? TermValue{*both, {}} : TermValue();
  }
  if (IsCall(term, "if")) {
    const Truth flag = Flag(ValueOf(part, *term.operands[0], values));
    const size_t chosen = flag == Truth(true) ? 1 : 2;
    return flag && chosen < term.operands.size() ? ValueOf(part, *term.operands[chosen], values)
                                                 : TermValue();
  }
  if (term.word->compute == nullptr) return {};
  std::vector<TermValue> args;
  for (const TermRef& operand : term.operands) {
    args.push_back(ValueOf(part, *operand, values));
    if (!args.back().has_value()) return {};
  }
  return GuardedRead([&] { return term.word->compute(args); }).value_or(TermValue());
}

}  // namespace tenon::drr
