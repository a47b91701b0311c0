#include <immintrin.h>

#include "kernels/cpu/pointwise/byte_table.h"

namespace tenon::kernels::cpu {
namespace {

// Two halves of the table are chosen from by seven bits each; the eighth chooses the half.
[[gnu::target("avx512vbmi")]] void LookUpVectors(const uint8_t* table, const uint8_t* x,
                                                 uint8_t* to, int64_t n) {
  const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
  const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
  for (int64_t i = 0; i < n; i += 64) {
    const __mmask64 mask = n - i >= 64 ? ~__mmask64{0} : (__mmask64{1} << (n - i)) - 1;
    const __m512i at = _mm512_maskz_loadu_epi8(mask, x + i);
    const __m512i low = _mm512_permutex2var_epi8(a, at, b);
    const __m512i high = _mm512_permutex2var_epi8(c, at, d);
    _mm512_mask_storeu_epi8(to + i, mask,
                            _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
  }
}

}  // namespace

LookUpBytes LookUpBytesAvx512Vnni() {
  return __builtin_cpu_supports("avx512vbmi") ? &LookUpVectors : nullptr;
}

}  // namespace tenon::kernels::cpu
