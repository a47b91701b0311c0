// Kinds and element types that no program has.
#include <optional>
#include <utility>

#include "drr/compile/compiler.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace tenon::drr {
namespace {

using Asks = ConditionNode::Asks;
using ValueAt = std::pair<uint16_t, uint16_t>;  // a node and one of its results

constexpr uint32_t kAllTypes = ~uint32_t{0};
constexpr unsigned kTypes = 32;

// The element types of which a condition about one value is true. Nullopt: it asks something else.
std::optional<uint32_t> TypesOf(const ConditionNode& condition) {
  if (condition.asks == Asks::kDType) return 1u << static_cast<unsigned>(condition.dtype);
  if (condition.asks == Asks::kNot && condition.parts.size() == 1 &&
      condition.parts[0].size() == 1) {
    const std::optional<uint32_t> types = TypesOf(*condition.parts[0][0]);
    return types ? std::optional<uint32_t>(~*types) : std::nullopt;
  }
  if (condition.asks != Asks::kFloat) return std::nullopt;
  uint32_t types = 0;
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64})
    types |= 1u << static_cast<unsigned>(dtype);
  for (unsigned i = 0; i < kTypes; ++i) types |= IsFloat(static_cast<DType>(i)) ? 1u << i : 0u;
  return types;
}

}  // namespace

// The element types that are left for a value, and what they follow from.
struct Compiler::ElementTypes {
  uint32_t left = kAllTypes;
  std::vector<std::string> because;
  // Returns whether that leaves fewer.
  bool Restrict(uint32_t types, const std::string& why) {
    if ((left & types) == left) return false;
    left &= types;
    because.push_back(why);
    return true;
  }
};

absl::Status Compiler::CheckKind(const AttrNode& attr, AttrType type, std::string_view name,
                                 bool in_source, std::string_view where) {
  if (attr.kind == AttrNode::Kind::kAny || attr.kind == AttrNode::Kind::kLiteral)
    return absl::OkStatus();
  const bool binds = in_source && attr.kind == AttrNode::Kind::kVariable;
  if (binds && attr_kinds_.emplace(&attr, KindsHeldBy(type)).second) return absl::OkStatus();
  const Kinds taken = KindsTakenBy(type);
  const Kinds given = KindsOf(attr, [&](const AttrNode& variable) {
    const auto known = attr_kinds_.find(&variable);
    return known != attr_kinds_.end() ? known->second : kAllKinds;
  });
  if ((given & taken) != 0) return absl::OkStatus();
  return Error(fmt::format("{}: '{}' is {} (expected {}, got {})", where, name, ToString(attr),
                           NameOfKinds(KindsHeldBy(type)), NameOfKinds(given)));
}

absl::Status Compiler::CheckElementTypes(const Bound& always) {
  std::map<ValueAt, ElementTypes> all;
  const auto place = [](const Edge& edge) { return ValueAt(edge.node, edge.result); };
  const auto each_op = [&](const auto& f) {
    for (uint16_t n = 0, end = static_cast<uint16_t>(out_.nodes.size()); n < end; ++n) {
      const Node& node = out_.nodes[n];
      if (node.kind == ValNode::Kind::kOp && node.in_source && !node.mapped &&
          always.nodes.Contains(n))
        f(n, node);
    }
  };
  const auto restrict_by = [&](const ValueAt& at, const OperandDef& def, std::string_view what,
                               const OpInfo& info) {
    if (def.constraint.any || def.constraint.scalar_i1 || def.constraint.dtypes == 0) return;
    const std::string& types = def.constraint.description;
    all[at].Restrict(def.constraint.dtypes,
                     fmt::format("{} '{}' of {} is {}{}", what, def.name, info.name(),
                                 types.starts_with("a ") ? "" : "a ", types));
  };
  // Of a list each item is an operand, and all of it may be none.
  const auto is_one = [&](const Edge& edge) {
    return !edge.maybe && out_.nodes[edge.node].kind != ValNode::Kind::kEach;
  };
  each_op([&](uint16_t n, const Node& node) {
    const OpDef& def = node.info->def();
    for (size_t g = 0; g < node.operands.size(); ++g) {
      for (const Edge& edge : node.operands[g])
        if (is_one(edge)) restrict_by(place(edge), def.operands[g], "operand", *node.info);
    }
    for (uint16_t r = 0; r < def.results.size() && def.results[r].arity == Arity::kSingle; ++r)
      restrict_by({n, r}, def.results[r], "result", *node.info);
  });
  for (const ConditionCode& condition : out_.conditions) {
    if (condition.args.size() != 1 || condition.list != kNone ||
        condition.args[0].edge.node == kNone ||
        !always.nodes.Contains(condition.args[0].edge.node) ||
        condition.source->assumption != Assumption::kNone)
      continue;
    if (const std::optional<uint32_t> types = TypesOf(*condition.source))
      all[place(condition.args[0].edge)].Restrict(*types,
                                                  "the rule wants " + condition.source->text);
  }
  // What shares an element type shares what is left for it.
  for (bool changed = true; changed;) {
    changed = false;
    each_op([&](uint16_t n, const Node& node) {
      const bool results = node.info->Has(Trait::kSameDtype);
      if (!results && !node.info->Has(Trait::kSameOperandDtype)) return;
      std::vector<ValueAt> same;
      for (const auto& group : node.operands) {
        for (const Edge& edge : group)
          if (is_one(edge)) same.push_back(place(edge));
      }
      if (results) same.emplace_back(n, 0);
      for (const ValueAt& from : same) {
        for (const ValueAt& to : same) {
          const ElementTypes known = all[from];
          for (const std::string& why : known.because) {
            if (all[to].left == known.left) break;
            changed |= all[to].Restrict(
                known.left, fmt::format("{} has one element type and {}", node.info->name(), why));
          }
        }
      }
    });
  }
  for (const auto& [at, types] : all) {
    if (types.left != 0) continue;
    return Error(fmt::format("no program matches, since '{}' cannot have any element type: {}",
                             NameOf(at.first), fmt::join(types.because, ", and ")));
  }
  return absl::OkStatus();
}

}  // namespace tenon::drr
