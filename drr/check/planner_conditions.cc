// Shapes and attributes of an instance that conditions ask for.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "drr/check/planner.h"

namespace tenon::drr {
namespace {

bool Calls(const TermNode& term, std::string_view word) {
  return term.kind == TermNode::Kind::kCall && term.word->name == word;
}

// Is it `shape(x) == {1..., N}`? It reads dimensions, and binds none.
bool IsBehindOnes(const ConditionNode& condition) {
  if (!condition.term || !Calls(*condition.term, "==")) return false;
  const TermNode& asked = *condition.term->operands[0];
  const TermNode& list = *condition.term->operands[1];
  return Calls(asked, "shape") && asked.operands[0]->kind == TermNode::Kind::kArgument &&
         list.kind == TermNode::Kind::kList && !list.operands.empty() &&
         list.operands[0]->kind == TermNode::Kind::kOnes &&
         std::none_of(list.operands.begin(), list.operands.end(), [](const TermRef& element) {
           return element->kind == TermNode::Kind::kSpread;
         });
}

// The argument of the condition that this part of its term is; null if it is none.
const ArgCode* ArgumentOf(const ConditionCode& condition, const TermNode& part) {
  if (part.kind != TermNode::Kind::kArgument) return nullptr;
  const std::vector<ArgRef>& args = condition.source->args;
  for (size_t i = 0; i < args.size() && i < condition.args.size(); ++i)
    if (args[i].val == part.argument.val && args[i].result == part.argument.result &&
        args[i].attr == part.argument.attr && args[i].dim == part.argument.dim)
      return &condition.args[i];
  return nullptr;
}

}  // namespace

bool Planner::ApplyOnes() {
  for (const ConditionCode& condition : rule_.conditions) {
    if (!IsBehindOnes(*condition.source) || condition.list != kNone) continue;
    const TermNode& term = *condition.source->term;
    const ArgCode* asked = ArgumentOf(condition, *term.operands[0]->operands[0]);
    if (asked == nullptr || asked->edge.node == kNone) continue;
    Shape shape;
    const auto& elements = term.operands[1]->operands;
    for (size_t i = 1; i < elements.size(); ++i) {
      const int64_t* number = std::get_if<int64_t>(&elements[i]->literal);
      const ArgCode* dim = ArgumentOf(condition, *elements[i]);
      shape.push_back(number != nullptr                     ? Number(*number)
                      : dim != nullptr && dim->dim != kNone ? DimUnknown(dim->dim)
                                                            : Fresh());
    }
    const uint16_t n = Through(asked->edge).node;
    const auto known = shapes_.find(n);
    const auto hint = rank_hints_.find(n);
    size_t rank = shape.size();
    if (known != shapes_.end()) {
      rank = known->second.size();
    } else if (hint != rank_hints_.end()) {
      rank = static_cast<size_t>(hint->second);
    } else if (Chance(0.5)) {
      // Beside values of more axes it mostly has as many at the most.
      size_t most = 0;
      for (const auto& [other, planned] : shapes_) most = std::max(most, planned.size());
      rank += most > rank ? static_cast<size_t>(Pick(0, static_cast<int>(most - rank)))
                          : static_cast<size_t>(Pick(0, 2));
    }
    if (rank < shape.size()) return false;
    while (shape.size() < rank) shape.insert(shape.begin(), Number(1));
    const auto [it, inserted] = shapes_.emplace(n, shape);
    if (!inserted && !UnifyAll(it->second, shape)) return false;
  }
  return true;
}

void Planner::ApplySameValues() {
  for (const ConditionCode& condition : rule_.conditions) {
    const TermNode* term = condition.source->term.get();
    if (term == nullptr || !Calls(*term, "==") || condition.list != kNone) continue;
    const ArgCode* a = ArgumentOf(condition, *term->operands[0]);
    const ArgCode* b = ArgumentOf(condition, *term->operands[1]);
    if (a == nullptr || b == nullptr || a->edge.node == kNone || b->edge.node == kNone) continue;
    const uint16_t x = Through(a->edge).node, y = Through(b->edge).node;
    if (x == y || rule_.nodes[x].kind != ValNode::Kind::kVariable ||
        rule_.nodes[y].kind != ValNode::Kind::kVariable)
      continue;
    alike_.push_back({x, y});
    same_ = {x, y};
  }
}

bool AsksAboutAttr(const CompiledRule& rule, uint16_t variable) {
  return std::any_of(rule.conditions.begin(), rule.conditions.end(),
                     [&](const ConditionCode& condition) {
                       return std::any_of(condition.args.begin(), condition.args.end(),
                                          [&](const ArgCode& arg) { return arg.attr == variable; });
                     });
}

bool HoldsForAttrs(const CompiledRule& rule, const std::map<uint16_t, AttrValue>& values,
                   uint16_t of) {
  for (const ConditionCode& condition : rule.conditions) {
    if (condition.source->answer == nullptr || condition.list != kNone ||
        condition.source->assumption != Assumption::kNone)
      continue;
    std::vector<BoundArg> args(condition.args.size());
    bool reads = of == kNone, known = true;
    for (size_t i = 0; known && i < args.size(); ++i) {
      const uint16_t attr = condition.args[i].attr;
      const auto value = attr != kNone ? values.find(attr) : values.end();
      reads = reads || attr == of;
      known = value != values.end();
      if (known) args[i].literal = &value->second;
    }
    if (reads && known && AnswerOf(*condition.source, args) != Truth(true)) return false;
  }
  return true;
}

bool Planner::IsPositiveAttr(uint16_t variable) const {
  return std::any_of(rule_.nodes.begin(), rule_.nodes.end(), [&](const Node& node) {
    return std::any_of(node.attrs.begin(), node.attrs.end(), [&](const AttrCode& code) {
      return code.kind == AttrCode::Kind::kVariable && code.variable == variable &&
             IsPositiveName(node.info->slot_name(code.slot).str());
    });
  });
}

bool Planner::FulfilsConditions(uint16_t variable, const AttrValue& value) {
  const auto [known, inserted] = attrs_.emplace(variable, value);
  const AttrValue before = std::exchange(known->second, value);
  const bool holds = HoldsForAttrs(rule_, attrs_, variable);
  known->second = before;
  if (inserted) attrs_.erase(known);
  return holds;
}

AttrValue Planner::Draw(uint16_t variable, const std::function<AttrValue()>& draw) {
  constexpr int kTries = 48;
  const AttrValue first = draw();
  AttrValue value = first;
  // A bound on one side says nothing about the other one, and NaN is on neither.
  if (facts_.extremes && std::holds_alternative<double>(first) && AsksAboutAttr(rule_, variable) &&
      !IsPositiveAttr(variable) && Chance(0.2)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::array<double, 7> extremes = {kInfinity, -kInfinity, std::nan(""), 1e30, -1e30, 1e-30, 0};
    std::shuffle(extremes.begin(), extremes.end(), random_);
    for (const double extreme : extremes)
      if (FulfilsConditions(variable, extreme)) return extreme;
  }
  for (int i = 0; i < kTries; ++i) {
    if (FulfilsConditions(variable, value)) return value;
    value = Chance(0.4) ? NearConditions(draw()) : draw();
  }
  return Sought(variable, first);
}

AttrValue Planner::NearConditions(const AttrValue& drawn) {
  std::vector<const AttrValue*> alike;
  for (const auto& [variable, value] : attrs_)
    if (value.index() == drawn.index()) alike.push_back(&value);
  if (!alike.empty() && Chance(0.3))
    return *alike[static_cast<size_t>(Pick(0, static_cast<int>(alike.size()) - 1))];
  if (facts_.asked.empty()) return drawn;
  const auto asked = [&] {
    return facts_.asked[static_cast<size_t>(Pick(0, static_cast<int>(facts_.asked.size()) - 1))];
  };
  if (std::holds_alternative<int64_t>(drawn)) {
    const double number = asked();
    return std::abs(number) < kLargestWritten ? static_cast<int64_t>(number) + Pick(-2, 2)
                                              : std::get<int64_t>(drawn);
  }
  if (!std::holds_alternative<double>(drawn)) return drawn;
  // Numbers of few bits, which narrow types hold too, of a place between two that the rule asks
  // for.
  const double a = asked(), b = asked(), share = Pick(0, 16) / 16.0;
  const double between = a + (b - a) * share + (Chance(0.3) ? Pick(-4, 4) / 4.0 : 0);
  int exponent = 0;
  const double digits = std::frexp(between, &exponent);
  return Chance(0.7) ? std::ldexp(std::round(digits * 128), exponent - 7) : between;
}

}  // namespace tenon::drr
