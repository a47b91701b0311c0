#include "drr/conflicts/subsumption.h"

#include <algorithm>

namespace tenon::drr {

// Past Let, which has the value of its part.
Subsumption::Place Subsumption::Through(Place place) const {
  for (const Node* node = &specific_.nodes[place.first];
       node->kind == ValNode::Kind::kLet && !(made_ && node->in_source);
       node = &specific_.nodes[place.first])
    place = {node->alternatives[0].node, node->alternatives[0].result};
  return place;
}

bool Subsumption::Bind(const Edge& g, const Edge& s) {
  const Place place = Through({s.node, s.result});
  const auto [it, inserted] = state_.bound.emplace(g.node, place);
  return it->second == place && place.first != kNone;
}

// Of the graph that a rule makes: by one operand, and by nothing outside.
bool Subsumption::IsUsedOnce(uint16_t s) const {
  int uses = 0;
  for (const Node& node : specific_.nodes) {
    for (const auto& group : node.operands) {
      for (const Edge& edge : group) uses += !node.in_source && edge.node == s ? 1 : 0;
    }
  }
  return uses == 1 && std::none_of(specific_.results.begin(), specific_.results.end(),
                                   [&](const Edge& edge) { return edge.node == s; });
}

// Operations of a match are different ones, and what is used outside rejects it.
bool Subsumption::BindOp(uint16_t g, uint16_t s) {
  const auto [it, inserted] = state_.bound.emplace(g, Place(s, 0));
  if (!inserted) return it->second.first == s;
  const Node& general = general_.nodes[g];
  const Node& specific = specific_.nodes[s];
  if (general.inner && g != general_.roots[0].node && !(made_ ? IsUsedOnce(s) : specific.inner))
    return false;
  return std::none_of(state_.bound.begin(), state_.bound.end(), [&](const auto& other) {
    return other.first != g && other.second.first == s &&
           general_.nodes[other.first].kind == ValNode::Kind::kOp &&
           !general_.MayCoincide(g, other.first);
  });
}

// What is bound in one way by all alternatives stays bound.
bool Subsumption::HoldsForAll(const Edge& g, const std::vector<Edge>& alternatives) {
  const State before = state_;
  std::optional<State> common;
  for (const Edge& alternative : alternatives) {
    state_ = before;
    if (!Holds(g, alternative)) return false;
    if (!common) {
      common = state_;
      continue;
    }
    for (auto& [node, place] : common->bound) {
      const auto it = state_.bound.find(node);
      if (it == state_.bound.end() || it->second != place) place = {kNone, 0};
    }
    for (const auto& [node, place] : state_.bound) common->bound.emplace(node, Place(kNone, 0));
    for (auto& [variable, code] : common->attrs) {
      const auto it = state_.attrs.find(variable);
      if (it == state_.attrs.end() || it->second != code) code = nullptr;
    }
    for (const auto& [variable, code] : state_.attrs) common->attrs.emplace(variable, nullptr);
  }
  if (!common) return false;
  state_ = *std::move(common);
  return true;
}

bool Subsumption::Holds(const Edge& g, const Edge& s) {
  if (++steps_ > kMostSteps) return false;
  const Node& general = general_.nodes[g.node];
  const Node& specific = specific_.nodes[s.node];
  const bool opaque = made_ && specific.in_source;
  if (general.kind == ValNode::Kind::kVariable && !general.source->constant) return Bind(g, s);
  if (!opaque && specific.kind == ValNode::Kind::kAnyOf)
    return HoldsForAll(g, specific.alternatives);
  if (!opaque && specific.kind == ValNode::Kind::kLet) return Holds(g, specific.alternatives[0]);
  switch (general.kind) {
    case ValNode::Kind::kVariable:
      return specific.kind == ValNode::Kind::kVariable && specific.source->constant && Bind(g, s);
    case ValNode::Kind::kAnyOf:
      for (const Edge& e : general.alternatives) {
        const State saved = state_;
        // An alternative binds what conditions may be about: those of the others hold without.
        if (Holds(e, s) && Bind(g, s)) return true;
        state_ = saved;
      }
      return false;
    case ValNode::Kind::kLet:
      return Holds(general.alternatives[0], s) && Bind(g, s);
    case ValNode::Kind::kSplat:
      return specific.kind == ValNode::Kind::kSplat && !opaque &&
             SameAttr(general.splat, specific.splat) && Bind(g, s);
    case ValNode::Kind::kEach:
      return false;
    case ValNode::Kind::kOp:
      break;
  }
  if (opaque || specific.kind != ValNode::Kind::kOp || general.info != specific.info ||
      g.result != s.result) {
    return false;
  }
  if (state_.bound.count(g.node) > 0) return BindOp(g.node, s.node);
  if (!BindOp(g.node, s.node)) return false;
  for (const AttrCode& a : general.attrs) {
    auto b = std::find_if(specific.attrs.begin(), specific.attrs.end(),
                          [&](const AttrCode& c) { return c.slot == a.slot; });
    if (b == specific.attrs.end() || !SameAttr(a, *b)) return false;
  }
  const State saved = state_;
  if (Operands(general, specific, false)) return true;
  state_ = saved;
  return general.commutative && Operands(general, specific, true);
}

bool Subsumption::SameDim(uint16_t general, uint16_t specific) {
  const DimCode &a = general_.dims[general], &b = specific_.dims[specific];
  if (a.kind == DimNode::Kind::kAny) return true;
  if (a.kind == DimNode::Kind::kVariable) {
    if (b.kind == DimNode::Kind::kAny) return false;
    const uint16_t first = FirstEqual(specific);
    return state_.dims.emplace(a.variable, first).first->second == first;
  }
  if (a.kind != b.kind) return false;
  if (a.kind == DimNode::Kind::kConstant) return a.constant == b.constant;
  return SameDim(a.a, b.a) && SameDim(a.b, b.b);
}

bool Subsumption::SameDims(const std::vector<uint16_t>& general,
                           const std::vector<uint16_t>& specific) {
  if (general.size() != specific.size()) return false;
  for (size_t i = 0; i < general.size(); ++i)
    if (!SameDim(general[i], specific[i])) return false;
  return true;
}

bool Subsumption::SameAttr(const AttrCode& general, const AttrCode& specific) {
  if (general.kind == AttrCode::Kind::kAny) return true;
  if (general.kind == AttrCode::Kind::kVariable) {
    const auto [it, inserted] = state_.attrs.emplace(general.variable, &specific);
    if (inserted) return true;
    const AttrCode* before = it->second;
    if (before == nullptr || before->kind != specific.kind) return false;
    return specific.kind == AttrCode::Kind::kVariable
               ? before->variable == specific.variable
               : specific.kind == AttrCode::Kind::kLiteral && before->literal == specific.literal;
  }
  if (general.kind != specific.kind) return false;
  if (general.kind == AttrCode::Kind::kLiteral) return general.literal == specific.literal;
  if (general.kind == AttrCode::Kind::kAxis || general.kind == AttrCode::Kind::kAxes)
    return general.source->literal == specific.source->literal;
  const bool is_dims =
      general.kind == AttrCode::Kind::kDims || general.kind == AttrCode::Kind::kDim;
  // What is made has dimensions of its own: whether they are those that are solved is not known.
  return is_dims && !made_ && SameDims(general.dims, specific.dims);
}

bool Subsumption::Operands(const Node& general, const Node& specific, bool swapped) {
  for (size_t i = 0; i < general.operands.size(); ++i) {
    const auto& a = general.operands[i];
    const auto& b = specific.operands[swapped && i < 2 ? 1 - i : i];
    if (a.size() != b.size()) return false;
    for (size_t j = 0; j < a.size(); ++j) {
      // What may be absent may be there.
      if ((b[j].maybe && !a[j].maybe) || a[j].rest != b[j].rest || !Holds(a[j], b[j])) return false;
    }
  }
  return true;
}

}  // namespace tenon::drr
