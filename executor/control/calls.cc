// Runs called functions and functions of several blocks. What one block passes to the next lies in
// memory that is kept for the next run, as in loops.cc.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "executor/control/control.h"
#include "executor/run/runner.h"
#include "fmt/format.h"

namespace tenon {

using kernels::TensorView;

namespace {

// Calls take the thread's stack: tests/executor/calls_test.cc shows how much.
constexpr int kMaxCallDepth = 1000;
// Bytes of stack between the first call of a run and the last. Threads have 8 MiB, and what lies
// between two calls is at most Limits::nesting regions deep.
constexpr int64_t kMaxCallStack = int64_t{4} << 20;

}  // namespace

// One call of a function.
struct FunctionFrame {
  FunctionFrame(const ProgramImpl& program, kernels::DeviceContext& device, SessionState& state)
      : runner(program, device, state, Runner::Keep::kMany), memory(program.outputs.size()) {}
  Runner runner;
  std::vector<HeldMemory> memory;  // by result
  std::vector<HeldValue> made;
};

absl::Status ControlRunner::Invoke(size_t index, std::span<const HeldValue> operands, DoneFn done) {
  const Instruction& instruction = program_.instructions[index];
  if (state_.call_depth >= kMaxCallDepth) {
    return program_.Error(
        instruction,
        absl::ResourceExhaustedError(
            fmt::format("func.call: the run is inside of {} calls (expected at most {}, the limit)",
                        state_.call_depth, kMaxCallDepth)));
  }
  const auto here = reinterpret_cast<intptr_t>(__builtin_frame_address(0));
  if (state_.call_depth == 0) state_.first_call_frame = here;
  if (state_.first_call_frame - here > kMaxCallStack) {
    return program_.Error(
        instruction, absl::ResourceExhaustedError(fmt::format(
                         "func.call: the run is inside of {} calls, which take {} bytes of stack "
                         "(expected at most {}, the limit)",
                         state_.call_depth, state_.first_call_frame - here, kMaxCallStack)));
  }
  TENON_RETURN_IF_ERROR(CheckNotCancelled(*device_.parallel));
  // Functions that each call the next one twice never end either.
  if (const int64_t limit = program_.options.limits.loop_trips; limit > 0) {
    if (state_.trips >= limit) {
      return program_.Error(
          instruction,
          absl::ResourceExhaustedError(fmt::format(
              "func.call: the run has made {} calls and iterations of loops (expected at most {} "
              "in a run, the limit)",
              state_.trips, limit)));
    }
    ++state_.trips;
  }
  const ProgramImpl* const callee = instruction.regions[0].program.get();
  std::vector<std::shared_ptr<FunctionFrame>>& idle = state_.idle_frames[callee];
  std::shared_ptr<FunctionFrame> frame;
  if (idle.empty()) {
    frame = std::make_shared<FunctionFrame>(*callee, device_, state_);
  } else {
    frame = std::move(idle.back());
    idle.pop_back();
  }
  ++state_.call_depth;
  const absl::Cleanup leave = [&] {
    --state_.call_depth;
    for (HeldValue& made : frame->made) made.owner = nullptr;
    for (HeldMemory& memory : frame->memory) memory.GiveAway();
    state_.idle_frames[callee].push_back(std::move(frame));
  };
  const auto place =
      [&](size_t result, DType dtype,
          std::span<const int64_t> shape) -> absl::StatusOr<std::shared_ptr<std::byte>> {
    TENON_ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, shape));
    return frame->memory[result].Take(static_cast<size_t>(bytes));
  };
  TENON_RETURN_IF_ERROR(
      program_.Placed(instruction, frame->runner.RunHeld(operands, {}, place, frame->made)));
  return done(frame->made);
}

absl::Status ControlRunner::RunBlocks(size_t index, std::span<const HeldValue> operands,
                                      const Bindings& bindings, DoneFn done) {
  const Instruction& instruction = program_.instructions[index];
  std::vector<HeldValue> passed(operands.begin(), operands.end());
  size_t at = 0;
  uint64_t jumps_back = 0;
  std::vector<int64_t> extents;  // by slot of a symbol
  Instruction place;             // of the jump, for errors
  place.location = instruction.location;
  for (;;) {
    TENON_RETURN_IF_ERROR(CheckNotCancelled(*device_.parallel));
    Region& block = SetUp(index, at, {}, bindings);
    const BlockSymbols& symbols = instruction.symbols[at];
    for (size_t i = 0; i < symbols.slots.size(); ++i) {
      if (symbols.reads[i]) block.symbols[i] = extents[symbols.slots[i]];
    }
    std::swap(block.inputs, passed);
    const absl::Cleanup drop = [&block] {
      for (HeldValue& input : block.inputs) input.owner = nullptr;
      for (HeldValue& made : block.made) made.owner = nullptr;
    };
    TENON_RETURN_IF_ERROR(program_.Placed(place, RunOnce(index, block, {})));
    for (size_t i = 0; i < symbols.slots.size(); ++i) {
      const auto slot = static_cast<size_t>(symbols.slots[i]);
      if (slot >= extents.size()) extents.resize(slot + 1, kNoValue);
      const std::string_view symbol = instruction.regions[at].program->outer_symbols[i];
      extents[slot] = block.runner->last_bindings().Find(symbol).value_or(kNoValue);
    }
    const BlockEnd& end = instruction.ends[at];
    place.location = end.location;
    const BlockEnd::Target* target = &end.targets.front();
    if (end.targets.size() > 1) {
      const absl::StatusOr<int64_t> condition =
          ElementOf(block.made[0].view(), fmt::format("{}: the condition", end.op));
      if (!condition.ok()) return program_.Error(place, condition.status());
      if (*condition == 0) target = &end.targets[1];
    }
    const auto first = block.made.begin() + static_cast<std::ptrdiff_t>(target->first);
    passed.assign(first, first + static_cast<std::ptrdiff_t>(target->count));
    if (target->block == BlockEnd::kReturn) return done(passed);
    const auto next = static_cast<size_t>(target->block);
    // Every loop goes back once in each iteration.
    if (const int64_t limit = program_.options.limits.loop_trips; next <= at && limit > 0) {
      if (state_.trips >= limit) {
        return program_.Error(
            place, absl::ResourceExhaustedError(fmt::format(
                       "{}: the loop goes on after {} times (expected at most {} iterations in a "
                       "run, the limit)",
                       end.op, jumps_back, limit)));
      }
      ++state_.trips;
      ++jumps_back;
    }
    at = next;
  }
}

absl::Status ControlRunner::RunCode(size_t index, std::span<const HeldValue> operands,
                                    const Bindings& bindings, DoneFn done) {
  if (program_.instructions[index].kind == Instruction::Kind::kInvoke) {
    return Invoke(index, operands, done);
  }
  return RunBlocks(index, operands, bindings, done);
}

absl::Status ControlRunner::RunCodeHeld(size_t index, std::span<const HeldValue> operands,
                                        const Bindings& bindings, std::vector<HeldValue>& results) {
  results.clear();
  TENON_RETURN_IF_ERROR(RunCode(index, operands, bindings, [&](std::span<HeldValue> values) {
    results.assign(values.begin(), values.end());
    return absl::OkStatus();
  }));
  if (program_.instructions[index].kind == Instruction::Kind::kInvoke) return absl::OkStatus();
  for (size_t r = 0; r < program_.instructions[index].regions.size(); ++r) {
    for (HeldMemory& memory : RegionOf(index, r).memory) memory.GiveAway();
  }
  return absl::OkStatus();
}

absl::Status ControlRunner::RunCodeInto(size_t index, std::span<const TensorView> operands,
                                        const Bindings& bindings,
                                        std::span<const TensorView> results) {
  const Instruction& instruction = program_.instructions[index];
  std::vector<HeldValue> values(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) values[i].Set(operands[i], nullptr);
  return RunCode(index, values, bindings, [&](std::span<HeldValue> made) -> absl::Status {
    for (size_t i = 0; i < made.size(); ++i) {
      if (!results[i].present()) continue;
      if (!std::equal(made[i].shape.begin(), made[i].shape.end(), results[i].shape.begin(),
                      results[i].shape.end())) {
        return program_.Error(instruction, absl::InvalidArgumentError(fmt::format(
                                               "result {} is {} where {} was expected", i,
                                               ShapeText(results[i].dtype, made[i].shape),
                                               ShapeText(results[i].dtype, results[i].shape))));
      }
      const auto bytes = static_cast<size_t>(made[i].view().bytes());
      if (bytes > 0) std::memcpy(results[i].data, made[i].data, bytes);
    }
    return absl::OkStatus();
  });
}

}  // namespace tenon
