// What a session has of a GPU. Internal to the executor.
#ifndef TENON_EXECUTOR_GPU_DEVICE_SESSION_H_
#define TENON_EXECUTOR_GPU_DEVICE_SESSION_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/gpu/queue.h"
#include "kernels/gpu/staging.h"
#include "kernels/kernel.h"

namespace tenon {

absl::Status ToStatus(const kernels::KernelStatus& status);

// A queue, and the staging for it.
class DeviceSession {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceSession>> Open(
      std::shared_ptr<kernels::gpu::Device> device);
  void AddTo(kernels::DeviceContext& context) {
    context.gpu = queue_.get();
    context.staging = &staging_;
  }
  // Memory that keeps the session, for use by any queue of the device. Not while another thread
  // uses the session. Never null.
  static absl::StatusOr<std::shared_ptr<std::byte>> Allocate(
      const std::shared_ptr<DeviceSession>& session, size_t bytes);
  // From device memory that no queue writes at the time.
  absl::Status Read(void* to, const void* from, size_t bytes);
  // After a run that failed half-way: nothing that was put in still runs when it returns.
  void Abandon() { staging_.Abandon(); }

 private:
  DeviceSession(std::shared_ptr<kernels::gpu::Device> device,
                std::unique_ptr<kernels::gpu::Queue> queue)
      : device_(std::move(device)), queue_(std::move(queue)), staging_(*queue_) {}
  std::shared_ptr<kernels::gpu::Device> device_;
  std::unique_ptr<kernels::gpu::Queue> queue_;
  kernels::gpu::Staging staging_;
};

// Memory of the queue's device, freed with the pointer. The queue must outlive it. Never null.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateOnDevice(kernels::gpu::Queue& queue,
                                                            size_t bytes);

// A program's constants in device memory: each uploaded when a session first needs it, and shared
// by all.
class DeviceConstants {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceConstants>> Open(
      std::shared_ptr<kernels::gpu::Device> device);
  // `value`: its number in the program. The memory lives as long as this object. `uploaded` says
  // whether it was this call that read the bytes.
  absl::StatusOr<void*> Get(int value, const void* host, size_t bytes, bool& uploaded);

 private:
  explicit DeviceConstants(std::shared_ptr<kernels::gpu::Device> device)
      : device_(std::move(device)) {}
  std::shared_ptr<kernels::gpu::Device> device_;
  std::mutex mutex_;
  std::unique_ptr<kernels::gpu::Queue> queue_;
  std::map<int, std::shared_ptr<std::byte>> memory_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_GPU_DEVICE_SESSION_H_
