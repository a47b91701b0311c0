// What products of bytes need besides tiles: included after tile-inl.h, as that is.
#ifndef TENON_KERNELS_CPU_GEMM_INTEGER_TILE_INL_H_
#define TENON_KERNELS_CPU_GEMM_INTEGER_TILE_INL_H_

#include <cstdint>

#include "kernels/cpu/gemm/registers-inl.h"
#include "kernels/cpu/gemm/tile.h"

namespace tenon::kernels::cpu {
namespace {

void FinishIntegers(const IntegerFinish& finish) {
  const IntegerFinish f = finish;  // the compiler knows that what is stored does not change it
  constexpr int kLanes = V::kLanes;
  for (int64_t i = 0; i < f.rows; ++i) {
    const V::Reg row = f.row == nullptr ? V::Zero() : V::SetInt(f.row[i]);
    for (int64_t j = 0; j < f.cols; j += kLanes) {
      const int64_t left = Clamp(f.cols - j, 0, kLanes);
      V::Reg x = V::LoadN(f.x + i * f.x_row + j, left);
      if (f.row != nullptr) {
        x = V::SubProduct(x, row, V::LoadN(reinterpret_cast<const float*>(f.col + j), left));
      }
      V::StoreN(f.y + i * f.y_row + j, f.to_float ? V::FromInt(x) : x, left);
    }
  }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")  // below that GCC leaves loops of bytes scalar
#endif

[[maybe_unused]] void FlipBytes(const uint8_t* x, bool is_signed, int, int64_t n, void* out) {
  auto* y = static_cast<uint8_t*>(out);
  const uint8_t flip = is_signed ? 0x80 : 0;
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] ^ flip;
}

[[maybe_unused]] void WidenBytes(const uint8_t* x, bool is_signed, int zero, int64_t n, void* out) {
  auto* y = static_cast<int16_t*>(out);
  // (x ^ 0x80) - 0x80 is the signed number.
  const int flip = is_signed ? 0x80 : 0;
  const auto offset = static_cast<int16_t>(flip + zero);
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int16_t>((x[i] ^ flip) - offset);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

constexpr IntegerKernels MakeIntegerKernels() {
  IntegerKernels kernels;
  kernels.gemm = MakeTiles();
  kernels.gemm.finish_integers = &FinishIntegers;
  kernels.depth = V::kDepth;
  kernels.convert = V::kDepth == 4 ? &FlipBytes : &WidenBytes;
  return kernels;
}

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_INTEGER_TILE_INL_H_
