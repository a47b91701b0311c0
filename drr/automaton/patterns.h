// Patterns of values stand for what the source graphs of all rules of a phase ask. Equal parts of
// different rules are one pattern. Labels (labels.h) find out which patterns hold for a value.
#ifndef TENON_DRR_AUTOMATON_PATTERNS_H_
#define TENON_DRR_AUTOMATON_PATTERNS_H_

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "drr/compile/compiled.h"
#include "ir/core/operation.h"

namespace tenon::drr {

// What is the same is at one address: types, attributes and the parts of a rule.
inline uint64_t AddressKey(const void* address) {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address));
}

// The number of a pattern. Parts come before the patterns that refer to them.
using PatternId = uint32_t;
inline constexpr PatternId kAnything = 0;  // holds for every value

// A question about the type of a value.
struct TypeQuestion {
  const ConditionNode* condition = nullptr;  // for Asks that are not among the plain ones
  ConditionNode::Asks asks = ConditionNode::Asks::kOther;
  int64_t number = 0, axis = 0;
  DType dtype = DType::kInvalid;
  bool operator==(const TypeQuestion&) const = default;
};
// Returns the answer for the type of `value`.
bool Holds(const TypeQuestion& question, Value value);

// What a pattern asks of an operation. The patterns of operands are looked up by group and item.
struct OpPattern {
  // A requirement on attributes.
  struct Attr {
    AttrCode::Kind kind = AttrCode::Kind::kLiteral;  // kLiteral, kAxis, or kVariable: a condition
    absl::InlinedVector<uint16_t, 1> slots;          // the slots; one but for kVariable
    Attribute literal;                               // kLiteral; null: absent
    int64_t axis = 0;                                // kAxis
    const ConditionNode* condition = nullptr;        // kVariable: its arguments are the slots
  };
  struct Operand {
    uint16_t group = 0, item = 0;
    bool maybe = false;  // holds also if it is absent
    PatternId pattern = kAnything;
  };
  // Operand groups with a fixed size.
  struct Count {
    uint16_t group = 0;
    uint32_t size = 0;
  };

  OpId op = 0;
  uint16_t result = 0;  // kNone: any result, for the root of a rule
  bool commutative = false;
  std::vector<Attr> attrs;
  std::vector<Operand> operands;  // without those that may be anything
  std::vector<Count> counts;
  std::vector<std::pair<Operand, Operand>> same;  // operands that are one value
};

// The patterns of many rules. Add them all, then call Finish. Immutable from then on. The rules
// must outlive the table.
class PatternTable {
 public:
  // What all patterns of one op have in common.
  struct Op {
    uint16_t number = 0;    // from 1
    uint8_t height = 0;     // nested ops below which no pattern of it looks
    bool compares = false;  // some pattern compares operands
    bool axis = false;      // some pattern asks for an axis that counts from the end
    absl::InlinedVector<uint16_t, 4> slots;  // that patterns ask about, at most kMostSlots
    std::vector<PatternId> free, all;        // `free` ask nothing of operands
  };
  static constexpr size_t kMostSlots = 16;

  PatternTable();
  // `number`: of the rule.
  void Add(uint16_t number, const CompiledRule& rule);
  // A rule about which nothing is known: it may match everywhere.
  void AddUnknown(uint16_t number) { unknown_.push_back(number); }
  void Finish();

  size_t size() const { return kinds_.size(); }
  const Op* FindOp(OpId op) const {
    const auto it = ops_.find(op);
    return it == ops_.end() ? nullptr : &it->second;
  }
  const OpPattern& op_pattern(PatternId pattern) const {
    return op_patterns_[kinds_[pattern].index];
  }
  const std::vector<TypeQuestion>& type_questions() const { return type_questions_; }
  // The number of a splat constant matters.
  bool asks_numbers() const { return !numbers_.empty() || !number_conditions_.empty(); }
  // Appends the patterns that hold for the constant `elements` by its number.
  void AppendNumbers(Attribute elements, std::vector<PatternId>& patterns) const;
  // Patterns of operations whose first interesting operand must be `part`.
  std::span<const PatternId> WithOperand(PatternId part) const { return kinds_[part].users; }
  // Appends the patterns that hold where `part` does, for a type with these answers.
  void AppendFollowing(PatternId part, const std::vector<bool>& answers,
                       std::vector<PatternId>& patterns) const;
  PatternId constant() const { return constant_; }
  // The rules of which this is the root.
  const std::vector<uint16_t>& RulesOf(PatternId pattern) const { return kinds_[pattern].rules; }
  const std::vector<uint16_t>& unknown() const { return unknown_; }  // sorted after Finish

 private:
  friend class PatternBuilder;
  using Key = std::vector<uint64_t>;
  // A pattern and who refers to it.
  struct Kind {
    uint32_t index = 0;             // into the table of its kind
    uint8_t height = 0;             // nested ops
    std::vector<PatternId> users;   // patterns of operations
    std::vector<PatternId> typed;   // this with questions about the type
    std::vector<PatternId> either;  // patterns that hold if this does
    std::vector<uint16_t> rules;    // of which this is the root
  };
  // All that a rule asks of the number of one Splat. Numbers outside of the bounds, which are cheap
  // to compare, do not meet the conditions; others may.
  struct NumberConditions {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    std::vector<const ConditionNode*> all;
    PatternId pattern = kAnything;
  };
  void AddNumberConditions(std::vector<const ConditionNode*> all, PatternId pattern);
  // The pattern with this key; `second` is true if it is new.
  std::pair<PatternId, bool> Intern(Key key, unsigned height);

  absl::flat_hash_map<Key, PatternId> known_;
  std::vector<Kind> kinds_;
  std::vector<OpPattern> op_patterns_;
  std::vector<std::vector<uint32_t>> typed_;  // questions that must hold
  std::vector<TypeQuestion> type_questions_;
  absl::flat_hash_map<Key, uint32_t> known_questions_;
  std::vector<std::pair<double, PatternId>> numbers_;  // in order after Finish
  std::vector<NumberConditions> number_conditions_;
  absl::flat_hash_map<OpId, Op> ops_;
  PatternId constant_;
  std::vector<uint16_t> unknown_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_AUTOMATON_PATTERNS_H_
