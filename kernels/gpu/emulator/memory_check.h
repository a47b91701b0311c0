// Checks every access to memory of device code. Device code is compiled with -fsanitize=thread, so
// that the compiler inserts a call before each access. Functions of this file answer these calls in
// place of the sanitizer's library, which does not know blocks and barriers.
#ifndef TENON_KERNELS_GPU_EMULATOR_MEMORY_CHECK_H_
#define TENON_KERNELS_GPU_EMULATOR_MEMORY_CHECK_H_

#include <cstddef>
#include <cstdint>

namespace tenon::kernels::gpu::emulator {

// Adds memory of the emulated device. Kernels may access this memory, the shared memory of their
// block and their own stack, and may read constants.
void AddMemory(const void* begin, size_t bytes);
void RemoveMemory(const void* begin);  // memory of AddMemory

// Addresses [begin, end).
struct Range {
  uintptr_t begin = 0, end = 0;
  // True if the bytes at `at` are within the range.
  bool Has(uintptr_t at, size_t bytes) const { return at >= begin && at + bytes <= end; }
};
// Returns the addresses of `bytes` bytes.
inline Range RangeOf(const void* begin, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  return {at, at + bytes};
}

// The emulator reports its progress by these functions. A phase is the time between two barriers of
// a block. The program ends with a message if
//  - two threads of a block access the same byte in one phase, and one of them writes it,
//  - two blocks of a launch access the same byte of device memory, and one of them writes it,
//  - a thread reads a byte of shared memory that no thread of the block has written,
//  - an address does not belong to the device.
// A shuffle orders no memory.
void BeginLaunch(const char* kernel, Range params);
void BeginBlock(unsigned block, Range dynamic_shared);
void NextPhase();
void EnterThread(unsigned thread, Range stack);
// Host code follows. It is not checked.
void LeaveThread();

}  // namespace tenon::kernels::gpu::emulator

#endif  // TENON_KERNELS_GPU_EMULATOR_MEMORY_CHECK_H_
