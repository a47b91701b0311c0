// Rules compiled for one Context: flat arrays, interned attributes, numbered variables.
#ifndef TENON_DRR_COMPILED_H_
#define TENON_DRR_COMPILED_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "drr/rule.h"
#include "drr/rule_list.h"
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

// An attribute expression: what a slot must hold, or what it gets.
struct AttrCode {
  enum class Kind : uint8_t { kLiteral, kAxis, kAxes, kVariable, kCompute, kAny, kDim, kDims };
  Kind kind = Kind::kAny;
  uint16_t slot = kNone;
  AttrType type = AttrType::kAny;
  Attribute literal;                 // kLiteral: interned; null: must be absent
  const AttrNode* source = nullptr;  // null for a default
  uint16_t variable = kNone;         // kVariable
  std::vector<uint16_t> dims;        // kDims; kDim: one
  std::vector<ArgCode> args;         // kCompute
};

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
  std::vector<Edge> leads;                  // likewise: what they end at, through all of these
  AttrCode splat;                           // kSplat
  uint16_t let_variable = kNone;            // kLet
  AttrCode let_value;
  std::vector<uint16_t> conditions;  // conditions that mention the node's value
};

struct ConditionCode {
  const ConditionNode* source;
  std::vector<ArgCode> args;
  std::vector<uint16_t> shape;  // kShape: dims
  bool early = false;           // every argument is a value: can be evaluated while matching
};

// How to reach a root that is not below the anchor: from a bound value through one of its users.
struct Climb {
  uint16_t from;    // a node matched before
  uint16_t result;  // which of its results
  uint16_t user;    // the op node that uses it
};

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
  int num_ops = 0;                       // op nodes on the longest way through the source graph
  // Op nodes that may be one operation of the program: of one set each; of an empty one all.
  std::vector<std::vector<uint16_t>> coincide;

  bool MayCoincide(uint16_t a, uint16_t b) const;
};

// Checks one rule and compiles it. The error names the rule and its place.
absl::StatusOr<CompiledRule> CompileRule(const Rule& rule, Context& context);

// A set of rules that work together in one phase, for one Context. Shared by threads.
class CompiledRules {
 public:
  CompiledRules() = default;  // none
  enum class Together : uint8_t { kChecked, kKnown };
  // Checks every rule by itself, and the rules against each other: repeated names and, unless that
  // is known, rules that are never reached because another one matches first, and rules whose
  // rewriting never ends; the error has a program as a witness. The rules are copied. `context`
  // emits no diagnostics of other threads while it checks.
  static absl::StatusOr<CompiledRules> Create(std::vector<Rule> rules, Context& context,
                                              Together together = Together::kChecked);
  // Of rules that Create has accepted, as a test says of those of `patterns`: each is compiled when
  // it is asked for. REQUIRES: `context` lives as long as rules are asked for.
  static CompiledRules OnDemand(std::shared_ptr<const RuleList> rules, Context& context);

  const RuleList& list() const { return *list_; }
  // A rule of the list by its number. The error of OnDemand's rules: the Context lacks an
  // operation. It is not kept.
  absl::StatusOr<const CompiledRule*> Get(uint16_t rule) const;

 private:
  struct Entries;

  std::shared_ptr<const RuleList> list_;
  std::shared_ptr<Entries> entries_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_COMPILED_H_
