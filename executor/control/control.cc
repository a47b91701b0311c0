#include "executor/control/control.h"

#include "executor/run/runner.h"
#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {

using kernels::TensorView;

absl::StatusOr<int64_t> ElementOf(const TensorView& tensor, std::string_view what) {
  if (tensor.numel() != 1) {
    return absl::InvalidArgumentError(fmt::format("{} is {} (expected one element)", what,
                                                  ShapeText(tensor.dtype, tensor.shape)));
  }
  return LoadAsInt(tensor.dtype, static_cast<const std::byte*>(tensor.data));
}

bool IsUnreadResult(const ProgramImpl& program, const Instruction& instruction, int value) {
  return program.values[value].last_use < 0 && (instruction.kind == Instruction::Kind::kFor ||
                                                instruction.kind == Instruction::Kind::kWhile);
}

ControlRunner::ControlRunner(const ProgramImpl& program, kernels::DeviceContext& device,
                             SessionState& state)
    : program_(program), device_(device), state_(state) {}
ControlRunner::~ControlRunner() = default;

ControlRunner::Region& ControlRunner::RegionOf(size_t instruction, size_t region) {
  if (regions_.empty()) regions_.resize(program_.instructions.size());
  const std::vector<NestedProgram>& nested = program_.instructions[instruction].regions;
  if (regions_[instruction].empty()) regions_[instruction].resize(nested.size());
  Region& found = regions_[instruction][region];
  if (found.runner == nullptr) {
    found.runner =
        std::make_unique<Runner>(*nested[region].program, device_, state_, Runner::Keep::kMany);
    found.memory.resize(nested[region].program->outputs.size());
  }
  return found;
}

void ControlRunner::SetSymbols(const NestedProgram& nested, const Bindings& bindings,
                               Region& region) const {
  region.symbols.clear();
  for (std::string_view symbol : nested.program->outer_symbols) {
    region.symbols.push_back(bindings.Find(symbol).value_or(kNoValue));
  }
}

ControlRunner::Region& ControlRunner::SetUp(size_t instruction, size_t region,
                                            std::span<const HeldValue> operands,
                                            const Bindings& bindings) {
  const NestedProgram& nested = program_.instructions[instruction].regions[region];
  Region& of = RegionOf(instruction, region);
  of.inputs.resize(nested.program->inputs.size());
  const size_t first = of.inputs.size() - nested.captures.size();
  for (size_t i = 0; i < nested.captures.size(); ++i) {
    of.inputs[first + i] = operands[nested.captures[i]];
  }
  SetSymbols(nested, bindings, of);
  return of;
}

absl::StatusOr<ControlRunner::Region*> ControlRunner::Choose(size_t index,
                                                             std::span<const TensorView> operands,
                                                             const Bindings& bindings) {
  const Instruction& instruction = program_.instructions[index];
  const absl::StatusOr<int64_t> condition = ElementOf(operands[0], "ctl.if: the condition");
  if (!condition.ok()) return program_.Error(instruction, condition.status());
  const size_t chosen = *condition != 0 ? 0 : 1;
  const NestedProgram& nested = instruction.regions[chosen];
  Region& region = RegionOf(index, chosen);
  region.views.clear();
  for (int capture : nested.captures) region.views.push_back(operands[capture]);
  SetSymbols(nested, bindings, region);
  return &region;
}

absl::StatusOr<std::vector<ResultShape>> ControlRunner::BranchShapes(
    size_t index, std::span<const TensorView> operands, const Bindings& bindings) {
  TENON_ASSIGN_OR_RETURN(Region* const region, Choose(index, operands, bindings));
  return region->runner->PlannedShapes(region->views, region->symbols);
}

absl::Status ControlRunner::RunBranch(size_t index, std::span<const HeldValue> operands,
                                      const Bindings& bindings, std::vector<HeldValue>& results) {
  const Instruction& instruction = program_.instructions[index];
  const absl::StatusOr<int64_t> condition = ElementOf(operands[0].view(), "ctl.if: the condition");
  if (!condition.ok()) return program_.Error(instruction, condition.status());
  Region& region = SetUp(index, *condition != 0 ? 0 : 1, operands, bindings);
  const auto place =
      [](size_t, DType dtype,
         std::span<const int64_t> shape) -> absl::StatusOr<std::shared_ptr<std::byte>> {
    TENON_ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, shape));
    return AllocateAligned(static_cast<size_t>(bytes));
  };
  absl::Status status = region.runner->RunHeld(region.inputs, region.symbols, place, results);
  for (HeldValue& input : region.inputs) input.owner = nullptr;
  return status;
}

absl::Status ControlRunner::Run(size_t index, std::span<const HeldValue> operands,
                                const Bindings& bindings, std::vector<HeldValue>& results) {
  switch (program_.instructions[index].kind) {
    case Instruction::Kind::kIf:
      return RunBranch(index, operands, bindings, results);
    case Instruction::Kind::kInvoke:
    case Instruction::Kind::kBlocks:
      return RunCodeHeld(index, operands, bindings, results);
    default:
      return RunLoopHeld(index, operands, bindings, results);
  }
}

absl::Status ControlRunner::RunInto(size_t index, std::span<const TensorView> operands,
                                    const Bindings& bindings, std::span<const TensorView> results) {
  const Instruction::Kind kind = program_.instructions[index].kind;
  if (kind == Instruction::Kind::kInvoke || kind == Instruction::Kind::kBlocks) {
    return RunCodeInto(index, operands, bindings, results);
  }
  if (kind != Instruction::Kind::kIf) return RunLoopInto(index, operands, bindings, results);
  TENON_ASSIGN_OR_RETURN(Region* const region, Choose(index, operands, bindings));
  return region->runner->RunInto(region->views, region->symbols, results);
}

}  // namespace tenon
