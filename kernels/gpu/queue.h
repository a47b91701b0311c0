// The interface of a GPU for executor and kernels. The CUDA plugin (kernels/gpu/cuda) implements
// it; tests implement it on the CPU.
#ifndef TENON_KERNELS_GPU_QUEUE_H_
#define TENON_KERNELS_GPU_QUEUE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/gpu/params.h"
#include "kernels/kernel.h"

namespace tenon::kernels::gpu {

// A point in a queue's work.
class Event {
 public:
  virtual ~Event() = default;
};

// Recorded work of a queue that can be replayed.
class Graph {
 public:
  virtual ~Graph() = default;
};

// An ordered queue of work on one device: a CUDA stream with its library handles. Calls add work
// and return. Work is done when Synchronize returns, or when a later event of the queue has been
// reached. Not thread-safe; several queues of a device may be used at once.
class Queue {
 public:
  virtual ~Queue() = default;

  // Allocates device memory, aligned to 256 bytes. Allocation is ordered like work: later work may
  // use the memory, and earlier work may still use memory that is freed. A pool keeps freed memory.
  virtual KernelStatus Allocate(size_t bytes, void** memory) = 0;
  virtual void Free(void* memory) = 0;  // memory of Allocate
  // Allocates host memory from and to which the device copies directly.
  virtual KernelStatus AllocatePinned(size_t bytes, void** memory) = 0;
  virtual void FreePinned(void* memory) = 0;  // memory of AllocatePinned

  // Copies from host memory that is not pinned; returns once the bytes have been read.
  virtual KernelStatus CopyToDevice(void* to, const void* from, size_t bytes) = 0;
  // Copies to host memory. The bytes are there when the work is done.
  virtual KernelStatus CopyToHost(void* to, const void* from, size_t bytes) = 0;
  // Copies within device memory.
  virtual KernelStatus CopyOnDevice(void* to, const void* from, size_t bytes) = 0;

  // Creates an event; `timed` events can be used in Elapsed.
  virtual KernelStatus NewEvent(std::unique_ptr<Event>* event, bool timed = false) = 0;
  virtual KernelStatus Record(Event& event) = 0;  // the event is reached after all work so far
  // Waits on the host until the event has been reached.
  virtual KernelStatus WaitFor(const Event& event) = 0;
  // Makes later work wait on the device for an event, also of another queue.
  virtual KernelStatus WaitBefore(const Event& event) = 0;
  virtual KernelStatus Synchronize() = 0;  // waits on the host until all work is done
  // The time on the device between two timed events, which must have been reached.
  virtual KernelStatus Elapsed(const Event& from, const Event& to, int64_t* nanoseconds) = 0;

  // Starts to record work instead of running it. Nothing may be allocated or waited for until
  // EndCapture.
  virtual KernelStatus BeginCapture() = 0;
  // Returns the recorded work. Ends the recording even if it fails.
  virtual KernelStatus EndCapture(std::unique_ptr<Graph>* graph) = 0;
  virtual KernelStatus Replay(const Graph& graph) = 0;  // adds the recorded work to the queue

  // Where kernels of this queue report errors in values. The executor reads and clears it when it
  // synchronizes.
  virtual DeviceError* error_slot() = 0;

  // Adds a matrix product, by a library where it has one. Each kernel of launches.def has an
  // overload.
  virtual KernelStatus Launch(const MatMulParams& params) = 0;
#define TENON_GPU_LAUNCH(Name) virtual KernelStatus Launch(const Name##Params& params) = 0;
#include "kernels/gpu/launches.def"
#undef TENON_GPU_LAUNCH
};

// A GPU. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // such as "NVIDIA H100 80GB HBM3, compute capability 9.0"
  virtual KernelStatus NewQueue(std::unique_ptr<Queue>* queue) = 0;  // a queue of its own stream
};

// The only symbol of the plugin is `TenonOpenCudaDevice`. If it fails, *device is null and the
// status says what is missing. `interface_version` must be kPluginInterface of the same build.
inline constexpr int kPluginInterface = 4;
inline constexpr char kPluginSymbol[] = "TenonOpenCudaDevice";
using OpenDeviceFn = void (*)(int interface_version, int ordinal, KernelStatus* status,
                              std::shared_ptr<Device>* device);

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_QUEUE_H_
