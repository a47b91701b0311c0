// Kinds and element types that no program has.
#include <deque>
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

// Why a value has fewer element types. Words are made of it only for a message: almost no rule
// needs one.
struct Compiler::TypeReason {
  std::string_view role = {};             // "operand" or "result"; empty for the others
  const OperandDef* def = nullptr;        // that operand or result
  const OpInfo* op = nullptr;             // its operation, or one whose values share a type
  const ConditionNode* wanted = nullptr;  // a condition of the rule
  const TypeReason* shared = nullptr;     // what `op` passes on
};

// The element types that are left for a value, and what they follow from.
struct Compiler::ElementTypes {
  uint32_t left = kAllTypes;
  absl::InlinedVector<const TypeReason*, 2> because;
  bool Leaves(uint32_t types) const { return (left & types) == left; }
  void Restrict(uint32_t types, const TypeReason* why) {
    left &= types;
    because.push_back(why);
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

std::string Compiler::WordsOf(const TypeReason& reason) {
  if (reason.wanted != nullptr) return "the rule wants " + reason.wanted->text;
  if (reason.shared != nullptr)
    return fmt::format("{} has one element type and {}", reason.op->name(),
                       WordsOf(*reason.shared));
  const std::string& types = reason.def->constraint.description;
  return fmt::format("{} '{}' of {} is {}{}", reason.role, reason.def->name, reason.op->name(),
                     types.starts_with("a ") ? "" : "a ", types);
}

absl::Status Compiler::CheckElementTypes(const Bound& always) {
  std::map<ValueAt, ElementTypes> all;
  std::deque<TypeReason> reasons;  // they refer to each other
  const auto restrict_to = [&](ElementTypes& value, uint32_t types, const TypeReason& why) {
    if (value.Leaves(types)) return false;
    value.Restrict(types, &reasons.emplace_back(why));
    return true;
  };
  const auto place = [](const Edge& edge) { return ValueAt(edge.node, edge.result); };
  const auto each_op = [&](const auto& f) {
    for (uint16_t n = 0, end = static_cast<uint16_t>(out_.nodes.size()); n < end; ++n) {
      const Node& node = out_.nodes[n];
      if (node.kind == ValNode::Kind::kOp && node.in_source && !node.mapped &&
          always.nodes.Contains(n))
        f(n, node);
    }
  };
  const auto restrict_by = [&](const ValueAt& at, const OperandDef& def, std::string_view role,
                               const OpInfo& info) {
    if (def.constraint.any || def.constraint.scalar_i1 || def.constraint.dtypes == 0) return;
    restrict_to(all[at], def.constraint.dtypes, {.role = role, .def = &def, .op = &info});
  };
  // Of a list each item is an operand, and all of it may be none.
  const auto is_one = [&](const Edge& edge) { return !edge.maybe && !out_.IsList(edge); };
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
      restrict_to(all[place(condition.args[0].edge)], *types, {.wanted = condition.source});
  }
  // What shares an element type shares what is left for it.
  std::vector<std::pair<const OpInfo*, std::vector<ElementTypes*>>> sharing;
  each_op([&](uint16_t n, const Node& node) {
    const bool results = node.info->Has(Trait::kSameDtype);
    if (!results && !node.info->Has(Trait::kSameOperandDtype)) return;
    std::vector<ElementTypes*> same;
    for (const auto& group : node.operands) {
      for (const Edge& edge : group)
        if (is_one(edge)) same.push_back(&all[place(edge)]);
    }
    if (results) same.push_back(&all[ValueAt(n, 0)]);
    sharing.emplace_back(node.info, std::move(same));
  });
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [op, same] : sharing) {
      for (const ElementTypes* from : same) {
        for (ElementTypes* to : same) {
          if (!from->because.empty())
            changed |= restrict_to(*to, from->left, {.op = op, .shared = from->because[0]});
        }
      }
    }
  }
  for (const auto& [at, types] : all) {
    if (types.left != 0) continue;
    std::vector<std::string> words;
    for (const TypeReason* reason : types.because) words.push_back(WordsOf(*reason));
    return Error(fmt::format("no program matches, since '{}' cannot have any element type: {}",
                             NameOf(at.first), fmt::join(words, ", and ")));
  }
  return absl::OkStatus();
}

}  // namespace tenon::drr
