// Pinned host memory for copies between host and device.
#ifndef TENON_KERNELS_GPU_STAGING_H_
#define TENON_KERNELS_GPU_STAGING_H_

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/gpu/queue.h"

namespace tenon::kernels::gpu {

// The staging memory of a queue, which must outlive it. Copies to the device return once the bytes
// have been read into one of two halves. A half is reused after the queue has passed its contents.
// Copies to the host are complete after Finish. Not thread-safe.
class Staging {
 public:
  static constexpr size_t kHalfBytes = size_t{1} << 20;  // the size of a half
  // Allocates nothing before the first copy.
  explicit Staging(Queue& queue) : queue_(queue) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // `from` may change after the call.
  KernelStatus ToDevice(void* to, const void* from, size_t bytes);
  KernelStatus ToHost(void* to, const void* from, size_t bytes);  // complete after Finish
  // Copies within device memory; Finish waits for it, too.
  KernelStatus OnDevice(void* to, const void* from, size_t bytes);
  // Waits for all work added so far if copies are pending. Returns an error that kernels have found
  // in values, if any.
  KernelStatus Finish();
  // Waits, and drops unfinished copies to the host and errors found by kernels.
  void Abandon();

 private:
  struct Half {
    std::byte* bytes = nullptr;
    size_t used = 0;
    std::unique_ptr<Event> read;  // of the contents by the queue; null: never filled
    bool pending = false;
  };
  // A copy to the host whose bytes are in pinned memory when the queue is done.
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
