// The CUDA runtime.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "kernels/gpu/emulator/launch.h"
#include "kernels/gpu/emulator/memory_check.h"
#include "tests/gpu/cuda_model/model.h"

namespace model = tenon::kernels::gpu::cuda_model;
namespace emulator = tenon::kernels::gpu::emulator;
using Work = std::function<void()>;

struct CUstream_st {
  std::deque<Work> work;
  uint64_t put = 0, done = 0;
  bool captures = false, capture_failed = false;
  std::vector<Work> captured;
};
struct CUevent_st {
  cudaStream_t stream = nullptr;
  uint64_t position = 0;
  bool timed = false;
  std::chrono::steady_clock::time_point at;
};
struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};
struct CUmemPoolHandle_st {
  int unused;
};

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;
thread_local cudaStream_t capturing = nullptr;

cudaError_t Result(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}
#define TENON_MAY_FAIL(error) \
  if (model::ThisCallFails()) return Result(error)
// Waits, and calls that wait in secret, end a capture.
#define TENON_NOT_WHILE_CAPTURING()                   \
  if (capturing != nullptr) {                         \
    capturing->capture_failed = true;                 \
    return Result(cudaErrorStreamCaptureUnsupported); \
  }

void Drain(cudaStream_t stream, uint64_t until) {
  while (stream->done < until) {
    const Work work = std::move(stream->work.front());
    stream->work.pop_front();
    ++stream->done;
    work();
  }
}

// Memory of the device, and pinned memory.
class Memory {
 public:
  static Memory& Get() {
    static Memory memory;
    return memory;
  }
  void* Allocate(size_t bytes, bool pinned) {
    constexpr size_t kGuard = 256;
    constexpr std::align_val_t kAlignment{256};
    void* const made = ::operator new(bytes + kGuard, kAlignment);
    std::memset(made, 0x7f, bytes + kGuard);
    if (!pinned) emulator::AddMemory(made, bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_[static_cast<std::byte*>(made)] = {bytes, pinned};
    return made;
  }
  void Free(void* memory) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = blocks_.find(static_cast<std::byte*>(memory));
      if (found == blocks_.end()) model::Broken("freed what was not allocated, or twice");
      const auto [bytes, pinned] = found->second;
      for (size_t i = 0; i < 256; ++i) {
        if (found->first[bytes + i] != std::byte{0x7f}) model::Broken("wrote behind memory");
      }
      if (!pinned) emulator::RemoveMemory(memory);
      blocks_.erase(found);
    }
    ::operator delete(memory, std::align_val_t(256));
  }
  enum class Kind { kPageable, kPinned, kDevice };
  Kind Find(const void* at, size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto* const begin = static_cast<std::byte*>(const_cast<void*>(at));
    auto found = blocks_.upper_bound(begin);
    if (found == blocks_.begin()) return Kind::kPageable;
    --found;
    if (begin >= found->first + std::max<size_t>(found->second.first, 1)) return Kind::kPageable;
    if (begin + bytes > found->first + found->second.first) model::Broken("a copy beyond memory");
    return found->second.second ? Kind::kPinned : Kind::kDevice;
  }

 private:
  std::mutex mutex_;
  std::map<std::byte*, std::pair<size_t, bool>> blocks_;
};
using Kind = Memory::Kind;

}  // namespace

namespace tenon::kernels::gpu::cuda_model {

void Submit(cudaStream_t stream, Work work) {
  if (stream == nullptr) Broken("used the default stream");
  if (stream->captures) {
    stream->captured.push_back(std::move(work));
    return;
  }
  stream->work.push_back(std::move(work));
  ++stream->put;
}

bool ThisCallFails() {
  static const char* const chosen = std::getenv("TENON_CUDA_MODEL_FAILS");
  static std::atomic<int> calls = 0;
  return chosen != nullptr && ++calls == std::atoi(chosen);
}

void Broken(const char* rule) {
  std::fprintf(stderr, "CUDA model: the caller %s\n", rule);
  std::abort();
}

}  // namespace tenon::kernels::gpu::cuda_model

namespace tenon::kernels::gpu::emulator {

void Launch(void* stream, Work run) {
  if (model::ThisCallFails()) {
    last_error = cudaErrorLaunchOutOfResources;
    return;
  }
  model::Submit(static_cast<cudaStream_t>(stream), std::move(run));
}

}  // namespace tenon::kernels::gpu::emulator

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  static thread_local std::string text;
  text = "error " + std::to_string(error) + " of the model";
  return text.c_str();
}
cudaError_t cudaGetDeviceCount(int* count) {
  TENON_MAY_FAIL(cudaErrorInsufficientDriver);
  *count = 2;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 12040;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  TENON_MAY_FAIL(cudaErrorDevicesUnavailable);
  current_device = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  *properties = {};
  std::strcpy(properties->name, "model");
  properties->major = 9;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  *value = 1;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  TENON_MAY_FAIL(cudaErrorNoKernelImageForDevice);
  *attributes = {};
  if (std::getenv("TENON_CUDA_MODEL_IS_NEWER") == nullptr) return cudaSuccess;
  return Result(cudaErrorNoKernelImageForDevice);
}
cudaError_t cudaFree(void* memory) {
  TENON_NOT_WHILE_CAPTURING();
  TENON_MAY_FAIL(cudaErrorMemoryAllocation);
  if (memory != nullptr) model::Broken("freed memory of streams at once");
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  if (properties->location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
  *pool = new CUmemPoolHandle_st();
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  delete pool;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = size_t{80} << 30;
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** memory, size_t bytes, cudaMemPool_t, cudaStream_t) {
  if (capturing != nullptr) model::Broken("allocates memory that only a graph could use");
  TENON_MAY_FAIL(cudaErrorMemoryAllocation);
  *memory = Memory::Get().Allocate(bytes, false);
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  TENON_NOT_WHILE_CAPTURING();
  model::Submit(stream, [memory] { Memory::Get().Free(memory); });
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  TENON_NOT_WHILE_CAPTURING();
  TENON_MAY_FAIL(cudaErrorMemoryAllocation);
  *memory = Memory::Get().Allocate(bytes, true);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  TENON_NOT_WHILE_CAPTURING();
  Memory::Get().Free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  const Kind source = Memory::Get().Find(from, bytes), target = Memory::Get().Find(to, bytes);
  if ((source == Kind::kDevice) != (kind != cudaMemcpyHostToDevice) ||
      (target == Kind::kDevice) != (kind != cudaMemcpyDeviceToHost)) {
    model::Broken("copies from or to memory that is not of the named kind");
  }
  if (source == Kind::kPageable || target == Kind::kPageable) TENON_NOT_WHILE_CAPTURING();
  if (target == Kind::kPageable) {
    Drain(stream, stream->put);
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  }
  if (source == Kind::kPageable) {  // staged before the call returns
    auto* const begin = static_cast<const std::byte*>(from);
    auto staged = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
    model::Submit(stream, [=] {
      Memory::Get().Find(to, bytes);
      std::memcpy(to, staged->data(), bytes);
    });
    return cudaSuccess;
  }
  model::Submit(stream, [=] {
    // Both are still there.
    if (Memory::Get().Find(from, bytes) != source || Memory::Get().Find(to, bytes) != target) {
      model::Broken("freed memory that a copy needs");
    }
    std::memmove(to, from, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  model::Submit(stream, [=] { std::memset(at, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  if (flags != cudaStreamNonBlocking) return Result(cudaErrorInvalidValue);
  *stream = new CUstream_st();
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Drain(stream, stream->put);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  TENON_NOT_WHILE_CAPTURING();
  Drain(stream, stream->put);  // what fails is reported late
  TENON_MAY_FAIL(cudaErrorUnknown);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  const cudaStream_t other = event->stream;
  const uint64_t position = event->position;
  if (other != nullptr) model::Submit(stream, [=] { Drain(other, position); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  *event = new CUevent_st();
  (*event)->timed = flags == cudaEventDefault;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  TENON_NOT_WHILE_CAPTURING();
  TENON_MAY_FAIL(cudaErrorUnknown);
  event->stream = stream;
  model::Submit(stream, [] {});
  event->position = stream->put;
  event->at = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  TENON_NOT_WHILE_CAPTURING();
  TENON_MAY_FAIL(cudaErrorUnknown);
  if (event->stream != nullptr) Drain(event->stream, event->position);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  if (!from->timed || !to->timed) return Result(cudaErrorInvalidResourceHandle);
  if (to->stream == nullptr || to->stream->done < to->position) return Result(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  TENON_NOT_WHILE_CAPTURING();
  TENON_MAY_FAIL(cudaErrorUnknown);
  stream->captures = true;
  capturing = stream;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  TENON_MAY_FAIL(cudaErrorUnknown);
  *status = stream->captures ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (!stream->captures) return Result(cudaErrorIllegalState);
  stream->captures = false;
  capturing = nullptr;
  std::vector<Work> captured = std::move(stream->captured);
  stream->captured.clear();
  *graph = nullptr;
  if (std::exchange(stream->capture_failed, false)) {
    return Result(cudaErrorStreamCaptureInvalidated);
  }
  TENON_MAY_FAIL(cudaErrorUnknown);
  *graph = new CUgraph_st{std::move(captured)};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  TENON_MAY_FAIL(cudaErrorMemoryAllocation);
  *made = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  TENON_NOT_WHILE_CAPTURING();
  TENON_MAY_FAIL(cudaErrorUnknown);
  for (const Work& work : graph->work) model::Submit(stream, work);
  return cudaSuccess;
}
}
