#include "executor/prepare/kernel_call.h"

#include <string>
#include <utility>

#include "ir/base/check.h"

namespace tenon {

using kernels::KernelStatus;

absl::StatusCode CodeOf(KernelStatus::Code code) {
  switch (code) {
    case KernelStatus::Code::kOk:
      return absl::StatusCode::kOk;
    case KernelStatus::Code::kInvalidArgument:
      return absl::StatusCode::kInvalidArgument;
    case KernelStatus::Code::kUnsupported:
      return absl::StatusCode::kUnimplemented;
    case KernelStatus::Code::kOutOfMemory:
      return absl::StatusCode::kResourceExhausted;
    case KernelStatus::Code::kInternal:
      break;
  }
  return absl::StatusCode::kInternal;
}

absl::Status ToStatus(const KernelStatus& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(CodeOf(status.code()), std::string(status.message()));
}

KernelStatus ToKernelStatus(const absl::Status& status) {
  std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return KernelStatus::Ok();
    case absl::StatusCode::kInvalidArgument:
      return KernelStatus::Invalid(std::move(message));
    case absl::StatusCode::kUnimplemented:
      return KernelStatus::Unsupported(std::move(message));
    case absl::StatusCode::kResourceExhausted:
      return KernelStatus::OutOfMemory(std::move(message));
    default:
      return KernelStatus::Internal(std::move(message));
  }
}

absl::Status PrepareKernel(const KernelCall& call, std::shared_ptr<kernels::KernelState>& state,
                           size_t& scratch_bytes) {
  scratch_bytes = 0;
  if (call.kernel.prepare == nullptr) return absl::OkStatus();
  kernels::PrepareArgs args;
  args.inputs = call.inputs;
  args.outputs = call.outputs;
  args.attrs = call.attrs;
  args.device = &call.device;
  args.data = call.kernel.data.get();
  TENON_RETURN_IF_ERROR(ToStatus(call.kernel.prepare(args, state)));
  scratch_bytes = args.scratch_bytes;
  return absl::OkStatus();
}

absl::Status RunKernel(const KernelCall& call, kernels::KernelState* state, void* scratch) {
  kernels::RunArgs args;
  args.inputs = call.inputs;
  args.outputs = call.outputs;
  args.attrs = call.attrs;
  args.device = &call.device;
  args.state = state;
  args.scratch = scratch;
  args.data = call.kernel.data.get();
  return ToStatus(call.kernel.run(args));
}

}  // namespace tenon
