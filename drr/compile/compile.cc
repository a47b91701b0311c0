// One rule: from the graph that its author wrote to flat arrays.
#include <algorithm>

#include "drr/compile/compiler.h"
#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon::drr {

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
