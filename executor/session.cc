#include "executor/session.h"

#include "executor/gpu/device_session.h"
#include "executor/io_binding.h"
#include "executor/program_impl.h"
#include "executor/runner.h"
#include "kernels/thread_pool.h"

namespace tenon {

using kernels::TensorView;

namespace {

// The thread takes part in the sharing of cores, and the run can be cancelled.
class InRun {
 public:
  InRun(kernels::ThreadPool& pool, const std::atomic<bool>* cancel)
      : caller_(pool.workers()), pool_(pool) {
    pool_.set_cancel_flag(cancel);
  }
  ~InRun() { pool_.set_cancel_flag(nullptr); }
  InRun(const InRun&) = delete;
  InRun& operator=(const InRun&) = delete;

 private:
  kernels::Workers::Caller caller_;
  kernels::ThreadPool& pool_;
};

}  // namespace

struct Session::Impl {
  explicit Impl(std::shared_ptr<const ProgramImpl> p)
      : program(std::move(p)), pool(program->options.threads), runner(*program, device, stats) {
    device.parallel = &pool;
    if (program->device_constants == nullptr) return;
    absl::StatusOr<std::unique_ptr<DeviceSession>> opened =
        DeviceSession::Open(program->options.gpu);
    ready = opened.status();
    if (!ready.ok()) return;
    gpu = *std::move(opened);
    gpu->AddTo(device);
  }

  // Nothing may still read or write the caller's memory when a run returns, also not one that
  // failed.
  template <typename Result>
  Result Done(Result result) {
    if (gpu != nullptr && !result.ok()) gpu->Abandon();
    return result;
  }

  std::shared_ptr<const ProgramImpl> program;
  kernels::ThreadPool pool;
  kernels::DeviceContext device;
  Stats stats;
  absl::Status ready;                  // could what the session needs be had?
  std::unique_ptr<DeviceSession> gpu;  // null: the program runs on the CPU alone
  Runner runner;
};

const std::atomic<bool>* Session::FlagOf(const RunOptions& options) {
  return options.cancel == nullptr ? nullptr : &options.cancel->flag_;
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const Session::Stats& Session::stats() const { return impl_->stats; }

absl::StatusOr<std::vector<Tensor>> Session::Run(std::span<const Tensor> inputs,
                                                 const RunOptions& options) {
  const InRun in_run(impl_->pool, FlagOf(options));
  if (!impl_->ready.ok()) return impl_->ready;
  return impl_->Done(impl_->runner.Run(inputs, {}, /*share=*/false));
}

absl::Status Session::Run(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                          const RunOptions& options) {
  const InRun in_run(impl_->pool, FlagOf(options));
  if (!impl_->ready.ok()) return impl_->ready;
  return impl_->Done(impl_->runner.RunInto(inputs, {}, outputs));
}

absl::Status Session::Run(IoBinding& binding, const RunOptions& options) {
  if (binding.program_.impl_ != impl_->program) {
    return absl::InvalidArgumentError("the binding was made for another program");
  }
  const InRun in_run(impl_->pool, FlagOf(options));
  if (!impl_->ready.ok()) return impl_->ready;
  return impl_->Done(impl_->runner.RunBound(binding));
}

absl::StatusOr<std::vector<ResultShape>> Session::OutputShapes(std::span<const TensorView> inputs) {
  if (!impl_->ready.ok()) return impl_->ready;
  return impl_->Done(impl_->runner.OutputShapes(inputs, {}));
}

Session Program::NewSession() const { return Session(std::make_unique<Session::Impl>(impl_)); }

}  // namespace tenon
