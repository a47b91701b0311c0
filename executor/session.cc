#include "executor/session.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <list>
#include <map>

#include "executor/prepared.h"
#include "executor/program_impl.h"
#include "executor/walk.h"
#include "fmt/format.h"
#include "ir/core/check.h"
#include "kernels/thread_pool.h"

namespace tenon {
namespace {

using kernels::TensorView;

// Exact shapes kept ready; the one unused longest goes first.
constexpr size_t kMaxPrepared = 16;

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

}  // namespace

struct Session::Impl {
  explicit Impl(std::shared_ptr<const ProgramImpl> p)
      : program(std::move(p)), pool(program->options.threads) {
    device.parallel = &pool;
  }

  struct ClassPlan {
    std::vector<int64_t> sizes;  // per set; never shrinks
    std::shared_ptr<const MemoryPlan> plan;
  };

  absl::StatusOr<Prepared*> Find(std::span<const TensorView> inputs);
  absl::StatusOr<std::shared_ptr<const MemoryPlan>> PlanFor(Walk& walk);
  int64_t BoundBytes(int set, int64_t exact, const Bindings& bounds) const;
  absl::Status CheckPlaces(std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs) const;
  absl::Status Execute(Prepared& prepared, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs);
  absl::StatusOr<std::vector<Tensor>> RunDynamic(std::span<const TensorView> inputs);

  std::shared_ptr<const ProgramImpl> program;
  kernels::ThreadPool pool;
  kernels::DeviceContext device;
  bool dynamic = false;                           // some shape depends on values other than shapes
  std::list<std::unique_ptr<Prepared>> prepared;  // most recently used first
  std::map<std::vector<int64_t>, ClassPlan> plans;  // by the bounds of the symbols
  std::shared_ptr<std::byte> arena;
  Stats stats;
};

// Null when the program turns out to be dynamic.
absl::StatusOr<Prepared*> Session::Impl::Find(std::span<const TensorView> inputs) {
  for (auto it = prepared.begin(); it != prepared.end(); ++it) {
    if (!(*it)->Matches(inputs)) continue;
    if (it != prepared.begin()) prepared.splice(prepared.begin(), prepared, it);
    return prepared.front().get();
  }
  Walk walk(*program, device);
  const absl::Status status = walk.Prepare(inputs);
  if (absl::IsFailedPrecondition(status)) {
    dynamic = true;
    return static_cast<Prepared*>(nullptr);
  }
  TENON_RETURN_IF_ERROR(status);
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const MemoryPlan> plan, PlanFor(walk));
  TENON_ASSIGN_OR_RETURN(std::unique_ptr<Prepared> made,
                         Prepared::Make(*program, walk, inputs, std::move(plan)));
  ++stats.shapes_prepared;
  if (made->arena_bytes() > stats.arena_bytes) {
    TENON_ASSIGN_OR_RETURN(arena, AllocateAligned(made->arena_bytes()));
    stats.arena_bytes = made->arena_bytes();
  }
  if (prepared.size() >= kMaxPrepared) prepared.pop_back();
  prepared.push_front(std::move(made));
  return prepared.front().get();
}

// Bytes of a set when every symbol has its bound; the exact size if that does not follow.
int64_t Session::Impl::BoundBytes(int set, int64_t exact, const Bindings& bounds) const {
  const Type type = program->values[program->sets[set].first_member].type;
  auto bytes = static_cast<int64_t>(SizeOf(type.dtype()));
  for (DimExpr dim : type.dims()) {
    const std::optional<int64_t> extent = dim.Evaluate(bounds.lookup());
    if (!extent || *extent < 0 || (*extent > 0 && bytes > (int64_t{1} << 56) / *extent))
      return exact;
    bytes *= *extent;
  }
  return std::max(bytes, exact);
}

absl::StatusOr<std::shared_ptr<const MemoryPlan>> Session::Impl::PlanFor(Walk& walk) {
  if (program->static_plan) {
    // Owned by the program, which outlives the plan.
    return std::shared_ptr<const MemoryPlan>(program, &*program->static_plan);
  }
  std::vector<int64_t> key;
  Bindings bounds;
  for (const auto& [symbol, value] : walk.bindings().values()) {
    key.push_back(NextPowerOfTwo(value));
    bounds.Bind(symbol, key.back());
  }
  const std::vector<int64_t> exact = Prepared::ArenaSizes(*program, walk);
  ClassPlan& entry = plans[key];
  bool fits = entry.plan != nullptr;
  for (size_t i = 0; fits && i < exact.size(); ++i) fits = exact[i] <= entry.sizes[i];
  if (fits) return entry.plan;
  entry.sizes.resize(exact.size(), 0);
  std::vector<BufferLifetime> lifetimes;
  for (size_t i = 0; i < exact.size(); ++i) {
    const ProgramSet& set = program->sets[i];
    if (exact[i] > 0)
      entry.sizes[i] = std::max(entry.sizes[i], BoundBytes(static_cast<int>(i), exact[i], bounds));
    lifetimes.push_back({entry.sizes[i], set.first, set.last});
  }
  entry.plan = std::make_shared<const MemoryPlan>(PlanMemory(lifetimes));
  ++stats.plans_made;
  return entry.plan;
}

absl::Status Session::Impl::CheckPlaces(std::span<const TensorView> inputs,
                                        std::span<const TensorView> outputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(CheckPlace(inputs[i], "input", program->inputs[i].name));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TENON_RETURN_IF_ERROR(CheckPlace(outputs[i], "output", program->outputs[i].name));
  }
  return absl::OkStatus();
}

absl::Status Session::Impl::Execute(Prepared& ready, std::span<const TensorView> inputs,
                                    std::span<const TensorView> outputs) {
  ready.Resolve(arena.get());
  return ready.Run(*program, device, inputs, outputs);
}

absl::StatusOr<std::vector<Tensor>> Session::Impl::RunDynamic(std::span<const TensorView> inputs) {
  ++stats.dynamic_runs;
  Walk walk(*program, device);
  TENON_RETURN_IF_ERROR(walk.RunAll(inputs));
  std::vector<Tensor> outputs;
  for (int value : program->output_values) {
    const TensorView view = walk.view(value);
    outputs.push_back(Tensor::Copy(view.dtype, view.shape, view.data));
  }
  return outputs;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Session::Stats& Session::stats() const { return impl_->stats; }

absl::Status Session::Run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  const ProgramImpl& program = *impl_->program;
  if (outputs.size() != program.outputs.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} outputs (expected {})", outputs.size(), program.outputs.size()));
  }
  Prepared* ready = nullptr;
  if (!impl_->dynamic) {
    TENON_ASSIGN_OR_RETURN(ready, impl_->Find(inputs));
  } else if (inputs.size() != program.inputs.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} inputs (expected {})", inputs.size(), program.inputs.size()));
  }
  TENON_RETURN_IF_ERROR(impl_->CheckPlaces(inputs, outputs));
  std::vector<Tensor> made;  // allocates only when something is put in
  if (ready == nullptr) {
    TENON_ASSIGN_OR_RETURN(made, impl_->RunDynamic(inputs));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::span<const int64_t> shape =
        ready != nullptr ? ready->output(i).shape : made[i].shape();
    if (outputs[i].dtype != program.outputs[i].dtype ||
        !std::equal(shape.begin(), shape.end(), outputs[i].shape.begin(), outputs[i].shape.end())) {
      return absl::InvalidArgumentError(fmt::format("output '{}' is {} (expected {})",
                                                    program.outputs[i].name,
                                                    ShapeText(outputs[i].dtype, outputs[i].shape),
                                                    ShapeText(program.outputs[i].dtype, shape)));
    }
  }
  if (ready != nullptr) return impl_->Execute(*ready, inputs, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (made[i].num_bytes() > 0) std::memcpy(outputs[i].data, made[i].data(), made[i].num_bytes());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> Session::Run(std::span<const Tensor> inputs) {
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  Prepared* ready = nullptr;
  if (!impl_->dynamic) {
    TENON_ASSIGN_OR_RETURN(ready, impl_->Find(views));
  }
  if (ready == nullptr) {
    if (views.size() == impl_->program->inputs.size())
      TENON_RETURN_IF_ERROR(impl_->CheckPlaces(views, {}));
    return impl_->RunDynamic(views);
  }
  std::vector<Tensor> outputs;
  std::vector<TensorView> output_views;
  for (size_t i = 0; i < impl_->program->outputs.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(outputs.emplace_back(), Tensor::TryMake(impl_->program->outputs[i].dtype,
                                                                   ready->output(i).shape));
  }
  for (const Tensor& output : outputs) output_views.push_back(output.view());
  TENON_RETURN_IF_ERROR(impl_->CheckPlaces(views, {}));
  TENON_RETURN_IF_ERROR(impl_->Execute(*ready, views, output_views));
  return outputs;
}

absl::StatusOr<std::vector<ResultShape>> Session::OutputShapes(std::span<const TensorView> inputs) {
  Prepared* ready = nullptr;
  if (!impl_->dynamic) {
    TENON_ASSIGN_OR_RETURN(ready, impl_->Find(inputs));
  }
  std::vector<ResultShape> shapes;
  if (ready == nullptr) {
    TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> made, impl_->RunDynamic(inputs));
    for (const Tensor& t : made)
      shapes.push_back({t.dtype(), {t.shape().begin(), t.shape().end()}});
    return shapes;
  }
  for (size_t i = 0; i < impl_->program->outputs.size(); ++i) {
    const std::span<const int64_t> shape = ready->output(i).shape;
    shapes.push_back({impl_->program->outputs[i].dtype, {shape.begin(), shape.end()}});
  }
  return shapes;
}

Session Program::NewSession() const { return Session(std::make_unique<Session::Impl>(impl_)); }

}  // namespace tenon
