// The instruction sets of the vectorized loops. On x86 these are SSE4, AVX2, AVX-512 and a portable
// fallback. Others gain little for floats, and vectors of unknown length cannot be array elements.
// Include this before any Highway header.
#ifndef TENON_KERNELS_CPU_VECTOR_VECTOR_TARGETS_H_
#define TENON_KERNELS_CPU_VECTOR_VECTOR_TARGETS_H_

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#endif  // TENON_KERNELS_CPU_VECTOR_VECTOR_TARGETS_H_
