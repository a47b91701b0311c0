// Random programs that a rule's source graph describes.
#ifndef TENON_DRR_INSTANCE_H_
#define TENON_DRR_INSTANCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "drr/compiled.h"
#include "ir/core/operation.h"

namespace tenon::drr {

// A module with one function whose body is one way to read the source graph. Its arguments get the
// values given; the function returns the roots.
struct Instance {
  OwnedOp module;
  Operation* function = nullptr;
  Operation* anchor = nullptr;
  std::vector<std::vector<double>> arguments;  // row-major
};

// kSpecial: plain numbers beside zeros of both signs, infinities and NaN. kWide: numbers of any
// exponent that the type has, those of one leaf close to each other. kPlain: neither. Integers are
// of any size, but for kPlain.
enum class EdgeMode : uint8_t { kSpecial, kWide, kPlain };

enum class Extents : uint8_t { kKnown, kUnknown, kUnranked };

// The decisions that make an instance: alternatives, shapes, attributes, values. Independent of the
// element type, so that one plan can be built in several.
class InstancePlan {
 public:
  // Decides at random; with `node`, takes `alternative` at that AnyOf node. Nothing when the
  // decisions contradict each other (try again), or when the graph holds an op whose operand shapes
  // cannot be planned (see `why`).
  static std::optional<InstancePlan> Make(const CompiledRule& rule, Context& context,
                                          std::mt19937_64& random, uint16_t node, int alternative,
                                          std::string* why);
  // Nothing when the ops refuse the operands. `extents`: what the program knows of its arguments.
  std::optional<Instance> Build(DType dtype, Extents extents = Extents::kKnown) const;
  // Other numbers, which `dtype` holds exactly; `constants`: for constants as well.
  void SetEdgeValues(std::mt19937_64& random, DType dtype, EdgeMode mode, bool constants);
  // What the arguments of Build(dtype) hold.
  std::vector<std::vector<double>> Arguments(DType dtype) const;
  // One argument gets an element type of its own, if there is one whose type is open.
  void MixTypes(std::mt19937_64& random);
  bool is_mixed() const { return is_mixed_; }
  // Two arguments of one type become one, if there are two.
  void Coincide(std::mt19937_64& random);

 private:
  friend class Planner;
  struct Leaf {
    uint16_t node = 0;  // of the rule
    std::vector<int64_t> shape;
    bool constant = false, boolean = false, index = false, positive = false;
    bool exact = false;             // the values are numbers of the type already
    bool known = false;             // the program knows its shape whatever it knows of others
    DType dtype = DType::kInvalid;  // kInvalid: the one that the instance is built in
    std::vector<double> values;
  };
  // Is the variable of no attribute, so that splats alone say what it is?
  bool OnlyOfSplats(uint16_t variable) const;

  const CompiledRule* rule_ = nullptr;
  bool is_mixed_ = false;
  std::optional<std::pair<uint16_t, uint16_t>> coincide_;  // leaves: the second is the first
  Context* context_ = nullptr;
  std::vector<int> alternatives_;                       // by node
  std::vector<std::vector<std::vector<bool>>> absent_;  // by node, operand group, position
  std::map<uint16_t, Leaf> leaves_;                     // variables and splats, by `id`
  // What an Each stands for behind its first operand: ids beyond those of nodes.
  std::map<uint16_t, std::vector<uint16_t>> more_of_each_;
  std::map<uint16_t, std::vector<Attribute>> slots_;  // by op node
};

}  // namespace tenon::drr

#endif  // TENON_DRR_INSTANCE_H_
