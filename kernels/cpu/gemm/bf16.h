// Products of bfloat16 numbers with sums in float: Gemm with GemmElement::kBf16Pair. Neighbours
// along k make a pair, which takes the place of a float; a missing last one is 0.
#ifndef TENON_KERNELS_CPU_GEMM_BF16_H_
#define TENON_KERNELS_CPU_GEMM_BF16_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// True if the CPU multiplies bfloat16 numbers. Otherwise no other function here may be used.
bool HasBf16();

// Returns the number of pairs of k numbers.
inline int64_t Bf16Pairs(int64_t k) { return (k + 1) / 2; }

// A matrix of bfloat16 numbers. Element (p, j) has the bits data[p * row + j * col].
struct Bf16Matrix {
  const uint16_t* data = nullptr;
  int64_t row = 0, col = 0;
};

// Returns the layout for PrepareArgs::Pack.
std::string PackedLayoutOfBf16B(int64_t k, int64_t n);
// Packs b into PackedBytesOfB(Bf16Pairs(k), n) bytes.
void PackBf16B(const Bf16Matrix& b, int64_t k, int64_t n, float* packed, ParallelFor& parallel);

// Returns a distance of rows of a, in pairs, that suits the caches.
int64_t Bf16RowOfA(int64_t k);
// Rounds rows of k floats to rows of pairs, Bf16RowOfA(k) apart.
void ConvertToBf16(const float* a, int64_t m, int64_t k, float* pairs, ParallelFor& parallel);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_BF16_H_
