// The memory plan that plan-memory records in a function with static shapes.
#ifndef TENON_EXECUTOR_MEMORY_RECORDED_PLAN_H_
#define TENON_EXECUTOR_MEMORY_RECORDED_PLAN_H_

#include <optional>

#include "absl/status/statusor.h"
#include "executor/memory/buffers.h"
#include "executor/memory/memory_planner.h"
#include "ir/core/operation.h"

namespace tenon {

// Returns one offset per set of `table`, which belongs to `block`, the block of the function.
// Returns nullopt if not all sets have one. Offsets are checked, because the text may be edited.
absl::StatusOr<std::optional<MemoryPlan>> ReadRecordedPlan(Operation& func, Block& block,
                                                           const BufferTable& table);

}  // namespace tenon

#endif  // TENON_EXECUTOR_MEMORY_RECORDED_PLAN_H_
