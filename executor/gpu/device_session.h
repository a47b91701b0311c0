// The part of a session on a GPU. Internal to the executor.
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

// A queue of the device and its staging memory. Not thread-safe.
class DeviceSession {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceSession>> Open(
      std::shared_ptr<kernels::gpu::Device> device);
  void AddTo(kernels::DeviceContext& context) {
    context.gpu = queue_.get();
    context.staging = &staging_;
  }
  // Returns device memory, never null, which keeps the session alive and suits any queue of the
  // device. Do not call it while another thread uses the session.
  static absl::StatusOr<std::shared_ptr<std::byte>> Allocate(
      const std::shared_ptr<DeviceSession>& session, size_t bytes);
  // Copies from device memory that no queue writes at the time.
  absl::Status Read(void* to, const void* from, size_t bytes);
  // Call it after a failed run. When it returns, nothing of that run is still running.
  void Abandon() { staging_.Abandon(); }

 private:
  DeviceSession(std::shared_ptr<kernels::gpu::Device> device,
                std::unique_ptr<kernels::gpu::Queue> queue)
      : device_(std::move(device)), queue_(std::move(queue)), staging_(*queue_) {}
  std::shared_ptr<kernels::gpu::Device> device_;
  std::unique_ptr<kernels::gpu::Queue> queue_;
  kernels::gpu::Staging staging_;
};

// Returns memory of the queue's device, never null, freed with the pointer. The queue must outlive
// it.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateOnDevice(kernels::gpu::Queue& queue,
                                                            size_t bytes);

// A program's constants in device memory, shared by all sessions. Each is uploaded when it is first
// needed. Thread-safe.
class DeviceConstants {
 public:
  static absl::StatusOr<std::unique_ptr<DeviceConstants>> Open(
      std::shared_ptr<kernels::gpu::Device> device);
  // Returns the device memory of constant `value`, a value number of the program. It lives as long
  // as this object. Sets `uploaded` if this call has read the bytes.
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
