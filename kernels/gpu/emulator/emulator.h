// Runs device code on the host, so that kernels can be compared with the reference kernels without
// a GPU: each thread of a block is a fibre, blocks run one after the other. Barriers and shuffles
// that not all threads reach, which hang a GPU or give wrong results there, end the program with a
// message, and so do launches beyond a GPU's limits. Threads take turns in order in one block and
// in the opposite order in the next, so that a barrier that is missing shows in the results.
// Included by device_code.h where the compiler is not nvcc; for tests, on one host thread.
#ifndef TENON_KERNELS_GPU_EMULATOR_EMULATOR_H_
#define TENON_KERNELS_GPU_EMULATOR_EMULATOR_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "kernels/half.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static  // one block at a time
#define __launch_bounds__(...)
#define TENON_GRID_CONSTANT const
#define TENON_DYNAMIC_SHARED_FLOATS(name) \
  float* name = ::tenon::kernels::gpu::emulator::DynamicShared()
#define TENON_LAUNCH(kernel, blocks, threads, shared, stream, params)       \
  (static_cast<void>(stream),                                               \
   ::tenon::kernels::gpu::emulator::Run(                                    \
       reinterpret_cast<const void*>(kernel), static_cast<int64_t>(blocks), \
       static_cast<int64_t>(threads), static_cast<size_t>(shared), [&] { (kernel)(params); }))
#define TENON_ALLOW_SHARED(kernel, bytes)                                             \
  ::tenon::kernels::gpu::emulator::AllowShared(reinterpret_cast<const void*>(kernel), \
                                               static_cast<size_t>(bytes))
#define threadIdx (::tenon::kernels::gpu::emulator::ThreadIndex())
#define blockIdx (::tenon::kernels::gpu::emulator::BlockIndex())
#define blockDim (::tenon::kernels::gpu::emulator::BlockSize())
#define gridDim (::tenon::kernels::gpu::emulator::GridSize())

namespace tenon::kernels::gpu::emulator {

struct Index {
  unsigned x;
};
Index ThreadIndex();
Index BlockIndex();
Index BlockSize();
Index GridSize();

// Calls `thread` for every thread of every block. `threads` is a multiple of 32.
void Run(const void* kernel, int64_t blocks, int64_t threads, size_t shared_bytes,
         const std::function<void()>& thread);
// As cudaFuncSetAttribute: launches of the kernel may take so much dynamic shared memory.
void AllowShared(const void* kernel, size_t bytes);
float* DynamicShared();  // filled with NaN before each block
void BlockBarrier();
// Gives every lane of the warp the words that all lanes bring.
const uint64_t* Exchange(uint64_t word);
unsigned Lane();

template <typename T>
T Pick(T value, unsigned lane) {
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = Exchange(word)[lane % 32];
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

}  // namespace tenon::kernels::gpu::emulator

inline void __syncthreads() { ::tenon::kernels::gpu::emulator::BlockBarrier(); }
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return ::tenon::kernels::gpu::emulator::Pick(
      value, ::tenon::kernels::gpu::emulator::Lane() ^ static_cast<unsigned>(mask));
}
template <typename T>
T __shfl_sync(unsigned, T value, int lane) {
  return ::tenon::kernels::gpu::emulator::Pick(value, static_cast<unsigned>(lane));
}
inline int __any_sync(unsigned, bool value) {
  const uint64_t* all = ::tenon::kernels::gpu::emulator::Exchange(value ? 1 : 0);
  bool any = false;
  for (int lane = 0; lane < 32; ++lane) any |= all[lane] != 0;
  return any ? 1 : 0;
}
inline int atomicCAS(int* at, int expected, int value) {
  const int old = *at;
  if (old == expected) *at = value;
  return old;
}

#endif  // TENON_KERNELS_GPU_EMULATOR_EMULATOR_H_
