#include "executor/memory/recorded_plan.h"

#include <string>
#include <utility>
#include <vector>

#include "executor/lowering/lowered_op.h"
#include "executor/prepare/concrete_shapes.h"
#include "ir/dialect/kernel_ops.h"

namespace tenon {

absl::StatusOr<std::optional<MemoryPlan>> ReadRecordedPlan(Operation& func, Block& block,
                                                           const BufferTable& table) {
  const Attribute arena = func.attr("kernel.arena_bytes");
  if (!arena || arena.kind() != Attribute::Kind::kInteger) return std::nullopt;
  MemoryPlan plan;
  plan.arena_bytes = arena.int_value();
  plan.offsets.assign(table.sets().size(), 0);
  std::vector<bool> placed(table.sets().size(), false);
  for (Operation& op : block) {
    auto call = DynCast<kernel::CallOp>(&op);
    if (!call) continue;
    const auto offsets = call.offsets();
    for (unsigned r = 0; r < op.num_results() && r < offsets.size(); ++r) {
      const int set = table.set_of(op.result(r));
      if (offsets[r] < 0 || placed[set]) continue;
      plan.offsets[set] = offsets[r];
      placed[set] = true;
    }
  }
  std::vector<BufferLifetime> lifetimes;
  for (size_t i = 0; i < table.sets().size(); ++i) {
    const BufferSet& set = table.sets()[i];
    for (Value member : set.members) {
      if (!StaticBytes(member.type())) return std::nullopt;
    }
    const bool in_arena = set.kind == BufferSet::Kind::kArena && set.output < 0;
    if (in_arena && !placed[i]) return std::nullopt;
    const int64_t bytes = in_arena ? *StaticBytes(set.members[0].type()) : 0;
    lifetimes.push_back({bytes, set.first, set.last});
  }
  const std::string problem = CheckMemoryPlan(lifetimes, plan);
  if (!problem.empty()) return Reject(func, "the recorded memory plan is wrong: " + problem);
  return plan;
}

}  // namespace tenon
