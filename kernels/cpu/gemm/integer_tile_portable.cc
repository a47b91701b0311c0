// Products of pairs of 16-bit integers.
#include "kernels/cpu/gemm/portable-inl.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tenon::kernels::cpu {
namespace {

struct V : Portable {
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

#include "kernels/cpu/gemm/tile-inl.h"
// After the tiles:
#include "kernels/cpu/gemm/integer_tile-inl.h"

namespace tenon::kernels::cpu {
namespace {

constexpr IntegerKernels kKernels = MakeIntegerKernels();

}  // namespace

const IntegerKernels& IntegerKernelsPortable() { return kKernels; }

}  // namespace tenon::kernels::cpu
