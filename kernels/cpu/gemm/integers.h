// Products of bytes, c (i, j) = sum over p of (a (i, p) - a_zero) * (b (p, j) - b_zero (j)), whose
// sums are integers of 32 bits that wrap around. In the place of floats, Gemm takes four bytes of
// each factor where the CPU has an instruction for them (AVX-512 VNNI), elsewhere pairs of integers
// of 16 bits, which hold every byte less its zero point.
#ifndef TENON_KERNELS_CPU_GEMM_INTEGERS_H_
#define TENON_KERNELS_CPU_GEMM_INTEGERS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/cpu/gemm/tile.h"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// For the active instruction set.
const IntegerKernels& ActiveIntegerKernels();

// Bytes of a tensor of dtype ui8 or i8, and their zero points of the same dtype: one for all, or
// one for each column of b.
struct ByteMatrix {
  const void* data = nullptr;  // [k, n], row-major
  bool is_signed = false;
  const void* zero = nullptr;
  bool zero_each = false;
};

// Of bytes with a sign or without: the same bytes are packed differently.
std::string PackedLayoutOfBytes(bool is_signed, int64_t k, int64_t n);
size_t PackedSizeOfBytes(int64_t k, int64_t n);
void PackBytes(const ByteMatrix& b, int64_t k, int64_t n, std::byte* packed, ParallelFor& parallel);

struct ByteGemm {
  int64_t m = 0, n = 0, k = 0;
  ByteMatrix a;                       // [m, k]; one zero point
  const std::byte* packed = nullptr;  // what PackBytes wrote
  void* c = nullptr;                  // [m, n] of i32, or of f32 to which the sums are rounded
  bool to_float = false;
};

// Bytes of scratch that MultiplyBytes needs, aligned to 64.
size_t ScratchOfBytes(int64_t m, int64_t n, int64_t k);
void MultiplyBytes(const ByteGemm& args, std::byte* scratch, ParallelFor& parallel);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_INTEGERS_H_
