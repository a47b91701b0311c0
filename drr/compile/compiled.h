// Rules compiled for one Context: flat arrays, interned attributes, numbered variables.
#ifndef TENON_DRR_COMPILE_COMPILED_H_
#define TENON_DRR_COMPILE_COMPILED_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/compile/rule_list.h"
#include "drr/rule/rule.h"
#include "ir/core/context.h"

namespace tenon::drr {

inline constexpr uint16_t kNone = 0xffff;

// A reference to a node's value.
struct Edge {
  uint16_t node = kNone;
  uint16_t result = 0;
  bool maybe = false;
};

// A dimension expression; nodes refer to each other by index into CompiledRule::dims.
struct DimCode {
  DimNode::Kind kind;
  uint16_t variable = kNone;
  DimExpr constant;
  uint16_t a = kNone, b = kNone;
};

struct ArgCode {
  Edge edge;
  uint16_t attr = kNone;  // attribute variable
  uint16_t dim = kNone;   // index into dims
};

// An attribute expression: the requirement on a slot, or the value for it.
struct AttrCode {
  enum class Kind : uint8_t { kLiteral, kAxis, kAxes, kVariable, kCompute, kAny, kDim, kDims };
  Kind kind = Kind::kAny;
  uint16_t slot = kNone;
  AttrType type = AttrType::kAny;
  Attribute literal;                 // kLiteral; null: the attribute must be absent
  const AttrNode* source = nullptr;  // null for a default
  uint16_t variable = kNone;         // kVariable
  std::vector<uint16_t> dims;        // kDims; kDim: one
  std::vector<ArgCode> args;         // kCompute
};

// A node of the source or the result graph.
struct Node {
  ValNode::Kind kind;
  const ValNode* source = nullptr;
  const OpInfo* info = nullptr;  // kOp
  bool commutative = false;      // kOp
  bool inner = false;            // kOp of the source graph whose uses must be inside the match
  bool in_source = false;
  std::vector<std::vector<Edge>> operands;  // kOp
  std::vector<AttrCode> attrs;              // kOp: one per slot, except segment sizes
  std::vector<Edge> alternatives;           // kAnyOf, kLet
  std::vector<Edge> leads;        // kAnyOf, kLet: the nodes at the ends of all alternatives
  AttrCode splat;                 // kSplat
  uint16_t let_variable = kNone;  // kLet
  AttrCode let_value;
  std::vector<uint16_t> conditions;  // numbers of conditions on the value of the node
};

// A condition.
struct ConditionCode {
  const ConditionNode* source;
  std::vector<ArgCode> args;
  std::vector<uint16_t> shape;  // kShape: dims
  bool early = false;           // all arguments are values, so that it is evaluated while matching
};

// The path to a root that is not below the anchor: from a bound value to one of its users.
struct Climb {
  uint16_t from;    // a node that is matched before
  uint16_t result;  // which of its results
  uint16_t user;    // the op node that uses that result
};

// One compiled rule. It refers to the Rule, which must outlive it.
struct CompiledRule {
  const Rule* rule = nullptr;
  std::vector<Node> nodes;
  std::vector<DimCode> dims;
  std::vector<std::string> dim_names;   // by dimension variable
  std::vector<std::string> attr_names;  // by attribute variable
  std::vector<ConditionCode> conditions;
  std::vector<Edge> roots, results;
  std::vector<Climb> climbs;             // in the order in which they are made
  std::vector<uint16_t> creation_order;  // op and splat nodes of the result graph, operands first
  std::vector<OpId> anchors;             // ops at which a match can be rooted
  int num_ops = 0;                       // op nodes on the longest path through the source graph
  // Sets of op nodes that may be one operation; an empty set means all.
  std::vector<std::vector<uint16_t>> coincide;

  bool MayCoincide(uint16_t a, uint16_t b) const;
};

// Checks one rule and compiles it. InvalidArgument names the rule, its place and the mistake.
absl::StatusOr<CompiledRule> CompileRule(const Rule& rule, Context& context);

// A set of rules that are applied together, for one Context. Copies share their rules. Const
// functions are thread-safe.
class CompiledRules {
 public:
  CompiledRules() = default;  // no rules
  // Whether Create checks the rules against each other, or the caller knows that they are right.
  enum class Together : uint8_t { kChecked, kKnown };
  // Copies the rules, compiles each and checks it. Also checks them together: names must be unique.
  // With kChecked no rule may be unreachable behind another one, and rewriting must end.
  // InvalidArgument says what is wrong, with a program as a witness. While it checks, `context`
  // drops diagnostics, also those of other threads.
  static absl::StatusOr<CompiledRules> Create(std::vector<Rule> rules, Context& context,
                                              Together together = Together::kChecked);
  // Compiles each rule when Get first asks for it, without checking the rules together. For rules
  // that a test has checked, such as those of `patterns`. `context` must live as long as Get is
  // called.
  static CompiledRules OnDemand(std::shared_ptr<const RuleList> rules, Context& context);

  const RuleList& list() const { return *list_; }
  // Returns the rule with this number of the list, compiled on first use. It lives as long as the
  // set. The error is that of CompileRule: for OnDemand, usually an op that the Context lacks.
  absl::StatusOr<const CompiledRule*> Get(uint16_t rule) const;

 private:
  struct Entries;

  std::shared_ptr<const RuleList> list_;
  std::shared_ptr<Entries> entries_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_COMPILE_COMPILED_H_
