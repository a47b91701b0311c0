// Products with a matrix b of int8 numbers that have a factor for each column and group of rows:
// b (p, j) = values (p, j) * scale (p / group, j). Sums are of floats.
#ifndef TENON_KERNELS_CPU_GEMM_INT8_H_
#define TENON_KERNELS_CPU_GEMM_INT8_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ir/core/ceil_div.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// The shape of b; group: rows that share their factors, from 1 to k.
struct Int8Shape {
  int64_t k = 0, n = 0, group = 0;

  int64_t groups() const { return CeilDiv(k, group); }
};

std::string PackedLayoutOfInt8B(const Int8Shape& shape);
size_t PackedBytesOfInt8B(const Int8Shape& shape);
// values (p, j) at values[p * row + j * col]; scale [groups, n] row-major.
void PackInt8B(const Int8Shape& shape, const int8_t* values, int64_t row, int64_t col,
               const float* scale, std::byte* packed, ParallelFor& parallel);

// Few rows stream the int8 numbers. More rows than 48 (in AVX-512) turn some strips of them into
// floats at a time, in `scratch`; there the work is divided into so many parts.
struct Int8Plan {
  int64_t parts = 1;
  int64_t strips_each = 1;
  size_t scratch_bytes = 0;
};
Int8Plan PlanInt8Gemm(int64_t m, const Int8Shape& shape, int threads);

// args.k and args.n are those of the shape; a is not packed, and b unused.
void Int8Gemm(const GemmArgs& args, const Int8Shape& shape, const std::byte* packed,
              const Int8Plan& plan, float* scratch, ParallelFor& parallel);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_INT8_H_
