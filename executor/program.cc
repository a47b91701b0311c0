#include "executor/program.h"

#include <mutex>
#include <utility>

#include "executor/compile/compiler.h"
#include "executor/compile/program_versions.h"
#include "executor/lowering/lowered_op.h"
#include "executor/prepare/kernel_call.h"
#include "executor/program_impl.h"
#include "executor/session.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/check_limits.h"
#include "ir/base/out_of_memory.h"
#include "ir/base/shown_text.h"
#include "ir/core/context/context.h"

namespace tenon {

absl::Status CheckNotCancelled(const kernels::ParallelFor& parallel) {
  return parallel.cancelled() ? absl::CancelledError("the run was cancelled") : absl::OkStatus();
}

namespace {

// The payload of an error that names a place: the place.
constexpr absl::string_view kHasPlace = "tenon.has_place";

}  // namespace

absl::Status ProgramImpl::Error(const Instruction& instruction, const absl::Status& status) const {
  const std::string place = DescribeLocation(*context, instruction.location);
  absl::Status placed(status.code(), fmt::format("{}{}{}", place, place.empty() ? "" : ": ",
                                                 std::string_view(status.message().data(),
                                                                  status.message().size())));
  placed.SetPayload(kHasPlace, absl::Cord(place));
  return placed;
}

absl::Status ProgramImpl::Placed(const Instruction& instruction, absl::Status status) const {
  const bool can_lack = absl::IsResourceExhausted(status) || absl::IsInvalidArgument(status);
  const bool lacks = can_lack && !status.GetPayload(kHasPlace);
  return lacks ? Error(instruction, status) : status;
}

absl::Status ProgramImpl::WithoutMarks(absl::Status status, std::string* place) {
  if (place != nullptr) *place = std::string(status.GetPayload(kHasPlace).value_or(absl::Cord()));
  status.ErasePayload(kHasPlace);
  return status;
}

absl::Status ProgramImpl::KernelError(const Instruction& instruction,
                                      const kernels::KernelStatus& status) const {
  std::string limit;
  if (status.code() == kernels::KernelStatus::Code::kOutOfMemory &&
      instruction.kernel.backend == kernels::Backend::kCpu)
    limit = fmt::format(" {}", kMemoryLimit);
  return Error(instruction, absl::Status(CodeOf(status.code()),
                                         fmt::format("{}: {}{}", instruction.source->name(),
                                                     status.message(), limit)));
}

absl::StatusOr<Program> Program::Compile(Operation* func, const ProgramOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return absl::InvalidArgumentError(
        fmt::format("the number of threads is {} (expected 1 to {}, or 0 for one per core)",
                    options.threads, kMaxThreads));
  }
  TENON_RETURN_IF_ERROR(CheckLimits(options.limits));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const ProgramImpl> impl, CompileFunction(func, options));
  return Program(std::make_shared<ProgramVersions>(std::move(impl)));
}

std::span<const TensorSpec> Program::inputs() const { return versions_->inputs(); }
std::span<const TensorSpec> Program::outputs() const { return versions_->outputs(); }
std::span<const TensorSpec> Program::parameters() const { return versions_->parameters(); }
size_t Program::num_instructions() const { return versions_->Current()->instructions.size(); }

absl::StatusOr<Tensor> Program::Parameter(std::string_view name) const {
  for (const ProgramParameter& parameter : versions_->Current()->parameters) {
    if (parameter.spec.name == name) return parameter.value;
  }
  return absl::NotFoundError(
      fmt::format("'{}' is no replaceable parameter of the program", ShownName(name)));
}

struct Program::SessionPool {
  std::mutex mutex;
  std::vector<Session> idle;
};

Program::Program(std::shared_ptr<ProgramVersions> versions)
    : versions_(std::move(versions)), pool_(std::make_shared<SessionPool>()) {}

absl::Status Program::ReplaceParameters(std::span<const ParameterValue> values) {
  TENON_RETURN_IF_ERROR(
      WithoutBadAlloc("replacing parameters", [&] { return versions_->Replace(values); }));
  // Nobody else would make these give up the old values.
  const std::lock_guard<std::mutex> lock(pool_->mutex);
  for (Session& session : pool_->idle) session.TakeVersion();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> Program::Run(std::span<const Tensor> inputs,
                                                 const RunOptions& options) const {
  std::unique_lock<std::mutex> lock(pool_->mutex);
  if (pool_->idle.empty()) pool_->idle.push_back(NewSession());
  Session session = std::move(pool_->idle.back());
  pool_->idle.pop_back();
  lock.unlock();
  absl::StatusOr<std::vector<Tensor>> outputs = session.Run(inputs, options);
  lock.lock();
  pool_->idle.push_back(std::move(session));
  return outputs;
}

}  // namespace tenon
