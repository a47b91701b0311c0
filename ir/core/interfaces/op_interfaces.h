// The interfaces that passes ask ops for. Dialects outside of Tenon implement them for their ops
// (interface.h); an op without one is treated as its traits and its definition say.
#ifndef TENON_IR_CORE_INTERFACES_OP_INTERFACES_H_
#define TENON_IR_CORE_INTERFACES_OP_INTERFACES_H_

#include <string_view>

#include "absl/container/inlined_vector.h"
#include "ir/core/operation.h"
#include "ir/core/ranges.h"

namespace tenon {

// Effects that depend on the op, such as on an attribute. EffectsOf asks it before the traits. For
// an op with regions the answer includes what is inside.
class EffectsInterface {
 public:
  static constexpr std::string_view kInterface = "tenon.effects";  // identifies it
  virtual ~EffectsInterface() = default;
  // Returns all effects that `op` may have.
  virtual Effects EffectsOf(const Operation& op) const = 0;
};

// An op that calls a function.
class CallInterface {
 public:
  static constexpr std::string_view kInterface = "tenon.call";  // identifies it
  virtual ~CallInterface() = default;
  // Returns the symbol of the function, without "@"; empty if it is not known.
  virtual std::string_view Callee(const Operation& call) const = 0;
  // Makes the op call another function of the same type.
  virtual void SetCallee(Operation& call, std::string_view callee) const = 0;
  // Returns the operands that become the arguments of the function, in order.
  virtual OperandRange Arguments(const Operation& call) const = 0;
};

// An op that can be called: a function.
class CallableInterface {
 public:
  static constexpr std::string_view kInterface = "tenon.callable";  // identifies it
  virtual ~CallableInterface() = default;
  // Returns the region that a call runs; null for a declaration.
  virtual Region* Body(const Operation& callable) const = 0;
};

// A terminator that passes values to its successors in another way than the definition of the op
// says (SuccessorDef::operand_group).
class BranchInterface {
 public:
  static constexpr std::string_view kInterface = "tenon.branch";  // identifies it
  virtual ~BranchInterface() = default;
  // Returns the operands that become the last arguments of successor `i`.
  virtual OperandRange SuccessorOperands(const Operation& branch, unsigned i) const = 0;
};

// A way that control may go between an op and its regions.
struct RegionEdge {
  // The op itself, as the place where control comes from or goes to.
  static constexpr int kParent = -1;
  int to = kParent;          // the number of the region that runs next; kParent: behind the op
  OperandRange values = {};  // become the arguments of that region, from `first` on, or the results
  unsigned first = 0;        // arguments before it are made by the op, such as a counter
};

// An op that runs its regions, and does nothing else than they do. Each region has one block.
class RegionBranchInterface {
 public:
  static constexpr std::string_view kInterface = "tenon.region_branch";  // identifies it
  virtual ~RegionBranchInterface() = default;
  // Returns where control may go from the start of the op, for kParent, or from the end of region
  // `from`. Values are operands of the op, or of the terminator of that region.
  virtual absl::InlinedVector<RegionEdge, 2> EdgesFrom(const Operation& op, int from) const = 0;
};

// An op that may run a region several times.
class LoopInterface {
 public:
  static constexpr std::string_view kInterface = "tenon.loop";  // identifies it
  virtual ~LoopInterface() = default;
  // True if region `region` may run more than once.
  virtual bool Repeats(const Operation& loop, unsigned region) const = 0;
  // True if region `region` provably runs at least once whenever the op runs: an op with effects
  // may move out of it to before the op.
  virtual bool RunsAlways(const Operation& loop, unsigned region) const = 0;
};

// An op that writes results into operands.
class DestinationInterface {
 public:
  static constexpr std::string_view kInterface = "tenon.destination";  // identifies it
  virtual ~DestinationInterface() = default;
  // Returns the operand that result `result` is written into; -1 if there is none.
  virtual int DestinationOf(const Operation& op, unsigned result) const = 0;
};

// The answers for any op.

// True for an op that runs its regions (RegionBranchInterface).
inline bool RunsItsRegions(const Operation& op) {
  return op.info().Find<RegionBranchInterface>() != nullptr;
}
// Returns the operands that become the last arguments of successor `i`, by BranchInterface or by
// the definition of the op. Requires i < num_successors().
OperandRange SuccessorOperands(const Operation& branch, unsigned i);
// Returns the symbol that `op` calls; empty if it is no call, or calls what is not known.
std::string_view CalleeOf(const Operation& op);

}  // namespace tenon

#endif  // TENON_IR_CORE_INTERFACES_OP_INTERFACES_H_
