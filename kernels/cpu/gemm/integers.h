// Products of bytes: c (i, j) = sum over p of (a (i, p) - a_zero) * (b (p, j) - b_zero (j)). Sums
// are 32-bit integers that wrap around. With AVX-512 VNNI, an element of Gemm is four bytes of each
// factor. Otherwise it is two 16-bit integers, which hold every byte less its zero point.
#ifndef TENON_KERNELS_CPU_GEMM_INTEGERS_H_
#define TENON_KERNELS_CPU_GEMM_INTEGERS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/cpu/gemm/tile.h"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// Returns the loops for the active instruction set.
const IntegerKernels& ActiveIntegerKernels();

// A tensor of ui8 or i8, and its zero points of the same type.
struct ByteMatrix {
  const void* data = nullptr;  // [k, n], row-major
  bool is_signed = false;      // i8
  const void* zero = nullptr;  // the zero point, or one for each column
  bool zero_each = false;      // there is one for each column
};

// Returns the layout for PrepareArgs::Pack. It depends on the sign of the bytes.
std::string PackedLayoutOfBytes(bool is_signed, int64_t k, int64_t n);
size_t PackedSizeOfBytes(int64_t k, int64_t n);  // the size of packed b
// Packs b.
void PackBytes(const ByteMatrix& b, int64_t k, int64_t n, std::byte* packed, ParallelFor& parallel);

// A product of bytes.
struct ByteGemm {
  int64_t m = 0, n = 0, k = 0;        // c is m x n; k counts bytes
  ByteMatrix a;                       // [m, k]; one zero point
  const std::byte* packed = nullptr;  // the result of PackBytes
  void* c = nullptr;                  // [m, n], i32 or f32
  bool to_float = false;              // c is f32: the sums are rounded
};

// Returns the bytes of scratch memory for MultiplyBytes, which must be aligned to 64.
size_t ScratchOfBytes(int64_t m, int64_t n, int64_t k);
// Computes a product.
void MultiplyBytes(const ByteGemm& args, std::byte* scratch, ParallelFor& parallel);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_INTEGERS_H_
