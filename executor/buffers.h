// Which values of a lowered function share a buffer, and from when to when each buffer is needed.
#ifndef TENON_EXECUTOR_BUFFERS_H_
#define TENON_EXECUTOR_BUFFERS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "executor/memory_planner.h"
#include "ir/core/block.h"
#include "ir/core/operation.h"
#include "ir/dialect/ctl.h"

namespace tenon {

// Values joined by views, by kernels that work in place, and as parts of one of them (parts.h).
struct BufferSet {
  enum class Kind : uint8_t {
    kArena,     // written by kernels and by ctl ops
    kConstant,  // a constant's own bytes
    kInput,     // the caller's bytes, and those of a value from around the block
    kPlanTime,  // kernel.dims: computed with the plan
  };
  Kind kind = Kind::kArena;
  int first = 0, last = 0;     // positions of operations in the block
  int output = -1;             // kArena: the function result that it is written to directly, or -1
  std::vector<Value> members;  // the first has all the bytes of the buffer
};

class BufferTable {
 public:
  // REQUIRES: a block of kernel.*, core.constant, ctl.* and a terminator. Fails on a decision
  // (inplace, joined, parts) that would destroy a value that is still needed; the error is located.
  static absl::StatusOr<BufferTable> Analyze(Block& block);
  // The same; nothing is said about why it fails.
  static std::optional<BufferTable> TryAnalyze(Block& block);

  std::vector<BufferSet>& sets() { return sets_; }
  const std::vector<BufferSet>& sets() const { return sets_; }
  int set_of(Value value) const { return set_of_.at(value.impl()); }

 private:
  friend class BufferAnalysis;
  std::vector<BufferSet> sets_;
  absl::flat_hash_map<ValueImpl*, int> set_of_;
};

// What an op reads when it runs: its operands, and what its regions read from around it.
std::vector<Value> ReadValues(Operation& op);

// The value whose bytes `value` shows through views.
Value ViewRoot(Value value);

// For each kernel.call of the block, in order, the operand that its first result may replace, or
// -1: the operand's buffer is needed by nobody afterwards, has the result's type, and the kernel
// allows it. `inplace_mask(call)`: operands that the kernel allows, bit i = operand i.
std::vector<std::pair<Operation*, int>> ChooseInPlace(
    Block& block, const std::function<uint32_t(Operation*)>& inplace_mask);

}  // namespace tenon

#endif  // TENON_EXECUTOR_BUFFERS_H_
