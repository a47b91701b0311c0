// Pictures as text for Graphviz.
#include <string>

#include "fmt/format.h"
#include "frontends/view/nested.h"
#include "frontends/view/view.h"
#include "ir/base/shown_text.h"

namespace tenon::view {
namespace {

// A quoted string of DOT. Only the quote and the backslash have a meaning in it.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : ShownText(text)) {
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\t' ? ' ' : c;
  }
  return quoted + "\"";
}

std::string_view ColorOf(Fate fate) {
  switch (fate) {
    case Fate::kKept:
      return "#818b98";
    case Fate::kFused:
      return "#d55e00";
    case Fate::kRewritten:
      return "#0072b2";
    case Fate::kFolded:
      return "#8a7a00";
    case Fate::kRemoved:
      return "#a3407c";
    case Fate::kNew:
      return "#008a63";
  }
  return "";
}

class DotWriter {
 public:
  std::string Write(const Comparison& c) {
    text_ = fmt::format("digraph {} {{\n", Quoted(c.input));
    text_ += "  node [shape=box, fontname=\"Helvetica\", fontsize=11];\n";
    text_ += "  edge [fontname=\"Helvetica\", fontsize=9];\n";
    AddProgram(c.before, "before", c.after.has_value() ? "before" : "program");
    if (c.after.has_value()) AddProgram(*c.after, "after", "after");
    return text_ + "}\n";
  }

 private:
  void AddProgram(const Program& p, std::string_view prefix, std::string_view title) {
    p_ = &p;
    prefix_ = prefix;
    ops_.assign(p.groups.size(), {});
    groups_.assign(p.groups.size(), {});
    for (size_t i = 0; i < p.ops.size(); ++i)
      ops_[static_cast<size_t>(p.ops[i].group)].push_back(static_cast<int>(i));
    for (size_t g = 1; g < p.groups.size(); ++g)
      groups_[static_cast<size_t>(p.groups[g].parent)].push_back(static_cast<int>(g));
    AddGroup(0, fmt::format("{} {}", title, p.groups[0].label), 1);
    for (size_t i = 0; i < p.ops.size(); ++i) {
      for (const Input& input : p.ops[i].inputs) {
        if (input.value < 0) continue;
        const Shown& value = p.values[static_cast<size_t>(input.value)];
        text_ += fmt::format("  {0}{1} -> {0}{2} [label={3}];\n", prefix_, value.op, i,
                             Quoted(value.type));
      }
    }
  }

  // Depth is at most that of regions and of groups in them.
  void AddGroup(int group, std::string_view label, int depth) {
    const std::string indent(static_cast<size_t>(depth) * 2, ' ');
    text_ += fmt::format("{}subgraph cluster_{}{} {{\n{}  label={};\n", indent, prefix_, group,
                         indent, Quoted(label));
    for (const int op : ops_[static_cast<size_t>(group)]) {
      const Op& o = p_->ops[static_cast<size_t>(op)];
      const std::string label_text = o.label.empty() ? o.name : o.name + "\n" + ShortLabel(o.label);
      text_ += fmt::format("{}  {}{} [label={}, tooltip={}, color=\"{}\"{}];\n", indent, prefix_,
                           op, Quoted(label_text), Quoted(o.node), ColorOf(o.fate),
                           o.fate == Fate::kRemoved || o.fate == Fate::kFolded ? ", style=dashed"
                           : o.fate == Fate::kFused                            ? ", penwidth=2"
                                                                               : "");
    }
    for (const int inner : groups_[static_cast<size_t>(group)])
      AddGroup(inner, p_->groups[static_cast<size_t>(inner)].label, depth + 1);
    text_ += indent + "}\n";
  }

  std::string text_;
  const Program* p_ = nullptr;
  std::string_view prefix_;
  std::vector<std::vector<int>> ops_, groups_;
};

}  // namespace

absl::StatusOr<std::string> ViewDot(const Comparison& comparison) {
  if (const absl::Status status = CheckStillSize(comparison, "a DOT file"); !status.ok())
    return status;
  return DotWriter().Write(comparison);
}

}  // namespace tenon::view
