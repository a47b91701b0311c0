// Runs device code on the host, so that tests compare kernels with the reference kernels without a
// GPU. Each thread of a block is a fiber, and blocks run one after the other, on one host thread.
//
// Threads take turns in order, in reverse or at random, and blocks run in order or in reverse.
// Every access to memory is checked for races with other threads and blocks (memory_check.h). A
// barrier or shuffle that not all threads reach ends the program with a message; a GPU would hang
// or give wrong results. A launch beyond the limits of a GPU ends it, too.
//
// device_code.h includes this file if the compiler is not nvcc.
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

// The x of a CUDA index; y and z are not emulated.
struct Index {
  unsigned x;
};
Index ThreadIndex();  // threadIdx
Index BlockIndex();   // blockIdx
Index BlockSize();    // blockDim
Index GridSize();     // gridDim

// Calls `thread` for every thread of every block. `threads` is a multiple of 32. `params` are the
// parameters of the kernel.
void Run(const char* name, const void* kernel, int64_t blocks, int64_t threads, size_t shared_bytes,
         const void* params, size_t params_bytes, const std::function<void()>& thread);
// Sets the largest dynamic shared memory of the kernel, as cudaFuncSetAttribute does.
void AllowShared(const void* kernel, size_t bytes);
float* DynamicShared();  // filled with NaN before each block
void BlockBarrier();     // __syncthreads
// Exchanges a word among all lanes of the warp. Returns the word of `lane`.
uint64_t PickWord(uint64_t word, unsigned lane);
bool AnyOf(bool value);  // true if any lane of the warp has true
unsigned Lane();         // of the calling thread in its warp
// Copies of a thread that arrive when it waits for them, in groups (async_copy.h).
struct Copy {
  void* to;
  const void* from;
};
void CopyLater(void* to, const void* from);
void EndCopies();
// Takes the oldest copy, unless it is of the last `pending` groups.
bool TakeCopy(unsigned pending, Copy& copy);
int CompareAndSwap(int* at, int expected, int value);  // returns what was there

// The same as PickWord for a value of at most 8 bytes.
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
// Returns four bytes of y:x. Each hexadecimal digit of `selector` is the number of a byte.
inline uint32_t __byte_perm(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t both = uint64_t{y} << 32 | x;
  uint32_t picked = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t from = selector >> (4 * i) & 7;
    picked |= static_cast<uint32_t>(both >> (8 * from) & 0xff) << (8 * i);
  }
  return picked;
}
// Returns the sum plus the products of four signed bytes. It wraps around.
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
