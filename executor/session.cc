#include "executor/session.h"

#include <atomic>
#include <optional>

#include "executor/compile/program_versions.h"
#include "executor/gpu/device_session.h"
#include "executor/io_binding.h"
#include "executor/memory/memory_budget.h"
#include "executor/program_impl.h"
#include "executor/run/runner.h"
#include "executor/run/session_state.h"
#include "ir/base/out_of_memory.h"
#include "kernels/threads/thread_pool.h"

namespace tenon {

using kernels::TensorView;

namespace {

constexpr std::string_view kRun = "the run";

// Tells a profiler what each thread does of the work that is shared.
class SessionPool : public kernels::ThreadPool {
 public:
  SessionPool(int num_threads, const SessionState& state)
      : ThreadPool(num_threads), state_(state) {}

  void Run(int64_t n, int64_t grain, void (*f)(void* arg, int64_t begin, int64_t end),
           void* arg) override {
    if (state_.profiler == nullptr) return ThreadPool::Run(n, grain, f, arg);
    Recorded recorded = {f, arg, state_.profiler};
    ThreadPool::Run(
        n, grain,
        [](void* of, int64_t begin, int64_t end) {
          const auto& r = *static_cast<const Recorded*>(of);
          const int64_t start = Profiler::Now();
          r.f(r.arg, begin, end);
          r.profiler->RecordChunk(start);
        },
        &recorded);
  }

 private:
  struct Recorded {
    void (*f)(void* arg, int64_t begin, int64_t end);
    void* arg;
    Profiler* profiler;
  };
  const SessionState& state_;
};

// Claims something that serves one run at a time, until the end of the scope.
class Claim {
 public:
  explicit Claim(std::atomic<bool>& taken)
      : taken_(taken.exchange(true, std::memory_order_acquire) ? nullptr : &taken) {}
  ~Claim() {
    if (taken_ != nullptr) taken_->store(false, std::memory_order_release);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // FailedPrecondition if somebody else has claimed it.
  absl::Status status() const {
    if (taken_ != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "another call of this session or binding is still running (expected one session and one "
        "binding per thread; Program::Run may be called by several threads)");
  }

 private:
  std::atomic<bool>* taken_;
};

// The thread takes part in the sharing of cores, and the run can be cancelled and profiled.
class InRun {
 public:
  InRun(kernels::ThreadPool& pool, SessionState& state, const std::atomic<bool>* cancel,
        const RunOptions& options)
      : caller_(pool.workers()), pool_(pool), state_(state) {
    pool_.set_cancel_flag(cancel);
    state_.profiler = options.profiler;
    state_.trips = 0;
    state_.call_depth = 0;
    state_.draws.BeginRun(options.seed);
    if (options.profiler != nullptr) options.profiler->BeginRun();
  }
  ~InRun() {
    pool_.set_cancel_flag(nullptr);
    if (state_.profiler != nullptr) state_.profiler->EndRun();
    state_.profiler = nullptr;
  }
  InRun(const InRun&) = delete;
  InRun& operator=(const InRun&) = delete;

 private:
  kernels::Workers::Caller caller_;
  kernels::ThreadPool& pool_;
  SessionState& state_;
};

}  // namespace

struct Session::Impl {
  explicit Impl(std::shared_ptr<ProgramVersions> of)
      : versions(std::move(of)),
        program(versions->Current(version)),
        pool(program->options.threads, state) {
    device.parallel = &pool;
    device.draws = &state.draws;
    if (program->device_constants == nullptr) return;
    absl::StatusOr<std::unique_ptr<DeviceSession>> opened =
        DeviceSession::Open(program->options.gpu);
    ready = opened.status();
    if (!ready.ok()) return;
    gpu = *std::move(opened);
    gpu->AddTo(device);
  }

  // What was prepared has the old values. Allocates nothing.
  void TakeVersion() {
    if (versions->number() == version) return;
    runner.reset();
    state.idle_frames.clear();
    state.stats.arena_bytes = state.stats.arena_bound_bytes = state.stats.buffer_bytes = 0;
    state.stats.device_arena_bytes = 0;
    program = versions->Current(version);
  }
  Runner& ReadyRunner() {
    if (!runner) runner.emplace(*program, device, state, Runner::Keep::kLast);
    return *runner;
  }

  // Nothing may still read or write the caller's memory when a run returns, also not one that
  // failed.
  template <typename Result>
  Result Done(Result result, std::string* error_place = nullptr) {
    if (result.ok()) return result;
    if (gpu != nullptr) gpu->Abandon();
    return ProgramImpl::WithoutMarks(StatusOf(result), error_place);
  }
  static absl::Status StatusOf(const absl::Status& status) { return status; }
  template <typename T>
  static absl::Status StatusOf(const absl::StatusOr<T>& result) {
    return result.status();
  }

  const std::shared_ptr<ProgramVersions> versions;
  uint64_t version = 0;                        // of `program`
  std::shared_ptr<const ProgramImpl> program;  // as `versions` had it at the last run
  std::atomic<bool> running = false;           // in a call of some thread
  SessionState state;
  SessionPool pool;
  kernels::DeviceContext device;
  absl::Status ready;                  // could what the session needs be had?
  std::unique_ptr<DeviceSession> gpu;  // null: the program runs on the CPU alone
  std::optional<Runner> runner;        // of `program`; made by its first run
};

const std::atomic<bool>* Session::FlagOf(const RunOptions& options) {
  return options.cancel == nullptr ? nullptr : &options.cancel->flag_;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

void Session::TakeVersion() { impl_->TakeVersion(); }

const Session::Stats& Session::stats() const { return impl_->state.stats; }

absl::StatusOr<std::vector<Tensor>> Session::Run(std::span<const Tensor> inputs,
                                                 const RunOptions& options) {
  const Claim claim(impl_->running);
  TENON_RETURN_IF_ERROR(claim.status());
  impl_->TakeVersion();
  const MemoryBudget::Scope scope(impl_->program->budget);
  const InRun in_run(impl_->pool, impl_->state, FlagOf(options), options);
  if (!impl_->ready.ok()) return impl_->ready;
  return impl_->Done(WithoutBadAlloc(kRun, [&] { return impl_->ReadyRunner().Run(inputs); }),
                     options.error_place);
}

absl::Status Session::Run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          const RunOptions& options) {
  const Claim claim(impl_->running);
  TENON_RETURN_IF_ERROR(claim.status());
  impl_->TakeVersion();
  const MemoryBudget::Scope scope(impl_->program->budget);
  const InRun in_run(impl_->pool, impl_->state, FlagOf(options), options);
  if (!impl_->ready.ok()) return impl_->ready;
  return impl_->Done(
      WithoutBadAlloc(kRun, [&] { return impl_->ReadyRunner().RunInto(inputs, {}, outputs); }),
      options.error_place);
}

absl::Status Session::Run(IoBinding& binding, const RunOptions& options) {
  if (binding.program_.versions_ != impl_->versions) {
    return absl::InvalidArgumentError("the binding was made for another program");
  }
  const Claim claim(impl_->running);
  TENON_RETURN_IF_ERROR(claim.status());
  const Claim bound(*binding.running_);
  TENON_RETURN_IF_ERROR(bound.status());
  impl_->TakeVersion();
  const MemoryBudget::Scope scope(impl_->program->budget);
  const InRun in_run(impl_->pool, impl_->state, FlagOf(options), options);
  if (!impl_->ready.ok()) return impl_->ready;
  return impl_->Done(WithoutBadAlloc(kRun, [&] { return impl_->ReadyRunner().RunBound(binding); }),
                     options.error_place);
}

absl::StatusOr<std::vector<ResultShape>> Session::OutputShapes(std::span<const TensorView> inputs) {
  const Claim claim(impl_->running);
  TENON_RETURN_IF_ERROR(claim.status());
  impl_->TakeVersion();
  const MemoryBudget::Scope scope(impl_->program->budget);
  if (!impl_->ready.ok()) return impl_->ready;
  impl_->state.trips = 0;  // shapes may need a run
  impl_->state.draws.BeginRun(0);
  return impl_->Done(
      WithoutBadAlloc(kRun, [&] { return impl_->ReadyRunner().OutputShapes(inputs, {}); }));
}

Session Program::NewSession() const { return Session(std::make_unique<Session::Impl>(versions_)); }

}  // namespace tenon
