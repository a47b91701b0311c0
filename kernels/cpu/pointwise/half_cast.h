// Conversions between f32 and its 16-bit relatives, row by row. Compiled for two instruction sets.
#ifndef TENON_KERNELS_CPU_POINTWISE_HALF_CAST_H_
#define TENON_KERNELS_CPU_POINTWISE_HALF_CAST_H_

#include <cstdint>

#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// The loops of one instruction set. Each converts n elements. Conversions to 16 bits round to
// nearest even. A NaN stays a NaN.
struct HalfCasts {
  void (*f16_to_f32)(const uint16_t* from, float* to, int64_t n);
  void (*f32_to_f16)(const float* from, uint16_t* to, int64_t n);
  void (*bf16_to_f32)(const uint16_t* from, float* to, int64_t n);
  void (*f32_to_bf16)(const float* from, uint16_t* to, int64_t n);
};

// True for a cast from f32 to f16 or bf16, and back.
bool IsHalfCast(DType from, DType to);
// Runs a call of ten.cast for which IsHalfCast holds.
void RunHalfCast(const RunArgs& args);

// Each returns the loops of one instruction set.
HalfCasts PortableHalfCasts();
HalfCasts Avx2HalfCasts();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_HALF_CAST_H_
