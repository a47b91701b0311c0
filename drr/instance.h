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
  // Nothing when the ops refuse the operands.
  std::optional<Instance> Build(DType dtype) const;

 private:
  friend class Planner;
  struct Leaf {
    std::vector<int64_t> shape;
    bool constant = false, boolean = false, index = false;
    DType dtype = DType::kInvalid;  // kInvalid: the one that the instance is built in
    std::vector<double> values;
  };
  const CompiledRule* rule_ = nullptr;
  Context* context_ = nullptr;
  std::vector<int> alternatives_;                       // by node
  std::vector<std::vector<std::vector<bool>>> absent_;  // by node, operand group, position
  std::map<uint16_t, Leaf> leaves_;                     // variables and splats
  std::map<uint16_t, std::vector<Attribute>> slots_;    // by op node
};

}  // namespace tenon::drr

#endif  // TENON_DRR_INSTANCE_H_
