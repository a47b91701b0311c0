// Copies from device memory to shared memory that go on while a thread computes (cp.async). They
// pass by the registers. For the .cu files only: what the emulator does is checked like their code.
#ifndef TENON_KERNELS_GPU_DEVICE_ASYNC_COPY_H_
#define TENON_KERNELS_GPU_DEVICE_ASYNC_COPY_H_

#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {

// Starts to copy 16 bytes to shared memory. Both addresses are multiples of 16. Nobody may touch
// `to` from now until the thread has waited for the copy; other threads see it after a barrier.
template <typename T>
__device__ inline void CopyAsync(T* to, const T* from) {
#if defined(__CUDACC__)
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(__cvta_generic_to_global(from))
               : "memory");
#else
  // A copy may arrive at once, and may be late. Until then there is NaN, whatever the type.
  *reinterpret_cast<Pack<uint64_t, 2>*>(to) = {{~uint64_t{0}, ~uint64_t{0}}};
  emulator::CopyLater(to, from);
#endif
}
// Ends a group of copies: those of the thread since the group before, if any.
__device__ inline void EndCopies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;\n" ::: "memory");
#else
  emulator::EndCopies();
#endif
}
// Waits for all groups of the thread but the last `kPending`.
template <int kPending>
__device__ inline void WaitForCopies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
#else
  emulator::Copy copy;
  while (emulator::TakeCopy(kPending, copy)) {
    *static_cast<Pack<uint64_t, 2>*>(copy.to) = *As<Pack<uint64_t, 2> >(copy.from);
  }
#endif
}

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_DEVICE_ASYNC_COPY_H_
