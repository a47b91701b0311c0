// Which conditions follow from others: of ranks, element types and extents.
#include <algorithm>

#include "drr/conflicts/subsumption.h"

namespace tenon::drr {
namespace {

using Asks = ConditionNode::Asks;

bool IsShape(const ConditionNode& node) { return node.kind == ConditionNode::Kind::kShape; }

}  // namespace

// The conjuncts of one part of a condition, with their arguments.
std::vector<Subsumption::Fact> Subsumption::Parts(const Fact& fact, size_t part) {
  std::vector<Fact> parts;
  size_t at = 0;
  for (size_t p = 0; p <= part && p < fact.condition->parts.size(); ++p) {
    for (const auto& node : fact.condition->parts[p]) {
      const size_t count = node->args.size();
      if (at + count > fact.args.size()) return {};
      const auto from = fact.args.begin() + static_cast<ptrdiff_t>(at);
      if (p == part)
        parts.push_back({node.get(), {from, from + static_cast<ptrdiff_t>(count)}, false});
      at += count;
    }
  }
  return parts;
}

std::vector<Subsumption::Fact> Subsumption::Facts() const {
  std::vector<Fact> facts;
  for (const ConditionCode& condition : specific_.conditions) {
    Fact fact{condition.source, {}, false};
    for (const ArgCode& arg : condition.args) {
      if (arg.edge.node != kNone) {
        fact.args.push_back({Subject::Kind::kValue, Through({arg.edge.node, arg.edge.result})});
      } else if (arg.attr != kNone) {
        fact.args.push_back({Subject::Kind::kAttr, {arg.attr, 0}});
      } else {
        fact.args.push_back({Subject::Kind::kDim, {FirstEqual(arg.dim), 0}});
      }
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

uint16_t Subsumption::FirstEqual(uint16_t dim) const {
  const auto equal = [&](const auto& self, uint16_t a, uint16_t b) -> bool {
    const DimCode &x = specific_.dims[a], &y = specific_.dims[b];
    if (a == b) return true;
    if (x.kind != y.kind || x.kind == DimNode::Kind::kAny) return false;
    if (x.kind == DimNode::Kind::kVariable) return x.variable == y.variable;
    if (x.kind == DimNode::Kind::kConstant) return x.constant == y.constant;
    return self(self, x.a, y.a) && self(self, x.b, y.b);
  };
  uint16_t first = 0;
  while (!equal(equal, first, dim)) ++first;
  return first;
}

// A condition of `general` over what `specific` has. Nothing: it is about something else.
std::optional<Subsumption::Fact> Subsumption::Asked(const ConditionCode& condition) const {
  Fact fact{condition.source, {}, false};
  for (const ArgCode& arg : condition.args) {
    if (arg.attr != kNone) {
      const auto it = state_.attrs.find(arg.attr);
      if (it == state_.attrs.end() || it->second == nullptr ||
          it->second->kind != AttrCode::Kind::kVariable)
        return std::nullopt;
      fact.args.push_back({Subject::Kind::kAttr, {it->second->variable, 0}});
      continue;
    }
    if (arg.dim != kNone) {
      const DimCode& dim = general_.dims[arg.dim];
      const auto it =
          dim.kind == DimNode::Kind::kVariable ? state_.dims.find(dim.variable) : state_.dims.end();
      if (it == state_.dims.end()) return std::nullopt;
      fact.args.push_back({Subject::Kind::kDim, {FirstEqual(it->second), 0}});
      continue;
    }
    const auto it = state_.bound.find(arg.edge.node);
    if (it == state_.bound.end() || it->second.first == kNone) return std::nullopt;
    const bool op = general_.nodes[arg.edge.node].kind == ValNode::Kind::kOp;
    const Place place = op ? Place(it->second.first, arg.edge.result) : it->second;
    fact.args.push_back({Subject::Kind::kValue, place});
  }
  return fact;
}

bool Subsumption::ShapeFollows(const ConditionCode& condition) {
  const std::optional<Fact> asked = Asked(condition);
  if (!asked) return false;
  for (const ConditionCode& known : specific_.conditions) {
    if (!IsShape(*known.source) || known.source->rest != condition.source->rest ||
        (known.source->assumption != Assumption::kNone &&
         condition.source->assumption == Assumption::kNone) ||
        known.args[0].edge.node == kNone ||
        Through({known.args[0].edge.node, known.args[0].edge.result}) != asked->args[0].place)
      continue;
    const State before = state_;
    if (SameDims(condition.shape, known.shape)) return true;
    state_ = before;
  }
  return false;
}

// A shape whose dimensions are named nowhere else asks for a rank.
bool Subsumption::ShapeIsRank(const ConditionCode& condition) const {
  std::map<uint16_t, int> named;
  const auto note = [&](uint16_t dim) {
    const DimCode& code = general_.dims[dim];
    if (code.kind == DimNode::Kind::kVariable) ++named[code.variable];
    return code.kind == DimNode::Kind::kVariable || code.kind == DimNode::Kind::kAny;
  };
  for (const ConditionCode& other : general_.conditions)
    std::for_each(other.shape.begin(), other.shape.end(), note);
  for (const Node& node : general_.nodes) {
    for (const AttrCode& attr : node.attrs) {
      if (!node.in_source || attr.dims.empty()) continue;
      return false;
    }
  }
  return std::all_of(condition.shape.begin(), condition.shape.end(), [&](uint16_t dim) {
    return note(dim) && (general_.dims[dim].kind == DimNode::Kind::kAny ||
                         named[general_.dims[dim].variable] == 2);
  });
}

std::optional<std::vector<Subsumption::Fact>> Subsumption::Unproved(
    const std::vector<Fact>& facts) {
  constexpr int kMostSplits = 4;
  std::vector<Fact> unproved;
  // Shapes first: they bind dimensions that other conditions ask about.
  std::vector<const ConditionCode*> others;
  for (const ConditionCode& condition : general_.conditions) {
    if (IsShape(*condition.source) && ShapeFollows(condition)) continue;
    if (IsShape(*condition.source) && !ShapeIsRank(condition)) return std::nullopt;
    others.push_back(&condition);
  }
  // Fast math takes a proof for granted, so that only other proofs follow from it.
  std::vector<Fact> certain = facts;
  std::erase_if(certain,
                [](const Fact& fact) { return fact.condition->assumption != Assumption::kNone; });
  for (const ConditionCode* condition : others) {
    if (HoldsForLiterals(*condition)) continue;
    std::optional<Fact> asked = Asked(*condition);
    if (!asked) return std::nullopt;
    const bool is_proof = condition->source->assumption != Assumption::kNone;
    if (!Follows(*asked, is_proof ? facts : certain, kMostSplits))
      unproved.push_back(*std::move(asked));
  }
  return unproved;
}

bool Subsumption::ConditionsFollow() {
  const std::optional<std::vector<Fact>> unproved = Unproved(Facts());
  return unproved && unproved->empty();
}

bool Subsumption::HasAnswer(const Fact& fact, const std::vector<Fact>& facts) {
  const ConditionNode& node = *fact.condition;
  if (node.asks == Asks::kNot || node.asks == Asks::kEither) {
    for (size_t part = 0; part < node.parts.size(); ++part) {
      const std::vector<Fact> parts = Parts(fact, part);
      if (!std::all_of(parts.begin(), parts.end(),
                       [&](const Fact& one) { return HasAnswer(one, facts); }))
        return false;
    }
    return true;
  }
  if (node.asks == Asks::kConstant || node.asks == Asks::kFloat || node.asks == Asks::kDType)
    return true;
  const bool asks_rank = node.asks == Asks::kRank || node.asks == Asks::kRankAtLeast;
  if (!asks_rank && node.asks != Asks::kDim) return false;
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& known) {
    const ConditionNode& other = *known.condition;
    if (known.args.empty() || fact.args.empty() || known.args[0] != fact.args[0]) return false;
    if (!asks_rank) return other.asks == Asks::kDim && other.axis == node.axis;
    return IsShape(other) || other.asks == Asks::kRank || other.asks == Asks::kRankAtLeast ||
           other.asks == Asks::kDim;
  });
}

// Not (not (a and b)): both hold. Not (a or b): neither does, if each is one condition.
void Subsumption::AddNegation(const Fact& fact, std::vector<Fact>& facts) {
  const ConditionNode& node = *fact.condition;
  if (!HasAnswer(fact, facts)) return;
  if (node.asks == Asks::kNot && !fact.negated) {
    for (Fact& part : Parts(fact, 0)) facts.push_back(std::move(part));
    return;
  }
  if (node.asks == Asks::kEither && !fact.negated) {
    for (size_t part = 0; part < 2; ++part) {
      std::vector<Fact> one = Parts(fact, part);
      if (one.size() != 1) continue;
      one[0].negated = true;
      facts.push_back(std::move(one[0]));
    }
    return;
  }
  facts.push_back({fact.condition, fact.args, !fact.negated});
}

bool Subsumption::Follows(const Fact& asked, const std::vector<Fact>& facts, int splits) const {
  if (FollowsAtOnce(asked, facts)) return true;
  if (splits == 0) return false;
  // What is known to be one of two: it follows from each.
  for (size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].condition->asks != Asks::kEither || facts[i].negated) continue;
    std::vector<Fact> others = facts;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    bool all = true;
    for (size_t part = 0; part < 2 && all; ++part) {
      std::vector<Fact> with = others;
      for (Fact& fact : Parts(facts[i], part)) with.push_back(std::move(fact));
      all = Follows(asked, with, splits - 1);
    }
    if (all) return true;
  }
  return false;
}

bool Subsumption::FollowsAtOnce(const Fact& asked, const std::vector<Fact>& facts) const {
  const ConditionNode& node = *asked.condition;
  if (node.asks == Asks::kNot || node.asks == Asks::kEither) {
    if (IsOneOf(asked, facts)) return true;
    // Not (a and b): one of them is false. (a or b): all of one of them hold. Not (a or b):
    // neither.
    const bool negate = (node.asks == Asks::kNot) != asked.negated;
    const auto part_follows = [&](size_t part) {
      std::vector<Fact> parts = Parts(asked, part);
      const auto follows = [&](Fact& one) {
        one.negated = negate;
        return FollowsAtOnce(one, facts);
      };
      if (parts.empty()) return false;
      return negate ? std::any_of(parts.begin(), parts.end(), follows)
                    : std::all_of(parts.begin(), parts.end(), follows);
    };
    if (node.asks == Asks::kNot) return part_follows(0);
    return asked.negated ? part_follows(0) && part_follows(1) : part_follows(0) || part_follows(1);
  }
  return IsOneOf(asked, facts) || RankFollows(asked, facts) || TypeFollows(asked, facts) ||
         ComparisonFollows(asked, facts);
}

// The same term of the same subjects.
bool Subsumption::SameTerm(const TermNode& a, const Fact& asked, const TermNode& b,
                           const Fact& fact) {
  if (a.kind != b.kind || a.word != b.word || a.operands.size() != b.operands.size()) return false;
  if (a.kind == TermNode::Kind::kLiteral) return a.literal == b.literal;
  if (a.kind == TermNode::Kind::kArgument) {
    const Subject *x = SubjectOf(a, asked), *y = SubjectOf(b, fact);
    return x != nullptr && y != nullptr && *x == *y;
  }
  for (size_t i = 0; i < a.operands.size(); ++i)
    if (!SameTerm(*a.operands[i], asked, *b.operands[i], fact)) return false;
  return true;
}

bool Subsumption::IsOneOf(const Fact& asked, const std::vector<Fact>& facts) const {
  const ConditionNode& a = *asked.condition;
  if (a.asks == Asks::kEither) return false;
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
    const ConditionNode& b = *fact.condition;
    if (a.asks == Asks::kOther && b.asks == Asks::kOther) {
      if (asked.negated != fact.negated) return false;
      // Functions of C++ are the same only if they are one. None proves what nothing proves.
      if (a.term == nullptr || b.term == nullptr)
        return (&a == &b && asked.args == fact.args) ||
               (a.args.empty() && b.args.empty() && a.assumption != Assumption::kNone &&
                b.assumption != Assumption::kNone);
      return SameTerm(*a.term, asked, *b.term, fact);
    }
    if (b.asks == Asks::kNot && b.parts.size() == 1 && b.parts[0].size() == 1 &&
        a.asks != Asks::kNot && asked.negated) {
      const Fact inner{b.parts[0][0].get(), fact.args, false};
      const Fact positive{&a, asked.args, false};
      return IsOneOf(positive, {inner});
    }
    if (a.asks == Asks::kNot) {
      if (b.asks != Asks::kNot || a.parts[0].size() != 1 || b.parts[0].size() != 1) return false;
      return asked.negated == fact.negated && IsOneOf({a.parts[0][0].get(), asked.args, false},
                                                      {{b.parts[0][0].get(), fact.args, false}});
    }
    return asked.negated == fact.negated && a.asks == b.asks && a.number == b.number &&
           a.axis == b.axis && a.dtype == b.dtype && asked.args == fact.args;
  });
}

bool Subsumption::RankFollows(const Fact& asked, const std::vector<Fact>& facts) const {
  const ConditionNode& node = *asked.condition;
  const bool exact = node.asks == Asks::kRank || (IsShape(node) && node.rest < 0);
  if (!exact && node.asks != Asks::kRankAtLeast && !IsShape(node)) return false;
  const int64_t want = IsShape(node) ? static_cast<int64_t>(node.shape.size()) : node.number;
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
    const ConditionNode& known = *fact.condition;
    if (fact.negated || fact.args.empty() || fact.args[0] != asked.args[0]) return false;
    if (known.asks == Asks::kRank || (IsShape(known) && known.rest < 0)) {
      const int64_t rank = IsShape(known) ? static_cast<int64_t>(known.shape.size()) : known.number;
      return (exact ? rank == want : rank >= want) != asked.negated;
    }
    const bool least = known.asks == Asks::kRankAtLeast;
    if (!least && known.asks != Asks::kDim && !IsShape(known)) return false;
    const int64_t rank = IsShape(known)   ? static_cast<int64_t>(known.shape.size())
                         : least          ? known.number
                         : known.axis < 0 ? -known.axis
                                          : known.axis + 1;
    // At least that: it says what a smaller rank would be.
    return asked.negated ? exact && rank > want : !exact && rank >= want;
  });
}

bool Subsumption::TypeFollows(const Fact& asked, const std::vector<Fact>& facts) const {
  const ConditionNode& node = *asked.condition;
  if (node.asks == Asks::kConstant && !asked.negated) {
    const Node& at = specific_.nodes[asked.args[0].place.first];
    const bool opaque = made_ && at.in_source;
    return (at.kind == ValNode::Kind::kVariable && at.source->constant) ||
           (at.kind == ValNode::Kind::kSplat && !opaque);
  }
  return std::any_of(facts.begin(), facts.end(), [&](const Fact& fact) {
    const ConditionNode& known = *fact.condition;
    if (fact.negated || fact.args.empty() || fact.args[0] != asked.args[0]) return false;
    switch (node.asks) {
      case Asks::kFloat:
        return known.asks == Asks::kDType && IsFloat(known.dtype) != asked.negated;
      case Asks::kDType:
        if (!asked.negated) return false;
        return (known.asks == Asks::kDType && known.dtype != node.dtype) ||
               (known.asks == Asks::kFloat && !IsFloat(node.dtype));
      case Asks::kDim:
        return asked.negated && known.asks == Asks::kDim && known.axis == node.axis &&
               known.number != node.number;
      default:
        return false;
    }
  });
}

}  // namespace tenon::drr
