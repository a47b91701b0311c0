#include "executor/gpu/device_session.h"

#include "executor/prepare/kernel_call.h"

namespace tenon {

using kernels::KernelStatus;
using kernels::gpu::Device;
using kernels::gpu::Queue;

absl::StatusOr<std::unique_ptr<DeviceSession>> DeviceSession::Open(std::shared_ptr<Device> device) {
  std::unique_ptr<Queue> queue;
  const absl::Status status = ToStatus(device->NewQueue(&queue));
  if (!status.ok()) return status;
  return std::unique_ptr<DeviceSession>(new DeviceSession(std::move(device), std::move(queue)));
}

absl::StatusOr<std::shared_ptr<std::byte>> DeviceSession::Allocate(
    const std::shared_ptr<DeviceSession>& session, size_t bytes) {
  absl::StatusOr<std::shared_ptr<std::byte>> made = AllocateOnDevice(*session->queue_, bytes);
  if (!made.ok()) return made;
  // Other queues use it from here on.
  const absl::Status status = ToStatus(session->queue_->Synchronize());
  if (!status.ok()) return status;
  std::byte* const memory = made->get();
  return std::shared_ptr<std::byte>(
      memory, [session, owner = *std::move(made)](std::byte*) mutable { owner.reset(); });
}

absl::Status DeviceSession::Read(void* to, const void* from, size_t bytes) {
  KernelStatus status = staging_.ToHost(to, from, bytes);
  if (status.ok()) status = staging_.Finish();
  return ToStatus(status);
}

absl::StatusOr<std::shared_ptr<std::byte>> AllocateOnDevice(Queue& queue, size_t bytes) {
  void* memory = nullptr;
  const absl::Status status = ToStatus(queue.Allocate(bytes, &memory));
  if (!status.ok()) return status;
  return std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                    [&queue](std::byte* bytes) { queue.Free(bytes); });
}

absl::StatusOr<std::unique_ptr<DeviceConstants>> DeviceConstants::Open(
    std::shared_ptr<Device> device) {
  std::unique_ptr<DeviceConstants> constants(new DeviceConstants(device));
  const absl::Status status = ToStatus(device->NewQueue(&constants->queue_));
  if (!status.ok()) return status;
  return constants;
}

absl::StatusOr<void*> DeviceConstants::Get(int value, const void* host, size_t bytes,
                                           bool& uploaded) {
  uploaded = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<std::byte>& memory = memory_[value];
  if (memory != nullptr) return static_cast<void*>(memory.get());
  absl::StatusOr<std::shared_ptr<std::byte>> made = AllocateOnDevice(*queue_, bytes);
  if (!made.ok()) return made.status();
  absl::Status status;
  if (bytes > 0) status = ToStatus(queue_->CopyToDevice(made->get(), host, bytes));
  // Other queues use it from here on.
  if (status.ok()) status = ToStatus(queue_->Synchronize());
  if (!status.ok()) return status;
  memory = *std::move(made);
  uploaded = true;
  return static_cast<void*>(memory.get());
}

}  // namespace tenon
