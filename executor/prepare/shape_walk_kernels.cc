// What a walk does with kernels: which of them run with it, their preparation, their runs.
#include <algorithm>

#include "executor/gpu/device_session.h"
#include "executor/memory/memory_planner.h"
#include "executor/prepare/shape_walk.h"
#include "fmt/format.h"
#include "ir/base/out_of_memory.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/op_cost.h"

namespace tenon {
namespace {

using kernels::TensorView;

// Values up to this size are computed with the plan when they follow from shapes: shape arithmetic,
// position ids, causal masks. Larger ones would cost more memory per shape than they save time,
// unless they are of products.
constexpr size_t kMaxPlanTimeBytes = 64 << 10;

}  // namespace

size_t Walk::LargeBytes(int value) const {
  const size_t bytes = BytesOf(value);
  return bytes > kMaxPlanTimeBytes ? bytes : 0;
}

size_t Walk::ComputedBytes() const {
  size_t bytes = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].owner != nullptr) bytes += BytesOf(static_cast<int>(i));
  }
  return bytes;
}

// What is not known now is computed in every run, which reads the operands. Of what is, large
// operands go with their last reader.
void Walk::NoteReads(size_t index) {
  const Instruction& instruction = program_.instructions[index];
  const bool runs = std::any_of(instruction.results.begin(), instruction.results.end(),
                                [&](int value) { return values_[value].data == nullptr; });
  for (int operand : instruction.operands) {
    if (runs) read_by_runs_[operand] = true;
    WalkedValue& value = values_[operand];
    if (program_.values[operand].last_use != static_cast<int>(index) || value.owner == nullptr ||
        read_by_runs_[operand] || program_.values[operand].on_device || LargeBytes(operand) == 0) {
      continue;
    }
    if (value.owner.use_count() == 1) large_bytes_ -= LargeBytes(operand);
    value.data = nullptr;
    value.owner = nullptr;
    value.passed = true;
  }
}

bool Walk::IsUploadOfConstant(const Instruction& instruction) const {
  if (instruction.kernel.backend != kernels::Backend::kCuda ||
      instruction.kernel.name != std::string_view(kernels::gpu::kToDevice)) {
    return false;
  }
  const ProgramValue& from = program_.values[instruction.operands[0]];
  return program_.sets[from.set].kind == BufferSet::Kind::kConstant;
}

absl::Status Walk::UploadConstant(const Instruction& instruction) {
  const int from = instruction.operands[0], to = instruction.results[0];
  bool uploaded = false;
  absl::StatusOr<void*> memory =
      program_.device_constants->Get(to, values_[from].data, BytesOf(from), uploaded);
  if (!memory.ok()) return program_.Error(instruction, memory.status());
  // Nobody reads the host's bytes for this instruction again.
  LargeConstant* large = program_.values[from].large.get();
  if (uploaded && large != nullptr) large->Done();
  values_[to].data = *memory;
  return absl::OkStatus();
}

bool Walk::IsPlanTime(const Instruction& instruction) const {
  if (instruction.source->Has(Trait::kRandom)) return false;  // each run draws
  // What reads device memory runs with the program; what is known on the host is copied there once.
  if (instruction.kernel.backend == kernels::Backend::kCuda &&
      instruction.kernel.name != std::string_view(kernels::gpu::kToDevice)) {
    return false;
  }
  for (int operand : instruction.operands) {
    if (values_[operand].data == nullptr && BytesOf(operand) > 0) return false;
  }
  size_t bytes = 0;
  for (int result : instruction.results) bytes += BytesOf(result);
  return bytes <= kMaxPlanTimeBytes ||
         (instruction.of_size_product && large_bytes_ + bytes <= kMaxLargeBytes);
}

// A small file can ask for any number of steps, and nobody waits for so many.
absl::Status Walk::CheckWork(const Instruction& instruction, std::span<const TensorView> outputs,
                             const void* attrs) const {
  constexpr double kMostSteps = 0x1p40;
  const std::string_view op = instruction.source->name();
  if (!kernels::HasManySteps(op)) return absl::OkStatus();
  absl::InlinedVector<TensorView, 8> inputs;
  for (int number : instruction.kernel_inputs)
    inputs.push_back(number < 0 ? TensorView() : view(number));
  const kernels::OpCost cost =
      kernels::CostOf(op, std::span(inputs.data(), inputs.size()), outputs, attrs);
  if (cost.flops <= kMostSteps) return absl::OkStatus();
  return program_.Error(
      instruction, absl::ResourceExhaustedError(fmt::format(
                       "{}: {:.3g} steps (expected at most {:.3g})", op, cost.flops, kMostSteps)));
}

absl::Status Walk::PrepareKernel(const Instruction& instruction, PreparedCall& call) {
  call.prepared = true;
  call.scratch_bytes = 0;
  absl::InlinedVector<TensorView, 8> outputs;
  for (int number : instruction.results) outputs.push_back(view(number));
  TENON_RETURN_IF_ERROR(
      CheckWork(instruction, std::span(outputs.data(), outputs.size()), call.attrs.get()));
  if (instruction.kernel.prepare == nullptr) return absl::OkStatus();
  const bool is_empty = std::all_of(outputs.begin(), outputs.end(),
                                    [](const TensorView& output) { return output.numel() == 0; });
  for (;;) {
    // Only what is constant for the life of the program has data here.
    absl::InlinedVector<TensorView, 8> weights;
    for (int number : instruction.kernel_inputs) {
      weights.push_back(number < 0 ? TensorView() : view(number));
      if (number >= 0 && !program_.values[number].constant) weights.back().data = nullptr;
    }
    PrepareWeights store(instruction.kernel, *instruction.weights,
                         std::span(weights.data(), weights.size()));
    kernels::PrepareArgs args;
    args.inputs = std::span<const TensorView>(weights.data(), weights.size());
    args.outputs = std::span<const TensorView>(outputs.data(), outputs.size());
    args.attrs = call.attrs.get();
    args.device = &device_;
    args.weights = &store;
    args.data = instruction.kernel.data.get();
    // What it makes outlives the run: none of it is left out when that is cancelled.
    const std::atomic<bool>* const cancel = device_.parallel->cancel_flag();
    device_.parallel->set_cancel_flag(nullptr);
    kernels::KernelStatus status;
    const absl::Status enough = WithoutBadAlloc(instruction.kernel.name, [&] {
      status = instruction.kernel.prepare(args, call.state);
      return absl::OkStatus();
    });
    device_.parallel->set_cancel_flag(cancel);
    if (!enough.ok()) return program_.Error(instruction, enough);
    if (!status.ok() && !store.refused().ok()) {
      return program_.Error(instruction, absl::ResourceExhaustedError(fmt::format(
                                             "{}: packed weights: {}", instruction.source->name(),
                                             std::string(store.refused().message()))));
    }
    if (!status.ok()) return program_.KernelError(instruction, status);
    if (args.scratch_bytes > static_cast<size_t>(kMaxPlannedBytes)) {
      return program_.Error(instruction, absl::ResourceExhaustedError(fmt::format(
                                             "{} needs more than {} bytes of scratch memory",
                                             instruction.kernel.name, kMaxPlannedBytes)));
    }
    call.scratch_bytes = args.scratch_bytes;
    // A kernel may keep the address of what it did not pack: with copies it prepares again.
    bool copied = false;
    for (size_t i = 0; i < weights.size(); ++i) {
      const int number = instruction.kernel_inputs[i];
      if (number < 0 || program_.values[number].large == nullptr) continue;
      LargeConstant& large = *program_.values[number].large;
      if (store.packed(i)) {
        if (instruction.packs_once) instruction.weights->Done(static_cast<int>(i));
        continue;
      }
      const bool deferred = large.HoldDeferred() != nullptr;
      if (deferred ? is_empty : instruction.kernel.reads_unaligned(i)) continue;
      const absl::StatusOr<void*> data = large.MakeAligned();
      if (!data.ok()) return program_.Error(instruction, data.status());
      copied = copied || values_[number].data != *data;
      values_[number].data = *data;
    }
    if (!copied) return absl::OkStatus();
    call.state = nullptr;
  }
}

absl::Status Walk::RunKernel(const Instruction& instruction,
                             const std::shared_ptr<const void>& attrs,
                             std::shared_ptr<kernels::KernelState> found) {
  absl::InlinedVector<TensorView, 8> inputs, outputs;
  for (int number : instruction.kernel_inputs)
    inputs.push_back(number < 0 ? TensorView() : view(number));
  for (int number : instruction.results) {
    absl::StatusOr<std::shared_ptr<std::byte>> memory =
        program_.values[number].on_device ? AllocateOnDevice(*device_.gpu, BytesOf(number))
                                          : AllocateAligned(BytesOf(number));
    if (!memory.ok()) return program_.Error(instruction, memory.status());
    values_[number].data = memory->get();
    values_[number].owner = *std::move(memory);
    large_bytes_ += LargeBytes(number);
    outputs.push_back(view(number));
  }
  PreparedCall call;
  call.attrs = attrs;
  if (instruction.kernel.prepare == nullptr) call.state = std::move(found);
  TENON_RETURN_IF_ERROR(PrepareKernel(instruction, call));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int number = instruction.kernel_inputs[i];
    if (number >= 0) inputs[i] = view(number);
  }
  kernels::RunArgs args;
  args.inputs = std::span<const TensorView>(inputs.data(), inputs.size());
  args.outputs = std::span<const TensorView>(outputs.data(), outputs.size());
  args.attrs = attrs.get();
  args.device = &device_;
  args.state = call.state.get();
  args.data = instruction.kernel.data.get();
  const bool on_device = instruction.kernel.backend == kernels::Backend::kCuda;
  std::shared_ptr<std::byte> scratch;
  if (call.scratch_bytes > 0) {
    absl::StatusOr<std::shared_ptr<std::byte>> memory =
        on_device ? AllocateOnDevice(*device_.gpu, call.scratch_bytes)
                  : AllocateAligned(call.scratch_bytes);
    if (!memory.ok()) return program_.Error(instruction, memory.status());
    scratch = *std::move(memory);
  }
  args.scratch = scratch.get();
  const int64_t start = profiler_ != nullptr ? Profiler::Now() : 0;
  kernels::KernelStatus status = instruction.kernel.run(args);
  if (on_device && status.ok()) status = device_.staging->Finish();
  if (profiler_ != nullptr && on_device && status.ok()) status = device_.gpu->Synchronize();
  if (profiler_ != nullptr) {
    const int64_t end = Profiler::Now();
    profiler_->Record(
        profiler_->Find(DescribeCall(program_, instruction, args.inputs, args.outputs, args.attrs)),
        start, end);
  }
  TENON_RETURN_IF_ERROR(CheckNotCancelled(*device_.parallel));
  return status.ok() ? absl::OkStatus() : program_.KernelError(instruction, status);
}

}  // namespace tenon
