// Vectors of floats of the instruction set that the including file is compiled for. Everything is
// local to that file: code for one instruction set must not be merged with code for another.
#ifndef TENON_KERNELS_CPU_CONV_VECTOR_INL_H_
#define TENON_KERNELS_CPU_CONV_VECTOR_INL_H_

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace tenon::kernels::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

using Vec = float __attribute__((vector_size(4 * kLanes)));
// May lie at any address of a float. Clang takes the alignment of a typedef only, and of a vector
// that has a name.
typedef Vec UnalignedVec __attribute__((aligned(alignof(float)), may_alias));  // NOLINT

inline Vec Load(const float* p) { return *reinterpret_cast<const UnalignedVec*>(p); }
inline void Store(float* p, Vec v) { *reinterpret_cast<UnalignedVec*>(p) = v; }

// The first n lanes; the others are 0 and are not written.
#if defined(__AVX512F__)
inline Vec Set(float x) { return _mm512_set1_ps(x); }
inline Vec LoadPart(const float* p, int64_t n) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
}
inline void StorePart(float* p, Vec v, int64_t n) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), v);
}
inline Vec Fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
// A NaN in x stays: the instruction returns its second operand where one is NaN. Compilers make
// comparisons and blends of the operators.
inline Vec AtLeast(Vec x, Vec low) { return _mm512_max_ps(low, x); }
inline Vec AtMost(Vec x, Vec high) { return _mm512_min_ps(high, x); }
#elif defined(__AVX2__)
inline __m256i LaneMask(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Vec Set(float x) { return _mm256_set1_ps(x); }
inline Vec LoadPart(const float* p, int64_t n) { return _mm256_maskload_ps(p, LaneMask(n)); }
inline void StorePart(float* p, Vec v, int64_t n) { _mm256_maskstore_ps(p, LaneMask(n), v); }
inline Vec Fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec AtLeast(Vec x, Vec low) { return _mm256_max_ps(low, x); }  // as above
inline Vec AtMost(Vec x, Vec high) { return _mm256_min_ps(high, x); }
#else
inline Vec Set(float x) { return Vec{x, x, x, x}; }
inline Vec LoadPart(const float* p, int64_t n) {
  Vec v{};
  for (int64_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}
inline void StorePart(float* p, Vec v, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = v[i];
}
inline Vec Fma(Vec a, Vec b, Vec c) { return a * b + c; }
inline Vec AtLeast(Vec x, Vec low) { return x < low ? low : x; }
inline Vec AtMost(Vec x, Vec high) { return x > high ? high : x; }
#endif

#if !defined(__AVX512F__)
using Bits = uint32_t __attribute__((vector_size(4 * kLanes)));
// x * 2^n for the n + 254 in the lowest nine bits; two factors, because 2^n itself may not be
// representable. NaN stays whatever it is multiplied with.
inline Vec ScaleByBits(Vec x, Vec bits) {
  const auto sum = reinterpret_cast<Bits>(bits), half = sum >> 1;
  return x * reinterpret_cast<Vec>(half << 23) * reinterpret_cast<Vec>((sum - half) << 23);
}
#endif

// The operations for what is written over a struct of them (kernels/cpu/gemm/activation-inl.h).
struct V {
  using Reg = Vec;
  static constexpr int kLanes = cpu::kLanes;

  static Reg Zero() { return Vec{}; }
  static Reg Set(float x) { return cpu::Set(x); }
  static Reg Load(const float* p) { return cpu::Load(p); }
  static Reg LoadN(const float* p, int64_t n) { return LoadPart(p, n); }
  static void Store(float* p, Reg x) { cpu::Store(p, x); }
  static void StoreN(float* p, Reg x, int64_t n) { StorePart(p, x, n); }
  static Reg Fma(Reg a, Reg b, Reg c) { return cpu::Fma(a, b, c); }
  static Reg MaxKeepingNan(Reg x, Reg bound) { return AtLeast(x, bound); }
  static Reg MinKeepingNan(Reg x, Reg bound) { return AtMost(x, bound); }
  static Reg IfLess(Reg a, Reg b, Reg x, Reg y) { return a < b ? x : y; }
#if defined(__AVX512F__)
  static constexpr int kLookups = 16;
  static Reg Abs(Reg x) { return _mm512_abs_ps(x); }
  static Reg ScaleFloor(Reg x, Reg n) { return _mm512_scalef_ps(x, n); }
  // table[the lowest four bits of index].
  static Reg Lookup(const float (&table)[16], Reg index) {
    return _mm512_permutexvar_ps(_mm512_castps_si512(index), _mm512_load_ps(table));
  }
#else
  static constexpr int kLookups = 0;
  static Reg ScaleByBits(Reg x, Reg bits) { return cpu::ScaleByBits(x, bits); }
#endif
};

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_VECTOR_INL_H_
