// A rewrite rule as data: a source graph, conditions, a result graph.
#ifndef TENON_DRR_RULE_H_
#define TENON_DRR_RULE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "drr/condition.h"
#include "drr/val.h"

namespace tenon::drr {

// When a pipeline applies a rule that is given to it beside the built-in ones.
enum class RuleStage : uint8_t {
  kFusion,  // before fusion and behind each family of it, and at the end
  kFinal,   // at the end alone: on what fusion has made of the program
};

// Immutable once it is in a RuleSet.
class Rule {
 public:
  explicit Rule(std::string_view name, const char* file = __builtin_FILE(),
                int line = __builtin_LINE());

  // The value whose operation anchors the match. With several, the first is the anchor; all are
  // replaced. Of the others, one that the matched operation does not have (a variadic result) is
  // left out, with what would replace it.
  Rule Match(const Val& root) && { return std::move(*this).Match({root}); }
  Rule Match(std::initializer_list<Val> roots) &&;
  // All conditions given must hold.
  Rule Where(const Condition& condition) &&;
  // What the rule gives up. It fires where `unless` proves that nothing is lost by it; without
  // `unless`, and where there is no proof, with fast math only.
  Rule MayOverflow(const Condition& unless = {}) && {
    return std::move(*this).Where(Proof(Assumption::kNoOverflow, unless));
  }
  Rule IgnoresInfinity(const Condition& unless = {}) && {
    return std::move(*this).Where(Proof(Assumption::kNoInfinity, unless));
  }
  Rule IgnoresSignOfZero(const Condition& unless = {}) && {
    return std::move(*this).Where(Proof(Assumption::kNoNegativeZero, unless));
  }
  // An inner result that may have uses outside the match; its operation stays.
  Rule Keep(const Val& inner) &&;
  // Operations of a match are different ones. These may be one operation of the program: after
  // `cse`, what a rule writes twice often is. Without arguments: any of the rule.
  Rule MayCoincide() && { return std::move(*this).MayCoincide(std::vector<Val>()); }
  Rule MayCoincide(const std::vector<Val>& ops) &&;
  // One value for each root.
  Rule Replace(const Val& result) && { return std::move(*this).Replace({result}); }
  Rule Replace(std::initializer_list<Val> results) &&;
  // Of two rules that match one operation, the one of higher benefit is tried first.
  Rule Benefit(int benefit) &&;
  // Says nothing in a family of `patterns`, whose phase its pass decides.
  Rule Stage(RuleStage stage) &&;
  // One line of what the rule says, for --list-rules.
  Rule Summary(std::string_view summary) &&;
  // What gets smaller with each application. Needed only when the result does not have fewer
  // operations than the source.
  Rule Lowers(std::string_view measure) &&;
  // Fires only when the target has a kernel for every operation of the result.
  Rule RequireKernel() &&;

  const std::string& name() const { return name_; }
  const std::string& file() const { return file_; }
  int line() const { return line_; }
  const std::string& family() const { return family_; }
  // Where the rule stands, as messages give it; the path of the source file is shortened, this not.
  void set_place(std::string_view file, int line) {
    file_ = file;
    line_ = line;
  }
  void set_family(std::string_view family) { family_ = family; }
  const std::string& summary() const { return summary_; }
  const std::string& lowers() const { return lowers_; }
  int benefit() const { return benefit_; }
  RuleStage stage() const { return stage_; }
  bool requires_kernel() const { return requires_kernel_; }
  const std::vector<ValRef>& roots() const { return roots_; }
  const std::vector<ValRef>& results() const { return results_; }
  const std::vector<ValRef>& kept() const { return kept_; }
  // Sets of which each may be one operation; an empty one: all.
  const std::vector<std::vector<ValRef>>& coinciding() const { return coinciding_; }
  const std::vector<std::shared_ptr<const ConditionNode>>& conditions() const {
    return conditions_;
  }
  std::string place() const;  // "patterns/norm.cc:12"
  // What it gives up without a proof, each once: "may overflow, ignores infinity"; else empty.
  std::string assumptions() const;

 private:
  std::string name_, file_, family_, summary_, lowers_;
  int line_;
  int benefit_ = 0;
  RuleStage stage_ = RuleStage::kFusion;
  bool requires_kernel_ = false;
  std::vector<ValRef> roots_, results_, kept_;
  std::vector<std::vector<ValRef>> coinciding_;
  std::vector<std::shared_ptr<const ConditionNode>> conditions_;
};

// The rule in the text notation: `rule name { match … where … replace … }`.
std::string ToString(const Rule& rule);

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_H_
