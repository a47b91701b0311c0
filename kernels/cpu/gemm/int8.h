// Products with a matrix b of int8 numbers that have a factor for each column and group of rows:
// b (p, j) = values (p, j) * scale (p / group, j). Sums are of floats.
#ifndef TENON_KERNELS_CPU_GEMM_INT8_H_
#define TENON_KERNELS_CPU_GEMM_INT8_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ir/base/ceil_div.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// The shape of b; group: rows that share their factors, from 1 to k.
struct Int8Shape {
  int64_t k = 0, n = 0, group = 0;

  // The number of groups of rows.
  int64_t groups() const { return CeilDiv(k, group); }
};

std::string PackedLayoutOfInt8B(const Int8Shape& shape);  // the layout for PrepareArgs::Pack
size_t PackedBytesOfInt8B(const Int8Shape& shape);        // the size of packed b
// Packs b. Value (p, j) is values[p * row + j * col]; `scale` is [groups, n], row-major.
void PackInt8B(const Int8Shape& shape, const int8_t* values, int64_t row, int64_t col,
               const float* scale, std::byte* packed, ParallelFor& parallel);

// The division of a product. Products of few rows stream the int8 numbers. Products of many rows
// (more than 48 with AVX-512) convert some strips at a time to floats, in scratch memory.
struct Int8Plan {
  int64_t parts = 1;         // parts of the work, for many rows
  int64_t strips_each = 1;   // strips that are converted at a time
  size_t scratch_bytes = 0;  // size of the scratch memory
};
// Returns the plan for m rows on so many threads.
Int8Plan PlanInt8Gemm(int64_t m, const Int8Shape& shape, int threads);

// Computes a product. args.k and args.n must be those of the shape. a is not packed, and args.b is
// not used.
void Int8Gemm(const GemmArgs& args, const Int8Shape& shape, const std::byte* packed,
              const Int8Plan& plan, float* scratch, ParallelFor& parallel);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_INT8_H_
