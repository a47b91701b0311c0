// What the executor and the kernels need of a GPU. Implemented by the CUDA plugin
// (kernels/gpu/*.cu); tests implement it on the CPU, and by recording.
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

// Recorded work of a queue that can be repeated.
class Graph {
 public:
  virtual ~Graph() = default;
};

// An ordered queue of work on one device: a stream with the library handles that go with it. Calls
// put work in and return; it is done when Synchronize returns, or when a later event of the queue
// has been reached. Not thread-safe; several queues of a device may be used at once.
class Queue {
 public:
  virtual ~Queue() = default;

  // Device memory, 256-byte aligned. Ordered like work: it may be used by what is put in later, and
  // what was put in earlier may still use memory that is freed. Comes from a pool that keeps what
  // is freed.
  virtual KernelStatus Allocate(size_t bytes, void** memory) = 0;
  virtual void Free(void* memory) = 0;
  // Host memory that the device copies from and to without a detour.
  virtual KernelStatus AllocatePinned(size_t bytes, void** memory) = 0;
  virtual void FreePinned(void* memory) = 0;

  // From host memory that is not pinned: returns once the bytes have been read.
  virtual KernelStatus CopyToDevice(void* to, const void* from, size_t bytes) = 0;
  virtual KernelStatus CopyToHost(void* to, const void* from, size_t bytes) = 0;
  virtual KernelStatus CopyOnDevice(void* to, const void* from, size_t bytes) = 0;

  // `timed`: for Elapsed.
  virtual KernelStatus NewEvent(std::unique_ptr<Event>* event, bool timed = false) = 0;
  virtual KernelStatus Record(Event& event) = 0;
  // Waits on the host.
  virtual KernelStatus WaitFor(const Event& event) = 0;
  // What is put in later waits on the device, also for an event of another queue.
  virtual KernelStatus WaitBefore(const Event& event) = 0;
  virtual KernelStatus Synchronize() = 0;
  // The device's time between two timed events, both of which have been reached.
  virtual KernelStatus Elapsed(const Event& from, const Event& to, int64_t* nanoseconds) = 0;

  // Between the two nothing is allocated or waited for, and nothing runs. EndCapture ends what has
  // begun even if it fails.
  virtual KernelStatus BeginCapture() = 0;
  virtual KernelStatus EndCapture(std::unique_ptr<Graph>* graph) = 0;
  virtual KernelStatus Replay(const Graph& graph) = 0;

  // Where kernels of this queue report; read and cleared by the executor when it synchronises.
  virtual DeviceError* error_slot() = 0;

  virtual KernelStatus Launch(const MatMulParams& params) = 0;
#define TENON_GPU_LAUNCH(Name) virtual KernelStatus Launch(const Name##Params& params) = 0;
#include "kernels/gpu/launches.def"
#undef TENON_GPU_LAUNCH
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "NVIDIA H100 80GB HBM3, compute capability 9.0"
  virtual KernelStatus NewQueue(std::unique_ptr<Queue>* queue) = 0;
};

// The plugin's only symbol, `TenonOpenCudaDevice`. On failure *device is null and the status says
// what is missing. `interface_version` must be the plugin's own: both come from one build.
inline constexpr int kPluginInterface = 3;
inline constexpr char kPluginSymbol[] = "TenonOpenCudaDevice";
using OpenDeviceFn = void (*)(int interface_version, int ordinal, KernelStatus* status,
                              std::shared_ptr<Device>* device);

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_QUEUE_H_
