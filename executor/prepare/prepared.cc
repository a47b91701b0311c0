#include "executor/prepare/prepared.h"

#include <algorithm>
#include <cstring>

#include "executor/gpu/device_session.h"
#include "executor/memory/contiguous_parts.h"
#include "executor/prepare/kernel_call.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "kernels/gpu/gpu_kernels.h"

namespace tenon {

using kernels::TensorView;

namespace {

const std::vector<int>& ReadsOf(const Instruction& instruction) {
  return instruction.is_control() ? instruction.operands : instruction.kernel_inputs;
}

// Everything but kernels that find all they need on a device, and copies from there.
bool ReadsHost(const Instruction& instruction) {
  return instruction.kernel.backend != kernels::Backend::kCuda ||
         instruction.kernel.host_inputs != 0 ||
         instruction.kernel.name == std::string_view(kernels::gpu::kToDevice);
}

// The results are known already, or nothing has to be copied for them.
bool NothingToDo(const Instruction& instruction, Walk& walk) {
  const auto known = [&](int value) { return walk.values()[value].is_known(); };
  const std::vector<int>& reads = instruction.operands;
  if (std::all_of(instruction.results.begin(), instruction.results.end(), known)) return true;
  if (!instruction.has_parts() || std::any_of(reads.begin(), reads.end(), known)) return false;
  return instruction.parts || instruction.joined.size() == reads.size();
}

}  // namespace

std::vector<int64_t> Prepared::ArenaSizes(const ProgramImpl& program, Walk& walk) {
  std::vector<int64_t> sizes(program.sets.size(), 0);
  const std::vector<int64_t> places = PlacesInSets(program, walk);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != Instruction::Kind::kCall && !instruction.is_control()) continue;
    for (int result : instruction.results) {
      if (walk.values()[result].is_known() || IsUnreadResult(program, instruction, result))
        continue;
      const int set = program.values[result].set;
      if (program.sets[set].kind == BufferSet::Kind::kArena && program.sets[set].output < 0) {
        const int64_t place = places.empty() ? 0 : places[result];
        sizes[set] = std::max(sizes[set], place + walk.view(result).bytes());
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
  const int64_t place = places_.empty() ? 0 : places_[value];
  if (set.kind == BufferSet::Kind::kInput) {
    input_patches_.push_back(
        {index, static_cast<uint32_t>(program.values[set.first_member].input)});
  } else if (set.output >= 0) {
    output_patches_.push_back({index, static_cast<uint32_t>(set.output), place});
  } else {
    (info.on_device ? device_patches_ : arena_patches_)
        .push_back({index, plan_->offsets[info.set] + place});
  }
  return index;
}

absl::StatusOr<std::unique_ptr<Prepared>> Prepared::Make(const ProgramImpl& program, Walk& walk,
                                                         kernels::DeviceContext& device,
                                                         const Key& key, const PlanFn& plan_for,
                                                         const Prepared* earlier) {
  std::unique_ptr<Prepared> p(new Prepared);
  p->parallel_ = device.parallel;
  p->staging_ = device.staging;
  p->places_ = PlacesInSets(program, walk);
  p->symbols_.assign(key.symbols.begin(), key.symbols.end());
  p->decisions_.assign(key.decisions.begin(), key.decisions.end());
  p->bindings_ = walk.bindings();
  const size_t num_instructions = program.instructions.size();
  p->prepared_calls_.resize(num_instructions);
  if (earlier != nullptr) {
    p->steps_.reserve(earlier->steps_.size());
    p->views_.reserve(earlier->views_.size());
    p->arena_patches_.reserve(earlier->arena_patches_.size());
  }
  for (const TensorView& input : key.inputs) {
    p->dtypes_.push_back(input.dtype);
    p->ranks_.push_back(input.shape.size());
    p->key_.insert(p->key_.end(), input.shape.begin(), input.shape.end());
  }
  std::vector<int64_t> scratch(num_instructions, 0);
  for (size_t i = 0; i < num_instructions; ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.is_control()) {
      p->steps_.push_back({.run = nullptr, .args = {}, .instruction = static_cast<int>(i)});
      continue;
    }
    if (instruction.kind != Instruction::Kind::kCall) continue;
    PreparedCall& call = p->prepared_calls_[i];
    call.attrs = walk.attrs(i);
    if (NothingToDo(instruction, walk)) continue;
    if (walk.is_same(i) && earlier->prepared_calls_[i].prepared) {
      call = earlier->prepared_calls_[i];
    } else {
      TENON_RETURN_IF_ERROR(walk.PrepareKernel(instruction, call));
    }
    RunStep step;
    step.run = instruction.kernel.run;
    step.instruction = static_cast<int>(i);
    step.args.attrs = call.attrs.get();
    step.args.state = call.state.get();
    scratch[i] = static_cast<int64_t>(call.scratch_bytes);
    p->steps_.push_back(step);
  }
  TENON_ASSIGN_OR_RETURN(p->plan_, plan_for(scratch));
  for (size_t s = 0; s < p->steps_.size(); ++s) {
    const auto instruction = static_cast<size_t>(p->steps_[s].instruction);
    if (scratch[instruction] == 0) continue;
    const bool on_device =
        program.instructions[instruction].kernel.backend == kernels::Backend::kCuda;
    (on_device ? p->device_scratch_patches_ : p->scratch_patches_)
        .push_back(
            {static_cast<uint32_t>(s), p->plan_->offsets[program.sets.size() + instruction]});
  }
  if (program.options.check_memory) p->FindDeaths(program, ArenaSizes(program, walk));
  // From here on shapes do not move: views point into them.
  p->computed_bytes_ = walk.ComputedBytes();
  p->values_ = std::move(walk.values());
  p->large_bytes_ = walk.large_bytes();
  for (const RunStep& step : p->steps_) {
    const Instruction& instruction = program.instructions[step.instruction];
    for (int number : ReadsOf(instruction)) p->AddView(program, number);
    for (int number : instruction.results) {
      p->AddView(program, IsUnreadResult(program, instruction, number) ? -1 : number);
    }
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
    step.args.data = instruction.kernel.data.get();
    step.reads_host = p->staging_ != nullptr && ReadsHost(instruction);
    step.args.inputs = {view, ReadsOf(instruction).size()};
    view += step.args.inputs.size();
    step.args.outputs = {view, instruction.results.size()};
    view += step.args.outputs.size();
  }
  TENON_CHECK(view == p->views_.data() + of_steps);
  p->FindGrowing();
  p->FindDeviceCopies(program);
  if (p->staging_ != nullptr) p->device_graphs_.Find(program, p->steps_);
  p->dtypes_.shrink_to_fit();
  return p;
}

const Prepared::CallerPatch* Prepared::OnlyPatch(std::span<const CallerPatch> patches,
                                                 const TensorView& view) const {
  const auto at = static_cast<uint32_t>(&view - views_.data());
  const auto of_view = [&](const CallerPatch& patch) { return patch.view == at; };
  const auto found = std::find_if(patches.begin(), patches.end(), of_view);
  if (found == patches.end() || found->offset != 0) return nullptr;
  const auto of_port = [&](const CallerPatch& patch) { return patch.index == found->index; };
  return std::count_if(patches.begin(), patches.end(), of_port) == 1 ? &*found : nullptr;
}

void Prepared::FindGrowing() {
  growing_.resize(ranks_.size());
  for (const RunStep& step : steps_) {
    kernels::GrowingState* const state =
        step.args.state == nullptr ? nullptr : step.args.state->growing();
    if (state == nullptr) continue;
    for (kernels::GrowingState::Growth& growth : state->growths()) {
      const TensorView& from = step.args.inputs[static_cast<size_t>(growth.from)];
      const TensorView& to = step.args.outputs[static_cast<size_t>(growth.to)];
      const CallerPatch* const input = OnlyPatch(input_patches_, from);
      const CallerPatch* const output = OnlyPatch(output_patches_, to);
      if (input == nullptr || output == nullptr) continue;
      // The ports have the shapes that the kernel sees.
      const TensorView result = this->output(output->index);
      size_t at = 0;  // of the input's extents in the key
      for (uint32_t i = 0; i < input->index; ++i) at += ranks_[i];
      const std::span<const int64_t> given = std::span(key_).subspan(at, ranks_[input->index]);
      if (!std::equal(given.begin(), given.end(), from.shape.begin(), from.shape.end()) ||
          !std::equal(result.shape.begin(), result.shape.end(), to.shape.begin(), to.shape.end())) {
        continue;
      }
      growing_[input->index] = {static_cast<int>(output->index), &growth};
    }
  }
}

void Prepared::FindDeviceCopies(const ProgramImpl& program) {
  if (staging_ == nullptr) return;
  auto& [inputs, outputs] = device_copies_;
  inputs.resize(ranks_.size());
  outputs.resize(output_values_.size());
  auto extent = key_.begin();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto end = extent + static_cast<int64_t>(ranks_[i]);
    const auto is_read = [&](const CallerPatch& patch) { return patch.index == i; };
    inputs[i].possible = std::find(extent, end, 0) != end ||
                         std::none_of(input_patches_.begin(), input_patches_.end(), is_read);
    extent = end;
  }
  for (RunStep& step : steps_) {
    if (step.run == nullptr) continue;
    const std::string_view kernel =
        program.instructions[static_cast<size_t>(step.instruction)].kernel.name;
    const CallerPatch* patch = nullptr;
    if (kernel == kernels::gpu::kToDevice) {
      patch = OnlyPatch(input_patches_, step.args.inputs[0]);
      if (patch == nullptr) continue;
      inputs[patch->index] = {true, &step, step.run};
      step.reads_host = false;  // the caller's bytes are there
    } else if (kernel == kernels::gpu::kToHost) {
      patch = OnlyPatch(output_patches_, step.args.outputs[0]);
      if (patch != nullptr) outputs[patch->index] = {true, &step, step.run};
    }
  }
}

bool Prepared::MayBeOnDevice(Port port, size_t i) const {
  const std::vector<DeviceCopy>& copies = device_copies_[static_cast<size_t>(port)];
  return !copies.empty() && copies[i].possible;
}

void Prepared::SetOnDevice(Port port, size_t i, bool on_device) {
  if (!MayBeOnDevice(port, i)) return;
  const DeviceCopy& copy = device_copies_[static_cast<size_t>(port)][i];
  if (copy.step == nullptr) return;
  copy.step->run = on_device ? kernels::gpu::CopyOnDevice : copy.host;
}

bool Prepared::Matches(std::span<const TensorView> inputs, std::span<const int64_t> symbols,
                       std::span<const int64_t> decisions) const {
  if (inputs.size() != dtypes_.size()) return false;
  if (!std::equal(symbols.begin(), symbols.end(), symbols_.begin(), symbols_.end())) return false;
  if (!std::equal(decisions.begin(), decisions.end(), decisions_.begin())) return false;
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
    device_graphs_.Forget();
    for (const ArenaPatch& patch : device_patches_) {
      views_[patch.view].data = device_arena + patch.offset;
    }
    for (const ArenaPatch& patch : device_scratch_patches_) {
      steps_[patch.view].args.scratch = device_arena + patch.offset;
    }
  }
  if (arena_ == arena) return;
  arena_ = arena;
  for (const ArenaPatch& patch : arena_patches_) views_[patch.view].data = arena + patch.offset;
  for (const ArenaPatch& patch : scratch_patches_) {
    steps_[patch.view].args.scratch = arena + patch.offset;
  }
}

// A buffer dies after the last kernel run at or before its last instruction.
void Prepared::FindDeaths(const ProgramImpl& program, std::span<const int64_t> sizes) {
  deaths_.resize(steps_.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0 || program.sets[i].last >= static_cast<int>(program.instructions.size())) {
      continue;
    }
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), program.sets[i].last,
                         [](int last, const RunStep& step) { return last < step.instruction; });
    if (after == steps_.begin()) continue;
    deaths_[static_cast<size_t>(after - steps_.begin()) - 1].push_back(
        {plan_->offsets[i], sizes[i]});
  }
}

void Prepared::Describe(const ProgramImpl& program, Profiler& profiler) {
  if (!described_for_.expired() && described_for_.lock() == profiler.identity()) return;
  described_for_ = profiler.identity();
  calls_.clear();
  for (const RunStep& step : steps_) {
    calls_.push_back(profiler.Add(
        DescribeCall(program, program.instructions[static_cast<size_t>(step.instruction)],
                     step.args.inputs, step.args.outputs, step.args.attrs)));
  }
}

kernels::KernelStatus Prepared::RunProfiled(const ProgramImpl& program, const RunStep& step,
                                            Profiler& profiler) {
  const int call = calls_[static_cast<size_t>(&step - steps_.data())];
  const Instruction& instruction = program.instructions[static_cast<size_t>(step.instruction)];
  if (instruction.kernel.backend == kernels::Backend::kCuda) {
    kernels::KernelStatus status = device_times_.Before(*step.args.device->gpu);
    if (status.ok()) status = step.run(step.args);
    return status.ok() ? device_times_.After(call) : std::move(status);
  }
  const int64_t start = Profiler::Now();
  kernels::KernelStatus status = step.run(step.args);
  profiler.Record(call, start, Profiler::Now());
  return status;
}

void Prepared::Poison(int64_t offset, int64_t bytes) const {
  // Not a number in every floating-point type, and -1 in every integer.
  if (bytes > 0) std::memset(arena_ + offset, 0xff, static_cast<size_t>(bytes));
}

absl::Status Prepared::Run(const ProgramImpl& program, ControlRunner& control,
                           std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                           Profiler* profiler) {
  for (const CallerPatch& patch : input_patches_)
    views_[patch.view].data = inputs[patch.index].data;
  for (const CallerPatch& patch : output_patches_)
    views_[patch.view].data = static_cast<std::byte*>(outputs[patch.index].data) + patch.offset;
  const std::atomic<bool>* const cancel = parallel_->cancel_flag();
  const bool check_memory = !deaths_.empty() && uses_arena();
  if (check_memory) Poison(0, plan_->arena_bytes);
  if (profiler != nullptr) {
    Describe(program, *profiler);
    device_times_.Clear();
  }
  for (size_t s = 0; s < steps_.size(); ++s) {
    const RunStep& step = steps_[s];
    // As CheckNotCancelled says it: the flag may be another one's to lower again.
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) [[unlikely]]
      return absl::CancelledError("the run was cancelled");
    if (step.reads_host) [[unlikely]] {
      // An earlier operation's error, which names it.
      TENON_RETURN_IF_ERROR(ToStatus(staging_->Finish()));
    }
    if (step.begins_stretch && profiler == nullptr && !check_memory) [[unlikely]] {
      TENON_ASSIGN_OR_RETURN(const size_t done, device_graphs_.Run(std::span(steps_).subspan(s),
                                                                   *step.args.device->gpu));
      if (done > 0) {
        s += done - 1;
        continue;
      }
    }
    if (step.run == nullptr) [[unlikely]] {
      TENON_RETURN_IF_ERROR(
          program.Placed(program.instructions[step.instruction],
                         control.RunInto(static_cast<size_t>(step.instruction), step.args.inputs,
                                         bindings_, step.args.outputs)));
      continue;
    }
    const kernels::KernelStatus status =
        profiler == nullptr ? step.run(step.args) : RunProfiled(program, step, *profiler);
    if (!status.ok()) [[unlikely]] {
      TENON_RETURN_IF_ERROR(CheckNotCancelled(*parallel_));
      return program.KernelError(program.instructions[step.instruction], status);
    }
    if (check_memory) [[unlikely]] {
      for (const Death& death : deaths_[s]) {
        Poison(death.offset, death.bytes);
      }
    }
  }
  TENON_RETURN_IF_ERROR(CheckNotCancelled(*parallel_));
  if (staging_ != nullptr) {
    TENON_RETURN_IF_ERROR(ToStatus(staging_->Finish()));
    device_graphs_.Finished();
  }
  if (profiler != nullptr) {
    TENON_RETURN_IF_ERROR(ToStatus(device_times_.Report(*profiler)));
  }
  for (const CallerPatch& copy : copies_) {
    const TensorView& from = views_[copy.view];
    const int64_t bytes = from.bytes();
    if (bytes > 0 && outputs[copy.index].data != from.data)
      std::memcpy(outputs[copy.index].data, from.data, static_cast<size_t>(bytes));
  }
  return absl::OkStatus();
}

}  // namespace tenon
