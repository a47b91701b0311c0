// Runs device code on the host, so that kernels can be compared with the reference kernels without
// a GPU: each thread of a block is a fibre, blocks run one after the other. Barriers and shuffles
// that not all threads reach, which hang a GPU or give wrong results there, end the program with a
// message, and so do launches beyond a GPU's limits. Threads take turns in order, backwards, or
// anyhow, and blocks too run forwards or backwards; every access to memory is checked for races
// with other threads and blocks (memory_check.h).
// Included by device_code.h where the compiler is not nvcc; for tests, on one host thread.
#ifndef TENON_KERNELS_GPU_EMULATOR_EMULATOR_H_
#define TENON_KERNELS_GPU_EMULATOR_EMULATOR_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "kernels/gpu/emulator/launch.h"
#include "kernels/half.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static  // one block at a time
#define __launch_bounds__(...)
#define TENON_GRID_CONSTANT const
#define TENON_DYNAMIC_SHARED_FLOATS(name) \
  float* name = ::tenon::kernels::gpu::emulator::DynamicShared()
#define TENON_LAUNCH(kernel, blocks, threads, shared, stream, params)                              \
  ::tenon::kernels::gpu::emulator::Launch(                                                         \
      stream, [given = params, grid = static_cast<int64_t>(blocks),                                \
               block = static_cast<int64_t>(threads), bytes = static_cast<size_t>(shared)] {       \
        ::tenon::kernels::gpu::emulator::Run(#kernel, reinterpret_cast<const void*>(kernel), grid, \
                                             block, bytes, &given, sizeof(given),                  \
                                             [&given] { (kernel)(given); });                       \
      })
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

// Calls `thread` for every thread of every block. `threads` is a multiple of 32. The kernel reads
// what it is given at `params`.
void Run(const char* name, const void* kernel, int64_t blocks, int64_t threads, size_t shared_bytes,
         const void* params, size_t params_bytes, const std::function<void()>& thread);
// As cudaFuncSetAttribute: launches of the kernel may take so much dynamic shared memory.
void AllowShared(const void* kernel, size_t bytes);
float* DynamicShared();  // filled with NaN before each block
void BlockBarrier();
// All lanes of the warp bring a word; gives that of `lane`.
uint64_t PickWord(uint64_t word, unsigned lane);
bool AnyOf(bool value);  // of all lanes
unsigned Lane();
int CompareAndSwap(int* at, int expected, int value);  // returns what was there

template <typename T>
T Pick(T value, unsigned lane) {
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = PickWord(word, lane);
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
  return ::tenon::kernels::gpu::emulator::AnyOf(value) ? 1 : 0;
}
// Each byte of the result is that of y:x which a digit of `selector` names.
inline uint32_t __byte_perm(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t both = uint64_t{y} << 32 | x;
  uint32_t picked = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t from = selector >> (4 * i) & 7;
    picked |= static_cast<uint32_t>(both >> (8 * from) & 0xff) << (8 * i);
  }
  return picked;
}
// sum + the products of four signed bytes; wraps around.
inline int32_t __dp4a(int32_t a, int32_t b, int32_t sum) {
  for (int i = 0; i < 4; ++i) {
    const auto at = [i](int32_t word) { return int32_t{static_cast<int8_t>(word >> (8 * i))}; };
    sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(at(a) * at(b)));
  }
  return sum;
}
inline int atomicCAS(int* at, int expected, int value) {
  return ::tenon::kernels::gpu::emulator::CompareAndSwap(at, expected, value);
}

#endif  // TENON_KERNELS_GPU_EMULATOR_EMULATOR_H_
