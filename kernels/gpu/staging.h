// Pinned host memory through which small copies between host and device go.
#ifndef TENON_KERNELS_GPU_STAGING_H_
#define TENON_KERNELS_GPU_STAGING_H_

#include <array>
#include <cstddef>
#include <memory>

#include "kernels/gpu/queue.h"

namespace tenon::kernels::gpu {

// One for a queue, which must outlive it. Copies to the device return at once: the bytes wait in
// one of two halves, and a half is filled again when the queue has passed what was in it. Copies to
// the host wait.
class Staging {
 public:
  static constexpr size_t kHalfBytes = size_t{1} << 20;
  explicit Staging(Queue& queue) : queue_(queue) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  KernelStatus ToDevice(void* to, const void* from, size_t bytes);
  // Waits for all work put in so far. What kernels found wrong with values is the status.
  KernelStatus ToHost(void* to, const void* from, size_t bytes);

 private:
  struct Half {
    std::byte* bytes = nullptr;
    size_t used = 0;
    std::unique_ptr<Event> read;  // the queue has read what was in it; null: never filled
    bool pending = false;
  };
  KernelStatus Prepare();
  KernelStatus Turn();

  Queue& queue_;
  void* pinned_ = nullptr;  // both halves, a half for copies to the host, and a DeviceError
  std::array<Half, 2> halves_;
  size_t current_ = 0;
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_STAGING_H_
