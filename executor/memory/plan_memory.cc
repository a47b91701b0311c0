// Pass plan-memory: decides which kernels work in place and which parts of tensors need no copies,
// and places the buffers of a function with static shapes in one arena. For symbolic shapes the
// program does that per shape class.
#include "executor/executor_passes.h"
#include "executor/lowering/lowered_op.h"
#include "executor/memory/buffers.h"
#include "executor/memory/contiguous_parts.h"
#include "executor/prepare/concrete_shapes.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/kernel_ops.h"

namespace tenon {
namespace {

constexpr char kArenaBytes[] = "kernel.arena_bytes";

class PlanMemoryPass : public Pass {
 public:
  explicit PlanMemoryPass(std::shared_ptr<const kernels::KernelRegistry> registry)
      : registry_(std::move(registry)) {}

  absl::StatusOr<PassResult> Run(Operation* func, PassContext&) override {
    PassResult result;
    if (func->region().empty()) return result;
    Block& block = func->region().front();
    for (Block& each : func->region()) TENON_RETURN_IF_ERROR(Decide(each, result.changed));
    if (block.next() != nullptr) return result;  // the program places the buffers of each block
    TENON_ASSIGN_OR_RETURN(BufferTable table, BufferTable::Analyze(block));
    TENON_ASSIGN_OR_RETURN(bool placed, PlaceStatic(func, block, table));
    result.changed |= placed;
    return result;
  }

 private:
  // The decisions of a block and of those inside of its ops.
  absl::Status Decide(Block& block, bool& changed) {
    for (Operation& op : block) {
      if (op.info().dialect() == "kernel" || op.Has(Trait::kConstantLike) ||
          op.Has(Trait::kTerminator) || IsCall(op))
        continue;
      if (IsStructuredControl(op)) {
        for (unsigned r = 0; r < op.num_regions(); ++r) {
          if (!op.region(r).empty()) {
            TENON_RETURN_IF_ERROR(Decide(op.region(r).front(), changed));
          }
        }
        continue;
      }
      return Reject(op, std::string(op.name()) +
                            " is not lowered (expected lower-to-kernels before plan-memory)");
    }
    for (const auto& [op, operand] :
         ChooseInPlace(block, [this](Operation* call) { return InPlaceMask(call); })) {
      changed |= Set(op, "inplace", Attribute::I64(op->context(), operand));
    }
    changed |= ChooseParts(block);
    return absl::OkStatus();
  }

  // The kernel's mask is by kernel input, with absent operands counted; this one is by operand.
  uint32_t InPlaceMask(Operation* op) const {
    const auto call = Cast<kernel::CallOp>(op);
    const kernels::Kernel* kernel = registry_->FindByName(call.kernel());
    const OpInfo* source = op->context().FindOp(call.source());
    if (kernel == nullptr || kernel->inplace_mask == 0 || source == nullptr) return 0;
    absl::StatusOr<Slots> slots = SlotsFrom(*source, call.properties());
    if (!slots.ok()) return 0;
    absl::StatusOr<std::vector<int>> inputs =
        KernelInputs(*source, static_cast<int>(op->num_operands()),
                     std::span<const Attribute>(slots->data(), slots->size()));
    if (!inputs.ok()) return 0;
    uint32_t mask = 0;
    for (size_t i = 0; i < inputs->size() && i < 32; ++i) {
      if (((kernel->inplace_mask >> i) & 1) != 0 && (*inputs)[i] >= 0) mask |= 1u << (*inputs)[i];
    }
    return mask;
  }

  // Buffers around and in control flow, and around calls, are placed by the program.
  static absl::StatusOr<bool> PlaceStatic(Operation* func, Block& block, const BufferTable& table) {
    for (Operation& op : block) {
      if (RunsOtherCode(op)) return false;
    }
    std::vector<BufferLifetime> lifetimes;
    std::vector<int> buffer_of_set(table.sets().size(), -1);
    for (size_t i = 0; i < table.sets().size(); ++i) {
      const BufferSet& set = table.sets()[i];
      for (Value member : set.members) {
        if (!StaticBytes(member.type())) return false;
      }
      if (set.kind != BufferSet::Kind::kArena || set.output >= 0) continue;
      buffer_of_set[i] = static_cast<int>(lifetimes.size());
      lifetimes.push_back({*StaticBytes(set.members[0].type()), set.first, set.last});
    }
    if (SumOfBytes(lifetimes) > kMaxPlannedBytes) return false;
    const MemoryPlan plan = PlanMemory(lifetimes);
    bool changed = false;
    for (Operation& op : block) {
      if (!Isa<kernel::CallOp>(op)) continue;
      std::vector<int64_t> offsets;
      for (unsigned r = 0; r < op.num_results(); ++r) {
        const int set = table.set_of(op.result(r));
        const bool owner = table.sets()[set].members[0] == op.result(r) && buffer_of_set[set] >= 0;
        offsets.push_back(owner ? plan.offsets[buffer_of_set[set]] : -1);
      }
      changed |= Set(&op, "offsets", Attribute::I64s(op.context(), offsets));
    }
    changed |= Set(func, kArenaBytes, Attribute::I64(func->context(), plan.arena_bytes));
    return changed;
  }

  static bool Set(Operation* op, std::string_view name, Attribute value) {
    if (op->attr(name) == value) return false;
    op->SetAttr(name, value);
    return true;
  }

  std::shared_ptr<const kernels::KernelRegistry> registry_;
};

}  // namespace

PassInfo PlanMemoryInfo(std::shared_ptr<const kernels::KernelRegistry> registry) {
  PassInfo info;
  info.name = "plan-memory";
  info.summary =
      "Decides in-place kernels and parts, and places buffers of static shape in one arena";
  info.anchor = "func.func";
  info.steps = PassSteps::kNone;
  info.needs = static_cast<uint32_t>(ModuleProperty::kLowered);
  info.establishes = static_cast<uint32_t>(ModuleProperty::kPlanned);
  info.create = [registry](const PassOptionValues&) {
    return std::make_unique<PlanMemoryPass>(registry);
  };
  return info;
}

}  // namespace tenon
