// Which values of a lowered function share a buffer, and when each buffer is needed.
#ifndef TENON_EXECUTOR_MEMORY_BUFFERS_H_
#define TENON_EXECUTOR_MEMORY_BUFFERS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "executor/memory/memory_planner.h"
#include "ir/core/block.h"
#include "ir/core/operation.h"
#include "ir/dialect/ctl.h"

namespace tenon {

// Values that share a buffer: through views, kernels that work in place, or as parts of a value
// (contiguous_parts.h).
struct BufferSet {
  enum class Kind : uint8_t {
    kArena,     // written by kernels and by ctl ops
    kConstant,  // the bytes of a constant
    kInput,     // the caller's bytes, or those of a value from outside the block
    kPlanTime,  // kernel.dims, which is computed with the plan
  };
  Kind kind = Kind::kArena;
  int first = 0, last = 0;  // positions of operations in the block, both included
  // kArena: the function result to which it is written directly; -1: none.
  int output = -1;
  std::vector<Value> members;  // the first has all bytes of the buffer
};

// The buffers of a block.
class BufferTable {
 public:
  // Analyzes a block of kernel.*, core.constant, ctl.* and a terminator. Emits and returns an error
  // with a location if a decision (inplace, joined, parts) would overwrite a value that is still
  // needed.
  static absl::StatusOr<BufferTable> Analyze(Block& block);
  // The same without an error message.
  static std::optional<BufferTable> TryAnalyze(Block& block);

  std::vector<BufferSet>& sets() { return sets_; }
  const std::vector<BufferSet>& sets() const { return sets_; }
  int set_of(Value value) const { return set_of_.at(value.impl()); }

 private:
  friend class BufferAnalysis;
  std::vector<BufferSet> sets_;
  absl::flat_hash_map<ValueImpl*, int> set_of_;
};

// Returns the values that an op reads: its operands, and values from outside that its regions use.
std::vector<Value> ReadValues(Operation& op);

// Returns the value whose bytes `value` shows through views.
Value ViewRoot(Value value);

// For each kernel.call of the block, in order, chooses an operand whose buffer its first result may
// take over; -1 for none. The operand must have the type of the result and no later use, and the
// kernel must allow it. Bit i of `inplace_mask(call)` says that the kernel allows operand i.
std::vector<std::pair<Operation*, int>> ChooseInPlace(
    Block& block, const std::function<uint32_t(Operation*)>& inplace_mask);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_BUFFERS_H_
