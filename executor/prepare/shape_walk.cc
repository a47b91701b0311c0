#include "executor/prepare/shape_walk.h"

#include <cstring>

#include "executor/attr_decode.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"

namespace tenon {
namespace {

using kernels::TensorView;

}  // namespace

TensorView Walk::view(int value) const {
  return {values_[value].data, program_.values[value].type.dtype(), values_[value].shape};
}

size_t Walk::BytesOf(int value) const { return static_cast<size_t>(view(value).bytes()); }

absl::Status Walk::Start(std::span<const TensorView> inputs, bool with_data) {
  values_.assign(program_.values.size(), {});
  attrs_.assign(program_.instructions.size(), nullptr);
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i] != kNoValue) bindings_.Bind(program_.outer_symbols[i], symbols_[i]);
  }
  TENON_RETURN_IF_ERROR(BindInputs(program_, inputs, bindings_));
  for (size_t i = 0; i < inputs.size(); ++i) {
    WalkedValue& value = values_[program_.input_values[i]];
    value.shape.assign(inputs[i].shape.begin(), inputs[i].shape.end());
    if (with_data) value.data = inputs[i].data;
  }
  for (size_t i = 0; i < decisions_.size(); ++i) {
    if (decisions_[i] == kNoValue) continue;
    static constexpr bool kChoices[] = {false, true};
    values_[program_.decisions[i].condition].data = const_cast<bool*>(&kChoices[decisions_[i]]);
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor& constant = program_.values[i].constant;
    if (!constant) continue;
    values_[i].shape.assign(constant.shape().begin(), constant.shape().end());
    const LargeConstant* large = program_.values[i].large.get();
    values_[i].data = large != nullptr ? large->data() : constant.data();
  }
  return absl::OkStatus();
}

absl::Status Walk::Prepare(std::span<const TensorView> inputs, const EarlierWalk& earlier) {
  TENON_RETURN_IF_ERROR(Start(inputs, false));
  const size_t num_instructions = program_.instructions.size();
  read_by_runs_.assign(values_.size(), false);
  if (earlier.bindings == nullptr) {
    for (size_t i = 0; i < num_instructions; ++i) {
      TENON_RETURN_IF_ERROR(Step(i, false));
      NoteReads(i);
    }
    return absl::OkStatus();
  }
  same_values_.assign(values_.size(), false);
  same_calls_.assign(num_instructions, false);
  for (size_t i = 0; i < values_.size(); ++i) {
    const ProgramValue& value = program_.values[i];
    same_values_[i] =
        value.constant || (value.input >= 0 && IsSameValue(static_cast<int>(i), earlier));
  }
  for (size_t i = 0; i < num_instructions; ++i) {
    TENON_RETURN_IF_ERROR(CheckNotCancelled(*device_.parallel));
    const Instruction& instruction = program_.instructions[i];
    same_calls_[i] = SeesTheSame(instruction, earlier);
    TENON_RETURN_IF_ERROR(same_calls_[i] ? TakeResults(i, earlier) : Step(i, false));
    for (int result : instruction.results) {
      same_values_[result] = same_calls_[i] || IsSameValue(result, earlier);
    }
    NoteReads(i);
  }
  return absl::OkStatus();
}

// Has an operand another shape or value that is known, or an attribute?
bool Walk::SeesTheSame(const Instruction& instruction, const EarlierWalk& earlier) const {
  if (instruction.kind != Instruction::Kind::kView &&
      instruction.kind != Instruction::Kind::kCall) {
    return false;
  }
  for (int operand : instruction.operands) {
    if (!same_values_[operand]) return false;
  }
  for (int result : instruction.results) {
    if (earlier.values[result].passed) return false;    // another instruction may need it now
    if (values_[result].data != nullptr) return false;  // another decision
  }
  if (!instruction.symbolic_attrs) return true;
  for (const Attribute slot : instruction.slots) {
    if (!slot || slot.kind() != Attribute::Kind::kDims) continue;
    for (const DimExpr dim : slot.dims()) {
      if (dim.is_constant()) continue;
      const std::optional<int64_t> extent = dim.Evaluate(bindings_.lookup());
      if (!extent || extent != dim.Evaluate(earlier.bindings->lookup())) return false;
    }
  }
  return true;
}

absl::Status Walk::TakeResults(size_t index, const EarlierWalk& earlier) {
  const Instruction& instruction = program_.instructions[index];
  attrs_[index] = earlier.calls[index].attrs;
  for (size_t r = 0; r < instruction.results.size(); ++r) {
    const int number = instruction.results[r];
    const WalkedValue& known = earlier.values[number];
    // The shape is the same, what was declared for it need not be.
    TENON_RETURN_IF_ERROR(
        SetShape(instruction, r, program_.values[number].type.dtype(), known.shape));
    const WalkedValue& from =
        instruction.kind == Instruction::Kind::kView ? values_[instruction.operands[0]] : known;
    values_[number].data = from.data;
    values_[number].owner = from.owner;
    const bool computed = instruction.kind == Instruction::Kind::kCall && from.data != nullptr;
    if (computed) large_bytes_ += LargeBytes(number);
  }
  return absl::OkStatus();
}

bool Walk::IsSameValue(int value, const EarlierWalk& earlier) const {
  const WalkedValue &now = values_[value], &before = earlier.values[value];
  if (now.shape != before.shape || before.passed) return false;
  if (now.data == before.data) return true;
  if (now.data == nullptr || before.data == nullptr || program_.values[value].on_device) {
    return false;
  }
  return std::memcmp(now.data, before.data, BytesOf(value)) == 0;
}

absl::Status Walk::RunAll(std::span<const TensorView> inputs, std::span<const HeldValue> owners) {
  TENON_RETURN_IF_ERROR(CheckNotCancelled(*device_.parallel));
  TENON_RETURN_IF_ERROR(Start(inputs, true));
  for (size_t i = 0; i < owners.size(); ++i) {
    values_[program_.input_values[i]].owner = owners[i].owner;
  }
  // Values by their last use, so that each is freed in time. Views keep what they show alive.
  std::vector<std::vector<int>> dying(program_.instructions.size() + 1);
  for (size_t v = 0; v < values_.size(); ++v) {
    if (program_.values[v].last_use >= 0)
      dying[program_.values[v].last_use].push_back(static_cast<int>(v));
  }
  for (size_t i = 0; i < program_.instructions.size(); ++i) {
    TENON_RETURN_IF_ERROR(Step(i, true));
    for (int value : dying[i]) values_[value].owner = nullptr;
  }
  return absl::OkStatus();
}

absl::Status Walk::Step(size_t index, bool run_all) {
  TENON_RETURN_IF_ERROR(CheckNotCancelled(*device_.parallel));
  const Instruction& instruction = program_.instructions[index];
  if (instruction.kind == Instruction::Kind::kDims) return ComputeDims(instruction);
  if (instruction.is_control()) return RunControl(index, run_all);

  Slots concrete = instruction.slots;
  attrs_[index] = instruction.attrs;
  if (instruction.symbolic_attrs) {
    absl::StatusOr<Slots> slots = ConcreteSlots(
        *instruction.source, std::span<const Attribute>(concrete.data(), concrete.size()),
        bindings_.lookup());
    if (!slots.ok()) return program_.Error(instruction, slots.status());
    concrete = *std::move(slots);
    absl::StatusOr<std::shared_ptr<const void>> attrs = DecodeAttrs(
        *instruction.source, std::span<const Attribute>(concrete.data(), concrete.size()));
    if (!attrs.ok()) return program_.Error(instruction, attrs.status());
    attrs_[index] = *std::move(attrs);
  }
  std::shared_ptr<kernels::KernelState> found;
  TENON_RETURN_IF_ERROR(
      FindShapes(instruction, std::span<const Attribute>(concrete.data(), concrete.size()), found));

  if (instruction.kind == Instruction::Kind::kView) {
    const int from = instruction.operands[0], to = instruction.results[0];
    if (BytesOf(from) != BytesOf(to)) {
      return program_.Error(instruction,
                            absl::InvalidArgumentError(fmt::format(
                                "{}: {} elements cannot be seen as {}", instruction.source->name(),
                                view(from).numel(), view(to).numel())));
    }
    if (values_[to].data == nullptr) {  // not a condition that is decided
      values_[to].data = values_[from].data;
      values_[to].owner = values_[from].owner;
    }
    return absl::OkStatus();
  }
  if (IsUploadOfConstant(instruction)) return UploadConstant(instruction);
  if (!run_all && !IsPlanTime(instruction)) return absl::OkStatus();
  return RunKernel(instruction, attrs_[index], std::move(found));
}

// Without running it the shapes of its results are known only if their types say all, or the
// condition is known.
absl::Status Walk::FindShapesOfControl(size_t index) {
  const Instruction& instruction = program_.instructions[index];
  const bool chosen = instruction.kind == Instruction::Kind::kIf &&
                      values_[instruction.operands[0]].data != nullptr;
  for (int number : instruction.results) {
    if (IsUnreadResult(program_, instruction, number)) continue;
    const Type type = program_.values[number].type;
    for (DimExpr dim : type.dims()) {
      const std::optional<int64_t> extent = dim.Evaluate(bindings_.lookup());
      if (!extent && chosen) return FindShapesOfBranch(index);
      if (!extent) {
        return program_.Error(instruction, absl::FailedPreconditionError(fmt::format(
                                               "the extent '{}' has no value", dim.text())));
      }
      values_[number].shape.push_back(*extent);
    }
    const absl::StatusOr<int64_t> bytes = CheckedBytes(type.dtype(), values_[number].shape);
    if (!bytes.ok()) return program_.Error(instruction, bytes.status());
  }
  return absl::OkStatus();
}

absl::Status Walk::FindShapesOfBranch(size_t index) {
  const Instruction& instruction = program_.instructions[index];
  std::vector<TensorView> operands;
  for (int number : instruction.operands) operands.push_back(view(number));
  TENON_ASSIGN_OR_RETURN(const std::vector<ResultShape> shapes,
                         control_.BranchShapes(index, operands, bindings_));
  for (size_t r = 0; r < instruction.results.size(); ++r) {
    TENON_RETURN_IF_ERROR(SetShape(instruction, r, shapes[r].dtype, shapes[r].shape));
  }
  return absl::OkStatus();
}

absl::Status Walk::RunControl(size_t index, bool run_all) {
  const Instruction& instruction = program_.instructions[index];
  if (!run_all) return FindShapesOfControl(index);
  std::vector<HeldValue> operands, results;
  for (int number : instruction.operands) {
    operands.emplace_back().Set(view(number), values_[number].owner);
  }
  TENON_RETURN_IF_ERROR(
      program_.Placed(instruction, control_.Run(index, operands, bindings_, results)));
  for (size_t r = 0; r < instruction.results.size(); ++r) {
    HeldValue& result = results[r];
    TENON_RETURN_IF_ERROR(SetShape(instruction, r, result.dtype, result.shape));
    values_[instruction.results[r]].data = result.data;
    values_[instruction.results[r]].owner = std::move(result.owner);
  }
  return absl::OkStatus();
}

absl::Status Walk::ComputeDims(const Instruction& instruction) {
  const int result = instruction.results[0];
  const Type type = program_.values[result].type;
  absl::StatusOr<std::shared_ptr<std::byte>> memory =
      AllocateAligned(instruction.dims.size() * sizeof(int64_t));
  if (!memory.ok()) return program_.Error(instruction, memory.status());
  auto* out = reinterpret_cast<int64_t*>(memory->get());
  for (size_t i = 0; i < instruction.dims.size(); ++i) {
    const std::optional<int64_t> value = instruction.dims[i].Evaluate(bindings_.lookup());
    if (!value) {
      return program_.Error(
          instruction, absl::FailedPreconditionError(fmt::format("the extent '{}' has no value",
                                                                 instruction.dims[i].text())));
    }
    out[i] = *value;
  }
  for (DimExpr d : type.dims()) values_[result].shape.push_back(d.constant());
  values_[result].data = out;
  values_[result].owner = *std::move(memory);
  return absl::OkStatus();
}

absl::Status Walk::FindShapes(const Instruction& instruction, std::span<const Attribute> slots,
                              std::shared_ptr<kernels::KernelState>& found) {
  absl::InlinedVector<TensorView, 8> operands;
  for (int operand : instruction.operands) operands.push_back(HostView(operand));
  absl::StatusOr<std::vector<ResultShape>> results =
      ConcreteResults(*instruction.source, instruction.location, slots,
                      std::span<const TensorView>(operands.data(), operands.size()), &found);
  if (!results.ok()) return program_.Error(instruction, results.status());
  for (size_t r = 0; r < instruction.results.size(); ++r) {
    TENON_RETURN_IF_ERROR(SetShape(instruction, r, (*results)[r].dtype, (*results)[r].shape));
  }
  return absl::OkStatus();
}

// Notes the shape of a result, which must fit its declared type.
absl::Status Walk::SetShape(const Instruction& instruction, size_t result, DType dtype,
                            std::span<const int64_t> shape) {
  const int number = instruction.results[result];
  const Type type = program_.values[number].type;
  bool fits = dtype == type.dtype() && static_cast<int64_t>(shape.size()) == type.rank();
  const auto code = fits ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kInternal;
  for (int64_t axis = 0; fits && axis < type.rank(); ++axis) {
    fits = bindings_.Unify(type.dim(axis), shape[axis]);
  }
  if (!fits) {
    const std::string_view name =
        instruction.source != nullptr ? instruction.source->name() : "control flow";
    return program_.Error(
        instruction,
        absl::Status(code, fmt::format("{}: result {} is {} where {} was declared", name, result,
                                       ShapeText(dtype, shape), type.text())));
  }
  values_[number].shape.assign(shape.begin(), shape.end());
  return absl::OkStatus();
}

// Shape functions read values of the host.
TensorView Walk::HostView(int value) const {
  TensorView at = view(value);
  if (program_.values[value].on_device) at.data = nullptr;
  return at;
}

}  // namespace tenon
