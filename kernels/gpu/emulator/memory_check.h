// What device code does to memory, checked access by access. The compiler calls in before each one:
// device code is compiled for -fsanitize=thread, and the calls are answered here instead of by that
// sanitizer's library, which knows nothing of blocks and barriers.
#ifndef TENON_KERNELS_GPU_EMULATOR_MEMORY_CHECK_H_
#define TENON_KERNELS_GPU_EMULATOR_MEMORY_CHECK_H_

#include <cstddef>
#include <cstdint>

namespace tenon::kernels::gpu::emulator {

// Memory of the emulated device. Kernels may touch nothing else but this, their block's shared
// memory, their own stack, and, to read, constants.
void AddMemory(const void* begin, size_t bytes);
void RemoveMemory(const void* begin);

struct Range {
  uintptr_t begin = 0, end = 0;
  bool Has(uintptr_t at, size_t bytes) const { return at >= begin && at + bytes <= end; }
};
inline Range RangeOf(const void* begin, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  return {at, at + bytes};
}

// What the emulator tells of its progress. All threads of a block are between the same two
// barriers: that is a phase. Ends the program with a message where
//  - two threads of a block touch the same byte in one phase, and one of them writes it,
//  - two blocks of a launch touch the same byte of the device's memory, and one of them writes it,
//  - a byte of shared memory is read that no thread of the block has written,
//  - an address is none of the device's.
// A shuffle orders no memory.
void BeginLaunch(const char* kernel, Range params);
void BeginBlock(unsigned block, Range dynamic_shared);
void NextPhase();
void EnterThread(unsigned thread, Range stack);
// Host code runs, of which nothing is checked.
void LeaveThread();

}  // namespace tenon::kernels::gpu::emulator

#endif  // TENON_KERNELS_GPU_EMULATOR_MEMORY_CHECK_H_
