#include <immintrin.h>

#include "kernels/cpu/pointwise/half_cast.h"

namespace tenon::kernels::cpu {
namespace {

constexpr int64_t kLanes = 8;

// The last n % 8 elements go through buffers of a whole vector.
template <typename From, typename To, typename F>
void ForVectors(const From* from, To* to, int64_t n, F&& convert) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) convert(from + i, to + i);
  if (i == n) return;
  alignas(32) From in[kLanes] = {};
  alignas(32) To out[kLanes];
  __builtin_memcpy(in, from + i, static_cast<size_t>(n - i) * sizeof(From));
  convert(in, out);
  __builtin_memcpy(to + i, out, static_cast<size_t>(n - i) * sizeof(To));
}

__m128i LoadHalves(const uint16_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
void StoreHalves(uint16_t* to, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v); }

void F16ToF32(const uint16_t* from, float* to, int64_t n) {
  ForVectors(from, to, n, [](const uint16_t* in, float* out) {
    _mm256_storeu_ps(out, _mm256_cvtph_ps(LoadHalves(in)));
  });
}

void F32ToF16(const float* from, uint16_t* to, int64_t n) {
  ForVectors(from, to, n, [](const float* in, uint16_t* out) {
    StoreHalves(out, _mm256_cvtps_ph(_mm256_loadu_ps(in), _MM_FROUND_TO_NEAREST_INT));
  });
}

void Bf16ToF32(const uint16_t* from, float* to, int64_t n) {
  ForVectors(from, to, n, [](const uint16_t* in, float* out) {
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(LoadHalves(in)), 16);
    _mm256_storeu_ps(out, _mm256_castsi256_ps(bits));
  });
}

void F32ToBf16(const float* from, uint16_t* to, int64_t n) {
  ForVectors(from, to, n, [](const float* in, uint16_t* out) {
    const __m256 x = _mm256_loadu_ps(in);
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256 is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    const __m256i chosen =
        _mm256_srli_epi32(_mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(rounded),
                                                               _mm256_castsi256_ps(quiet), is_nan)),
                          16);
    // Each half of 128 bits is packed by itself.
    const __m256i packed = _mm256_packus_epi32(chosen, chosen);
    StoreHalves(out, _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
  });
}

}  // namespace

HalfCasts Avx2HalfCasts() { return {F16ToF32, F32ToF16, Bf16ToF32, F32ToBf16}; }

}  // namespace tenon::kernels::cpu
