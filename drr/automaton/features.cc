#include "drr/automaton/features.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace tenon::drr {
namespace {

constexpr size_t kMostFeatures = 64, kMostRepeated = 512;
constexpr uint16_t kNoFeature = 0xffff;

// A variant that is being found. Features refer to each other by number.
struct Draft {
  struct Item {
    Test test;
    absl::InlinedVector<uint64_t, 1> keys;
    uint16_t after[2] = {kNoFeature, kNoFeature};
  };
  struct Todo {
    Edge edge;
    uint16_t place = 0;
    uint16_t after = kNoFeature;  // the feature that says which op the parent is
  };
  struct Found {
    uint16_t result = 0, place = 0, after = kNoFeature;
  };
  std::vector<Item> items;
  std::vector<Todo> todo;           // the next one last
  std::map<uint16_t, Found> found;  // by node: its first place
};

class Variants {
 public:
  // `most`: variants. 0: one, with the first of all alternatives and orders, in which what occurs
  // again is described again, up to a limit, although it must be the same.
  Variants(const CompiledRule& rule, OpId root, Tests& tests, size_t most)
      : rule_(rule), root_(root), tests_(tests), most_(most), plain_(rule.nodes.size(), true) {
    // A variable that occurs once and of which no condition speaks may be any operand.
    std::vector<int> mentions(rule.nodes.size(), 0);
    for (const Node& node : rule.nodes) {
      if (!node.in_source) continue;
      for (const Edge& edge : node.alternatives) ++mentions[edge.node];
      for (const auto& group : node.operands) {
        for (const Edge& edge : group) ++mentions[edge.node];
      }
    }
    for (size_t n = 0; n < plain_.size(); ++n) {
      const Node& node = rule.nodes[n];
      plain_[n] =
          mentions[n] == 1 && node.kind == ValNode::Kind::kVariable && !node.source->constant;
    }
    for (const ConditionCode& condition : rule.conditions) {
      for (const ArgCode& arg : condition.args) {
        if (arg.edge.node != kNone) plain_[arg.edge.node] = false;
      }
    }
  }

  std::vector<Draft> Find() {
    Draft first;
    first.todo.push_back({rule_.roots[0], 0, kNoFeature});
    open_.push_back(std::move(first));
    while (!open_.empty()) {
      Draft draft = std::move(open_.back());
      open_.pop_back();
      if (!Finish(draft)) continue;
      AddConditions(draft);
      done_.push_back(std::move(draft));
      if (most_ == 0) break;
    }
    return std::move(done_);
  }

 private:
  // The draft and others like it must stay below the limit.
  bool MaySplit(size_t ways) const { return open_.size() + done_.size() + ways <= most_; }

  // False if the variant is rooted at another op.
  bool Finish(Draft& draft) {
    while (!draft.todo.empty()) {
      const Draft::Todo next = draft.todo.back();
      draft.todo.pop_back();
      if (!Visit(draft, next)) return false;
    }
    return true;
  }

  static uint16_t Require(Draft& draft, Test::Kind kind, uint16_t place, int16_t detail,
                          absl::InlinedVector<uint64_t, 1> keys, uint16_t after,
                          uint16_t also = kNoFeature) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    draft.items.push_back({{kind, place, detail}, std::move(keys), {after, also}});
    return static_cast<uint16_t>(draft.items.size() - 1);
  }

  bool Visit(Draft& draft, const Draft::Todo& todo) {
    const uint16_t n = todo.edge.node;
    const Node& node = rule_.nodes[n];
    const auto known = draft.found.find(n);
    if (known != draft.found.end()) {
      // A constant of the same number may stand elsewhere, and results of one op differ.
      const bool same = known->second.result == todo.edge.result &&
                        (node.kind == ValNode::Kind::kVariable || node.kind == ValNode::Kind::kOp);
      if (same && known->second.place != todo.place) {
        Require(draft, Test::Kind::kSame, todo.place, static_cast<int16_t>(known->second.place),
                {1}, todo.after, known->second.after);
      }
      if (most_ > 0 || draft.items.size() > kMostRepeated) return true;
    }
    draft.found.emplace(n, Draft::Found{todo.edge.result, todo.place, todo.after});
    switch (node.kind) {
      case ValNode::Kind::kVariable:
        if (node.source->constant)
          Require(draft, Test::Kind::kConstant, todo.place, 0, {1}, todo.after);
        return true;
      case ValNode::Kind::kSplat: {
        const uint16_t constant =
            Require(draft, Test::Kind::kConstant, todo.place, 0, {1}, todo.after);
        if (node.splat.kind == AttrCode::Kind::kLiteral)
          Require(draft, Test::Kind::kNumber, todo.place, 0,
                  {KeyOfNumber(node.splat.literal.float_value())}, constant);
        return true;
      }
      case ValNode::Kind::kLet:
        return Visit(draft, {node.alternatives[0], todo.place, todo.after});
      case ValNode::Kind::kAnyOf:
        return VisitAlternatives(draft, node, todo);
      case ValNode::Kind::kEach:
        return true;
      case ValNode::Kind::kOp:
        return VisitOp(draft, node, todo);
    }
    return true;
  }

  bool VisitAlternatives(Draft& draft, const Node& node, const Draft::Todo& todo) {
    if (todo.place == 0 || MaySplit(node.alternatives.size())) {
      for (size_t i = node.alternatives.size(); i-- > 1;) {
        Draft other = draft;
        other.todo.push_back({node.alternatives[i], todo.place, todo.after});
        open_.push_back(std::move(other));
      }
      return Visit(draft, {node.alternatives[0], todo.place, todo.after});
    }
    if (most_ == 0) return Visit(draft, {node.alternatives[0], todo.place, todo.after});
    absl::InlinedVector<uint64_t, 1> keys;
    for (const Edge& lead : node.leads) {
      const Node& end = rule_.nodes[lead.node];
      if (end.kind != ValNode::Kind::kOp) return true;
      keys.push_back(KeyOfOp(end.info->id(), lead.result));
    }
    Require(draft, Test::Kind::kOp, todo.place, 0, std::move(keys), todo.after);
    return true;
  }

  bool VisitOp(Draft& draft, const Node& node, const Draft::Todo& todo) {
    uint16_t op = todo.after;
    if (todo.place == 0) {
      if (node.info->id() != root_) return false;
    } else {
      op = Require(draft, Test::Kind::kOp, todo.place, 0,
                   {KeyOfOp(node.info->id(), todo.edge.result)}, todo.after);
    }
    for (const AttrCode& code : node.attrs) RequireAttr(draft, code, todo.place, op);
    const bool either_order =
        node.commutative && !(plain_[node.operands[0][0].node] && plain_[node.operands[1][0].node]);
    if (either_order && most_ > 0) {
      if (!MaySplit(2)) return true;
      Draft other = draft;
      PushOperands(other, node, todo.place, op, true);
      open_.push_back(std::move(other));
    }
    PushOperands(draft, node, todo.place, op, false);
    return true;
  }

  void PushOperands(Draft& draft, const Node& node, uint16_t place, uint16_t op, bool swapped) {
    const std::vector<OperandDef>& groups = node.info->def().operands;
    std::vector<Draft::Todo> below;
    bool fixed = true;  // so far each group has one operand
    for (size_t g = 0; g < node.operands.size(); ++g) {
      const std::vector<Edge>& edges = node.operands[swapped && g < 2 ? 1 - g : g];
      const bool each = std::any_of(edges.begin(), edges.end(),
                                    [&](const Edge& edge) { return rule_.IsList(edge); });
      const auto group = static_cast<int16_t>(g);
      const Arity arity = groups[g].arity;
      if (arity == Arity::kVariadic && !each)
        Require(draft, Test::Kind::kCount, place, group, {edges.size()}, op);
      if (arity == Arity::kOptional && (edges.empty() || !edges[0].maybe))
        Require(draft, Test::Kind::kPresent, place, group, {edges.empty() ? 0u : 1u}, op);
      for (size_t i = 0; i < edges.size(); ++i) {
        if (edges[i].maybe) continue;
        if (rule_.IsList(edges[i])) break;
        Place at{place, static_cast<uint16_t>(g), static_cast<uint16_t>(i), -1};
        if (fixed && arity == Arity::kSingle) at.operand = static_cast<int32_t>(g);
        below.push_back({edges[i], tests_.Add(at), op});
      }
      fixed = fixed && arity == Arity::kSingle;
    }
    draft.todo.insert(draft.todo.end(), below.rbegin(), below.rend());
  }

  static void RequireAttr(Draft& draft, const AttrCode& code, uint16_t place, uint16_t op) {
    const auto slot = static_cast<int16_t>(code.slot);
    if (code.kind == AttrCode::Kind::kLiteral) {
      // Equal elements may be different attributes.
      if (code.literal && code.literal.kind() == Attribute::Kind::kElements) return;
      Require(draft, Test::Kind::kAttr, place, slot,
              {static_cast<uint64_t>(reinterpret_cast<uintptr_t>(code.literal.storage()))}, op);
    } else if (code.kind == AttrCode::Kind::kAxis) {
      Require(draft, Test::Kind::kAxis, place, slot,
              {static_cast<uint64_t>(std::get<int64_t>(code.source->literal))}, op);
    }
  }

  // What a condition asks of its first argument, as a test.
  struct Asked {
    Test::Kind kind;
    int16_t detail = 0;
    absl::InlinedVector<uint64_t, 1> keys;
  };
  static std::optional<Asked> AskedBy(const ConditionNode& condition) {
    using Asks = ConditionNode::Asks;
    switch (condition.asks) {
      case Asks::kRank:
        return Asked{Test::Kind::kRank, 0, {static_cast<uint64_t>(condition.number)}};
      case Asks::kConstant:
        return Asked{Test::Kind::kConstant, 0, {1}};
      case Asks::kDType:
        return Asked{Test::Kind::kDType, 0, {static_cast<uint64_t>(condition.dtype)}};
      case Asks::kFloat: {
        Asked asked{Test::Kind::kDType, 0, {}};
        for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64})
          asked.keys.push_back(static_cast<uint64_t>(dtype));
        return asked;
      }
      case Asks::kDim:
        if (condition.axis < INT16_MIN || condition.axis > INT16_MAX) return std::nullopt;
        return Asked{Test::Kind::kDim,
                     static_cast<int16_t>(condition.axis),
                     {static_cast<uint64_t>(condition.number)}};
      case Asks::kEither: {
        std::optional<Asked> all;
        for (const auto& part : condition.parts) {
          if (part.size() != 1 || part[0]->args.empty() || condition.args.empty() ||
              part[0]->args[0].val != condition.args[0].val ||
              part[0]->args[0].result != condition.args[0].result)
            return std::nullopt;
          std::optional<Asked> one = AskedBy(*part[0]);
          if (!one || (all && (all->kind != one->kind || all->detail != one->detail)))
            return std::nullopt;
          if (all) one->keys.insert(one->keys.end(), all->keys.begin(), all->keys.end());
          all = std::move(one);
        }
        return all;
      }
      default:
        return std::nullopt;
    }
  }

  void AddConditions(Draft& draft) const {
    for (const ConditionCode& condition : rule_.conditions) {
      // Without a proof a rule may still fire with fast math.
      if (condition.source->assumption != Assumption::kNone || condition.args.empty()) continue;
      const Edge& edge = condition.args[0].edge;
      const auto found = edge.node == kNone ? draft.found.end() : draft.found.find(edge.node);
      if (found == draft.found.end()) continue;
      const bool op = rule_.nodes[edge.node].kind == ValNode::Kind::kOp;
      if (op && found->second.result != edge.result) continue;
      if (found->second.place == 0 && found->second.result != 0) continue;
      const uint16_t place = found->second.place, after = found->second.after;
      if (condition.source->kind == ConditionNode::Kind::kShape) {
        const int rest = condition.source->rest;
        if (rest < 0) Require(draft, Test::Kind::kRank, place, 0, {condition.shape.size()}, after);
        for (size_t i = 0; i < condition.shape.size(); ++i) {
          const bool from_end = rest >= 0 && i >= static_cast<size_t>(rest);
          const auto axis = static_cast<int16_t>(
              from_end ? static_cast<int>(i) - static_cast<int>(condition.shape.size())
                       : static_cast<int>(i));
          const DimCode& dim = rule_.dims[condition.shape[i]];
          if (dim.kind == DimNode::Kind::kConstant && dim.constant.is_constant())
            Require(draft, Test::Kind::kDim, place, axis,
                    {static_cast<uint64_t>(dim.constant.constant())}, after);
        }
      } else if (std::optional<Asked> asked = AskedBy(*condition.source)) {
        Require(draft, asked->kind, place, asked->detail, std::move(asked->keys), after);
      }
    }
  }

  const CompiledRule& rule_;
  const OpId root_;
  Tests& tests_;
  const size_t most_;
  std::vector<bool> plain_;  // by node
  std::vector<Draft> open_, done_;
};

// Structure first, attributes last: most of those have their defaults in every program.
int Class(const Draft::Item& item) {
  switch (item.test.kind) {
    case Test::Kind::kOp:
    case Test::Kind::kConstant:
      return 0;
    case Test::Kind::kAttr:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

std::vector<uint16_t> NodesOfEveryMatch(const CompiledRule& rule) {
  // Operands come before the nodes that refer to them.
  std::vector<bool> needed(rule.nodes.size(), false);
  needed[rule.roots[0].node] = true;
  size_t count = 0;
  for (size_t n = needed.size(); n-- > 0;) {
    if (!needed[n]) continue;
    ++count;
    const Node& node = rule.nodes[n];
    if (node.kind == ValNode::Kind::kLet) needed[node.alternatives[0].node] = true;
    for (const auto& group : node.operands) {
      for (const Edge& edge : group) {
        if (!edge.maybe) needed[edge.node] = true;
      }
    }
  }
  std::vector<uint16_t> nodes;
  nodes.reserve(count);
  for (size_t n = 0; n < needed.size(); ++n) {
    if (needed[n]) nodes.push_back(static_cast<uint16_t>(n));
  }
  return nodes;
}

uint64_t NeedsOf(const CompiledRule& rule) {
  uint64_t needs = 0;
  for (const uint16_t n : NodesOfEveryMatch(rule)) {
    const Node& node = rule.nodes[n];
    if (node.kind == ValNode::Kind::kOp) needs |= BitOf(node.info->id());
  }
  return needs;
}

uint64_t KeyOfNumber(double number) { return std::bit_cast<uint64_t>(number); }
double NumberOfKey(uint64_t key) { return std::bit_cast<double>(key); }

uint16_t Tests::Add(const Place& place) {
  const auto [it, inserted] = place_numbers_.emplace(place, static_cast<uint16_t>(places_.size()));
  if (inserted) places_.push_back(place);
  return it->second;
}

uint16_t Tests::Add(const Test& test) {
  const auto [it, inserted] = test_numbers_.emplace(test, static_cast<uint16_t>(tests_.size()));
  if (inserted) tests_.push_back(test);
  return it->second;
}

void AddVariants(uint16_t number, const CompiledRule& rule, OpId root, size_t most, Tests& tests,
                 std::vector<Variant>& variants) {
  for (const Draft& draft : Variants(rule, root, tests, most).Find()) {
    std::vector<uint16_t> order(draft.items.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint16_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](uint16_t a, uint16_t b) {
      return Class(draft.items[a]) < Class(draft.items[b]);
    });
    Variant variant;
    variant.rule = number;
    std::vector<uint16_t> position(order.size(), kNoFeature);
    for (uint16_t i : order) {
      if (variant.features.size() == kMostFeatures) break;
      const Draft::Item& item = draft.items[i];
      Feature feature;
      feature.keys = item.keys;
      bool known = true;
      for (const uint16_t before : item.after) {
        if (before == kNoFeature) continue;
        known = known && position[before] != kNoFeature;
        if (known) feature.after |= uint64_t{1} << position[before];
      }
      if (!known) continue;
      feature.test = tests.Add(item.test);
      position[i] = static_cast<uint16_t>(variant.features.size());
      variant.features.push_back(std::move(feature));
    }
    variants.push_back(std::move(variant));
  }
}

std::vector<std::pair<uint16_t, uint64_t>> DescriptionOf(const CompiledRule& rule, OpId root,
                                                         Tests& tests) {
  std::vector<std::pair<uint16_t, uint64_t>> description;
  const std::vector<Draft> drafts = Variants(rule, root, tests, 0).Find();
  if (drafts.empty()) return description;
  for (const Draft::Item& item : drafts[0].items)
    description.emplace_back(tests.Add(item.test), item.keys[0]);
  std::sort(description.begin(), description.end());
  return description;
}

}  // namespace tenon::drr
