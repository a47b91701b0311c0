// Compiled like device code (tests/CMakeLists.txt).
#include "tests/gpu/faulty_kernel.h"

#include "kernels/gpu/device/async_copy.h"
#include "kernels/gpu/emulator/emulator.h"

namespace tenon::kernels::gpu::emulator {

__global__ void Reverse(FaultyParams p) {
  __shared__ float tile[kThreads];
  const int thread = static_cast<int>(threadIdx.x), other = kThreads - 1 - thread;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads;
  for (int pass = 0; pass < 2; ++pass) {
    if (p.fault != Fault::kUnwrittenShared || thread != 7) tile[thread] = p.in[first + thread];
    if (p.fault != Fault::kNoBarrierAfterWriting) {
      if (p.fault != Fault::kDivergentBarrier || thread != 7) __syncthreads();
    }
    float* out = p.out + first;
    if (p.fault == Fault::kBlocksMeet) out = p.out;
    if (p.fault == Fault::kBeyondTheEnd && thread == kThreads - 1) out = p.out + p.n - thread;
    if (p.fault == Fault::kHostMemory) out = p.host;
    out[thread] = tile[other];
    if (p.fault != Fault::kNoBarrierAfterReading) __syncthreads();
  }
}

__global__ void ReverseCopied(FaultyParams p) {
  alignas(16) __shared__ float tile[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads;
  for (int pass = 0; pass < 2; ++pass) {
    if (thread % 4 == 0) CopyAsync(tile + thread, p.in + first + thread);
    EndCopies();
    if (p.fault == Fault::kNoWaitForCopies) {
      WaitForCopies<2>();
    } else {
      WaitForCopies<0>();
    }
    __syncthreads();
    p.out[first + thread] = tile[kThreads - 1 - thread];
    if (p.fault != Fault::kNoBarrierAfterReading) __syncthreads();
  }
}

}  // namespace tenon::kernels::gpu::emulator
