// Pinned host memory through which copies between host and device go.
#ifndef TENON_KERNELS_GPU_STAGING_H_
#define TENON_KERNELS_GPU_STAGING_H_

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/gpu/queue.h"

namespace tenon::kernels::gpu {

// One for a queue, which must outlive it. Copies to the device return once the bytes have been
// read, whatever memory they are in: they wait in one of two halves, and a half is filled again
// when the queue has passed what was in it. Copies to the host are there after Finish.
class Staging {
 public:
  static constexpr size_t kHalfBytes = size_t{1} << 20;
  explicit Staging(Queue& queue) : queue_(queue) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  KernelStatus ToDevice(void* to, const void* from, size_t bytes);
  KernelStatus ToHost(void* to, const void* from, size_t bytes);
  // Both are device memory. Is waited for like a copy to the host.
  KernelStatus OnDevice(void* to, const void* from, size_t bytes);
  // Waits for all work put in so far if there are copies that are waited for. What kernels found
  // wrong with values is the status.
  KernelStatus Finish();
  // Waits, and forgets copies to the host that are not finished and what kernels have found.
  void Abandon();

 private:
  struct Half {
    std::byte* bytes = nullptr;
    size_t used = 0;
    std::unique_ptr<Event> read;  // the queue has read what was in it; null: never filled
    bool pending = false;
  };
  // A copy to the host whose bytes are in pinned memory once the queue is done.
  struct Waiting {
    void* to;
    size_t at, bytes;
  };
  KernelStatus Prepare();
  KernelStatus Turn();
  KernelStatus PieceToDevice(void* to, const void* from, size_t bytes);
  KernelStatus StreamToHost(std::byte* to, const std::byte* from, size_t bytes);
  KernelStatus TakeReport();
  std::byte* back() const { return static_cast<std::byte*>(pinned_) + 2 * kHalfBytes; }

  Queue& queue_;
  void* pinned_ = nullptr;  // both halves, two for copies to the host, and a DeviceError
  std::array<Half, 2> halves_;
  size_t current_ = 0;
  std::array<std::unique_ptr<Event>, 2> arrived_;  // in the two for copies to the host
  std::vector<Waiting> waiting_;
  size_t back_used_ = 0;
  bool unfinished_ = false;  // copies that Finish waits for
};

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_STAGING_H_
