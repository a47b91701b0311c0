#include "drr/rule/rule.h"

#include <algorithm>
#include <set>

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

Rule Rule::Lowers(Measure measure) && {
  lowers_ = std::move(measure);
  return std::move(*this);
}

Rule Rule::Lowers(std::string_view words) && {
  lowers_ = Measure();
  lowers_.kind = Measure::Kind::kWords;
  lowers_.words = std::string(words);
  return std::move(*this);
}

Rule Rule::Opaque(std::string_view why) && {
  opaque_ = std::string(why);
  return std::move(*this);
}

Rule Rule::RequireKernel() && {
  requires_kernel_ = true;
  return std::move(*this);
}

namespace {

void CollectOpaque(const std::vector<std::shared_ptr<const ConditionNode>>& conditions,
                   std::set<std::string>& reasons) {
  for (const auto& node : conditions) {
    for (const auto& part : node->parts) CollectOpaque(part, reasons);
    if (node->kind == ConditionNode::Kind::kPredicate &&
        node->asks == ConditionNode::Asks::kOther && node->term == nullptr && !node->args.empty())
      reasons.insert(node->text);
  }
}

bool IsOpaque(const AttrRef& attr) {
  return attr != nullptr && attr->kind == AttrNode::Kind::kCompute && attr->term == nullptr;
}

bool ComputesOpaquely(const ValRef& val, std::set<const ValNode*>& seen) {
  if (!seen.insert(val.node.get()).second) return false;
  const ValNode& node = *val.node;
  bool found = IsOpaque(node.splat) || IsOpaque(node.let_value);
  for (const auto& [name, attr] : node.attrs) found = found || IsOpaque(attr);
  for (const auto& group : node.operands)
    for (const OperandPattern& operand : group)
      found = found || ComputesOpaquely(operand.val, seen);
  for (const ValRef& alternative : node.alternatives)
    found = found || ComputesOpaquely(alternative, seen);
  return found;
}

}  // namespace

std::vector<std::string> Rule::OpaqueReasons() const {
  std::set<std::string> reasons;
  CollectOpaque(conditions_, reasons);
  std::set<const ValNode*> seen;
  bool computes = false;
  for (const auto* vals : {&roots_, &results_})
    for (const ValRef& val : *vals) computes = computes || ComputesOpaquely(val, seen);
  if (computes && opaque_.empty()) reasons.insert("an attribute is computed by a C++ function");
  if (!reasons.empty() || computes) {
    if (!opaque_.empty()) return {opaque_};
  }
  return {reasons.begin(), reasons.end()};
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

}  // namespace tenon::drr
