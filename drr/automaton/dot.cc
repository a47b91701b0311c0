// The automaton as a graph.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "drr/automaton/automaton.h"
#include "fmt/format.h"
#include "ir/core/context/context.h"

namespace tenon::drr {
namespace {

std::string Question(const Test& test, const std::string& place, const std::string& other) {
  switch (test.kind) {
    case Test::Kind::kOp:
      return fmt::format("op of {}", place);
    case Test::Kind::kConstant:
      return fmt::format("{} is a constant", place);
    case Test::Kind::kPresent:
      return fmt::format("{} has operand {}", place, test.detail);
    case Test::Kind::kCount:
      return fmt::format("operands in group {} of {}", test.detail, place);
    case Test::Kind::kNumber:
      return fmt::format("number of {}", place);
    case Test::Kind::kRank:
      return fmt::format("rank of {}", place);
    case Test::Kind::kDType:
      return fmt::format("element type of {}", place);
    case Test::Kind::kDim:
      return fmt::format("dimension {} of {}", test.detail, place);
    case Test::Kind::kAttr:
      return fmt::format("attribute {} of {}", test.detail, place);
    case Test::Kind::kAxis:
      return fmt::format("axis from the end of {}", place);
    case Test::Kind::kSame:
      return fmt::format("{} is {}", place, other);
  }
  return "";
}

std::string Answer(const Test& test, uint64_t key, const std::map<uint64_t, std::string>& ops) {
  switch (test.kind) {
    case Test::Kind::kOp: {
      const auto it = ops.find(key);
      return it == ops.end() ? fmt::format("{:x}", key) : it->second;
    }
    case Test::Kind::kConstant:
    case Test::Kind::kPresent:
    case Test::Kind::kSame:
      return key != 0 ? "yes" : "no";
    case Test::Kind::kNumber:
      return fmt::format("{}", NumberOfKey(key));
    case Test::Kind::kDType:
      return Name(static_cast<DType>(key));
    case Test::Kind::kAttr: {
      if (key == 0) return "absent";
      return Attribute(reinterpret_cast<const AttributeStorage*>(static_cast<uintptr_t>(key)))
          .text();
    }
    case Test::Kind::kCount:
    case Test::Kind::kRank:
    case Test::Kind::kDim:
    case Test::Kind::kAxis:
      return fmt::format("{}", static_cast<int64_t>(key));
  }
  return "";
}

std::string DotQuoted(const std::string& text) {
  return '"' + absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}) + '"';
}

}  // namespace

std::string Automaton::TextOf(uint16_t place) const {
  if (place == 0) return "root";
  const Place& at = tests_.places()[place];
  const std::string parent = at.parent == 0 ? "" : TextOf(at.parent) + ".";
  return at.item == 0 ? fmt::format("{}{}", parent, at.group)
                      : fmt::format("{}{}[{}]", parent, at.group, at.item);
}

std::string Automaton::ToDot(const Context& context, const RuleList& list) const {
  std::map<uint64_t, std::string> ops;
  for (const std::string& dialect : context.DialectNames()) {
    for (const OpInfo* info : context.OpsOf(dialect)) {
      ops.emplace(KeyOfOp(info->id(), 0), info->name());
      for (unsigned result = 1; result < 4; ++result)
        ops.emplace(KeyOfOp(info->id(), result), fmt::format("{}#{}", info->name(), result));
    }
  }
  std::string dot;
  const OpInfo* root = context.FindOp(root_);
  const std::string title = root == nullptr ? "rules" : std::string(root->name());
  dot += fmt::format("digraph {} {{\n  rankdir=LR;\n  node [shape=box];\n", DotQuoted(title));
  for (size_t i = 0; i < states_.size(); ++i) {
    const State& state = states_[i];
    const Test* test = state.num_edges > 0 ? &tests_.tests()[state.test] : nullptr;
    std::string label;
    if (test != nullptr) {
      const std::string other =
          test->kind == Test::Kind::kSame ? TextOf(static_cast<uint16_t>(test->detail)) : "";
      label = Question(*test, TextOf(test->place), other) + "?";
    }
    for (uint32_t a = 0; a < state.num_accepts; ++a) {
      const std::string& name = list.rules()[accepts_[state.accepts + a]].name();
      label += label.empty() ? name : "\n" + name;
    }
    dot += fmt::format("  s{} [label={}{}];\n", i,
                       absl::StrReplaceAll(DotQuoted(label), {{"\n", "\\n"}}),
                       state.num_accepts > 0 ? ", style=bold" : "");
    std::vector<Edge> edges(edges_.begin() + state.edges,
                            edges_.begin() + state.edges + state.num_edges);
    std::sort(edges.begin(), edges.end(),
              [](const Edge& a, const Edge& b) { return a.state < b.state; });
    for (const Edge& edge : edges) {
      dot += fmt::format("  s{} -> s{} [label={}];\n", i, edge.state,
                         DotQuoted(Answer(*test, edge.key, ops)));
    }
    if (state.rest != kEnd) dot += fmt::format("  s{} -> s{} [style=dashed];\n", i, state.rest);
  }
  for (const uint16_t rule : always_)
    dot += fmt::format("  {} [style=bold];\n", DotQuoted(list.rules()[rule].name()));
  return dot + "}\n";
}

}  // namespace tenon::drr
