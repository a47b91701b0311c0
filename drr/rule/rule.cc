#include "drr/rule/rule.h"

#include <algorithm>

#include "fmt/format.h"

namespace tenon::drr {
namespace {

// The path from the root of the sources on: "patterns/layers/norm.cc". Of the sources of a host,
// the file and its folder.
std::string ShortFile(std::string_view file) {
  for (std::string_view top : {"/tests/", "/patterns/", "/drr/", "/transforms/"}) {
    if (size_t at = file.rfind(top); at != std::string_view::npos)
      return std::string(file.substr(at + 1));
  }
  const size_t name = file.rfind('/');
  const size_t folder = name == std::string_view::npos || name == 0 ? std::string_view::npos
                                                                    : file.rfind('/', name - 1);
  return std::string(folder == std::string_view::npos ? file : file.substr(folder + 1));
}

// The notation has no escapes.
std::string Quoted(std::string text) {
  std::replace(text.begin(), text.end(), '"', '\'');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return '"' + text + '"';
}

std::string List(const std::vector<ValRef>& vals) {
  std::string text;
  for (const ValRef& val : vals) text += (text.empty() ? "" : ", ") + ToString(val);
  return text;
}

}  // namespace

Rule::Rule(std::string_view name, const char* file, int line)
    : name_(name), file_(ShortFile(file)), line_(line) {}

Rule Rule::Match(std::initializer_list<Val> roots) && {
  for (const Val& root : roots) roots_.push_back(root.ref());
  return std::move(*this);
}

Rule Rule::Where(const Condition& condition) && {
  conditions_.insert(conditions_.end(), condition.nodes().begin(), condition.nodes().end());
  return std::move(*this);
}

Rule Rule::Keep(const Val& inner) && {
  kept_.push_back(inner.ref());
  return std::move(*this);
}

Rule Rule::MayCoincide(const std::vector<Val>& ops) && {
  std::vector<ValRef>& group = coinciding_.emplace_back();
  for (const Val& op : ops) group.push_back(op.ref());
  return std::move(*this);
}

Rule Rule::Replace(std::initializer_list<Val> results) && {
  for (const Val& result : results) results_.push_back(result.ref());
  return std::move(*this);
}

Rule Rule::Benefit(int benefit) && {
  benefit_ = benefit;
  return std::move(*this);
}

Rule Rule::Stage(RuleStage stage) && {
  stage_ = stage;
  return std::move(*this);
}

Rule Rule::Summary(std::string_view summary) && {
  summary_ = std::string(summary);
  return std::move(*this);
}

Rule Rule::Lowers(std::string_view measure) && {
  lowers_ = std::string(measure);
  return std::move(*this);
}

Rule Rule::RequireKernel() && {
  requires_kernel_ = true;
  return std::move(*this);
}

std::string Rule::place() const { return fmt::format("{}:{}", file_, line_); }

std::string Rule::assumptions() const {
  std::string text;
  for (Assumption assumption :
       {Assumption::kNoOverflow, Assumption::kNoInfinity, Assumption::kNoNegativeZero}) {
    const bool given = std::any_of(conditions_.begin(), conditions_.end(), [&](const auto& node) {
      return node->assumption == assumption;
    });
    if (given) text += fmt::format("{}{}", text.empty() ? "" : ", ", WordsOf(assumption));
  }
  return text;
}

std::string ToString(const Rule& rule) {
  std::string text = fmt::format("rule {} {{\n", rule.name());
  if (!rule.summary().empty()) text += fmt::format("  summary {}\n", Quoted(rule.summary()));
  if (rule.stage() == RuleStage::kFinal) text += "  stage   final\n";
  if (rule.benefit() != 0) text += fmt::format("  benefit {}\n", rule.benefit());
  text += fmt::format("  match   {}\n", List(rule.roots()));
  bool first = true;
  for (const auto& condition : rule.conditions()) {
    if (condition->assumption != Assumption::kNone) continue;
    text += fmt::format("  {}{}\n", first ? "where   " : "     && ", condition->text);
    first = false;
  }
  for (const auto& condition : rule.conditions()) {
    if (condition->assumption == Assumption::kNone) continue;
    text += fmt::format("  {}{}\n", WordsOf(condition->assumption),
                        condition->args.empty() ? "" : " unless " + condition->text);
  }
  if (!rule.kept().empty()) text += fmt::format("  keep    {}\n", List(rule.kept()));
  for (const std::vector<ValRef>& group : rule.coinciding())
    text += group.empty() ? "  may coincide\n" : fmt::format("  may coincide ({})\n", List(group));
  text += fmt::format("  replace {}\n", List(rule.results()));
  if (!rule.lowers().empty()) text += fmt::format("  lowers  {}\n", Quoted(rule.lowers()));
  if (rule.requires_kernel()) text += "  requires kernel\n";
  return text + "}\n";
}

}  // namespace tenon::drr
