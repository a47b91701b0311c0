// The memory plan that plan-memory left in a function of static shapes.
#ifndef TENON_EXECUTOR_RECORDED_PLAN_H_
#define TENON_EXECUTOR_RECORDED_PLAN_H_

#include <optional>

#include "absl/status/statusor.h"
#include "executor/buffers.h"
#include "executor/memory_planner.h"
#include "ir/core/operation.h"

namespace tenon {

// One offset for each set of `table`, which is of `block`, the function's. Nothing if there is no
// plan for all of them. The offsets must fit, for a text may say anything.
absl::StatusOr<std::optional<MemoryPlan>> ReadRecordedPlan(Operation& func, Block& block,
                                                           const BufferTable& table);

}  // namespace tenon

#endif  // TENON_EXECUTOR_RECORDED_PLAN_H_
