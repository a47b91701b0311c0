// The CUDA plugin: devices and queues on the runtime API, and the symbol by which the executor
// opens it.
#include <cuda_runtime.h>

#include <cstdlib>
#include <string_view>

#include "kernels/gpu/cuda/cuda_memory.h"
#include "kernels/gpu/cuda/cuda_status.h"
#include "kernels/gpu/cuda/products.h"
#include "kernels/gpu/launch.h"
#include "kernels/gpu/queue.h"

namespace tenon::kernels::gpu {
namespace {

class CudaEvent final : public Event {
 public:
  ~CudaEvent() override {
    if (at != nullptr) cudaEventDestroy(at);
  }
  cudaEvent_t at = nullptr;
};

class CudaGraph final : public Graph {
 public:
  ~CudaGraph() override {
    if (at != nullptr) cudaGraphExecDestroy(at);
  }
  cudaGraphExec_t at = nullptr;
};

class CudaQueue final : public Queue {
 public:
  CudaQueue(int ordinal, std::shared_ptr<MemoryPool> pool, bool tf32)
      : ordinal_(ordinal), tf32_(tf32), pool_(std::move(pool)) {}
  ~CudaQueue() override {
    const CurrentDevice current(ordinal_);
    if (current.unloading()) {  // the process ends, and the libraries have ended before
      static_cast<void>(products_.release());
      return;
    }
    if (stream_ == nullptr) return;
    cudaStreamSynchronize(stream_);
    products_.reset();
    if (error_ != nullptr) cudaFreeAsync(error_, stream_);
    cudaStreamDestroy(stream_);
  }

  KernelStatus Open() {
    const CurrentDevice current(ordinal_);
    // Does not wait for the default stream, which other libraries of the process may use.
    KernelStatus status =
        Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    if (!status.ok()) return status;
    status = Allocate(sizeof(DeviceError), reinterpret_cast<void**>(&error_));
    if (!status.ok()) return status;
    status = Check(cudaMemsetAsync(error_, 0, sizeof(DeviceError), stream_), "clearing");
    if (!status.ok()) return status;
    products_ = std::make_unique<Products>(stream_, *pool_, tf32_);
    return status;
  }

  KernelStatus Allocate(size_t bytes, void** memory) override {
    const CurrentDevice current(ordinal_);
    return pool_->Allocate(bytes, stream_, memory);
  }
  void Free(void* memory) override {
    const CurrentDevice current(ordinal_);
    if (memory != nullptr) cudaFreeAsync(memory, stream_);
  }
  KernelStatus AllocatePinned(size_t bytes, void** memory) override {
    const CurrentDevice current(ordinal_);
    return Check(cudaMallocHost(memory, bytes == 0 ? 1 : bytes), "pinned allocation");
  }
  void FreePinned(void* memory) override {
    const CurrentDevice current(ordinal_);
    if (memory != nullptr) cudaFreeHost(memory);
  }

  KernelStatus CopyToDevice(void* to, const void* from, size_t bytes) override {
    const CurrentDevice current(ordinal_);
    return Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_),
                 "copy to the device");
  }
  KernelStatus CopyToHost(void* to, const void* from, size_t bytes) override {
    const CurrentDevice current(ordinal_);
    return Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_),
                 "copy to the host");
  }
  KernelStatus CopyOnDevice(void* to, const void* from, size_t bytes) override {
    const CurrentDevice current(ordinal_);
    return Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_),
                 "copy on the device");
  }

  KernelStatus NewEvent(std::unique_ptr<Event>* event, bool timed) override {
    const CurrentDevice current(ordinal_);
    auto made = std::make_unique<CudaEvent>();
    KernelStatus status = Check(
        cudaEventCreateWithFlags(&made->at, timed ? cudaEventDefault : cudaEventDisableTiming),
        "event");
    *event = std::move(made);
    return status;
  }
  KernelStatus Record(Event& event) override {
    const CurrentDevice current(ordinal_);
    return Check(cudaEventRecord(static_cast<CudaEvent&>(event).at, stream_), "event");
  }
  KernelStatus WaitFor(const Event& event) override {
    const CurrentDevice current(ordinal_);
    return Check(cudaEventSynchronize(static_cast<const CudaEvent&>(event).at), "event");
  }
  KernelStatus WaitBefore(const Event& event) override {
    const CurrentDevice current(ordinal_);
    return Check(cudaStreamWaitEvent(stream_, static_cast<const CudaEvent&>(event).at, 0), "event");
  }
  KernelStatus Synchronize() override {
    const CurrentDevice current(ordinal_);
    return Check(cudaStreamSynchronize(stream_),
                 "running (with CUDA_LAUNCH_BLOCKING=1 the operation is named)");
  }
  KernelStatus Elapsed(const Event& from, const Event& to, int64_t* nanoseconds) override {
    float milliseconds = 0;
    KernelStatus status =
        Check(cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(from).at,
                                   static_cast<const CudaEvent&>(to).at),
              "event");
    *nanoseconds = static_cast<int64_t>(milliseconds * 1e6);
    return status;
  }

  KernelStatus BeginCapture() override {
    const CurrentDevice current(ordinal_);
    return Check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
  }
  KernelStatus EndCapture(std::unique_ptr<Graph>* graph) override {
    const CurrentDevice current(ordinal_);
    cudaGraph_t recorded = nullptr;
    KernelStatus status = Check(cudaStreamEndCapture(stream_, &recorded), "capture");
    if (!status.ok()) return status;  // and what was recorded is gone
    auto made = std::make_unique<CudaGraph>();
    status = Check(cudaGraphInstantiate(&made->at, recorded, 0), "graph");
    cudaGraphDestroy(recorded);
    *graph = std::move(made);
    return status;
  }
  KernelStatus Replay(const Graph& graph) override {
    const CurrentDevice current(ordinal_);
    return Check(cudaGraphLaunch(static_cast<const CudaGraph&>(graph).at, stream_), "graph");
  }

  DeviceError* error_slot() override { return error_; }

  KernelStatus Launch(const MatMulParams& params) override {
    const CurrentDevice current(ordinal_);
    return products_->Launch(params);
  }
#define TENON_GPU_LAUNCH(Name)                               \
  KernelStatus Launch(const Name##Params& params) override { \
    const CurrentDevice current(ordinal_);                   \
    LaunchOn(stream_, params);                               \
    return Check(cudaGetLastError(), "launching " #Name);    \
  }
#include "kernels/gpu/launches.def"
#undef TENON_GPU_LAUNCH

 private:
  const int ordinal_;
  const bool tf32_;
  const std::shared_ptr<MemoryPool> pool_;
  cudaStream_t stream_ = nullptr;
  DeviceError* error_ = nullptr;
  std::unique_ptr<Products> products_;
};

// The environment's word that f32 products may be faster and less exact.
bool WantsTf32() {
  const char* const value = std::getenv("TENON_CUDA_TF32");
  return value != nullptr && std::string_view(value) == "1";
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal), tf32_(WantsTf32()) {}

  KernelStatus Open() {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) cudaGetLastError();
    if (error == cudaErrorInsufficientDriver) return WithoutDriver();
    if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
      return KernelStatus::Unsupported("this machine has no CUDA device");
    }
    if (error != cudaSuccess) {
      return KernelStatus::Unsupported(std::string("CUDA cannot be used: ") +
                                       cudaGetErrorString(error));
    }
    if (ordinal_ < 0 || ordinal_ >= count) {
      return KernelStatus::Invalid("there is no CUDA device " + std::to_string(ordinal_) + " (" +
                                   std::to_string(count) + " found)");
    }
    KernelStatus status = Check(cudaGetDeviceProperties(&properties_, ordinal_), "properties");
    if (!status.ok()) return status;
    if (properties_.major < 8) {
      return KernelStatus::Unsupported(name() + ": needs compute capability 8.0 or later");
    }
    int has_pools = 0;
    status = Check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, ordinal_),
                   "properties");
    if (!status.ok()) return status;
    if (has_pools == 0) {
      return KernelStatus::Unsupported(name() + ": needs memory pools, which its driver lacks");
    }
    // Most of what may be wrong with a machine shows here: another process that has the device for
    // itself, no memory, no permission.
    const CurrentDevice current(ordinal_);
    status = Check(current.error(), "choosing the device");
    if (status.ok()) status = Check(cudaFree(nullptr), "making a context");
    if (!status.ok())
      return KernelStatus::Unsupported(name() + ": " + std::string(status.message()));
    if (status = FindCode(); !status.ok()) return status;
    pool_ = std::make_shared<MemoryPool>();
    return pool_->Open(ordinal_);
  }

  std::string name() const override {
    return std::string(properties_.name) + ", compute capability " +
           std::to_string(properties_.major) + "." + std::to_string(properties_.minor) +
           (tf32_ ? ", TF32 products" : "");
  }
  KernelStatus NewQueue(std::unique_ptr<Queue>* queue) override {
    auto made = std::make_unique<CudaQueue>(ordinal_, pool_, tf32_);
    KernelStatus status = made->Open();
    if (status.ok()) *queue = std::move(made);
    return status;
  }

 private:
  // Machine code for this device, or code that the driver translates for it: without, every launch
  // would fail.
  KernelStatus FindCode() const {
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, ProbeKernel());
    if (error == cudaSuccess) return KernelStatus::Ok();
    cudaGetLastError();
    return KernelStatus::Unsupported(
        name() + ": the CUDA plugin was built for compute capability " + TargetsOfDeviceCode() +
        ", and its device code cannot be loaded (" + cudaGetErrorString(error) +
        "): build it with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(properties_.major) +
        std::to_string(properties_.minor));
  }

  // No driver, or one that is too old: which of them, the driver's own version says. Any driver of
  // the toolkit's major version serves it.
  static KernelStatus WithoutDriver() {
    const auto text = [](int version) {
      return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    };
    int version = 0;
    if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) {
      cudaGetLastError();
      return KernelStatus::Unsupported("no CUDA driver is installed");
    }
    return KernelStatus::Unsupported("the CUDA driver serves CUDA " + text(version) +
                                     " (this build of Tenon needs " +
                                     text(CUDART_VERSION / 1000 * 1000) + " or later)");
  }

  const int ordinal_;
  const bool tf32_;
  cudaDeviceProp properties_ = {};
  std::shared_ptr<MemoryPool> pool_;
};

}  // namespace
}  // namespace tenon::kernels::gpu

extern "C" __attribute__((visibility("default"))) void TenonOpenCudaDevice(
    int interface_version, int ordinal, tenon::kernels::KernelStatus* status,
    std::shared_ptr<tenon::kernels::gpu::Device>* device) {
  using namespace tenon::kernels;
  if (interface_version != gpu::kPluginInterface) {
    *status = KernelStatus::Unsupported("the CUDA plugin is of another build of Tenon");
    return;
  }
  auto opened = std::make_shared<gpu::CudaDevice>(ordinal);
  *status = opened->Open();
  if (status->ok()) *device = std::move(opened);
}
