// Pass place-transfers: where a kernel of one device reads what another has made, a kernel.call
// that copies it.
#include <map>
#include <utility>

#include "executor/executor_passes.h"
#include "executor/gpu/transfers.h"
#include "executor/lowering/lowered_op.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/kernel_ops.h"
#include "kernels/gpu/gpu_kernels.h"

namespace tenon {
namespace {

class PlaceTransfers : public Pass {
 public:
  explicit PlaceTransfers(std::shared_ptr<const kernels::KernelRegistry> registry)
      : registry_(std::move(registry)) {}

  absl::StatusOr<PassResult> Run(Operation* func, PassContext&) override {
    PassResult result;
    if (func->region().empty()) return result;
    copies_.clear();
    Block& block = func->region().front();
    for (Operation *op = block.front(), *next; op != nullptr; op = next) {
      next = op->next();
      TENON_RETURN_IF_ERROR(Place(*op, result.changed));
    }
    return result;
  }

 private:
  absl::Status Place(Operation& op, bool& changed) {
    TENON_ASSIGN_OR_RETURN(const std::vector<Memory> wanted, OperandMemories(*registry_, op));
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      if (wanted[i] == Memory::kAny) continue;
      const Value value = op.operand(i);
      if (MemoryOf(*registry_, value) == wanted[i]) continue;
      TENON_ASSIGN_OR_RETURN(const Value copy, CopyOf(value, wanted[i], op));
      op.set_operand(i, copy);
      changed = true;
    }
    if (!IsStructuredControl(op)) return absl::OkStatus();
    // Regions run on the host.
    for (const Value captured : CapturedValues(op)) {
      if (MemoryOf(*registry_, captured) == Memory::kHost) continue;
      TENON_ASSIGN_OR_RETURN(const Value copy, CopyOf(captured, Memory::kHost, op));
      std::vector<OpOperand*> inside;
      for (OpOperand& use : captured.uses()) {
        for (const Operation* at = use.owner()->parent_op(); at != nullptr; at = at->parent_op()) {
          if (at == &op) inside.push_back(&use);
        }
      }
      for (OpOperand* use : inside) use->set(copy);
      changed = true;
    }
    return absl::OkStatus();
  }

  // One copy a value; the first reader stands before all others.
  absl::StatusOr<Value> CopyOf(Value value, Memory memory, Operation& reader) {
    const auto key = std::make_pair(value.impl(), memory);
    if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
    Context& context = reader.context();
    const bool to_device = memory == Memory::kDevice;
    OpBuilder builder = OpBuilder::Before(&reader);
    const NamedAttribute device = {context.Intern("device"),
                                   Attribute::Str(context, to_device ? "cuda" : "cpu")};
    const Type type = value.type();
    TENON_ASSIGN_OR_RETURN(
        kernel::CallOp copy,
        kernel::CallOp::Create(
            builder, LocationOf(value, reader), std::span<const Value>(&value, 1),
            std::span<const Type>(&type, 1),
            {.kernel = to_device ? kernels::gpu::kToDevice : kernels::gpu::kToHost,
             .properties = Attribute::Dictionary(context, {&device, 1}),
             .source = std::string(kernel::CopyOp::kName)}));
    const Value result = copy.op()->result(0);
    copies_[key] = result;
    return result;
  }

  static Location LocationOf(Value value, const Operation& reader) {
    const Operation* producer = value.defining_op();
    return producer != nullptr ? producer->location() : reader.location();
  }

  std::shared_ptr<const kernels::KernelRegistry> registry_;
  std::map<std::pair<ValueImpl*, Memory>, Value> copies_;
};

}  // namespace

PassInfo PlaceTransfersInfo(std::shared_ptr<const kernels::KernelRegistry> registry) {
  PassInfo info;
  info.name = "place-transfers";
  info.summary =
      "Places copies between host and device memory where kernels of both follow each other";
  info.anchor = "func.func";
  info.steps = PassSteps::kNone;
  info.needs = static_cast<uint32_t>(ModuleProperty::kLowered);
  info.destroys = static_cast<uint32_t>(ModuleProperty::kPlanned);
  info.create = [registry](const PassOptionValues&) {
    return std::make_unique<PlaceTransfers>(registry);
  };
  return info;
}

}  // namespace tenon
