// What can be said of a rule by looking at nothing else.
#include <algorithm>
#include <functional>
#include <utility>

#include "drr/compile/compiler.h"
#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon::drr {

void Compiler::FindRootOps(const Edge& edge, std::set<uint16_t>& ops) const {
  std::set<uint16_t> seen;  // alternatives may share theirs
  std::vector<uint16_t> pending = {edge.node};
  while (!pending.empty()) {
    const uint16_t n = pending.back();
    pending.pop_back();
    if (!seen.insert(n).second) continue;
    const Node& node = out_.nodes[n];
    if (node.kind == ValNode::Kind::kAnyOf || node.kind == ValNode::Kind::kLet) {
      for (const Edge& alternative : node.alternatives) pending.push_back(alternative.node);
    } else {
      ops.insert(n);
    }
  }
}

absl::Status Compiler::FindClimbs() {
  std::set<uint16_t> reached;
  std::function<void(uint16_t)> reach = [&](uint16_t n) {
    if (!reached.insert(n).second) return;
    for (const auto& group : out_.nodes[n].operands) {
      for (const Edge& edge : group) reach(edge.node);
    }
    for (const Edge& edge : out_.nodes[n].alternatives) reach(edge.node);
    for (const EachLink& link : out_.nodes[n].chain) reach(link.op.node);
  };
  // The way down from a node to something reached, as climbs from the bottom up. What has none is
  // looked at once.
  std::set<uint16_t> without;
  std::function<bool(uint16_t, std::vector<Climb>&)> path = [&](uint16_t n,
                                                                std::vector<Climb>& climbs) {
    // The rest of results may be none, and leads nowhere then: it comes last.
    for (const bool rest : {false, true}) {
      for (const auto& group : out_.nodes[n].operands) {
        for (const Edge& edge : group) {
          const ValNode::Kind kind = out_.nodes[edge.node].kind;
          if (edge.rest != rest || edge.maybe || kind == ValNode::Kind::kSplat ||
              kind == ValNode::Kind::kEach || without.count(edge.node))
            continue;
          if (reached.count(edge.node) || path(edge.node, climbs)) {
            climbs.push_back({edge.node, edge.result, n});
            return true;
          }
        }
      }
    }
    without.insert(n);
    return false;
  };
  reach(out_.roots[0].node);
  for (size_t i = 1; i < out_.roots.size(); ++i) {
    if (reached.count(out_.roots[i].node)) continue;
    if (!path(out_.roots[i].node, out_.climbs)) {
      return Error(
          fmt::format("root {} is not connected with the first one (expected matched graphs that "
                      "share a value)",
                      i));
    }
    reach(out_.roots[i].node);
    without.clear();  // something may lead to this root
  }
  return absl::OkStatus();
}

const Bound& Compiler::Always(uint16_t n, std::vector<std::optional<Bound>>& known) const {
  if (known[n]) return *known[n];
  const Node& node = out_.nodes[n];
  Bound bound;
  bound.nodes.Insert(n);
  auto note = [&](const AttrCode& attr) {
    if (attr.kind == AttrCode::Kind::kVariable) bound.attrs.Insert(attr.variable);
  };
  for (const AttrCode& attr : node.attrs) note(attr);
  if (node.kind == ValNode::Kind::kSplat) note(node.splat);
  if (node.kind == ValNode::Kind::kLet) bound.attrs.Insert(node.let_variable);
  for (const auto& group : node.operands) {
    for (const Edge& edge : group) {
      if (!edge.maybe) bound.Add(Always(edge.node, known));
    }
  }
  for (const EachLink& link : node.chain) bound.Add(Always(link.op.node, known));
  for (size_t i = 0; i < node.alternatives.size(); ++i) {
    const Bound& one = Always(node.alternatives[i].node, known);
    if (i == 0) {
      bound.Add(one);
      continue;
    }
    bound.nodes.Intersect(one.nodes);
    bound.attrs.Intersect(one.attrs);
    bound.nodes.Insert(n);
  }
  return known[n].emplace(std::move(bound));
}

absl::Status Compiler::CheckResult(uint16_t n, const Bound& always, IndexSet& seen) {
  if (!seen.Insert(n) || out_.nodes[n].in_source) return absl::OkStatus();
  const Node& node = out_.nodes[n];
  for (size_t g = 0; g < node.operands.size(); ++g) {
    for (const Edge& edge : node.operands[g]) {
      if (out_.nodes[edge.node].in_source && !always.nodes.Contains(edge.node) &&
          node.info->def().operands[g].arity == Arity::kSingle) {
        return Error(
            fmt::format("'{}' is bound in some alternatives only, and {} needs its operand '{}'",
                        NameOf(edge.node), node.source->op, node.info->def().operands[g].name));
      }
      TENON_RETURN_IF_ERROR(CheckResult(edge.node, always, seen));
    }
  }
  auto check = [&](const AttrCode& attr) {
    if (attr.kind == AttrCode::Kind::kVariable && !always.attrs.Contains(attr.variable)) {
      return Error(fmt::format("attribute variable '{}' is not bound in every alternative",
                               out_.attr_names[attr.variable]));
    }
    return absl::OkStatus();
  };
  for (const EachLink& link : node.chain)
    TENON_RETURN_IF_ERROR(CheckResult(link.op.node, always, seen));
  for (const AttrCode& attr : node.attrs) TENON_RETURN_IF_ERROR(check(attr));
  if (node.kind == ValNode::Kind::kSplat) TENON_RETURN_IF_ERROR(check(node.splat));
  return absl::OkStatus();
}

absl::Status Compiler::CheckVariables() {
  for (size_t n = 0; n < out_.nodes.size(); ++n) {
    const Node& node = out_.nodes[n];
    if (!node.in_source) continue;
    const bool variable = node.kind == ValNode::Kind::kVariable ||
                          (node.kind == ValNode::Kind::kEach && node.chain.empty());
    if (variable && mentions_[n] < 2 && !used_nodes_.count(static_cast<uint16_t>(n)) &&
        !node.source->name.starts_with("_")) {
      return Error(fmt::format("variable '{}' is not used (start its name with _ if that is meant)",
                               node.source->name));
    }
  }
  for (uint16_t v = 0, end = static_cast<uint16_t>(out_.attr_names.size()); v < end; ++v) {
    if (!bound_attrs_.count(v)) {
      return Error(
          fmt::format("attribute variable '{}' is not bound by the match", out_.attr_names[v]));
    }
    if (!used_attrs_.count(v)) {
      return Error(
          fmt::format("attribute variable '{}' is not used (expected {} where any value will do)",
                      out_.attr_names[v], rule_.in_text() ? "'any'" : "kAny"));
    }
  }
  for (uint16_t v : used_dims_) {
    if (!bound_dims_.count(v)) {
      return Error(fmt::format("dimension '{}' is not bound by the match", out_.dim_names[v]));
    }
  }
  std::vector<std::optional<Bound>> known(out_.nodes.size());
  Bound always;
  for (const Edge& root : out_.roots) always.Add(Always(root.node, known));
  IndexSet seen;
  for (const Edge& result : out_.results) {
    TENON_RETURN_IF_ERROR(CheckResult(result.node, always, seen));
  }
  return CheckElementTypes(always);
}

std::pair<int, int> Compiler::CountOps(uint16_t n, IndexSet& seen) {
  if (++counted_nodes_ > kMostCounted || !seen.Insert(n)) return {0, 0};
  const Node& node = out_.nodes[n];
  int least = node.kind == ValNode::Kind::kOp ? 1 : 0, most = least;
  for (const auto& group : node.operands) {
    for (const Edge& edge : group) {
      auto [lo, hi] = CountOps(edge.node, seen);
      least += edge.maybe ? 0 : lo;
      most += hi;
    }
  }
  for (const EachLink& link : node.chain) {
    auto [lo, hi] = CountOps(link.op.node, seen);
    least += lo;
    most += hi;
  }
  int best = -1, worst = 0;
  const IndexSet before = seen;
  for (const Edge& edge : node.alternatives) {
    IndexSet branch = before;
    auto [lo, hi] = CountOps(edge.node, branch);
    best = best < 0 ? lo : std::min(best, lo);
    worst = std::max(worst, hi);
    seen.Add(branch);
  }
  return {least + std::max(best, 0), most + worst};
}

absl::Status Compiler::CheckCost() {
  IndexSet seen;
  int least = 0;
  for (const Edge& root : out_.roots) {
    auto [lo, hi] = CountOps(root.node, seen);
    least += lo;
    out_.num_ops += hi;
  }
  if (counted_nodes_ > kMostCounted) {
    return Error(fmt::format("alternatives of alternatives combine in too many ways (more than {})",
                             kMostCounted));
  }
  for (const auto* names : {&rule_.lowers().ops, &rule_.lowers().behind}) {
    for (const MeasuredOp& op : *names) {
      const OpInfo* info = context_.FindOp(op.name);
      if (info == nullptr)
        return Error(fmt::format("it lowers a number of '{}', which is no operation", op.name));
      const bool exchanges = op.weight == MeasuredOp::Weight::kExchanges;
      const std::string& attr = exchanges ? "perm" : op.attr;
      if (!attr.empty() && attr != "rank" && attr != "operands" && info->FindSlot(attr) < 0) {
        return Error(fmt::format("it lowers a number of {} with '{}', which is no attribute",
                                 op.name, attr));
      }
    }
  }
  int made = 0;
  for (uint16_t n : out_.creation_order) {
    const Node& node = out_.nodes[n];
    made += node.kind == ValNode::Kind::kOp ? 1 : 0;
    if (node.mapped && rule_.lowers().kind == Measure::Kind::kNone) {
      return Error(
          fmt::format("the result has operations for each item of a list: so that rewriting ends, "
                      "say with {} what each rewrite makes smaller",
                      rule_.in_text() ? "'lowers'" : "Lowers()"));
    }
  }
  if (made >= least && rule_.lowers().kind == Measure::Kind::kNone) {
    return Error(
        fmt::format("the result has {} ops, and the source may have only {}: so that rewriting "
                    "ends, say with {} what each rewrite makes smaller",
                    made, least, rule_.in_text() ? "'lowers'" : "Lowers()"));
  }
  return absl::OkStatus();
}

}  // namespace tenon::drr
