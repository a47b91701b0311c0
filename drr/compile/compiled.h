// Rules compiled for one Context: flat arrays, interned attributes, numbered variables.
#ifndef TENON_DRR_COMPILE_COMPILED_H_
#define TENON_DRR_COMPILE_COMPILED_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/compile/rule_list.h"
#include "drr/rule/rule.h"
#include "ir/core/context/context.h"

namespace tenon::drr {

inline constexpr uint16_t kNone = 0xffff;  // no node, variable or index

// A reference to a node's value.
struct Edge {
  uint16_t node = kNone;  // index into CompiledRule::nodes
  uint16_t result = 0;    // which result of the node
  bool maybe = false;     // the operand may be absent
  bool rest = false;      // also the results behind; of roots, their results and operands
};

// A dimension expression; nodes refer to each other by index into CompiledRule::dims.
struct DimCode {
  DimNode::Kind kind;         // the kind in the rule
  uint16_t variable = kNone;  // kVariable: its number
  DimExpr constant;           // kConstant
  uint16_t a = kNone,         // kAdd, kSub, kMul: the left side
      b = kNone;              // kAdd, kSub, kMul: the right side
};

// An argument of a condition or of a computed attribute. One member is set.
struct ArgCode {
  Edge edge;              // a value
  uint16_t attr = kNone;  // attribute variable
  uint16_t dim = kNone;   // index into dims
};

// An attribute expression: the requirement on a slot, or the value for it.
struct AttrCode {
  // The form of an attribute.
  enum class Kind : uint8_t {
    kLiteral,   // `literal`
    kAxis,      // an axis of `source` that counts from the end
    kAxes,      // axes of `source`, of which some count from the end
    kVariable,  // a variable
    kCompute,   // computed by a function
    kAny,       // any value
    kDim,       // a dimension
    kDims       // a list of dimensions
  };
  Kind kind = Kind::kAny;            // says which members below are set
  uint16_t slot = kNone;             // the slot of the op
  AttrType type = AttrType::kAny;    // the type of the slot
  Attribute literal;                 // kLiteral; null: the attribute must be absent
  const AttrNode* source = nullptr;  // null for a default
  uint16_t variable = kNone;         // kVariable
  std::vector<uint16_t> dims;        // kDims; kDim: one
  std::vector<ArgCode> args;         // kCompute
};

// An operation of the pattern of an Each, on the way to the list.
struct EachLink {
  Edge op;             // the operation and which of its results
  uint16_t group = 0;  // the operand group that leads on; it has one operand
};

// A node of the source or the result graph.
struct Node {
  ValNode::Kind kind;               // the kind in the rule
  const ValNode* source = nullptr;  // the node of the rule
  const OpInfo* info = nullptr;     // kOp
  bool commutative = false;         // kOp
  bool inner = false;               // kOp of the source graph whose uses must be inside the match
  bool in_source = false;           // part of the source graph
  bool read = false;                // kVariable, kEach: operations of the result graph read it
  std::vector<std::vector<Edge>> operands;  // kOp
  std::vector<AttrCode> attrs;              // kOp: one per slot, except segment sizes
  std::vector<Edge> alternatives;           // kAnyOf, kLet
  std::vector<Edge> leads;           // kAnyOf, kLet: the nodes at the ends of all alternatives
  AttrCode splat;                    // kSplat
  uint16_t let_variable = kNone;     // kLet
  AttrCode let_value;                // kLet: the value of the variable
  std::vector<uint16_t> conditions;  // numbers of conditions on the value of the node
  std::vector<EachLink> chain;       // kEach with a pattern: its operations, the outermost first
  uint16_t list = kNone;             // kEach with a pattern: the plain kEach at the end of `chain`
  bool mapped = false;               // kOp in the chain of some kEach, so one for each item
};

// A condition.
struct ConditionCode {
  const ConditionNode* source;  // the condition of the rule
  std::vector<ArgCode> args;    // its arguments
  std::vector<uint16_t> shape;  // kShape: dims
  bool early = false;           // all arguments are values, so that it is evaluated while matching
  uint16_t list = kNone;        // the Each among the arguments, for each item of which it must hold
};

// The path to a root that is not below the anchor: from a bound value to one of its users.
struct Climb {
  uint16_t from;    // a node that is matched before
  uint16_t result;  // which of its results
  uint16_t user;    // the op node that uses that result
};

// One compiled rule. It refers to the Rule, which must outlive it.
struct CompiledRule {
  const Rule* rule = nullptr;             // not null after CompileRule
  std::vector<Node> nodes;                // nodes of both graphs, operands first
  std::vector<DimCode> dims;              // all dimensions of the rule
  std::vector<std::string> dim_names;     // by dimension variable
  std::vector<std::string> attr_names;    // by attribute variable
  std::vector<ConditionCode> conditions;  // in the order of the rule
  std::vector<Edge> roots,                // values to be replaced
      results;                            // what replaces them
  std::vector<Climb> climbs;              // in the order in which they are made
  std::vector<uint16_t> creation_order;   // op and splat nodes of the result graph, operands first
  std::vector<OpId> anchors;              // ops at which a match can be rooted
  int num_ops = 0;                        // op nodes on the longest path through the source graph
  // Sets of op nodes that may be one operation; an empty set means all.
  std::vector<std::vector<uint16_t>> coincide;

  // True if an operand pattern stands for any number of operands: an Each, or the results of an
  // operation from one on.
  bool IsList(const Edge& edge) const {
    return edge.rest || nodes[edge.node].kind == ValNode::Kind::kEach;
  }
  // True if op nodes `a` and `b` may match one operation.
  bool MayCoincide(uint16_t a, uint16_t b) const;
};

// Checks one rule and compiles it. InvalidArgument names the rule, its place and the mistake.
absl::StatusOr<CompiledRule> CompileRule(const Rule& rule, Context& context);

class Automaton;
class PatternTable;

// A set of rules that are applied together, for one Context. Copies share their rules. Const
// functions are thread-safe.
class CompiledRules {
 public:
  CompiledRules() = default;  // no rules
  // True for no rules: list() and Get must not be called.
  bool is_null() const { return list_ == nullptr; }
  // Whether Create checks the rules against each other, or the caller knows that they are right.
  enum class Together : uint8_t {
    kChecked,  // Create checks them
    kKnown     // the caller knows that they are right
  };
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

  // The rules in the order in which they are tried. Not for a default-constructed set.
  const RuleList& list() const { return *list_; }
  // Returns the rule with this number of the list, compiled on first use. It lives as long as the
  // set. The error is that of CompileRule: for OnDemand, usually an op that the Context lacks.
  absl::StatusOr<const CompiledRule*> Get(uint16_t rule) const;
  // Returns the automaton of the rules that can be rooted at an op, built on first use. Null if
  // there are none. It lives as long as the set. A rule that does not compile is always a
  // candidate, so that Get reports it.
  const Automaton* AutomatonAt(OpId root) const;
  // Returns the patterns (automaton/patterns.h) of all rules that may match a program with these
  // ops, made on first use. Rules that do not compile are unknown in it.
  std::shared_ptr<const PatternTable> PatternsFor(const NeededOps& ops) const;

 private:
  struct Entries;

  std::shared_ptr<const RuleList> list_;
  std::shared_ptr<Entries> entries_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_COMPILE_COMPILED_H_
