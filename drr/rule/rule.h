// A rewrite rule as data: a source graph, conditions and a result graph.
#ifndef TENON_DRR_RULE_RULE_H_
#define TENON_DRR_RULE_RULE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "drr/rule/condition.h"
#include "drr/rule/measure.h"
#include "drr/rule/val.h"

namespace tenon::drr {

// When a pipeline applies a rule of a file or an extension. It has no effect in `patterns/`, where
// the pass of the family decides.
enum class RuleStage : uint8_t {
  kFusion,  // before fusion, after each family that changed something, and at the end
  kFinal,   // only at the end, on what fusion has left
};

// A rule, built by chained calls:
//   Rule("silu").Match(Mul(x, Sigmoid(x))).Replace(Silu(x))
// A rule belongs to no Context. It is copied cheaply, since its graphs are shared, and is immutable
// once it is in a RuleList. Mistakes are reported when it is compiled (compiled.h).
class Rule {
 public:
  // `name` must be unique among the rules that are used together. The default arguments record the
  // source position for messages.
  explicit Rule(std::string_view name, const char* file = __builtin_FILE(),
                int line = __builtin_LINE());

  // Sets the values to be replaced. The operation of the first one anchors the match. If the
  // matched operation does not have one of the others (a variadic result), that one and its
  // replacement are left out.
  Rule Match(const Val& root) && { return std::move(*this).Match({root}); }
  Rule Match(std::initializer_list<Val> roots) &&;
  // Adds conditions; all of them must hold.
  Rule Where(const Condition& condition) &&;
  // Declares what the rule gives up. The rule fires where `unless` proves that nothing is lost.
  // Without `unless`, or without a proof, it fires only with PassContext::fast_math. MayOverflow:
  // the result may be infinite or NaN where the source is finite.
  Rule MayOverflow(const Condition& unless = {}) && {
    return std::move(*this).Where(Proof(Assumption::kNoOverflow, unless));
  }
  // The result may differ in kind where an input is infinite or NaN.
  Rule IgnoresInfinity(const Condition& unless = {}) && {
    return std::move(*this).Where(Proof(Assumption::kNoInfinity, unless));
  }
  // The result may differ where an input is a zero of the other sign.
  Rule IgnoresSignOfZero(const Condition& unless = {}) && {
    return std::move(*this).Where(Proof(Assumption::kNoNegativeZero, unless));
  }
  // Allows `inner`, an inner result, to have uses outside of the match. Its operation then stays.
  Rule Keep(const Val& inner) &&;
  // Allows these operations of the match to be one operation of the program. Without arguments it
  // allows that for all operations of the rule. Otherwise the operations of a match are distinct.
  Rule MayCoincide() && { return std::move(*this).MayCoincide(std::vector<Val>()); }
  Rule MayCoincide(const std::vector<Val>& ops) &&;
  // Sets the results: one value for each value of Match.
  Rule Replace(const Val& result) && { return std::move(*this).Replace({result}); }
  Rule Replace(std::initializer_list<Val> results) &&;
  // At one operation, rules of higher benefit are tried first; equal ones in the order given. The
  // default is 0.
  Rule Benefit(int benefit) &&;
  // Sets the stage; the default is RuleStage::kFusion.
  Rule Stage(RuleStage stage) &&;
  // Sets the line that --list-rules prints.
  Rule Summary(std::string_view summary) &&;
  // Says what becomes smaller with each application, so that rewriting ends. Required if the result
  // has as many operations as the source, or more. The check of rules measures it; words in its
  // place are for measures that have no name.
  Rule Lowers(Measure measure) &&;
  Rule Lowers(std::string_view words) &&;
  // States why a C++ function computes an attribute or decides a condition, where no term says the
  // same. --list-rules=opaque prints it.
  Rule Opaque(std::string_view why) &&;
  // Makes the rule fire only if the target has a kernel for every operation of the result.
  Rule RequireKernel() &&;

  const std::string& name() const { return name_; }      // the name of the rule
  const std::string& file() const { return file_; }      // the file that defines it
  int line() const { return line_; }                     // the line in file(), from 1
  const std::string& family() const { return family_; }  // its family or rule file; may be empty
  // Makes it a rule in text, at this line of a rule file, which messages name. `file` is kept as it
  // is; the constructor shortens the path of a source file.
  void set_place(std::string_view file, int line) {
    file_ = file;
    line_ = line;
    in_text_ = true;
  }
  bool in_text() const { return in_text_; }                       // true after set_place
  void set_family(std::string_view family) { family_ = family; }  // sets family()
  const std::string& summary() const { return summary_; }         // the line for --list-rules
  const Measure& lowers() const { return lowers_; }          // what each application makes smaller
  int benefit() const { return benefit_; }                   // higher ones are tried first
  RuleStage stage() const { return stage_; }                 // when pipelines apply it
  bool requires_kernel() const { return requires_kernel_; }  // true after RequireKernel
  const std::vector<ValRef>& roots() const { return roots_; }      // the values of Match
  const std::vector<ValRef>& results() const { return results_; }  // the values of Replace
  const std::vector<ValRef>& kept() const { return kept_; }        // the values of Keep
  // Sets of operations of which each set may be one operation; an empty set means all.
  const std::vector<std::vector<ValRef>>& coinciding() const { return coinciding_; }
  // All conditions, also those that prove assumptions.
  const std::vector<std::shared_ptr<const ConditionNode>>& conditions() const {
    return conditions_;
  }
  // The place for messages: "patterns/layers/norm.cc:12".
  std::string place() const;
  // Why the rule has parts that only C++ can say; empty if text says the same rule. Without
  // Opaque() these are the words of the conditions.
  std::vector<std::string> OpaqueReasons() const;
  // What the rule gives up, such as "may overflow, ignores infinity"; empty if it gives up nothing.
  std::string assumptions() const;

 private:
  std::string name_, file_, family_, summary_, opaque_;
  Measure lowers_;
  int line_;
  int benefit_ = 0;
  RuleStage stage_ = RuleStage::kFusion;
  bool requires_kernel_ = false, in_text_ = false;
  std::vector<ValRef> roots_, results_, kept_;
  std::vector<std::vector<ValRef>> coinciding_;
  std::vector<std::shared_ptr<const ConditionNode>> conditions_;
};

// Returns the rule in text notation: `rule name { match … where … replace … }`. ParseRules makes
// the same rule of it if it has no opaque parts.
std::string ToString(const Rule& rule);

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_RULE_H_
