#include "executor/run/runner.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "executor/compile/deciding_inputs.h"
#include "executor/gpu/device_session.h"
#include "executor/memory/lasting_memory.h"
#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

using kernels::TensorView;

// Exact shapes kept ready; the one unused longest goes first. Of a region more than the last, as
// long as they have so many steps together.
constexpr size_t kMaxPrepared = 16, kMaxPreparedOfRegion = 1024, kMaxStepsOfRegion = 1 << 15;

int64_t NextPowerOfTwo(int64_t n) {
  return n <= 1 ? 1 : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
}

// Kernels and the caller agree on element alignment.
absl::Status CheckPlace(const TensorView& view, std::string_view what, std::string_view name) {
  if (view.numel() > 0 && view.data == nullptr) {
    return absl::InvalidArgumentError(fmt::format("{} '{}' has no data", what, name));
  }
  if (reinterpret_cast<uintptr_t>(view.data) % SizeOf(view.dtype) != 0) {
    return absl::InvalidArgumentError(fmt::format(
        "{} '{}' is not aligned to its elements of {} bytes", what, name, SizeOf(view.dtype)));
  }
  return absl::OkStatus();
}

absl::Status Named(std::string_view what, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", what,
                                                 std::string_view(status.message().data(),
                                                                  status.message().size())));
}

absl::Status CheckPlannable(std::span<const BufferLifetime> buffers) {
  if (SumOfBytes(buffers) <= kMaxPlannedBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("the buffers need more than {} bytes together", kMaxPlannedBytes));
}

}  // namespace

// Inputs that are not what the program declares are left to the walk, which says so.
absl::Status Runner::ReadDecisions(std::span<const TensorView> inputs) {
  decisions_.assign(program_.decisions.size(), kNoValue);
  if (inputs.size() != program_.inputs.size()) return absl::OkStatus();
  for (size_t i = 0; i < decisions_.size(); ++i) {
    const auto input = static_cast<size_t>(program_.decisions[i].input);
    const TensorView& view = inputs[input];
    if (view.dtype != program_.inputs[input].dtype || view.numel() != 1) continue;
    TENON_RETURN_IF_ERROR(CheckPlace(view, "input", program_.inputs[input].name));
    const int64_t element = LoadAsInt(view.dtype, static_cast<const std::byte*>(view.data));
    decisions_[i] = IsTrue(program_.decisions[i], element) ? 1 : 0;
  }
  return absl::OkStatus();
}

absl::StatusOr<Prepared*> Runner::Find(std::span<const TensorView> inputs,
                                       std::span<const int64_t> symbols) {
  TENON_RETURN_IF_ERROR(ReadDecisions(inputs));
  if (std::find(dynamic_.begin(), dynamic_.end(), decisions_) != dynamic_.end()) {
    return static_cast<Prepared*>(nullptr);
  }
  const auto matches = [&](const std::unique_ptr<Prepared>& of) {
    return of->Matches(inputs, symbols, decisions_);
  };
  // Loops go through the same shapes in the same order: what comes after the last is the first.
  auto it = prepared_.begin();
  if (prepared_.size() > 1 && !matches(prepared_.front()) && matches(prepared_.back())) {
    it = std::prev(prepared_.end());
  } else {
    it = std::find_if(prepared_.begin(), prepared_.end(), matches);
  }
  if (it != prepared_.end()) {
    if (it != prepared_.begin()) prepared_.splice(prepared_.begin(), prepared_, it);
    // There is none after sizes for which there was no memory.
    TENON_RETURN_IF_ERROR(GrowArena(*prepared_.front()));
    TENON_RETURN_IF_ERROR(GrowDeviceArena(*prepared_.front()));
    return prepared_.front().get();
  }
  Walk walk(program_, device_, control_, symbols, decisions_);
  const Prepared* const earlier = prepared_.empty() ? nullptr : prepared_.front().get();
  const absl::Status status =
      walk.Prepare(inputs, earlier != nullptr ? earlier->walked() : EarlierWalk());
  if (absl::IsFailedPrecondition(status)) {
    dynamic_.push_back(decisions_);
    return static_cast<Prepared*>(nullptr);
  }
  TENON_RETURN_IF_ERROR(status);
  const auto plan_for = [&](std::span<const int64_t> scratch) { return PlanFor(walk, scratch); };
  TENON_ASSIGN_OR_RETURN(
      std::unique_ptr<Prepared> made,
      Prepared::Make(program_, walk, device_, {inputs, symbols, decisions_}, plan_for, earlier));
  ++state_.stats.shapes_prepared;
  program_.options.weights->Save();
  TENON_RETURN_IF_ERROR(GrowArena(*made));
  TENON_RETURN_IF_ERROR(GrowDeviceArena(*made));
  size_t large_bytes = made->large_bytes(), computed_bytes = made->computed_bytes();
  for (const std::unique_ptr<Prepared>& other : prepared_) {
    large_bytes += other->large_bytes();
    computed_bytes += other->computed_bytes();
  }
  const auto is_full = [&] {
    return !HasRoomForAnother() || large_bytes > kMaxLargeBytes ||
           (prepared_.size() >= kMaxPrepared && computed_bytes > kMaxLargeBytes);
  };
  while (!prepared_.empty() && is_full()) {
    large_bytes -= prepared_.back()->large_bytes();
    computed_bytes -= prepared_.back()->computed_bytes();
    prepared_.pop_back();
  }
  prepared_.push_front(std::move(made));
  return prepared_.front().get();
}

bool Runner::HasRoomForAnother() const {
  if (prepared_.size() < kMaxPrepared) return true;
  return keep_ == Keep::kMany && prepared_.size() < kMaxPreparedOfRegion &&
         (prepared_.size() + 1) * program_.instructions.size() <= kMaxStepsOfRegion;
}

absl::Status Runner::GrowArena(const Prepared& made) {
  const MemoryPlan& plan = made.plan();
  if (static_cast<int64_t>(made.arena_bytes()) <= arena_plan_.arena_bytes) return absl::OkStatus();
  Session::Stats& stats = state_.stats;
  const auto count = [&](const MemoryPlan& of, int64_t sign) {
    stats.arena_bytes += static_cast<size_t>(sign * of.arena_bytes);
    stats.arena_bound_bytes += static_cast<size_t>(sign * of.live_bytes);
    stats.buffer_bytes += static_cast<size_t>(sign * of.sum_bytes);
  };
  count(arena_plan_, -1);
  // The old arena goes first, so that there are never two.
  arena_.reset();
  arena_plan_ = MemoryPlan();
  absl::StatusOr<std::shared_ptr<std::byte>> arena =
      AllocateLasting(static_cast<size_t>(plan.arena_bytes));
  if (!arena.ok()) return Named("the values between inputs and outputs", arena.status());
  arena_ = *std::move(arena);
  arena_plan_ = plan;
  count(arena_plan_, 1);
  return absl::OkStatus();
}

absl::Status Runner::GrowDeviceArena(const Prepared& made) {
  const size_t bytes = made.device_arena_bytes();
  if (bytes <= device_arena_bytes_) return absl::OkStatus();
  // As above.
  device_arena_.reset();
  device_arena_bytes_ = state_.stats.device_arena_bytes = 0;
  TENON_ASSIGN_OR_RETURN(device_arena_, AllocateOnDevice(*device_.gpu, bytes));
  device_arena_bytes_ = state_.stats.device_arena_bytes = bytes;
  return absl::OkStatus();
}

// Bytes of a set when every symbol has its bound; the exact size if that does not follow.
int64_t Runner::BoundBytes(int set, int64_t exact, const Bindings& bounds) const {
  const Type type = program_.values[program_.sets[set].first_member].type;
  auto bytes = static_cast<int64_t>(SizeOf(type.dtype()));
  for (DimExpr dim : type.dims()) {
    const std::optional<int64_t> extent = dim.Evaluate(bounds.lookup());
    if (!extent || *extent < 0 || (*extent > 0 && bytes > (int64_t{1} << 56) / *extent))
      return exact;
    bytes *= *extent;
  }
  return std::max(bytes, exact);
}

std::vector<BufferLifetime> Runner::Lifetimes(std::span<const int64_t> sizes) const {
  std::vector<BufferLifetime> lifetimes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i < program_.sets.size()) {
      lifetimes.push_back({sizes[i], program_.sets[i].first, program_.sets[i].last});
    } else {
      const int instruction = static_cast<int>(i - program_.sets.size());
      lifetimes.push_back({sizes[i], instruction, instruction});
    }
  }
  return lifetimes;
}

// Of the buffer sets, then of the scratch of each instruction.
absl::StatusOr<std::shared_ptr<const MemoryPlan>> Runner::PlanFor(
    Walk& walk, std::span<const int64_t> scratch) {
  std::vector<int64_t> exact = Prepared::ArenaSizes(program_, walk);
  exact.insert(exact.end(), scratch.begin(), scratch.end());
  if (program_.static_plan) {
    const std::vector<BufferLifetime> lifetimes = Lifetimes(exact);
    TENON_RETURN_IF_ERROR(CheckPlannable(lifetimes));
    return std::make_shared<const MemoryPlan>(
        ExtendMemoryPlan(lifetimes, program_.static_plan->offsets));
  }
  std::vector<int64_t> key;
  Bindings bounds;
  for (const auto& [symbol, value] : walk.bindings().values()) {
    key.push_back(NextPowerOfTwo(value));
    bounds.Bind(symbol, key.back());
  }
  ClassPlan& entry = plans_[key];
  bool fits = entry.plan != nullptr;
  for (size_t i = 0; fits && i < exact.size(); ++i) fits = exact[i] <= entry.sizes[i];
  if (fits) return entry.plan;
  std::vector<int64_t> sizes = entry.sizes;
  sizes.resize(exact.size(), 0);
  for (size_t i = 0; i < exact.size(); ++i) {
    if (exact[i] == 0) continue;
    const int64_t bound = i < program_.sets.size()
                              ? BoundBytes(static_cast<int>(i), exact[i], bounds)
                              : NextPowerOfTwo(exact[i]);
    sizes[i] = std::max(sizes[i], bound);
  }
  const std::vector<BufferLifetime> lifetimes = Lifetimes(sizes);
  TENON_RETURN_IF_ERROR(CheckPlannable(lifetimes));
  entry.sizes = std::move(sizes);
  entry.plan = std::make_shared<const MemoryPlan>(PlanMemory(lifetimes));
  ++state_.stats.plans_made;
  return entry.plan;
}

absl::Status Runner::CheckPlaces(std::span<const TensorView> inputs,
                                 std::span<const TensorView> outputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(CheckPlace(inputs[i], "input", program_.inputs[i].name));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(CheckPlace(outputs[i], "output", program_.outputs[i].name));
  }
  return absl::OkStatus();
}

absl::Status Runner::Execute(Prepared& ready, std::span<const TensorView> inputs,
                             std::span<const TensorView> outputs) {
  ready.Resolve(arena_.get(), device_arena_.get());
  return ready.Run(program_, control_, inputs, outputs, state_.profiler);
}

absl::StatusOr<std::vector<Tensor>> Runner::RunDynamic(std::span<const TensorView> inputs,
                                                       std::span<const HeldValue> owners,
                                                       std::span<const int64_t> symbols,
                                                       bool share) {
  ++state_.stats.dynamic_runs;
  Walk walk(program_, device_, control_, symbols);
  walk.set_profiler(state_.profiler);
  TENON_RETURN_IF_ERROR(walk.RunAll(inputs, owners));
  program_.options.weights->Save();
  dynamic_bindings_ = walk.bindings();
  std::vector<Tensor> outputs;
  for (int value : program_.output_values) {
    const TensorView view = walk.view(value);
    const std::shared_ptr<const void>& owner = walk.values()[value].owner;
    // Memory without an owner is the caller's or a constant's.
    bool own = share;
    if (!share && owner != nullptr) {
      own = std::none_of(outputs.begin(), outputs.end(),
                         [&](const Tensor& other) { return other.data() == view.data; });
    }
    outputs.push_back(own ? Tensor::Borrow(view.dtype, view.shape, view.data, owner)
                          : Tensor::Copy(view.dtype, view.shape, view.data));
  }
  return outputs;
}

bool Runner::IsPassed(size_t i, std::span<const HeldValue> inputs, std::span<const int64_t> shape,
                      HeldValue& output) const {
  const int value = program_.output_values[i];
  const ProgramSet& set = program_.sets[program_.values[value].set];
  const ProgramValue& source = program_.values[set.first_member];
  const DType dtype = program_.outputs[i].dtype;
  if (set.kind == BufferSet::Kind::kInput) {
    const HeldValue& input = inputs[source.input];
    output.Set({input.data, dtype, shape}, input.owner);
    return true;
  }
  if (set.kind == BufferSet::Kind::kConstant && source.constant) {
    output.Set({source.constant.data(), dtype, shape}, nullptr);
    return true;
  }
  return false;
}

absl::StatusOr<std::vector<Tensor>> Runner::Run(std::span<const Tensor> inputs) {
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  TENON_ASSIGN_OR_RETURN(Prepared* const ready, Find(views, {}));
  if (ready == nullptr) {
    if (views.size() == program_.inputs.size()) TENON_RETURN_IF_ERROR(CheckPlaces(views, {}));
    return RunDynamic(views, {}, {}, /*share=*/false);
  }
  std::vector<Tensor> outputs;
  std::vector<TensorView> output_views;
  output_views.reserve(program_.outputs.size());
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    absl::StatusOr<Tensor> output =
        Tensor::TryMake(program_.outputs[i].dtype, ready->output(i).shape);
    if (!output.ok())
      return Named(fmt::format("output '{}'", program_.outputs[i].name), output.status());
    outputs.push_back(*std::move(output));
  }
  for (const Tensor& output : outputs) output_views.push_back(output.view());
  TENON_RETURN_IF_ERROR(CheckPlaces(views, {}));
  TENON_RETURN_IF_ERROR(Execute(*ready, views, output_views));
  return outputs;
}

absl::Status Runner::RunHeld(std::span<const HeldValue> inputs, std::span<const int64_t> symbols,
                             PlaceFn place, std::vector<HeldValue>& results) {
  results.resize(program_.outputs.size());
  for (HeldValue& result : results) result.owner = nullptr;
  input_views_.clear();
  for (const HeldValue& input : inputs) input_views_.push_back(input.view());
  TENON_ASSIGN_OR_RETURN(Prepared* const ready, Find(input_views_, symbols));
  TENON_RETURN_IF_ERROR(CheckPlaces(input_views_, {}));
  if (ready == nullptr) {
    TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> made,
                           RunDynamic(input_views_, inputs, symbols, /*share=*/true));
    for (size_t i = 0; i < made.size(); ++i) results[i].Set(made[i].view(), made[i].owner());
    last_bindings_ = &dynamic_bindings_;
    return absl::OkStatus();
  }
  output_views_.clear();
  for (size_t i = 0; i < results.size(); ++i) {
    const DType dtype = program_.outputs[i].dtype;
    const std::span<const int64_t> shape = ready->output(i).shape;
    if (!IsPassed(i, inputs, shape, results[i])) {
      TENON_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> memory, place(i, dtype, shape));
      results[i].Set({memory.get(), dtype, shape}, memory);
    }
    output_views_.push_back({results[i].data, dtype, shape});
  }
  last_bindings_ = ready->walked().bindings;
  return Execute(*ready, input_views_, output_views_);
}

absl::Status Runner::CheckOutput(size_t i, const TensorView& given,
                                 std::span<const int64_t> shape) const {
  if (given.dtype == program_.outputs[i].dtype &&
      std::equal(shape.begin(), shape.end(), given.shape.begin(), given.shape.end())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(fmt::format(
      "output '{}' is {} (expected {})", program_.outputs[i].name,
      ShapeText(given.dtype, given.shape), ShapeText(program_.outputs[i].dtype, shape)));
}

absl::Status Runner::RunInto(std::span<const TensorView> inputs, std::span<const int64_t> symbols,
                             std::span<const TensorView> outputs) {
  if (outputs.size() != program_.outputs.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} outputs (expected {})", outputs.size(), program_.outputs.size()));
  }
  TENON_ASSIGN_OR_RETURN(Prepared* const ready, Find(inputs, symbols));
  if (inputs.size() != program_.inputs.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} inputs (expected {})", inputs.size(), program_.inputs.size()));
  }
  TENON_RETURN_IF_ERROR(CheckPlaces(inputs, outputs));
  std::vector<Tensor> made;  // allocates only when something is put in
  if (ready == nullptr) {
    TENON_ASSIGN_OR_RETURN(made, RunDynamic(inputs, {}, symbols, /*share=*/true));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(
        CheckOutput(i, outputs[i], ready != nullptr ? ready->output(i).shape : made[i].shape()));
  }
  if (ready != nullptr) return Execute(*ready, inputs, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (made[i].num_bytes() > 0) std::memcpy(outputs[i].data, made[i].data(), made[i].num_bytes());
  }
  return absl::OkStatus();
}

std::vector<ResultShape> Runner::ShapesOf(const Prepared& ready) const {
  std::vector<ResultShape> shapes;
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const std::span<const int64_t> shape = ready.output(i).shape;
    shapes.push_back({program_.outputs[i].dtype, {shape.begin(), shape.end()}});
  }
  return shapes;
}

absl::StatusOr<std::vector<ResultShape>> Runner::OutputShapes(std::span<const TensorView> inputs,
                                                              std::span<const int64_t> symbols) {
  TENON_ASSIGN_OR_RETURN(const Prepared* const ready, Find(inputs, symbols));
  if (ready != nullptr) return ShapesOf(*ready);
  TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> made,
                         RunDynamic(inputs, {}, symbols, /*share=*/true));
  std::vector<ResultShape> shapes;
  shapes.reserve(made.size());
  for (const Tensor& t : made) shapes.push_back({t.dtype(), {t.shape().begin(), t.shape().end()}});
  return shapes;
}

absl::StatusOr<std::vector<ResultShape>> Runner::PlannedShapes(std::span<const TensorView> inputs,
                                                               std::span<const int64_t> symbols) {
  TENON_ASSIGN_OR_RETURN(const Prepared* const ready, Find(inputs, symbols));
  if (ready == nullptr) return absl::FailedPreconditionError("shapes depend on values");
  return ShapesOf(*ready);
}

}  // namespace tenon
