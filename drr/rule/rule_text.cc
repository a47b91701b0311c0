#include "drr/rule/rule_text.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace tenon::drr {
namespace {

constexpr size_t kMostText = size_t{1} << 16;

bool IsPart(const ValNode& node) {
  return node.kind != ValNode::Kind::kVariable &&
         (node.kind != ValNode::Kind::kEach || !node.alternatives.empty());
}

// A name that the notation allows, with a small or a capital letter first.
std::string Allowed(const std::string& name, bool capital) {
  static constexpr std::string_view kReserved[] = {
      "const",  "each",     "any",     "maybe",   "splat",   "none",    "let",     "true",
      "false",  "inf",      "in",      "if",      "on",      "match",   "where",   "keep",
      "may",    "stage",    "rule",    "replace", "benefit", "summary", "pattern", "lowers",
      "opaque", "requires", "ignores", "unless",  "repeat"};
  std::string text;
  for (const char c : name)
    text += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) text = "v" + text;
  const auto first = static_cast<unsigned char>(text[0]);
  text[0] = static_cast<char>(capital ? std::toupper(first) : std::tolower(first));
  bool reserved =
      std::find(std::begin(kReserved), std::end(kReserved), text) != std::end(kReserved);
  for (int d = 1; d < kNumDTypes; ++d) reserved = reserved || text == Name(static_cast<DType>(d));
  return reserved ? text + "_" : text;
}

}  // namespace

RuleWriter::RuleWriter(const Rule& rule) : rule_(&rule) {
  for (const ValRef& root : rule.roots()) Visit(root);
  for (const auto& condition : rule.conditions()) Visit(*condition);
  for (const ValRef& kept : rule.kept()) Visit(kept);
  for (const auto& group : rule.coinciding())
    for (const ValRef& val : group) Visit(val);
  matched_ = order_.size();
  for (const ValRef& result : rule.results()) Visit(result);
  NameParts();
}

void RuleWriter::Visit(const ValRef& val) {
  if (val.node == nullptr || ++uses_[val.node.get()] > 1) return;
  const ValNode& node = *val.node;
  for (const auto& group : node.operands)
    for (const OperandPattern& operand : group) Visit(operand.val);
  for (const ValRef& alternative : node.alternatives) Visit(alternative);
  for (const auto& [name, attr] : node.attrs) Visit(attr);
  Visit(node.splat);
  Visit(node.let_variable);
  Visit(node.let_value);
  order_.push_back(val.node);
  if (!IsPart(node)) names_[&node] = Unique(Allowed(node.name, false));
}

void RuleWriter::Visit(const AttrRef& attr) {
  if (attr == nullptr) return;
  if (attr->kind == AttrNode::Kind::kVariable && names_.count(attr.get()) == 0)
    names_[attr.get()] = Unique(Allowed(attr->name, false));
  for (const DimRef& dim : attr->dims) Visit(dim);
  for (const ArgRef& arg : attr->args) Visit(arg);
}

void RuleWriter::Visit(const DimRef& dim) {
  if (dim == nullptr) return;
  if (dim->kind == DimNode::Kind::kVariable && names_.count(dim.get()) == 0)
    names_[dim.get()] = Unique(Allowed(dim->name, true));
  Visit(dim->a);
  Visit(dim->b);
}

void RuleWriter::Visit(const ArgRef& arg) {
  Visit(ValRef{arg.val, arg.result});
  Visit(arg.attr);
  Visit(arg.dim);
}

void RuleWriter::Visit(const ConditionNode& condition) {
  for (const ArgRef& arg : condition.args) Visit(arg);
  for (const DimRef& dim : condition.shape) Visit(dim);
}

std::string RuleWriter::Unique(std::string name) {
  std::string unique = name;
  for (int i = 2; !taken_.insert(unique).second; ++i) unique = fmt::format("{}{}", name, i);
  return unique;
}

// Numbers are read best where they stand.
void RuleWriter::NameParts() {
  int unnamed = 0;
  for (const ValPtr& node : order_) {
    if (!IsPart(*node) || (uses_[node.get()] < 2 && node->name.empty())) continue;
    if (node->kind == ValNode::Kind::kSplat && node->splat->kind == AttrNode::Kind::kLiteral)
      continue;
    names_[node.get()] = node->name.empty() ? Unique(fmt::format("_{}", ++unnamed))
                                            : Unique(Allowed(node->name, false));
  }
}

std::string RuleWriter::NameOfAttr(const AttrNode& attr) const {
  const auto it = names_.find(&attr);
  return it != names_.end() ? it->second : attr.name;
}

std::string RuleWriter::NameOfDim(const DimNode& dim) const {
  const auto it = names_.find(&dim);
  return it != names_.end() ? it->second : dim.name;
}

std::string RuleWriter::ValText(const ValRef& val) {
  std::string before = std::exchange(text_, "");
  Add(val);
  return std::exchange(text_, std::move(before));
}

void RuleWriter::Add(const ValRef& val) {
  if (rule_ == nullptr && text_.size() > kMostText) {
    text_ += "…";
    return;
  }
  const ValNode& node = *val.node;
  const auto named = names_.find(&node);
  if (named != names_.end() && &node != defining_) {
    if (node.kind == ValNode::Kind::kEach && !IsPart(node)) text_ += "each ";
    if (node.constant && declared_.insert(&node).second) text_ += "const ";
    text_ += named->second;
  } else {
    if (&node == defining_) defining_ = nullptr;
    AddNode(node);
  }
  if (val.result > 0 || val.rest) text_ += fmt::format("#{}{}", val.result, val.rest ? "..." : "");
}

void RuleWriter::AddNode(const ValNode& node) {
  switch (node.kind) {
    case ValNode::Kind::kVariable:
      text_ += node.constant ? "const " + node.name : node.name;
      return;
    case ValNode::Kind::kEach:
      text_ += "each ";
      if (IsPart(node)) return Add(node.alternatives[0]);
      text_ += node.name;
      return;
    case ValNode::Kind::kSplat:
      text_ += fmt::format("splat({})", AttrText(*node.splat, true));
      return;
    case ValNode::Kind::kLet:
      text_ += "(";
      Add(node.alternatives[0]);
      text_ += fmt::format(" let {} = {})", NameOfAttr(*node.let_variable),
                           AttrText(*node.let_value, false));
      return;
    case ValNode::Kind::kAnyOf:
      text_ += "any(";
      for (size_t i = 0; i < node.alternatives.size(); ++i) {
        text_ += i > 0 ? " | " : "";
        Add(node.alternatives[i]);
      }
      text_ += ")";
      return;
    case ValNode::Kind::kOp:
      AddOp(node);
  }
}

void RuleWriter::AddOp(const ValNode& node) {
  std::string_view separator = "";
  const auto separate = [&] { text_ += std::exchange(separator, ", "); };
  text_ += node.op + "(";
  for (const auto& group : node.operands) {
    if (group.empty()) {
      separate();
      text_ += "none";
    }
    for (const OperandPattern& operand : group) {
      separate();
      text_ += operand.maybe ? "maybe(" : "";
      Add(operand.val);
      text_ += operand.maybe ? ")" : "";
    }
  }
  text_ += ")";
  if (node.attrs.empty()) return;
  separator = "";
  text_ += " {";
  for (const auto& [name, value] : node.attrs) {
    separate();
    text_ += fmt::format("{} = {}", name, AttrText(*value, true));
  }
  text_ += "}";
}

std::string RuleWriter::ListText(const std::vector<ValRef>& vals) {
  std::string text;
  for (const ValRef& val : vals) text += (text.empty() ? "" : ", ") + ValText(val);
  return text;
}

std::string RuleWriter::LetText(size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) {
    const ValNode& node = *order_[i];
    const auto named = names_.find(&node);
    if (named == names_.end() || !IsPart(node)) continue;
    const bool unlabelled = named->second[0] == '_';
    const std::string label = node.name == named->second && !unlabelled ? ""
                              : node.name.empty()                       ? ""
                                                  : " " + QuotedText(node.name);
    defining_ = &node;
    text += fmt::format("  let     {}{} = {}\n", named->second, label, ValText({order_[i], 0}));
  }
  return text;
}

std::string RuleWriter::RuleText() {
  const Rule& rule = *rule_;
  std::string text = fmt::format("rule {} {{\n", rule.name());
  if (!rule.summary().empty()) text += fmt::format("  summary {}\n", QuotedText(rule.summary()));
  if (rule.stage() == RuleStage::kFinal) text += "  stage   final\n";
  if (rule.benefit() != 0) text += fmt::format("  benefit {}\n", rule.benefit());
  text += LetText(0, matched_);
  text += fmt::format("  match   {}\n", ListText(rule.roots()));
  bool first = true;
  for (const auto& condition : rule.conditions()) {
    if (condition->assumption == Assumption::kNone) {
      text += fmt::format("  {}{}\n", first ? "where   " : "     && ", ConditionText(*condition));
      first = false;
      continue;
    }
    first = true;
    text += fmt::format("  {}{}\n", WordsOf(condition->assumption),
                        condition->args.empty() ? "" : " unless " + ConditionText(*condition));
  }
  for (const ValRef& kept : rule.kept()) text += fmt::format("  keep    {}\n", ValText(kept));
  for (const std::vector<ValRef>& group : rule.coinciding())
    text +=
        group.empty() ? "  may coincide\n" : fmt::format("  may coincide ({})\n", ListText(group));
  text += LetText(matched_, order_.size());
  text += fmt::format("  replace {}\n", ListText(rule.results()));
  if (rule.lowers().kind != Measure::Kind::kNone)
    text += fmt::format("  lowers  {}\n", ToString(rule.lowers()));
  if (rule.requires_kernel()) text += "  requires kernel\n";
  return text + "}\n";
}

std::string ToString(const ValRef& val) { return RuleWriter().ValText(val); }
std::string ToString(const DimNode& dim) { return RuleWriter().DimText(dim); }
std::string ToString(const AttrNode& attr) { return RuleWriter().AttrText(attr, true); }
std::string ToString(const TermNode& term) { return RuleWriter().TermText(term); }
std::string ToString(const ConditionNode& condition) {
  return RuleWriter().ConditionText(condition);
}
std::string ToString(const Rule& rule) { return RuleWriter(rule).RuleText(); }

}  // namespace tenon::drr
