#include "frontends/debug/step_fragment.h"

#include <algorithm>
#include <utility>

#include "drr/match/matcher.h"
#include "frontends/debug/fragment.h"

namespace tenon {

const char* KindName(RewriteStep::Kind kind) {
  switch (kind) {
    case RewriteStep::Kind::kRule:
      return "rule";
    case RewriteStep::Kind::kFold:
      return "fold";
    case RewriteStep::Kind::kPass:
      break;
  }
  return "pass";
}

std::vector<std::string> NodesOf(const RewriteStep& step) {
  std::vector<std::string> nodes;
  for (Operation* op : step.ops) {
    for (std::string& node : drr::DescribeAllLocations(op->context(), op->location())) {
      if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
        nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

OwnedOp MakeStepFragment(const RewriteStep& step) {
  const auto is_inside = [&](const Operation* op) {
    return std::find(step.ops.begin(), step.ops.end(), op) != step.ops.end();
  };
  std::vector<Value> results, inputs;
  for (Operation* op : step.ops) {
    for (unsigned r = 0; r < op->num_results(); ++r) {
      const auto uses = op->result(r).uses();
      const bool leaves = std::any_of(
          uses.begin(), uses.end(), [&](const OpOperand& use) { return !is_inside(use.owner()); });
      if (leaves) results.push_back(op->result(r));
    }
  }
  if (results.empty()) return nullptr;
  return MakeFragment(results, is_inside, inputs);
}

}  // namespace tenon
