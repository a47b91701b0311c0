// Writes rules and their parts as text. Internal to drr/rule.
#ifndef TENON_DRR_RULE_RULE_TEXT_H_
#define TENON_DRR_RULE_RULE_TEXT_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "drr/rule/rule.h"
#include "drr/rule/term.h"

namespace tenon::drr {

// The text in quotes. The notation has no escapes.
std::string QuotedText(std::string text);

// The writer of the notation. With a rule it gives each variable a name of its own, and names parts
// that are used more than once, so that the text reads back as the same graph. Without one it uses
// the names of the nodes and writes shared parts at each use; texts over 64 KiB are cut off.
class RuleWriter {
 public:
  RuleWriter() = default;
  explicit RuleWriter(const Rule& rule);

  std::string RuleText();
  std::string ValText(const ValRef& val);
  std::string DimText(const DimNode& dim);
  // `typed`: the place tells the type, so that a float without a fraction is written as "1".
  std::string AttrText(const AttrNode& attr, bool typed);
  std::string TermText(const TermNode& term);
  std::string ConditionText(const ConditionNode& condition);

 private:
  void Visit(const ValRef& val);
  void Visit(const AttrRef& attr);
  void Visit(const DimRef& dim);
  void Visit(const ArgRef& arg);
  void Visit(const ConditionNode& condition);
  void NameParts();
  std::string Unique(std::string name);

  void Add(const ValRef& val);
  void AddNode(const ValNode& node);
  void AddOp(const ValNode& node);
  void AddTerm(const TermNode& term, int binding);
  void AddCall(const TermNode& term, int binding);
  std::string ArgText(const ArgRef& arg);
  std::string ListText(const std::vector<ValRef>& vals);
  std::string LetText(size_t begin, size_t end);
  std::string PartsText(const std::vector<std::shared_ptr<const ConditionNode>>& nodes);
  std::string NameOfAttr(const AttrNode& attr) const;
  std::string NameOfDim(const DimNode& dim) const;

  const Rule* rule_ = nullptr;
  std::string text_;
  std::map<const ValNode*, int> uses_;
  std::vector<ValPtr> order_;  // operands first
  size_t matched_ = 0;         // how many of order_ belong to the match and the conditions
  std::map<const void*, std::string> names_;
  std::set<std::string> taken_;
  std::set<const ValNode*> declared_;
  const ValNode* defining_ = nullptr;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_RULE_TEXT_H_
