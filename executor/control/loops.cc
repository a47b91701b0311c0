// Runs ctl.for and ctl.while. What is carried from one iteration to the next lies in memory that is
// kept for the next run: a region writes to blocks that none of its inputs holds, and values that
// it passes on stay where they are.
#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "executor/control/control.h"
#include "executor/control/trip_count.h"
#include "executor/run/runner.h"
#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {

using kernels::TensorView;

namespace {

// `others`: iterations of the run that do not belong to this loop.
absl::Status TooManyTrips(std::string_view op, std::string_view what, uint64_t others,
                          int64_t limit) {
  return absl::ResourceExhaustedError(fmt::format(
      "{}: the loop {}{} (expected at most {} iterations in a run, the limit)", op, what,
      others == 0 ? "" : fmt::format(", after {} in other loops", others), limit));
}

void Copy(const HeldValue& from, void* to) {
  const auto bytes = static_cast<size_t>(from.view().bytes());
  if (bytes > 0) std::memcpy(to, from.data, bytes);
}

bool HasShape(const TensorView& view, std::span<const int64_t> shape) {
  return std::equal(shape.begin(), shape.end(), view.shape.begin(), view.shape.end());
}

}  // namespace

// What the region made is in `made`; results behind those that are carried are slices.
absl::Status ControlRunner::RunOnce(size_t index, Region& region, std::span<HeldSlices> slices) {
  const Instruction& instruction = program_.instructions[index];
  const size_t first = region.memory.size() - slices.size();
  const auto place_slice = [&](size_t result, DType dtype,
                               std::span<const int64_t> shape) -> absl::StatusOr<std::byte*> {
    absl::StatusOr<std::byte*> place = slices[result - first].Place(dtype, shape);
    if (!place.ok()) return program_.Error(instruction, place.status());
    return place;
  };
  const auto place =
      [&](size_t result, DType dtype,
          std::span<const int64_t> shape) -> absl::StatusOr<std::shared_ptr<std::byte>> {
    if (result >= first) {
      TENON_ASSIGN_OR_RETURN(std::byte* const at, place_slice(result, dtype, shape));
      return std::shared_ptr<std::byte>(std::shared_ptr<std::byte>(), at);
    }
    TENON_ASSIGN_OR_RETURN(const int64_t bytes, CheckedBytes(dtype, shape));
    return region.memory[result].Take(static_cast<size_t>(bytes));
  };
  TENON_RETURN_IF_ERROR(region.runner->RunHeld(region.inputs, region.symbols, place, region.made));
  for (size_t i = first; i < region.made.size(); ++i) {
    const HeldValue& slice = region.made[i];
    TENON_ASSIGN_OR_RETURN(std::byte* const at, place_slice(i, slice.dtype, slice.shape));
    if (slice.data != at) Copy(slice, at);
    slices[i - first].Added();
  }
  return absl::OkStatus();
}

absl::Status ControlRunner::RunFor(size_t index, std::span<const HeldValue> operands,
                                   const Bindings& bindings, StartFn start, DoneFn done) {
  const Instruction& instruction = program_.instructions[index];
  const LoopParts& parts = instruction.loop;
  int64_t bounds[3];
  constexpr std::string_view kNames[] = {"ctl.for: the lower bound", "ctl.for: the upper bound",
                                         "ctl.for: the step"};
  for (size_t i = 0; i < 3; ++i) {
    const absl::StatusOr<int64_t> bound = ElementOf(operands[i].view(), kNames[i]);
    if (!bound.ok()) return program_.Error(instruction, bound.status());
    bounds[i] = *bound;
  }
  const auto [lower, upper, step] = bounds;
  if (step == 0) {
    return program_.Error(instruction, absl::InvalidArgumentError(
                                           "ctl.for: the step is 0 (expected any other number)"));
  }
  Region& body = SetUp(index, 0, operands, bindings);
  Loop& loop = loops_[index];
  const std::span<HeldValue> carried = std::span(body.inputs).subspan(1, parts.num_carried);
  for (size_t c = 0; c < carried.size(); ++c) carried[c] = operands[parts.first_init + c];
  const uint64_t runs = TripCount(lower, upper, step);
  if (const int64_t limit = program_.options.limits.loop_trips; limit > 0) {
    const auto before = static_cast<uint64_t>(state_.trips);
    if (runs > static_cast<uint64_t>(limit) - before) {
      return program_.Error(
          instruction, TooManyTrips("ctl.for", fmt::format("runs {} times", runs), before, limit));
    }
    state_.trips += static_cast<int64_t>(runs);
  }
  start(static_cast<int64_t>(std::min(runs, uint64_t{INT64_MAX})));
  auto counter = static_cast<uint64_t>(lower);
  for (uint64_t run = 0; run < runs; ++run, counter += static_cast<uint64_t>(step)) {
    // It may be carried on, and is then not written over.
    body.inputs[0].owner = nullptr;
    TENON_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, loop.counter.Take(sizeof(counter)));
    std::memcpy(memory.get(), &counter, sizeof(counter));
    body.inputs[0].Set({memory.get(), DType::kI64, {}}, memory);
    memory = nullptr;
    TENON_RETURN_IF_ERROR(RunOnce(index, body, loop.slices));
    for (size_t c = 0; c < carried.size(); ++c) std::swap(carried[c], body.made[c]);
  }
  return done(carried);
}

absl::Status ControlRunner::RunWhile(size_t index, std::span<const HeldValue> operands,
                                     const Bindings& bindings, StartFn start, DoneFn done) {
  const Instruction& instruction = program_.instructions[index];
  const size_t num_carried = instruction.loop.num_carried;
  Region& before = SetUp(index, 0, operands, bindings);
  Region& body = SetUp(index, 1, operands, bindings);
  Loop& loop = loops_[index];
  for (size_t c = 0; c < num_carried; ++c) before.inputs[c] = operands[c];
  start(std::nullopt);
  for (uint64_t run = 0;; ++run) {
    TENON_RETURN_IF_ERROR(RunOnce(index, before, {}));
    const absl::StatusOr<int64_t> condition =
        ElementOf(before.made[0].view(), "ctl.while: the condition");
    if (!condition.ok()) return program_.Error(instruction, condition.status());
    const std::span<HeldValue> passed = std::span(before.made).subspan(1);
    if (*condition == 0) return done(passed);
    if (const int64_t limit = program_.options.limits.loop_trips; limit > 0) {
      if (state_.trips >= limit) {
        return program_.Error(instruction,
                              TooManyTrips("ctl.while", fmt::format("goes on after {} times", run),
                                           static_cast<uint64_t>(limit) - run, limit));
      }
      ++state_.trips;
    }
    for (size_t c = 0; c < num_carried; ++c) before.inputs[c].owner = nullptr;
    for (size_t i = 0; i < passed.size(); ++i) std::swap(body.inputs[i], passed[i]);
    for (HeldValue& value : passed) value.owner = nullptr;
    TENON_RETURN_IF_ERROR(RunOnce(index, body, loop.slices));
    for (size_t c = 0; c < num_carried; ++c) std::swap(before.inputs[c], body.made[c]);
    for (size_t i = 0; i < passed.size(); ++i) body.inputs[i].owner = nullptr;
  }
}

absl::Status ControlRunner::RunLoop(size_t index, std::span<const HeldValue> operands,
                                    const Bindings& bindings, StartFn start, DoneFn done) {
  const Instruction& instruction = program_.instructions[index];
  const absl::Status status = instruction.kind == Instruction::Kind::kFor
                                  ? RunFor(index, operands, bindings, start, done)
                                  : RunWhile(index, operands, bindings, start, done);
  for (size_t r = 0; r < instruction.regions.size(); ++r) {
    Region& region = RegionOf(index, r);
    for (HeldValue& input : region.inputs) input.owner = nullptr;
    for (HeldValue& made : region.made) made.owner = nullptr;
  }
  return status;
}

// Of no slices. Extents that nothing says are 0.
absl::InlinedVector<int64_t, 6> ControlRunner::EmptyShape(size_t index, size_t scan,
                                                          const Bindings& bindings) const {
  const Instruction& instruction = program_.instructions[index];
  const LoopParts& parts = instruction.loop;
  absl::InlinedVector<int64_t, 6> shape;
  const Type type = program_.values[instruction.results[parts.num_carried + scan]].type;
  for (DimExpr dim : type.dims()) {
    shape.push_back(dim.Evaluate(bindings.lookup()).value_or(0));
  }
  shape[static_cast<size_t>(parts.scans[scan].axis)] = 0;
  return shape;
}

ControlRunner::Loop& ControlRunner::LoopOf(size_t index) {
  if (loops_.empty()) loops_.resize(program_.instructions.size());
  loops_[index].slices.resize(program_.instructions[index].loop.scans.size());
  return loops_[index];
}

absl::Status ControlRunner::RunLoopHeld(size_t index, std::span<const HeldValue> operands,
                                        const Bindings& bindings, std::vector<HeldValue>& results) {
  const Instruction& instruction = program_.instructions[index];
  const LoopParts& parts = instruction.loop;
  Loop& loop = LoopOf(index);
  const absl::Cleanup drop = [&] {
    for (HeldSlices& slices : loop.slices) slices.Drop();
  };
  const auto start = [&](std::optional<int64_t> count) {
    for (size_t s = 0; s < parts.scans.size(); ++s) {
      loop.slices[s].Start(parts.scans[s].axis, parts.scans[s].reverse, count);
    }
  };
  results.clear();
  TENON_RETURN_IF_ERROR(
      RunLoop(index, operands, bindings, start, [&](std::span<HeldValue> carried) {
        results.assign(carried.begin(), carried.end());
        return absl::OkStatus();
      }));
  for (size_t r = 0; r < instruction.regions.size(); ++r) {
    for (HeldMemory& memory : RegionOf(index, r).memory) memory.GiveAway();
  }
  loop.counter.GiveAway();
  for (size_t s = 0; s < parts.scans.size(); ++s) {
    if (loop.slices[s].count() > 0) {
      TENON_ASSIGN_OR_RETURN(results.emplace_back(), loop.slices[s].Finish());
      continue;
    }
    const int number = instruction.results[parts.num_carried + s];
    TENON_ASSIGN_OR_RETURN(
        const Tensor stacked,
        Tensor::TryMake(program_.values[number].type.dtype(), EmptyShape(index, s, bindings)));
    results.emplace_back().Set(stacked.view(), stacked.owner());
  }
  return absl::OkStatus();
}

absl::Status ControlRunner::RunLoopInto(size_t index, std::span<const TensorView> operands,
                                        const Bindings& bindings,
                                        std::span<const TensorView> results) {
  const Instruction& instruction = program_.instructions[index];
  const LoopParts& parts = instruction.loop;
  Loop& loop = LoopOf(index);
  loop.operands.resize(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) loop.operands[i].Set(operands[i], nullptr);
  const auto unexpected = [&](size_t i, std::span<const int64_t> shape) {
    return program_.Error(instruction, absl::InvalidArgumentError(fmt::format(
                                           "result {} is {} where {} was expected", i,
                                           ShapeText(results[i].dtype, shape),
                                           ShapeText(results[i].dtype, results[i].shape))));
  };
  const auto start = [&](std::optional<int64_t> /*count*/) {
    for (size_t s = 0; s < parts.scans.size(); ++s) {
      const TensorView& to = results[parts.num_carried + s];
      if (to.present()) {
        loop.slices[s].StartInto(to, parts.scans[s].axis, parts.scans[s].reverse);
      } else {
        loop.slices[s].StartUnread();
      }
    }
  };
  TENON_RETURN_IF_ERROR(RunLoop(index, loop.operands, bindings, start,
                                [&](std::span<HeldValue> carried) -> absl::Status {
                                  for (size_t c = 0; c < carried.size(); ++c) {
                                    if (!results[c].present()) continue;
                                    if (!HasShape(results[c], carried[c].shape))
                                      return unexpected(c, carried[c].shape);
                                    Copy(carried[c], results[c].data);
                                  }
                                  return absl::OkStatus();
                                }));
  for (size_t s = 0; s < parts.scans.size(); ++s) {
    const size_t i = parts.num_carried + s;
    const HeldSlices& slices = loop.slices[s];
    if (!results[i].present()) continue;
    if (slices.count() > 0) {
      if (!slices.HasStackedShape(results[i].shape)) return unexpected(i, slices.StackedShape());
      continue;
    }
    const absl::InlinedVector<int64_t, 6> empty = EmptyShape(index, s, bindings);
    if (!HasShape(results[i], empty)) return unexpected(i, empty);
  }
  return absl::OkStatus();
}

}  // namespace tenon
