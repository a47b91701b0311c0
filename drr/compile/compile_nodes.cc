// The graph of a rule: operations, values, and lists of values.
#include "drr/compile/compiler.h"
#include "fmt/format.h"
#include "ir/core/verify/op_checks.h"

namespace tenon::drr {

absl::Status Compiler::AddOp(const ValNode& node, bool in_source, Node& code) {
  code.info = context_.FindOp(node.op);
  if (code.info == nullptr) return Error(fmt::format("op '{}' is not registered", node.op));
  const OpDef& def = code.info->def();
  if (node.operands.size() != def.operands.size()) {
    return Error(fmt::format("{} has {} operand groups, got {}", node.op, def.operands.size(),
                             node.operands.size()));
  }
  for (size_t g = 0; g < node.operands.size(); ++g) {
    std::vector<Edge> edges;
    for (const OperandPattern& operand : node.operands[g]) {
      const bool lists = def.operands[g].arity == Arity::kVariadic && !in_each_;
      TENON_ASSIGN_OR_RETURN(
          Edge edge, lists ? AddRest(operand.val, in_source) : AddEdge(operand.val, in_source));
      // In the pattern of an Each, the list stands for one item.
      if (out_.nodes[edge.node].kind == ValNode::Kind::kEach && !in_each_ &&
          def.operands[g].arity != Arity::kVariadic) {
        return Error(fmt::format("{}: {} at operand '{}', which is not variadic", node.op,
                                 rule_.in_text() ? "'each'" : "Each", def.operands[g].name));
      }
      if (operand.maybe && edge.rest)
        return Error(fmt::format("{}: {} may be empty (expected it without {})", node.op,
                                 ToString(operand.val), rule_.in_text() ? "'maybe'" : "Maybe"));
      if (operand.maybe && def.operands[g].arity == Arity::kSingle) {
        return Error(fmt::format("{}: {} at operand '{}', which is not optional", node.op,
                                 rule_.in_text() ? "'maybe'" : "Maybe", def.operands[g].name));
      }
      if (operand.maybe && !in_source)
        return Error(
            fmt::format("{}: {} in the result (expected the value alone: it is absent "
                        "where the match has none)",
                        node.op, rule_.in_text() ? "'maybe'" : "Maybe"));
      edge.maybe = operand.maybe;
      edges.push_back(edge);
    }
    if (edges.empty() && def.operands[g].arity == Arity::kSingle) {
      return Error(fmt::format("{}: operand '{}' is required", node.op, def.operands[g].name));
    }
    if (edges.size() > 1 && def.operands[g].arity != Arity::kVariadic) {
      return Error(fmt::format("{}: operand '{}' is one value, got {}", node.op,
                               def.operands[g].name, edges.size()));
    }
    code.operands.push_back(std::move(edges));
  }
  code.commutative = code.info->Has(Trait::kCommutative) && code.operands.size() >= 2 &&
                     code.operands[0].size() == 1 && code.operands[1].size() == 1;
  std::set<std::string, std::less<>> mentioned;
  for (const auto& [name, attr] : node.attrs) {
    int slot = code.info->FindSlot(name);
    if (slot < 0 || slot == code.info->segment_slot())
      return Error(fmt::format("{} has no attribute '{}'", node.op, name));
    if (!mentioned.insert(name).second)
      return Error(fmt::format("{}: attribute '{}' is given twice", node.op, name));
    auto value = AddAttr(attr, def.attrs[slot].type, name, in_source, node.op);
    if (!value.ok()) return value.status();
    if (value->kind == AttrCode::Kind::kLiteral && value->literal) {
      const std::string wrong = CheckAttribute(def.attrs[slot], value->literal);
      if (!wrong.empty()) return Error(fmt::format("{}: {}", node.op, wrong));
    }
    value->slot = static_cast<uint16_t>(slot);
    code.attrs.push_back(*std::move(value));
  }
  for (int slot = 0; slot < code.info->num_slots(); ++slot) {
    const AttrDef& attr = def.attrs[slot];
    if (slot == code.info->segment_slot() || mentioned.count(attr.name)) continue;
    if (attr.required) {
      return Error(fmt::format("{}: attribute '{}' has no default and must be mentioned", node.op,
                               attr.name));
    }
    AttrCode value;
    value.kind = AttrCode::Kind::kLiteral;
    value.type = attr.type;
    value.literal = code.info->default_value(slot);
    value.slot = static_cast<uint16_t>(slot);
    code.attrs.push_back(std::move(value));
  }
  return absl::OkStatus();
}

namespace {

// Whether a list is below a value, other than of a group of operands.
bool HasList(const ValNode& node, std::map<const ValNode*, bool>& known) {
  if (node.kind == ValNode::Kind::kEach) return true;
  if (const auto it = known.find(&node); it != known.end()) return it->second;
  bool has = false;
  for (const auto& group : node.operands)
    for (const OperandPattern& operand : group) has = HasList(*operand.val.node, known) || has;
  for (const ValRef& alternative : node.alternatives)
    has = HasList(*alternative.node, known) || has;
  known.emplace(&node, has);
  return has;
}

}  // namespace

// The pattern of an Each: operations one below the other, down to the list.
absl::Status Compiler::AddMapped(const ValNode& node, bool in_source, Node& code) {
  const ValRef& top = node.alternatives[0];
  const auto wrong = [&](std::string_view why) {
    return Error(fmt::format("each {}: {}", ToString(top), why));
  };
  if (in_each_) return wrong("it stands in another each");
  std::map<const ValNode*, bool> known;
  std::vector<std::pair<const ValNode*, uint16_t>> chain;
  std::vector<uint16_t> results;
  ValRef at = top;
  while (at.node->kind == ValNode::Kind::kOp) {
    const ValNode& op = *at.node;
    if (node_index_.count(&op) > 0)
      return wrong(fmt::format("{} stands outside of it too", ToString(at)));
    results.push_back(static_cast<uint16_t>(at.result));
    const OperandPattern* next = nullptr;
    for (size_t g = 0; g < op.operands.size(); ++g) {
      for (const OperandPattern& operand : op.operands[g]) {
        if (!HasList(*operand.val.node, known)) continue;
        if (next != nullptr) return wrong("it has two lists");
        const OpInfo* info = context_.FindOp(op.op);
        if (operand.maybe || (info != nullptr && g < info->def().operands.size() &&
                              info->def().operands[g].arity == Arity::kVariadic))
          return wrong("the list stands where any number of operands may stand");
        next = &operand;
        chain.emplace_back(&op, static_cast<uint16_t>(g));
      }
    }
    if (next == nullptr) return wrong("it has no list (expected a name at its end)");
    at = next->val;
  }
  if (at.node->kind != ValNode::Kind::kEach || !at.node->alternatives.empty() || chain.empty())
    return wrong("it is no chain of operations (expected such as relu(xs))");
  in_each_ = true;
  const absl::StatusOr<Edge> edge = AddEdge(top, in_source);
  in_each_ = false;
  TENON_RETURN_IF_ERROR(edge.status());
  for (size_t i = 0; i < chain.size(); ++i) {
    const uint16_t n = node_index_.at(chain[i].first);
    out_.nodes[n].mapped = true;
    code.chain.push_back({Edge{n, results[i], false}, chain[i].second});
  }
  code.list = node_index_.at(at.node.get());
  return absl::OkStatus();
}

void Compiler::AddLeads(Node& code) const {
  std::set<std::pair<uint16_t, uint16_t>> seen;
  const auto add = [&](const Edge& edge) {
    if (seen.emplace(edge.node, edge.result).second) code.leads.push_back(edge);
  };
  for (const Edge& edge : code.alternatives) {
    const Node& part = out_.nodes[edge.node];
    if (part.kind != ValNode::Kind::kAnyOf && part.kind != ValNode::Kind::kLet) {
      add(edge);
    } else {
      for (const Edge& lead : part.leads) add(lead);
    }
  }
}

absl::StatusOr<uint16_t> Compiler::AddNode(const ValPtr& node, bool in_source) {
  if (auto it = node_index_.find(node.get()); it != node_index_.end()) {
    if (out_.nodes[it->second].mapped) {
      return Error(
          fmt::format("{} stands for one value for each item (expected it in its 'each' "
                      "alone)",
                      ToString(ValRef{node, 0})));
    }
    if (!in_source && out_.nodes[it->second].in_source) used_nodes_.insert(it->second);
    ++mentions_[it->second];
    return it->second;
  }
  Node code;
  code.kind = node->kind;
  code.source = node.get();
  code.in_source = in_source;
  const bool maps = node->kind == ValNode::Kind::kEach && !node->alternatives.empty();
  if (!in_source && node->kind != ValNode::Kind::kOp && node->kind != ValNode::Kind::kSplat &&
      !maps) {
    return Error(
        fmt::format("{} in the result is not bound by the match", ToString(ValRef{node, 0})));
  }
  if (maps) {
    TENON_RETURN_IF_ERROR(AddMapped(*node, in_source, code));
  } else {
    for (const ValRef& alternative : node->alternatives) {
      TENON_ASSIGN_OR_RETURN(const Edge edge, AddEdge(alternative, in_source));
      code.alternatives.push_back(edge);
    }
    AddLeads(code);
  }
  if (node->kind == ValNode::Kind::kOp) TENON_RETURN_IF_ERROR(AddOp(*node, in_source, code));
  if (node->kind == ValNode::Kind::kSplat) {
    AttrRef splat = node->splat;
    auto value = AddAttr(splat, AttrType::kF64, "splat", in_source, "Splat");
    if (!value.ok()) return value.status();
    code.splat = *std::move(value);
  }
  if (node->kind == ValNode::Kind::kLet) {
    code.let_variable = AttrVariable(node->let_variable);
    bound_attrs_.insert(code.let_variable);
    attr_kinds_[node->let_variable.get()] |= KindsOf(*node->let_value, [&](const AttrNode& attr) {
      const auto known = attr_kinds_.find(&attr);
      return known != attr_kinds_.end() ? known->second : kAllKinds;
    });
    AttrType type = AttrType::kAny;
    if (node->let_value->kind == AttrNode::Kind::kLiteral) {
      code.let_value.kind = AttrCode::Kind::kLiteral;
      code.let_value.source = node->let_value.get();
    } else {
      auto value = AddAttr(node->let_value, type, "let", false, "Let");
      if (!value.ok()) return value.status();
      code.let_value = *std::move(value);
    }
  }
  if (out_.nodes.size() >= 1000) return Error("the rule has more than 1000 nodes");
  auto index = static_cast<uint16_t>(out_.nodes.size());
  node_index_[node.get()] = index;
  mentions_.push_back(1);
  out_.nodes.push_back(std::move(code));
  if (!in_source) out_.creation_order.push_back(index);
  return index;
}

absl::StatusOr<Edge> Compiler::AddRest(const ValRef& val, bool in_source) {
  ValRef first = val;
  first.rest = false;
  TENON_ASSIGN_OR_RETURN(Edge edge, AddEdge(first, in_source));
  edge.rest = val.rest;
  if (!val.rest) return edge;
  const Node& node = out_.nodes[edge.node];
  if (node.kind != ValNode::Kind::kOp)
    return Error(fmt::format("{} stands for a list of results, and {} is one value", ToString(val),
                             ToString(ValRef{val.node, 0})));
  const std::vector<OperandDef>& results = node.info->def().results;
  if (results.empty() || results.back().arity != Arity::kVariadic)
    return Error(
        fmt::format("{} stands for a list of results, and {} has exactly {} (expected one of them)",
                    ToString(val), node.info->name(), results.size()));
  return edge;
}

absl::StatusOr<Edge> Compiler::AddEdge(const ValRef& val, bool in_source) {
  if (val.rest)
    return Error(
        fmt::format("{} stands for several results (expected them in match, in replace, and as "
                    "operands of an operation that takes a list)",
                    ToString(val)));
  TENON_ASSIGN_OR_RETURN(const uint16_t index, AddNode(val.node, in_source));
  TENON_RETURN_IF_ERROR(CheckHasResult(index, val));
  return Edge{index, static_cast<uint16_t>(val.result), false};
}

absl::Status Compiler::CheckHasResult(uint16_t index, const ValRef& val) const {
  const Node& node = out_.nodes[index];
  size_t results = 1;
  bool any_number = false;
  if (node.kind == ValNode::Kind::kOp) {
    const std::vector<OperandDef>& defined = node.info->def().results;
    results = defined.size();
    any_number = !defined.empty() && defined.back().arity != Arity::kSingle;
  }
  if (!any_number && static_cast<size_t>(val.result) >= results) {
    return Error(fmt::format("there is no {}#{} (expected a result below {})",
                             ToString(ValRef{val.node, 0}), val.result, results));
  }
  return absl::OkStatus();
}

}  // namespace tenon::drr
