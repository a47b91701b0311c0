// Names in the text of rules that nothing binds, and words that are misspelt.
#include <algorithm>
#include <map>
#include <set>

#include "drr/text/text_parser.h"
#include "fmt/format.h"
#include "ir/base/suggest.h"

namespace tenon::drr {
namespace {

// What a match binds.
struct BoundNames {
  std::set<const ValNode*> vals;
  std::set<const AttrNode*> attrs;
  std::set<const DimNode*> dims;
  std::vector<std::string> val_names, attr_names, dim_names;
  // Attributes of the match that are terms, and bind nothing: by the variables that they read.
  struct Read {
    std::string name;  // of the attribute
    AttrRef term;
  };
  std::map<const AttrNode*, Read> read;

  void AddDim(const DimRef& dim) {
    std::vector<const DimNode*> pending = {dim.get()};
    while (!pending.empty()) {
      const DimNode* node = pending.back();
      pending.pop_back();
      if (!dims.insert(node).second) continue;
      if (node->kind == DimNode::Kind::kVariable) dim_names.push_back(node->name);
      for (const DimRef& part : {node->a, node->b})
        if (part) pending.push_back(part.get());
    }
  }
  void AddCondition(const ConditionNode& condition) {
    for (const DimRef& dim : condition.shape) AddDim(dim);
    for (const auto& part : condition.parts)
      for (const auto& inner : part) AddCondition(*inner);
  }
  void AddAttr(const AttrRef& attr) {
    if (!attr) return;
    if (attr->kind == AttrNode::Kind::kVariable && attrs.insert(attr.get()).second)
      attr_names.push_back(attr->name);
    for (const DimRef& dim : attr->dims) AddDim(dim);
  }
  void AddVal(const ValPtr& val) {
    std::vector<const ValNode*> pending = {val.get()};
    while (!pending.empty()) {
      const ValNode& node = *pending.back();
      pending.pop_back();
      if (!vals.insert(&node).second) continue;
      if (!node.name.empty()) val_names.push_back(node.name);
      for (const auto& group : node.operands)
        for (const OperandPattern& operand : group) pending.push_back(operand.val.node.get());
      for (const ValRef& alternative : node.alternatives) pending.push_back(alternative.node.get());
      for (const auto& [name, attr] : node.attrs) {
        AddAttr(attr);
        for (const ArgRef& arg : attr->args)
          if (arg.attr) read.emplace(arg.attr.get(), Read{name, attr});
      }
      AddAttr(node.splat);
      AddAttr(node.let_variable);
    }
  }
  // How to bind a variable that only a term of the match reads; empty for others.
  std::string HowToBind(const AttrNode& variable) const {
    const auto found = read.find(&variable);
    if (found == read.end()) return "";
    const auto& [name, attr] = found->second;
    std::string fresh = "v";
    while (std::count(attr_names.begin(), attr_names.end(), fresh) +
               std::count(val_names.begin(), val_names.end(), fresh) >
           0)
      fresh += 'v';
    std::string instead = fmt::format("terms of '{}'", fresh);
    if (attr->term != nullptr && attr->term->kind == TermNode::Kind::kList) {
      const std::vector<TermRef>& elements = attr->term->operands;
      const auto is_variable = [&](const TermRef& element) {
        return element->kind == TermNode::Kind::kArgument &&
               element->argument.attr.get() == &variable;
      };
      const auto element = std::find_if(elements.begin(), elements.end(), is_variable);
      const bool fixed = std::none_of(elements.begin(), elements.end(), [](const TermRef& other) {
        return other->kind == TermNode::Kind::kSpread;
      });
      if (fixed && element != elements.end())
        instead = fmt::format("'where len({0}) == {1}' and '{0}[{2}]'", fresh, elements.size(),
                              element - elements.begin());
    }
    return fmt::format(
        ": '{} = {}' is a term, which binds nothing (expected '{} = {}', with {} in place of '{}')",
        name, ToString(*attr), name, fresh, instead, variable.name);
  }
};

}  // namespace

absl::Status RuleTextParser::ExpectedWord(std::string_view what,
                                          const std::vector<std::string>& words) const {
  const absl::Status status = Expected(what);
  if (token_.kind != Token::Kind::kName) return status;
  return absl::Status(status.code(),
                      std::string(status.message()) + DidYouMean(token_.text, words));
}

absl::Status RuleTextParser::CheckNames(const Rule& rule) const {
  if (rule.roots().empty()) return absl::OkStatus();
  BoundNames bound;
  for (const ValRef& root : rule.roots()) bound.AddVal(root.node);
  for (const auto& condition : rule.conditions()) bound.AddCondition(*condition);
  for (const auto& [val, at] : asked_vals_) {
    if (bound.vals.count(val.node.get()) > 0) continue;
    return ErrorAt(at, fmt::format("{} is not part of the match{}", ToString(val),
                                   DidYouMean(at.text, bound.val_names)));
  }
  for (const auto& [attr, at] : asked_attrs_) {
    if (bound.attrs.count(attr.get()) > 0) continue;
    const std::string how = bound.HowToBind(*attr);
    return ErrorAt(at,
                   fmt::format("attribute variable '{}' is not bound by the match{}", attr->name,
                               how.empty() ? DidYouMean(attr->name, bound.attr_names) : how));
  }
  for (const auto& [dim, at] : asked_dims_) {
    if (bound.dims.count(dim.get()) > 0) continue;
    return ErrorAt(at, fmt::format("dimension '{}' is not bound by the match{}", dim->name,
                                   DidYouMean(dim->name, bound.dim_names)));
  }
  return absl::OkStatus();
}

}  // namespace tenon::drr
