// Arguments whose range a program knows.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "drr/check/instance.h"
#include "drr/check/run.h"
#include "ir/core/attribute.h"
#include "ir/core/context/context.h"

namespace tenon::drr {
namespace {

bool AsksAboutNumbers(const ConditionNode& condition) {
  if (condition.assumption != Assumption::kNone) return true;
  for (const auto& part : condition.parts)
    for (const auto& inner : part)
      if (AsksAboutNumbers(*inner)) return true;
  return condition.kind == ConditionNode::Kind::kPredicate &&
         condition.asks == ConditionNode::Asks::kOther;
}

// The leaves that conditions about numbers name. All leaves are, if one names what an operation of
// the match computes.
std::set<uint16_t> AskedLeaves(const CompiledRule& rule) {
  std::set<uint16_t> asked;
  bool all = false;
  for (const ConditionCode& condition : rule.conditions) {
    if (!AsksAboutNumbers(*condition.source)) continue;
    for (const ArgCode& arg : condition.args) {
      if (arg.edge.node == kNone) continue;
      asked.insert(arg.edge.node);
      all |= rule.nodes[arg.edge.node].kind != ValNode::Kind::kVariable;
    }
  }
  for (uint16_t n = 0; all && n < static_cast<uint16_t>(rule.nodes.size()); ++n) asked.insert(n);
  return asked;
}

}  // namespace

bool AsksAboutNumbers(const CompiledRule& rule) {
  return std::any_of(
      rule.conditions.begin(), rule.conditions.end(),
      [](const ConditionCode& condition) { return AsksAboutNumbers(*condition.source); });
}

std::map<uint16_t, InstancePlan::SoughtRange> InstancePlan::SoughtRanges(
    std::mt19937_64& random) const {
  using Place = SoughtNumbers::Place;
  if (!seeks_) return {};
  const SoughtNumbers sought(*rule_);
  SoughtNumbers::Values values;
  std::vector<bool> open;
  // From a narrow range to a wide one that fulfils the conditions, or the other way round.
  const bool is_wide = std::uniform_int_distribution<int>(0, 1)(random) == 1;
  const double start = is_wide ? std::ldexp(1.0, 60) : 1.0;
  for (const Place& place : sought.places()) {
    values.emplace_back();
    open.push_back(place.kind == Place::Kind::kLow || place.kind == Place::Kind::kHigh);
    if (open.back()) values.back() = place.kind == Place::Kind::kLow ? -start : start;
    const auto drawn = place.kind == Place::Kind::kAttr ? attrs_.find(place.index) : attrs_.end();
    if (drawn != attrs_.end()) values.back() = drawn->second;
  }
  std::map<uint16_t, SoughtRange> ranges;
  // Where small numbers fulfil the conditions, bounds of every size are drawn.
  const bool any = std::find(open.begin(), open.end(), true) != open.end();
  if (!any || !sought.Fails(values) || !sought.Seek(values, open, random)) return ranges;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!open[i]) continue;
    const Place& place = sought.places()[i];
    const bool is_low = place.kind == Place::Kind::kLow;
    SoughtRange& range = ranges[place.index];
    (is_low ? range.low : range.high) = std::get<double>(values[i]);
    (is_low ? range.asks_low : range.asks_high) = true;
  }
  // The end that no condition asks about lies at the other one.
  for (auto& [node, range] : ranges) {
    if (range.low > range.high)
      (range.asks_low ? range.high : range.low) = range.asks_low ? range.low : range.high;
  }
  return ranges;
}

void InstancePlan::Guard(std::mt19937_64& random, DType dtype, bool moderate) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const std::vector<double> beside = NumbersBeside(*rule_);
  // Numbers that the rule names, those of every size, and small ones.
  const auto bound = [&](DType type) {
    const int highest = type == DType::kF16 ? 15 : type == DType::kF64 ? 1000 : 126;
    const int style = pick(0, 3);
    double value = style < 2 && !beside.empty()
                       ? beside[static_cast<size_t>(pick(0, static_cast<int>(beside.size()) - 1))]
                   : style < 3 && !moderate
                       ? std::ldexp(pick(0, 1) == 0 ? 1 : -1, pick(-highest, highest))
                       : pick(-8, 8) / 4.0;
    value = Rounded(type, value);
    return std::abs(value) <= (moderate ? 1024.0 : std::numeric_limits<double>::max()) ? value
                                                                                       : 1.0;
  };
  static constexpr Guarding kKinds[] = {Guarding::kBetween, Guarding::kBetween,  Guarding::kBetween,
                                        Guarding::kAtLeast, Guarding::kAtMost,   Guarding::kRelu,
                                        Guarding::kSigmoid, Guarding::kZeroOrOne};
  const std::set<uint16_t> asked = AskedLeaves(*rule_);
  const auto ranges = SoughtRanges(random);
  // Conditions on several values hold together.
  const bool together = pick(0, 2) > 0;
  for (auto& [n, leaf] : leaves_) {
    const DType type = leaf.dtype == DType::kInvalid ? dtype : leaf.dtype;
    if (leaf.constant || leaf.boolean || leaf.index || leaf.given || !IsFloat(type)) continue;
    if (const auto range = ranges.find(leaf.node); together && range != ranges.end()) {
      const SoughtRange& sought = range->second;
      const bool is_open = sought.asks_low != sought.asks_high && pick(0, 2) > 0;
      leaf.guarding = !is_open          ? Guarding::kBetween
                      : sought.asks_low ? Guarding::kAtLeast
                                        : Guarding::kAtMost;
      leaf.low = sought.low;
      leaf.high = sought.high;
      continue;
    }
    // The numbers of other leaves are to reach as far as they can.
    if (pick(0, 2) == 0 || (asked.count(leaf.node) == 0 && pick(0, 3) > 0)) continue;
    leaf.guarding = kKinds[pick(0, static_cast<int>(std::size(kKinds)) - 1)];
    leaf.low = bound(type);
    leaf.high = pick(0, 1) == 0 ? -leaf.low : bound(type);
    if (leaf.guarding == Guarding::kBetween && leaf.low > leaf.high) std::swap(leaf.low, leaf.high);
    // Negative zeros are no plain numbers.
    if (moderate && leaf.low == 0) leaf.low = 0;
    if (moderate && leaf.high == 0) leaf.high = 0;
  }
}

Value InstancePlan::Guarded(const Leaf& leaf, Value argument, OpBuilder& builder) const {
  const auto make = [&](std::string_view op, Type made, std::initializer_list<Value> operands,
                        Attribute slot = {}) {
    const std::span<const Attribute> slots(&slot, slot ? 1 : 0);
    return builder
        .Insert(Operation::Create(*context_->FindOp(op), Location(), {&made, 1},
                                  {operands.begin(), operands.size()}, slots))
        ->result();
  };
  const Type type = argument.type();
  const auto number = [&](double value) {
    std::byte element[8];
    StoreFromDouble(type.dtype(), value, element);
    const Type scalar = Type::Tensor(*context_, type.dtype(), std::span<const int64_t>());
    return make("core.constant", scalar, {},
                Attribute::Splat(*context_, scalar, {element, SizeOf(type.dtype())}));
  };
  switch (leaf.guarding) {
    case Guarding::kNone:
      return argument;
    case Guarding::kAtLeast:
      return make("ten.max", type, {argument, number(leaf.low)});
    case Guarding::kAtMost:
      return make("ten.min", type, {argument, number(leaf.high)});
    case Guarding::kBetween: {
      const Value above = make("ten.max", type, {argument, number(leaf.low)});
      return make("ten.min", type, {above, number(leaf.high)});
    }
    case Guarding::kRelu:
      return make("ten.relu", type, {argument});
    case Guarding::kSigmoid:
      return make("ten.sigmoid", type, {argument});
    case Guarding::kZeroOrOne: {
      const Type flags = WithDType(type, DType::kBool);
      const Value is_above = make("ten.greater", flags, {argument, number(0)});
      const Attribute to = ToAttribute(*context_, AttrType::kType, type.dtype());
      return make("ten.cast", type, {is_above}, to);
    }
  }
  return argument;
}

}  // namespace tenon::drr
