// One rule: from the graph that its author wrote to flat arrays.
#include <algorithm>

#include "drr/compile/compiler.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/verify/op_checks.h"

namespace tenon::drr {

uint16_t Compiler::AttrVariable(const AttrRef& attr) {
  auto [it, inserted] =
      attr_index_.emplace(attr.get(), static_cast<uint16_t>(out_.attr_names.size()));
  if (inserted) out_.attr_names.push_back(attr->name);
  return it->second;
}

uint16_t Compiler::AddDim(const DimRef& dim, bool in_source) {
  DimCode code{dim->kind, kNone, {}, kNone, kNone};
  if (dim->kind == DimNode::Kind::kVariable) {
    auto [it, inserted] =
        dim_variables_.emplace(dim.get(), static_cast<uint16_t>(out_.dim_names.size()));
    if (inserted) out_.dim_names.push_back(dim->name);
    code.variable = it->second;
    (in_source ? bound_dims_ : used_dims_).insert(it->second);
  }
  if (dim->kind == DimNode::Kind::kConstant)
    code.constant = DimExpr::Constant(context_, dim->value);
  // What is shared is computed once for each use.
  int64_t& size = dim_sizes_.emplace(std::pair(dim.get(), in_source), 0).first->second;
  if (size == 0) {
    size = 1;
    if (dim->a) code.a = AddDim(dim->a, in_source);
    if (dim->b) code.b = AddDim(dim->b, in_source);
    for (const DimRef& part : {dim->a, dim->b}) {
      if (part) size += dim_sizes_[{part.get(), in_source}];
    }
    size = std::min(size, kMostDimTerms + 1);
    too_long_dim_ = too_long_dim_ || size > kMostDimTerms;
  }
  auto [it, inserted] = dim_index_.emplace(dim.get(), static_cast<uint16_t>(out_.dims.size()));
  if (inserted) out_.dims.push_back(code);
  return it->second;
}

absl::StatusOr<std::vector<ArgCode>> Compiler::AddArgs(const std::vector<ArgRef>& args) {
  std::vector<ArgCode> codes;
  for (const ArgRef& arg : args) {
    ArgCode code;
    if (arg.val) {
      auto it = node_index_.find(arg.val.get());
      if (it == node_index_.end() || !out_.nodes[it->second].in_source) {
        return Error(fmt::format("{} is not part of the match", ToString(ValRef{arg.val, 0})));
      }
      TENON_RETURN_IF_ERROR(CheckHasResult(it->second, ValRef{arg.val, arg.result}));
      code.edge = {it->second, static_cast<uint16_t>(arg.result), false};
      used_nodes_.insert(it->second);
    } else if (arg.attr) {
      code.attr = AttrVariable(arg.attr);
      used_attrs_.insert(code.attr);
    } else {
      code.dim = AddDim(arg.dim, false);
    }
    codes.push_back(code);
  }
  return codes;
}

absl::StatusOr<AttrCode> Compiler::AddAttr(const AttrRef& attr, AttrType type,
                                           std::string_view name, bool in_source,
                                           std::string_view where) {
  TENON_RETURN_IF_ERROR(CheckKind(*attr, type, name, in_source, where));
  AttrCode code;
  code.type = type;
  code.source = attr.get();
  switch (attr->kind) {
    case AttrNode::Kind::kAny:
      if (!in_source)
        return Error(fmt::format(
            "{}: '{}' is {} in the result (expected a value, or a variable that the match binds)",
            where, name, rule_.in_text() ? "'any'" : "kAny"));
      code.kind = AttrCode::Kind::kAny;
      return code;
    case AttrNode::Kind::kVariable:
      code.kind = AttrCode::Kind::kVariable;
      code.variable = AttrVariable(attr);
      (in_source && !bound_attrs_.count(code.variable) ? bound_attrs_ : used_attrs_)
          .insert(code.variable);
      return code;
    case AttrNode::Kind::kLiteral: {
      const int64_t* axis = std::get_if<int64_t>(&attr->literal);
      const I64s* axes = std::get_if<I64s>(&attr->literal);
      if (name == "axis" && axis != nullptr && *axis < 0) {
        code.kind = AttrCode::Kind::kAxis;
      } else if (name == "axes" && axes != nullptr &&
                 std::any_of(axes->begin(), axes->end(), [](int64_t a) { return a < 0; })) {
        code.kind = AttrCode::Kind::kAxes;
      } else {
        code.kind = AttrCode::Kind::kLiteral;
        code.literal = ToAttribute(context_, type, attr->literal);
        if (!code.literal) {
          return Error(fmt::format("{}: '{}' cannot be {}", where, name, ToString(attr->literal)));
        }
      }
      return code;
    }
    case AttrNode::Kind::kCompute: {
      code.kind = AttrCode::Kind::kCompute;
      auto args = AddArgs(attr->args);
      if (!args.ok()) return args.status();
      code.args = *std::move(args);
      for (const ArgCode& arg : code.args) {
        if (arg.edge.node != kNone && out_.nodes[arg.edge.node].kind == ValNode::Kind::kEach)
          return Error(fmt::format("{}: '{}' reads '{}', which stands for any number of values",
                                   where, name, NameOf(arg.edge.node)));
      }
      return code;
    }
    case AttrNode::Kind::kDim:
    case AttrNode::Kind::kDims:
      code.kind = attr->kind == AttrNode::Kind::kDim ? AttrCode::Kind::kDim : AttrCode::Kind::kDims;
      for (const DimRef& dim : attr->dims) code.dims.push_back(AddDim(dim, in_source));
      return code;
  }
  return code;
}

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

absl::Status Compiler::AddConditions() {
  if (rule_.conditions().size() > 1000) return Error("the rule has more than 1000 conditions");
  for (const auto& condition : rule_.conditions()) {
    ConditionCode code;
    code.source = condition.get();
    if (condition->kind == ConditionNode::Kind::kPredicate && condition->answer == nullptr) {
      return Error(
          fmt::format("{} asks for a shape inside of || or ! (expected at the top, where "
                      "its dimensions unify)",
                      condition->text));
    }
    auto args = AddArgs(condition->args);
    if (!args.ok()) return args.status();
    code.args = *std::move(args);
    for (const DimRef& dim : condition->shape) code.shape.push_back(AddDim(dim, true));
    for (const ArgCode& arg : code.args) {
      if (arg.edge.node == kNone || out_.nodes[arg.edge.node].kind != ValNode::Kind::kEach ||
          arg.edge.node == code.list)
        continue;
      if (code.list != kNone || !out_.nodes[arg.edge.node].chain.empty())
        return Error(fmt::format("{} asks about more than one list", condition->text));
      code.list = arg.edge.node;
    }
    // What may be absent is known at the end.
    code.early = code.list == kNone && condition->kind == ConditionNode::Kind::kPredicate &&
                 !code.args.empty() && !condition->asks_presence &&
                 std::all_of(code.args.begin(), code.args.end(),
                             [](const ArgCode& a) { return a.edge.node != kNone; });
    auto index = static_cast<uint16_t>(out_.conditions.size());
    if (code.early) {
      for (const ArgCode& arg : code.args) {
        std::vector<uint16_t>& list = out_.nodes[arg.edge.node].conditions;
        if (list.empty() || list.back() != index) list.push_back(index);
      }
    }
    out_.conditions.push_back(std::move(code));
  }
  return absl::OkStatus();
}

absl::Status Compiler::AddCoinciding() {
  for (const std::vector<ValRef>& group : rule_.coinciding()) {
    std::set<uint16_t> ops;
    for (const ValRef& val : group) {
      const auto it = node_index_.find(val.node.get());
      if (it == node_index_.end())
        return Error(
            fmt::format("may coincide names {}, which is not part of the match", ToString(val)));
      FindRootOps({it->second, 0, false}, ops);
    }
    std::erase_if(ops, [&](uint16_t n) { return out_.nodes[n].kind != ValNode::Kind::kOp; });
    if (!group.empty() && ops.size() < 2)
      return Error(
          "may coincide names fewer than two operations of the match (expected two or more)");
    out_.coincide.emplace_back(ops.begin(), ops.end());
  }
  return absl::OkStatus();
}

bool CompiledRule::MayCoincide(uint16_t a, uint16_t b) const {
  return std::any_of(coincide.begin(), coincide.end(), [&](const std::vector<uint16_t>& group) {
    return group.empty() || (std::binary_search(group.begin(), group.end(), a) &&
                             std::binary_search(group.begin(), group.end(), b));
  });
}

absl::StatusOr<CompiledRule> Compiler::Run() {
  if (rule_.name().empty()) return Error("it has no name");
  if (rule_.roots().empty())
    return Error("the rule matches nothing (expected one value or more after match)");
  for (const auto* vals : {&rule_.roots(), &rule_.results(), &rule_.kept()}) {
    for (const ValRef& val : *vals) {
      if (val.node->depth > kMostDepth)
        return Error(fmt::format("nested too deeply (expected at most {} parts one in the other)",
                                 kMostDepth));
    }
  }
  if (rule_.roots().size() != rule_.results().size()) {
    return Error(fmt::format("{} values are matched and {} replaced (expected as many of each)",
                             rule_.roots().size(), rule_.results().size()));
  }
  if (rule_.roots()[0].rest)
    return Error("the first value stands for several results (expected one, where matches begin)");
  for (size_t i = 0; i < rule_.roots().size(); ++i) {
    const ValRef& root = rule_.roots()[i];
    if (root.rest != rule_.results()[i].rest)
      return Error(
          fmt::format("{} is replaced by {} (expected the rest of results for both, or "
                      "for none)",
                      ToString(root), ToString(rule_.results()[i])));
    const auto again = [&](const ValRef& other) {
      return other.node == root.node &&
             (other.result == root.result || (other.rest && other.result < root.result) ||
              (root.rest && root.result < other.result));
    };
    if (std::any_of(rule_.roots().begin(), rule_.roots().begin() + static_cast<ptrdiff_t>(i),
                    again))
      return Error(
          fmt::format("{} is matched twice (expected once: a value can be replaced only once)",
                      ToString(root)));
  }
  std::set<uint16_t> root_ops;
  for (const ValRef& root : rule_.roots()) {
    TENON_ASSIGN_OR_RETURN(out_.roots.emplace_back(), AddRest(root, true));
    FindRootOps(out_.roots.back(), root_ops);
  }
  std::set<uint16_t> anchors;
  FindRootOps(out_.roots[0], anchors);
  for (uint16_t op : root_ops) {
    if (out_.nodes[op].kind != ValNode::Kind::kOp)
      return Error("a matched value is not an operation (expected one such as relu(x))");
  }
  for (uint16_t op : anchors) out_.anchors.push_back(out_.nodes[op].info->id());
  std::sort(out_.anchors.begin(), out_.anchors.end());
  out_.anchors.erase(std::unique(out_.anchors.begin(), out_.anchors.end()), out_.anchors.end());
  TENON_RETURN_IF_ERROR(FindClimbs());
  std::set<uint16_t> stays;
  for (const ValRef& kept : rule_.kept()) {
    auto it = node_index_.find(kept.node.get());
    if (it == node_index_.end()) return Error("a kept value is not part of the match");
    TENON_RETURN_IF_ERROR(CheckHasResult(it->second, kept));
    std::set<uint16_t> ops;
    FindRootOps({it->second, 0, false}, ops);
    // Of alternatives one is enough: a variable among them has nothing that could stay.
    const auto is_op = [&](uint16_t op) { return out_.nodes[op].kind == ValNode::Kind::kOp; };
    if (std::none_of(ops.begin(), ops.end(), is_op))
      return Error(
          fmt::format("{} is kept, but it is not the result of an operation", ToString(kept)));
    stays.insert(ops.begin(), ops.end());
  }
  TENON_RETURN_IF_ERROR(AddCoinciding());
  const size_t source_nodes = out_.nodes.size();
  for (const ValRef& result : rule_.results()) {
    TENON_ASSIGN_OR_RETURN(out_.results.emplace_back(), AddRest(result, false));
    if (out_.nodes[out_.results.back().node].kind == ValNode::Kind::kEach)
      return Error(fmt::format("{} stands for any number of values, and cannot replace one",
                               ToString(result)));
  }
  // Matched operations that the result refers to stay as well.
  auto refer = [&](const Edge& edge) {
    if (!out_.nodes[edge.node].in_source) return;
    FindRootOps(edge, stays);
    for (const EachLink& link : out_.nodes[edge.node].chain) stays.insert(link.op.node);
  };
  for (const Edge& edge : out_.results) refer(edge);
  std::set<uint16_t> read;
  for (size_t n = source_nodes; n < out_.nodes.size(); ++n) {
    for (const auto& group : out_.nodes[n].operands) {
      for (const Edge& edge : group) {
        refer(edge);
        FindRootOps(edge, read);
      }
    }
  }
  for (uint16_t n : read) {
    const ValNode::Kind kind = out_.nodes[n].kind;
    out_.nodes[n].read = kind == ValNode::Kind::kVariable || kind == ValNode::Kind::kEach;
  }
  for (size_t n = 0; n < source_nodes; ++n) {
    out_.nodes[n].inner =
        out_.nodes[n].kind == ValNode::Kind::kOp && !stays.count(static_cast<uint16_t>(n));
  }
  TENON_RETURN_IF_ERROR(AddConditions());
  if (too_long_dim_)
    return Error(fmt::format("a dimension expression has more than {} terms", kMostDimTerms));
  if (out_.dims.size() > 1000) return Error("the rule has more than 1000 dimension expressions");
  TENON_RETURN_IF_ERROR(CheckVariables());
  TENON_RETURN_IF_ERROR(CheckCost());
  return std::move(out_);
}

absl::StatusOr<CompiledRule> CompileRule(const Rule& rule, Context& context) {
  return Compiler(rule, context).Run();
}

}  // namespace tenon::drr
