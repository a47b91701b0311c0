// A GPU that runs on the CPU and writes down what it is asked for: the plugin's device code under
// the emulator, and products by plain loops. Its memory is apart from the host's, and every address
// is checked.
#ifndef TENON_TESTS_GPU_EMULATED_DEVICE_H_
#define TENON_TESTS_GPU_EMULATED_DEVICE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/gpu/queue.h"

namespace tenon::kernels::gpu::testing {

// One call. What it is about follows from the kind.
struct Call {
  enum class Kind : uint8_t {
    kAllocate,
    kFree,
    kAllocatePinned,
    kToDevice,
    kToHost,
    kOnDevice,
    kLaunch,
    kRecord,
    kWait,
    kSynchronize,
    kBeginCapture,
    kEndCapture,
    kReplay,
  };
  Kind kind;
  std::string kernel{};        // kLaunch
  const void* to = nullptr;    // copies
  const void* from = nullptr;  // copies
  size_t bytes = 0;            // allocations and copies
};

// What all queues of a device have done, and its memory.
struct Log {
  std::vector<Call> calls;
  std::map<const std::byte*, std::unique_ptr<std::byte[]>> blocks;  // by their first byte
  std::map<const std::byte*, size_t> sizes;
  size_t live_bytes = 0;
  bool refuses_capture = false;

  int64_t Count(Call::Kind kind) const;
  int64_t Launches(std::string_view kernel) const;
  std::vector<std::string> Kernels() const;  // in order
  // Is [at, at + bytes) inside of one allocation of the device?
  bool Holds(const void* at, size_t bytes) const;
};

class EmulatedDevice : public Device {
 public:
  // `compute`: false where only the calls matter; results are then whatever memory held.
  explicit EmulatedDevice(bool compute = true) : compute_(compute) {}
  std::string name() const override { return "emulated"; }
  KernelStatus NewQueue(std::unique_ptr<Queue>* queue) override;
  Log& log() { return *log_; }

 private:
  bool compute_;
  std::shared_ptr<Log> log_ = std::make_shared<Log>();
};

}  // namespace tenon::kernels::gpu::testing

#endif  // TENON_TESTS_GPU_EMULATED_DEVICE_H_
