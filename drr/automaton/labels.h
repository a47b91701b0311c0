// Labels of values: which patterns (patterns.h) hold for a value. The label of a value follows from
// its op, its type and the labels of its operands, so that the cost of an operation depends on
// neither the number of rules nor their depth. Steps are worked out when they first occur, and are
// looked up from then on. The form is a bottom-up tree automaton that is made deterministic on
// demand: D. Chase, "An Improvement to Bottom-up Tree Pattern Matching", POPL 1987.
#ifndef TENON_DRR_AUTOMATON_LABELS_H_
#define TENON_DRR_AUTOMATON_LABELS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "drr/automaton/patterns.h"
#include "ir/core/operation.h"

namespace tenon::drr {

// Labels for one program at a time. Not thread-safe.
class Labels {
 public:
  // `table` must be finished. Memory: 256 KiB, and what kMostSteps steps take.
  explicit Labels(std::shared_ptr<const PatternTable> table);

  // Returns the numbers of all rules that may match at `op`, ascending. Every rule of the table
  // that matches is among them. Nothing if the program around `op` is unknown and large; then any
  // rule may match. The result lives until the next call. Allocates nothing for steps that are
  // known.
  std::optional<std::span<const uint16_t>> Find(Operation* op);

  // The program has changed: what is known about its values is forgotten. Steps stay known.
  void Forget();

  size_t num_labels() const { return labels_.size(); }
  size_t num_steps() const { return num_steps_; }

 private:
  using LabelId = uint32_t;
  struct Label {
    std::vector<PatternId> patterns;  // ascending
    std::vector<uint16_t> rules;      // whose root is among them, ascending
  };
  // What is known about a value: a label with all patterns up to a height.
  struct Known {
    const ValueImpl* value = nullptr;
    uint32_t epoch = 0;
    uint32_t label : 24 = 0;
    uint32_t height : 8 = 0;
  };
  struct Step {
    uint64_t hash = 0;
    uint32_t key = 0, size = 0;  // words in keys_; size 0: none
    LabelId label = 0;
  };
  struct TypeClass {
    std::vector<bool> answers;  // by question of the table
    LabelId plain = 0;          // the label of a value about which nothing but the type is known
  };
  // What a step depends on, as words.
  static constexpr size_t kMostOperands = 8;
  static constexpr size_t kMostWords = 6 + kMostOperands / 2 + PatternTable::kMostSlots;
  struct Key {
    std::array<uint64_t, kMostWords> words;
    size_t size = 0;
    void Add(uint64_t word) { words[size++] = word; }
  };

  // Labels a value with all patterns up to a height. If visits_left_ is negative then, it is wrong.
  Known LabelOf(Value value, unsigned height) {
    const Known& known = KnownAt(value);
    const bool enough =
        known.value == value.impl() && known.epoch == epoch_ && known.height >= height;
    return enough ? known : Visit(value, height);
  }
  Known Visit(Value value, unsigned height);
  const PatternTable::Op* PatternsOf(OpId op) {
    auto& [recent, patterns] = recent_ops_[op % recent_ops_.size()];
    if (recent != op) {
      recent = op;
      patterns = table_.FindOp(op);
    }
    return patterns;
  }
  // Finds the values that must be labeled for one, and how high. False if there are too many.
  bool Plan(Value value);
  // The number of the class of the type of a value.
  uint32_t ClassOf(Value value) {
    const TypeStorage* type = value.type().storage();
    const auto& [recent, number] = recent_types_[(AddressKey(type) >> 4) % recent_types_.size()];
    return recent == type ? number : FindClass(value);
  }
  uint32_t FindClass(Value value);
  // What a label follows from.
  struct Facts {
    uint32_t type_class = 0;
    const Operation* op = nullptr;  // if it has patterns
    const PatternTable::Op* patterns = nullptr;
    const Operation* constant = nullptr;  // if the value is one
    uint16_t result = 0;
    std::span<const LabelId> operands;  // the first ones
  };
  // Appends what the label follows from beside the type: the op, its operands and attributes.
  void AddOp(Key& key, const Facts& facts) const;
  LabelId Look(const Key& key, const Facts& facts);
  std::vector<PatternId> Work(const Facts& facts) const;
  bool Fits(const OpPattern& pattern, const Facts& facts) const;
  bool FitOperands(const OpPattern& pattern, const Facts& facts, bool swapped) const;
  bool Has(LabelId label, PatternId pattern) const;
  LabelId Intern(std::vector<PatternId> patterns);
  void AddStep(const Key& key, uint64_t hash, LabelId label);
  void Clear();

  Known& KnownAt(Value value) {
    return known_[(reinterpret_cast<uintptr_t>(value.impl()) >> 4) % kKnown];
  }

  static constexpr size_t kKnown = size_t{1} << 14;
  static constexpr size_t kMostSteps = size_t{1} << 16;  // beyond these all are forgotten
  static constexpr int kMostVisits = 256;                // values labeled for one operation
  static constexpr int kFewVisits = 10;                  // of these without a plan
  static constexpr unsigned kWhole = 255;                // the height of a label that is complete

  const std::shared_ptr<const PatternTable> shared_;
  const PatternTable& table_;
  std::vector<Label> labels_;
  absl::flat_hash_map<std::vector<PatternId>, LabelId> label_ids_;
  std::vector<Known> known_;
  uint32_t epoch_ = 1;
  std::vector<Step> steps_;  // open addressing; a power of two of them
  std::vector<uint64_t> keys_;
  size_t num_steps_ = 0;
  std::vector<TypeClass> classes_;
  absl::flat_hash_map<std::vector<bool>, uint32_t> class_ids_;
  absl::flat_hash_map<const TypeStorage*, uint32_t> class_of_type_;
  std::array<std::pair<const TypeStorage*, uint32_t>, 64> recent_types_{};
  std::array<std::pair<OpId, const PatternTable::Op*>, 64> recent_ops_{};
  int visits_left_ = 0;
  std::vector<Value> planned_;
  absl::flat_hash_map<const ValueImpl*, unsigned> heights_;  // of the plan; empty without one
};

}  // namespace tenon::drr

#endif  // TENON_DRR_AUTOMATON_LABELS_H_
