// Random programs that the source graph of a rule describes.
#ifndef TENON_DRR_CHECK_INSTANCE_H_
#define TENON_DRR_CHECK_INSTANCE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "drr/check/sought.h"
#include "drr/compile/compiled.h"
#include "ir/core/builder.h"
#include "ir/core/operation.h"

namespace tenon::drr {

// The elements of one argument, row-major. Element i is values[i] + rests[i]: an integer of 64 bits
// may be one that no double holds. Without rests all of them are 0.
struct Numbers {
  std::vector<double> values;
  std::vector<int64_t> rests;
};

// A module with one function whose body is one reading of the source graph. The function returns
// the roots.
struct Instance {
  OwnedOp module;
  Operation* function = nullptr;
  Operation* anchor = nullptr;
  std::vector<Numbers> arguments;  // what its arguments hold
};

// Numbers of a program. kPlain: moderate ones. kSpecial: with zeros of both signs, infinities and
// NaN. kWide: any exponent of the type; the numbers of one input are of similar size. kBetween:
// beside and between the numbers that the rule writes. kFine: small and large ones of one size for
// each input, for which rounding is judged. kHidden: numbers that a factor of the program takes out
// of the type, in columns where another input is infinite, is zero or cancels them; elsewhere the
// factor leaves moderate numbers. Integers are of any size except in kPlain and kBetween.
enum class EdgeMode : uint8_t { kSpecial, kWide, kPlain, kBetween, kFine, kHidden };

// The sizes of the numbers of kHidden, which all inputs of a program share.
struct HiddenSizes {
  int factor = 0;        // an exponent above 0: factors have this one or its negative
  int large = 0;         // of numbers that such a factor takes out of the type
  int shown = 0;         // of numbers that it does not
  unsigned columns = 0;  // bit i: column i modulo 8 is hidden
};

// The number that an integer or a float is; nothing for other values.
std::optional<double> NumberOf(const AttrValue& value);
// The finite numbers that the conditions of a rule compare with.
std::vector<double> NumbersOfConditions(const CompiledRule& rule);
// The finite numbers that a rule writes in its graphs and conditions, numbers beside each of them
// and between each two.
std::vector<double> NumbersBeside(const CompiledRule& rule);
// True if a condition asks about numbers, not only about types and shapes.
bool AsksAboutNumbers(const CompiledRule& rule);

// True if the conditions that ask about attribute variables alone hold for these values, as far as
// all variables of a condition are among them. `of`: only those that ask about this variable;
// kNone: all. Proofs are no conditions.
bool HoldsForAttrs(const CompiledRule& rule, const std::map<uint16_t, AttrValue>& values,
                   uint16_t of = kNone);
// True if a condition asks about the attribute variable.
bool AsksAboutAttr(const CompiledRule& rule, uint16_t variable);

// What the program knows of the extents of its arguments. kNamed: those of one size have one name,
// which NamedExtent knows.
enum class Extents : uint8_t { kKnown, kUnknown, kUnranked, kNamed };
// The number that an extent of a program built with kNamed has in a run.
std::optional<int64_t> NamedExtent(DimExpr extent);

inline constexpr int64_t kLargestWritten = 2048;  // number of a rule that extents lie beside

// The ops by which conditions want a node to be computed, in positive words such as op(x) == "…".
std::map<uint16_t, std::vector<std::string>> ProducersOf(const CompiledRule& rule);

// What programs of one rule have in common: read off the rule once, since a check plans thousands.
// The rule must outlive it.
struct PlanFacts {
  explicit PlanFacts(const CompiledRule& of);

  const CompiledRule& rule;
  bool compares = false;        // the source compares numbers, or asks an input for NaN
  bool asks_for_masks = false;  // the source asks whether numbers are NaN or infinite
  bool has_lets = false;        // some nodes bind attribute variables
  std::vector<double> asked;    // numbers in conditions
  SoughtNumbers sought;         // those that conditions compare
  bool seeks = false;           // `sought` is asked, as drawing finds too few
  bool extremes = false;        // numbers that conditions compare may be infinite, NaN, far away
  std::map<uint16_t, std::vector<std::string>> producers;  // ops that are to compute a node
  std::vector<int64_t> written;  // small numbers of attributes: bounds, steps, diagonals
  // What is chosen for each program: an alternative of an AnyOf node (`group` is kNone), or whether
  // an operand is there.
  struct Choice {
    uint16_t node = kNone, group = kNone;
    size_t position = 0;
    bool operator==(const Choice&) const = default;
  };
  std::vector<Choice> choices;  // in the order of the nodes
};
// The operands of a program that are absent, which are few.
using AbsentOperands = std::vector<PlanFacts::Choice>;
bool IsAbsent(const AbsentOperands& absent, uint16_t node, size_t group, size_t position);

// The decisions that make a program: alternatives, shapes, attributes, values. They do not depend
// on the element type, so that a plan can be built in several.
class InstancePlan {
 public:
  // Makes random decisions. If `node` is an AnyOf node, `alternative` is taken there. Returns
  // nullopt if the decisions contradict each other (try again) or if operand shapes of an op cannot
  // be planned; `why` says which.
  static std::optional<InstancePlan> Make(const PlanFacts& facts, Context& context,
                                          std::mt19937_64& random, uint16_t node, int alternative,
                                          std::string* why);
  // The same, for few programs of a rule.
  static std::optional<InstancePlan> Make(const CompiledRule& rule, Context& context,
                                          std::mt19937_64& random, uint16_t node, int alternative,
                                          std::string* why);
  // Builds the program. Returns nullopt if an op refuses its operands.
  std::optional<Instance> Build(DType dtype, Extents extents = Extents::kKnown) const;
  // Chooses other numbers, which `dtype` holds exactly; for constants, too, if `constants` is true.
  void SetEdgeValues(std::mt19937_64& random, DType dtype, EdgeMode mode, bool constants);
  // The numbers of the arguments of Build(dtype).
  std::vector<Numbers> Arguments(DType dtype) const;
  // Gives one argument whose element type is open another type than the rest.
  void MixTypes(std::mt19937_64& random);
  bool is_mixed() const { return is_mixed_; }
  // True if extents of its results follow from numbers of its arguments.
  bool at_run_time() const { return at_run_time_; }
  // Makes two arguments of one type the same value, if there are two.
  void Coincide(std::mt19937_64& random);
  // Computes some of the float arguments so that their range is known: clipped, between 0 and 1,
  // zeros and ones. `dtype`: of the instances that are built then. Conditions and proofs about
  // numbers hold for such values.
  // `moderate`: by small bounds only.
  void Guard(std::mt19937_64& random, DType dtype, bool moderate);

 private:
  friend class Planner;
  // What stands between an argument and the program.
  enum class Guarding : uint8_t { kNone, kAtLeast, kAtMost, kBetween, kRelu, kSigmoid, kZeroOrOne };
  struct Leaf {
    uint16_t node = 0;  // of the rule
    std::vector<int64_t> shape;
    bool constant = false, boolean = false, index = false, positive = false;
    bool exact = false;             // the values are rounded to the type already
    bool given = false;             // the values say extents, axes or counts: no others fit
    bool known = false;             // the program always knows its shape
    DType dtype = DType::kInvalid;  // kInvalid: the one that the instance is built in
    std::vector<double> values;
    std::vector<int64_t> rests;  // as in Numbers
    Guarding guarding = Guarding::kNone;
    double low = 0, high = 0;  // kAtLeast, kAtMost, kBetween
    std::string producer;      // the op that computes it, if one fits; empty: any value
  };
  // A range of a leaf for which conditions on proven bounds hold, and which ends they ask about.
  struct SoughtRange {
    double low = -1, high = 1;
    bool asks_low = false, asks_high = false;
  };
  // By node.
  std::map<uint16_t, SoughtRange> SoughtRanges(std::mt19937_64& random) const;
  // Returns the guarded value of a leaf.
  Value Guarded(const Leaf& leaf, Value argument, OpBuilder& builder) const;
  // Returns what the producer of a leaf makes of a value; the value itself where the op takes no
  // such value or makes another type of it. Null if it refuses a value whose type knows less.
  Value Produced(const Leaf& leaf, Value argument, OpBuilder& builder) const;
  // Returns a constant for another operand of the producer.
  Value Beside(const Leaf& leaf, Type type, OpBuilder& builder) const;
  // Numbers of the variables of splats that conditions ask about, for which these hold: what `draw`
  // returns for a variable and its planned number, or the planned ones if few tries find none.
  std::map<uint16_t, double> DrawToConditions(
      const std::function<double(uint16_t, double)>& draw) const;
  // True if only splats bind the variable or compute from it.
  bool OnlyOfSplats(uint16_t variable) const;
  // Gives splats that are computed from attribute variables the numbers that follow from these.
  void ComputeSplats(const std::map<uint16_t, double>& variables);

  const CompiledRule* rule_ = nullptr;
  bool is_mixed_ = false, at_run_time_ = false, seeks_ = false;
  std::optional<std::pair<uint16_t, uint16_t>> coincide_;  // leaves: the second is the first
  Context* context_ = nullptr;
  std::vector<int> alternatives_;  // by node
  AbsentOperands absent_;
  std::map<uint16_t, Leaf> leaves_;  // variables and splats, by `id`
  // What an Each stands for behind its first operand: ids beyond those of nodes.
  std::map<uint16_t, std::vector<uint16_t>> more_of_each_;
  std::map<uint16_t, std::vector<Attribute>> slots_;  // by op node
  std::map<uint16_t, AttrValue> attrs_;               // by attribute variable
  HiddenSizes sizes_;                                 // those that constants were drawn with
};

}  // namespace tenon::drr

#endif  // TENON_DRR_CHECK_INSTANCE_H_
