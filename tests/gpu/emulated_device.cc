#include "tests/gpu/emulated_device.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "kernels/gpu/emulator/memory_check.h"
#include "kernels/gpu/launch.h"
#include "kernels/half.h"
#include "kernels/reference/elementwise/activation.h"

namespace tenon::kernels::gpu::testing {
namespace {

using Kind = Call::Kind;

constexpr uint8_t kFill = 0x7f;
constexpr size_t kGuardBytes = 64;  // behind each allocation

class EmulatedEvent : public Event {
 public:
  std::chrono::steady_clock::time_point at;
};

class EmulatedGraph : public Graph {
 public:
  std::vector<std::function<KernelStatus()>> work;
};

float Load(DType dtype, const void* data, int64_t i) {
  if (dtype == DType::kF16) return static_cast<const Half*>(data)[i];
  if (dtype == DType::kBF16) return static_cast<const BFloat16*>(data)[i];
  return static_cast<const float*>(data)[i];
}
void Store(DType dtype, void* data, int64_t i, float v) {
  if (dtype == DType::kF16) {
    static_cast<Half*>(data)[i] = Half(v);
  } else if (dtype == DType::kBF16) {
    static_cast<BFloat16*>(data)[i] = BFloat16(v);
  } else {
    static_cast<float*>(data)[i] = v;
  }
}

// What cuBLASLt is documented to compute, with sums in double.
void Multiply(const MatMulParams& p) {
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          const int64_t a = p.transpose_a ? k * p.m + i : i * p.k + k;
          const int64_t b = p.transpose_b ? j * p.k + k : k * p.n + j;
          sum += static_cast<double>(Load(p.dtype, p.a, batch * p.a_stride + a)) *
                 static_cast<double>(Load(p.dtype, p.b, batch * p.b_stride + b));
        }
        const int64_t at = batch * p.out_stride + i * p.pitch() + j;
        auto v = static_cast<float>(sum);
        if (p.bias != nullptr) v += Load(p.out_dtype, p.bias, j);
        if (p.residual != nullptr) v += Load(p.out_dtype, p.residual, at);
        Store(p.out_dtype, p.out, at, Activate(Activation{p.activation, 0, 0}, v));
      }
    }
  }
}

class EmulatedQueue : public Queue {
 public:
  EmulatedQueue(std::shared_ptr<Log> log, bool compute) : log_(std::move(log)), compute_(compute) {}
  ~EmulatedQueue() override { Free(error_); }

  KernelStatus Open() {
    KernelStatus status = Allocate(sizeof(DeviceError), reinterpret_cast<void**>(&error_));
    *error_ = DeviceError();
    return status;
  }

  KernelStatus Allocate(size_t bytes, void** memory) override {
    if (capturing_ != nullptr) return KernelStatus::Internal("an allocation while capturing");
    constexpr size_t kAlignment = 256;
    auto block = std::make_unique<std::byte[]>(bytes + kAlignment + kGuardBytes);
    auto* begin = reinterpret_cast<std::byte*>(
        (reinterpret_cast<uintptr_t>(block.get()) + kAlignment - 1) / kAlignment * kAlignment);
    // Large numbers where nothing has been written.
    std::memset(begin, kFill, bytes + kGuardBytes);
    log_->sizes[begin] = bytes;
    emulator::AddMemory(begin, bytes);
    log_->blocks[begin] = std::move(block);
    log_->live_bytes += bytes;
    log_->calls.push_back({.kind = Kind::kAllocate, .bytes = bytes});
    *memory = begin;
    return KernelStatus::Ok();
  }
  void Free(void* memory) override {
    if (memory == nullptr) return;
    auto* begin = static_cast<const std::byte*>(memory);
    CheckGuard(begin);
    emulator::RemoveMemory(begin);
    log_->live_bytes -= log_->sizes.at(begin);
    log_->calls.push_back({.kind = Kind::kFree, .bytes = log_->sizes.at(begin)});
    log_->sizes.erase(begin);
    log_->blocks.erase(begin);
  }
  KernelStatus AllocatePinned(size_t bytes, void** memory) override {
    log_->calls.push_back({.kind = Kind::kAllocatePinned, .bytes = bytes});
    *memory = ::operator new(bytes + 1, std::align_val_t(64));
    return KernelStatus::Ok();
  }
  void FreePinned(void* memory) override { ::operator delete(memory, std::align_val_t(64)); }

  KernelStatus CopyToDevice(void* to, const void* from, size_t bytes) override {
    log_->calls.push_back({.kind = Kind::kToDevice, .to = to, .from = from, .bytes = bytes});
    if (!log_->Holds(to, bytes)) return KernelStatus::Internal("a copy beyond device memory");
    if (log_->Holds(from, 1)) return KernelStatus::Internal("a copy from the device to the device");
    return Do([=] {
      std::memcpy(to, from, bytes);
      return KernelStatus::Ok();
    });
  }
  KernelStatus CopyToHost(void* to, const void* from, size_t bytes) override {
    log_->calls.push_back({.kind = Kind::kToHost, .to = to, .from = from, .bytes = bytes});
    if (!log_->Holds(from, bytes)) return KernelStatus::Internal("a copy beyond device memory");
    if (log_->Holds(to, 1)) return KernelStatus::Internal("a copy from the host to the host");
    return Do([=] {
      std::memcpy(to, from, bytes);
      return KernelStatus::Ok();
    });
  }
  KernelStatus CopyOnDevice(void* to, const void* from, size_t bytes) override {
    log_->calls.push_back({.kind = Kind::kOnDevice, .to = to, .from = from, .bytes = bytes});
    if (!log_->Holds(from, bytes) || !log_->Holds(to, bytes)) {
      return KernelStatus::Internal("a copy beyond device memory");
    }
    return Do([=] {
      std::memcpy(to, from, bytes);
      return KernelStatus::Ok();
    });
  }

  KernelStatus NewEvent(std::unique_ptr<Event>* event, bool) override {
    *event = std::make_unique<EmulatedEvent>();
    return KernelStatus::Ok();
  }
  KernelStatus Record(Event& event) override {
    static_cast<EmulatedEvent&>(event).at = std::chrono::steady_clock::now();
    return Note(Kind::kRecord);
  }
  KernelStatus Elapsed(const Event& from, const Event& to, int64_t* nanoseconds) override {
    const auto time =
        static_cast<const EmulatedEvent&>(to).at - static_cast<const EmulatedEvent&>(from).at;
    *nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    return KernelStatus::Ok();
  }
  KernelStatus WaitFor(const Event&) override { return Note(Kind::kWait); }
  KernelStatus WaitBefore(const Event&) override { return Note(Kind::kWait); }
  KernelStatus Synchronize() override {
    if (capturing_ != nullptr) return KernelStatus::Internal("a wait while capturing");
    return Note(Kind::kSynchronize);
  }
  KernelStatus BeginCapture() override {
    if (log_->refuses_capture) return KernelStatus::Unsupported("nothing is recorded");
    capturing_ = std::make_unique<EmulatedGraph>();
    return Note(Kind::kBeginCapture);
  }
  KernelStatus EndCapture(std::unique_ptr<Graph>* graph) override {
    *graph = std::move(capturing_);
    return Note(Kind::kEndCapture);
  }
  KernelStatus Replay(const Graph& graph) override {
    if (!compute_) return Note(Kind::kReplay);
    for (const auto& step : static_cast<const EmulatedGraph&>(graph).work) {
      if (KernelStatus status = step(); !status.ok()) return status;
    }
    return Note(Kind::kReplay);
  }
  DeviceError* error_slot() override { return error_; }

  KernelStatus Launch(const MatMulParams& p) override {
    log_->calls.push_back({.kind = Kind::kLaunch, .kernel = "MatMul"});
    if (p.m <= 0 || p.n <= 0 || p.k <= 0 || p.batch <= 0) {
      return KernelStatus::Internal("a product with an extent of 0");
    }
    return Do([=] {
      Multiply(p);
      return KernelStatus::Ok();
    });
  }
#define TENON_GPU_LAUNCH(Name)                                       \
  KernelStatus Launch(const Name##Params& p) override {              \
    log_->calls.push_back({.kind = Kind::kLaunch, .kernel = #Name}); \
    return Do([=] {                                                  \
      LaunchOn(nullptr, p);                                          \
      return KernelStatus::Ok();                                     \
    });                                                              \
  }
#include "kernels/gpu/launches.def"
#undef TENON_GPU_LAUNCH

 private:
  KernelStatus Note(Kind kind) {
    log_->calls.push_back({.kind = kind});
    return KernelStatus::Ok();
  }
  // Kernels must not write behind what was allocated.
  void CheckGuard(const std::byte* begin) const {
    const std::byte* end = begin + log_->sizes.at(begin);
    if (std::all_of(end, end + kGuardBytes, [](std::byte b) { return b == std::byte{kFill}; }))
      return;
    std::fprintf(stderr, "emulated device: something was written behind %zu bytes of memory\n",
                 log_->sizes.at(begin));
    std::abort();
  }
  KernelStatus Do(std::function<KernelStatus()> work) {
    if (capturing_ != nullptr) {
      capturing_->work.push_back(std::move(work));
      return KernelStatus::Ok();
    }
    return compute_ ? work() : KernelStatus::Ok();
  }

  std::shared_ptr<Log> log_;
  bool compute_;
  std::unique_ptr<EmulatedGraph> capturing_;
  DeviceError* error_ = nullptr;
};

}  // namespace

int64_t Log::Count(Call::Kind kind) const {
  return std::count_if(calls.begin(), calls.end(), [&](const Call& c) { return c.kind == kind; });
}

int64_t Log::Launches(std::string_view kernel) const {
  return std::count_if(calls.begin(), calls.end(), [&](const Call& c) {
    return c.kind == Call::Kind::kLaunch && c.kernel == kernel;
  });
}

std::vector<std::string> Log::Kernels() const {
  std::vector<std::string> names;
  for (const Call& call : calls) {
    if (call.kind == Call::Kind::kLaunch) names.push_back(call.kernel);
  }
  return names;
}

bool Log::Holds(const void* at, size_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(at);
  auto block = sizes.upper_bound(begin);
  if (block == sizes.begin()) return false;
  --block;
  return begin + bytes <= block->first + block->second && begin < block->first + block->second;
}

KernelStatus EmulatedDevice::NewQueue(std::unique_ptr<Queue>* queue) {
  auto made = std::make_unique<EmulatedQueue>(log_, compute_);
  KernelStatus status = made->Open();
  *queue = std::move(made);
  return status;
}

}  // namespace tenon::kernels::gpu::testing
