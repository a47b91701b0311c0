// A kernel that is right, or has one of the faults that the emulator is there to find.
#ifndef TENON_TESTS_GPU_FAULTY_KERNEL_H_
#define TENON_TESTS_GPU_FAULTY_KERNEL_H_

#include <cstdint>

namespace tenon::kernels::gpu::emulator {

inline constexpr int kThreads = 64;

enum class Fault {
  kNone,
  kNoBarrierAfterWriting,
  kNoBarrierAfterReading,
  kUnwrittenShared,
  kBlocksMeet,
  kBeyondTheEnd,
  kHostMemory,
  kDivergentBarrier,
  kNoWaitForCopies,
};
struct FaultyParams {
  Fault fault;
  const float* in;
  float* out;
  int64_t n;  // of both
  float* host;
};

// out = in, backwards within each block of kThreads, twice.
void Reverse(FaultyParams p);
// The same by asynchronous copies.
void ReverseCopied(FaultyParams p);

}  // namespace tenon::kernels::gpu::emulator

#endif  // TENON_TESTS_GPU_FAULTY_KERNEL_H_
