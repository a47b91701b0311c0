// Conversions from and to 16-bit floats. Those from and to f32 are compiled for two instruction
// sets.
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

// True for a cast between f16 or bf16 and any type, itself and each other included.
bool IsHalfCast(DType from, DType to);
// Runs a call of ten.cast for which IsHalfCast holds.
void RunHalfCast(const RunArgs& args);

// Each returns the loops of one instruction set.
HalfCasts PortableHalfCasts();
HalfCasts Avx2HalfCasts();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_HALF_CAST_H_
