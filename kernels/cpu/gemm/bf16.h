// Products of bfloat16 numbers with sums in float: Gemm with GemmElement::kBf16Pair. Neighbours
// along k make a pair, which takes the place of a float; a missing last one is 0.
#ifndef TENON_KERNELS_CPU_GEMM_BF16_H_
#define TENON_KERNELS_CPU_GEMM_BF16_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// Whether the CPU multiplies bfloat16 numbers; nothing else here may be used if not.
bool HasBf16();

inline int64_t Bf16Pairs(int64_t k) { return (k + 1) / 2; }

// Element (p, j) of b is the bfloat16 number with the bits b[p * row + j * col].
struct Bf16Matrix {
  const uint16_t* data = nullptr;
  int64_t row = 0, col = 0;
};

std::string PackedLayoutOfBf16B(int64_t k, int64_t n);
// PackedBytesOfB(Bf16Pairs(k), n) bytes.
void PackBf16B(const Bf16Matrix& b, int64_t k, int64_t n, float* packed, ParallelFor& parallel);

// Rows of a at a distance that suits the caches.
int64_t Bf16RowOfA(int64_t k);
// Rounds rows of k floats to rows of pairs, Bf16RowOfA(k) apart.
void ConvertToBf16(const float* a, int64_t m, int64_t k, float* pairs, ParallelFor& parallel);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_BF16_H_
