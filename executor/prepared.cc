#include "executor/prepared.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "ir/core/check.h"

namespace tenon {

using kernels::TensorView;

namespace {

const std::vector<int>& ReadsOf(const Instruction& instruction) {
  return instruction.is_control() ? instruction.operands : instruction.kernel_inputs;
}

}  // namespace

std::vector<int64_t> Prepared::ArenaSizes(const ProgramImpl& program, Walk& walk) {
  std::vector<int64_t> sizes(program.sets.size(), 0);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != Instruction::Kind::kCall && !instruction.is_control()) continue;
    for (int result : instruction.results) {
      if (walk.values()[result].data != nullptr) continue;
      const int set = program.values[result].set;
      if (program.sets[set].kind == BufferSet::Kind::kArena && program.sets[set].output < 0) {
        sizes[set] = std::max(sizes[set], walk.view(result).bytes());
      }
    }
  }
  return sizes;
}

uint32_t Prepared::AddView(const ProgramImpl& program, int value) {
  const auto index = static_cast<uint32_t>(views_.size());
  if (value < 0) {
    views_.push_back({});
    return index;
  }
  const ProgramValue& info = program.values[value];
  views_.push_back({values_[value].data, info.type.dtype(), values_[value].shape});
  if (values_[value].data != nullptr) return index;
  const ProgramSet& set = program.sets[info.set];
  if (set.kind == BufferSet::Kind::kInput) {
    input_patches_.push_back(
        {index, static_cast<uint32_t>(program.values[set.first_member].input)});
  } else if (set.output >= 0) {
    output_patches_.push_back({index, static_cast<uint32_t>(set.output)});
  } else {
    (info.on_device ? device_patches_ : arena_patches_)
        .push_back({index, plan_->offsets[info.set]});
  }
  return index;
}

absl::StatusOr<std::unique_ptr<Prepared>> Prepared::Make(const ProgramImpl& program, Walk& walk,
                                                         kernels::DeviceContext& device,
                                                         std::span<const TensorView> inputs,
                                                         std::span<const int64_t> symbols,
                                                         std::shared_ptr<const MemoryPlan> plan) {
  std::unique_ptr<Prepared> p(new Prepared);
  p->plan_ = std::move(plan);
  p->parallel_ = device.parallel;
  p->symbols_.assign(symbols.begin(), symbols.end());
  p->bindings_ = walk.bindings();
  for (const TensorView& input : inputs) {
    p->dtypes_.push_back(input.dtype);
    p->key_.insert(p->key_.end(), input.shape.begin(), input.shape.end());
  }
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.is_control()) {
      p->steps_.push_back({.run = nullptr, .args = {}, .instruction = static_cast<int>(i)});
      continue;
    }
    if (instruction.kind != Instruction::Kind::kCall) continue;
    const bool done =
        std::all_of(instruction.results.begin(), instruction.results.end(),
                    [&](int result) { return walk.values()[result].data != nullptr; });
    if (done) continue;
    std::vector<TensorView> in, out;
    for (int number : instruction.kernel_inputs)
      in.push_back(number < 0 ? TensorView() : walk.view(number));
    for (int number : instruction.results) out.push_back(walk.view(number));
    RunStep step;
    step.run = instruction.kernel.run;
    step.instruction = static_cast<int>(i);
    p->attrs_.push_back(walk.attrs(i));
    step.args.attrs = p->attrs_.back().get();
    std::shared_ptr<kernels::KernelState> state;
    size_t scratch = 0;
    TENON_RETURN_IF_ERROR(
        walk.PrepareKernel(instruction, step.args.attrs, in, out, state, scratch));
    step.args.state = state.get();
    if (scratch > 0) p->with_scratch_.push_back(static_cast<uint32_t>(p->steps_.size()));
    p->scratch_bytes_ = std::max(p->scratch_bytes_, scratch);
    if (state != nullptr) p->states_.push_back(std::move(state));
    p->steps_.push_back(step);
  }
  // From here on shapes do not move: views point into them.
  p->values_ = std::move(walk.values());
  for (const RunStep& step : p->steps_) {
    const Instruction& instruction = program.instructions[step.instruction];
    for (int number : ReadsOf(instruction)) p->AddView(program, number);
    for (int number : instruction.results) p->AddView(program, number);
  }
  const auto of_steps = static_cast<uint32_t>(p->views_.size());
  p->output_values_ = program.output_values;
  for (size_t i = 0; i < program.output_values.size(); ++i) {
    const int value = program.output_values[i];
    const ProgramSet& set = program.sets[program.values[value].set];
    const bool direct = p->values_[value].data == nullptr && set.kind == BufferSet::Kind::kArena &&
                        set.output == static_cast<int>(i);
    if (!direct) p->copies_.push_back({p->AddView(program, value), static_cast<uint32_t>(i)});
  }
  // Nor do the views.
  const TensorView* view = p->views_.data();
  for (RunStep& step : p->steps_) {
    const Instruction& instruction = program.instructions[step.instruction];
    step.args.device = &device;
    step.args.inputs = {view, ReadsOf(instruction).size()};
    view += step.args.inputs.size();
    step.args.outputs = {view, instruction.results.size()};
    view += step.args.outputs.size();
  }
  TENON_CHECK(view == p->views_.data() + of_steps);
  p->scratch_offset_ = static_cast<size_t>(p->plan_->arena_bytes);
  p->dtypes_.shrink_to_fit();
  return p;
}

bool Prepared::Matches(std::span<const TensorView> inputs, std::span<const int64_t> symbols) const {
  if (inputs.size() != dtypes_.size()) return false;
  if (!std::equal(symbols.begin(), symbols.end(), symbols_.begin(), symbols_.end())) return false;
  size_t at = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype != dtypes_[i]) return false;
    for (int64_t extent : inputs[i].shape) {
      if (at == key_.size() || key_[at++] != extent) return false;
    }
  }
  return at == key_.size();
}

TensorView Prepared::output(size_t i) const {
  const int value = output_values_[i];
  TensorView view;
  view.shape = values_[value].shape;
  return view;
}

void Prepared::Resolve(std::byte* arena, std::byte* device_arena) {
  if (device_arena_ != device_arena) {
    device_arena_ = device_arena;
    for (const ArenaPatch& patch : device_patches_) {
      views_[patch.view].data = device_arena + patch.offset;
    }
  }
  if (arena_ == arena) return;
  arena_ = arena;
  for (const ArenaPatch& patch : arena_patches_) views_[patch.view].data = arena + patch.offset;
  for (uint32_t step : with_scratch_) steps_[step].args.scratch = arena + scratch_offset_;
}

absl::Status Prepared::Run(const ProgramImpl& program, ControlRunner& control,
                           std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs) {
  for (const CallerPatch& patch : input_patches_)
    views_[patch.view].data = inputs[patch.index].data;
  for (const CallerPatch& patch : output_patches_)
    views_[patch.view].data = outputs[patch.index].data;
  const std::atomic<bool>* const cancel = parallel_->cancel_flag();
  for (const RunStep& step : steps_) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) [[unlikely]]
      break;
    if (step.run == nullptr) [[unlikely]] {
      TENON_RETURN_IF_ERROR(control.RunInto(static_cast<size_t>(step.instruction), step.args.inputs,
                                            bindings_, step.args.outputs));
      continue;
    }
    const kernels::KernelStatus status = step.run(step.args);
    if (!status.ok()) [[unlikely]] {
      TENON_RETURN_IF_ERROR(CheckNotCancelled(*parallel_));
      return program.KernelError(program.instructions[step.instruction], status);
    }
  }
  TENON_RETURN_IF_ERROR(CheckNotCancelled(*parallel_));
  for (const CallerPatch& copy : copies_) {
    const TensorView& from = views_[copy.view];
    const int64_t bytes = from.bytes();
    if (bytes > 0 && outputs[copy.index].data != from.data)
      std::memcpy(outputs[copy.index].data, from.data, static_cast<size_t>(bytes));
  }
  return absl::OkStatus();
}

}  // namespace tenon
