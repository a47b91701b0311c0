// Vectors of four integers of 32 bits in the bits of floats, for products of pairs of 16-bit
// integers.
#ifndef TENON_KERNELS_CPU_GEMM_PORTABLE_INTEGERS_INL_H_
#define TENON_KERNELS_CPU_GEMM_PORTABLE_INTEGERS_INL_H_

#include "kernels/cpu/gemm/portable-inl.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tenon::kernels::cpu {
namespace {

struct PortableIntegers : Portable {
  static constexpr int kDepth = 2;
  static Reg Dot(Reg a, Reg b, Reg sum) {
#if defined(__SSE2__)
    // What every x86-64 has; there is no product of integers of 32 bits.
    return Add(sum, reinterpret_cast<Reg>(_mm_madd_epi16(reinterpret_cast<__m128i>(a),
                                                         reinterpret_cast<__m128i>(b))));
#else
    const Int x = Ints(a), y = Ints(b);
    const Bits low = Low(x) * Low(y), high = Words(x >> 16) * Words(y >> 16);
    return reinterpret_cast<Reg>(Words(Ints(sum)) + low + high);
#endif
  }
  static Reg Add(Reg a, Reg b) { return reinterpret_cast<Reg>(Words(Ints(a)) + Words(Ints(b))); }
  static Reg SubProduct(Reg x, Reg a, Reg b) {
    return reinterpret_cast<Reg>(Words(Ints(x)) - Words(Ints(a)) * Words(Ints(b)));
  }
  static Reg SetInt(int32_t x) { return reinterpret_cast<Reg>(Int{x, x, x, x}); }
  static Reg FromInt(Reg x) { return __builtin_convertvector(Ints(x), Reg); }
  // The nearest integers, even ones of two, of numbers below 2^22: a float of that size has no
  // bits behind the point.
  static Reg ToInt(Reg x) {
    constexpr float kShift = 12582912.0f;  // 1.5 * 2^23
    const Reg shifted = x + kShift;
    return reinterpret_cast<Reg>(Words(Ints(shifted)) - uint32_t{0x4b400000});
  }
  // The lowest bytes of the first n <= kLanes lanes.
  static void StoreBytes(uint8_t* p, Reg x, int64_t n) {
    const Bits words = Words(Ints(x));
    for (int64_t i = 0; i < n && i < kLanes; ++i) p[i] = static_cast<uint8_t>(words[i]);
  }

 private:
  // Without a sign, so that sums wrap around.
  static Bits Words(Int x) { return reinterpret_cast<Bits>(x); }
  static Int Ints(Reg x) { return reinterpret_cast<Int>(x); }
  // The lower half with its sign.
  [[maybe_unused]] static Bits Low(Int x) {
    return Words(reinterpret_cast<Int>(Words(x) << 16) >> 16);
  }
};

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_GEMM_PORTABLE_INTEGERS_INL_H_
