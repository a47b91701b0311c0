#include "kernels/cpu/gemm/avx512_integers-inl.h"

namespace tenon::kernels::cpu {
namespace {

using V = Avx512Fours;

}  // namespace
}  // namespace tenon::kernels::cpu

// After V:
#include "kernels/cpu/conv/bytes/byte_tile-inl.h"

namespace tenon::kernels::cpu {
namespace {

// Four taps of 64 channels: each becomes the four bytes of one channel behind each other.
[[gnu::always_inline]] inline void Interleave(const __m512i (&x)[4], __m512i (&y)[4]) {
  const __m512i low01 = _mm512_unpacklo_epi8(x[0], x[1]);
  const __m512i high01 = _mm512_unpackhi_epi8(x[0], x[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(x[2], x[3]);
  const __m512i high23 = _mm512_unpackhi_epi8(x[2], x[3]);
  y[0] = _mm512_unpacklo_epi16(low01, low23);
  y[1] = _mm512_unpackhi_epi16(low01, low23);
  y[2] = _mm512_unpacklo_epi16(high01, high23);
  y[3] = _mm512_unpackhi_epi16(high01, high23);
}

void RunFours(const ByteChannels& call) {
  const int64_t fours = (call.num_taps + 3) / 4;
  const bool is_signed = call.finish.low + static_cast<float>(call.finish.zero) < 0;
  const __m512 low = _mm512_set1_ps(call.finish.low), high = _mm512_set1_ps(call.finish.high);
  const __m512i zero = _mm512_set1_epi32(call.finish.zero);
  for (int64_t first = 0; first < call.channels; first += kChannelBlock) {
    const int64_t n = std::min(kChannelBlock, call.channels - first);
    const __mmask64 mask = n == 64 ? ~__mmask64{0} : (__mmask64{1} << n) - 1;
    const std::byte* weights = call.weights + first * 4 * fours;
    for (int64_t p = 0; p < call.pixels; ++p) {
      const uint8_t* x = call.x + p * call.x_step + first;
      __m512i sum[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) sum[j] = _mm512_loadu_si512(call.start + first + 16 * j);
      const std::byte* w = weights;
      for (int64_t t = 0; t < call.num_taps; t += 4, w += 4 * 64) {
        __m512i taps[4], by_channel[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          taps[i] = t + i < call.num_taps ? _mm512_maskz_loadu_epi8(mask, x + call.taps[t + i])
                                          : _mm512_setzero_si512();
        }
        Interleave(taps, by_channel);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          sum[j] = _mm512_dpbusd_epi32(sum[j], by_channel[j], _mm512_loadu_si512(w + 64 * j));
        }
      }
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const __m512 scale = _mm512_loadu_ps(call.scale + first + 16 * j);
        __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[j]), scale);
        y = _mm512_min_ps(_mm512_max_ps(y, low), high);  // NaN becomes the lowest
        sum[j] = _mm512_add_epi32(_mm512_cvtps_epi32(y), zero);
      }
      const __m512i front = _mm512_packs_epi32(sum[0], sum[1]);
      const __m512i back = _mm512_packs_epi32(sum[2], sum[3]);
      const __m512i bytes =
          is_signed ? _mm512_packs_epi16(front, back) : _mm512_packus_epi16(front, back);
      _mm512_mask_storeu_epi8(call.out + p * call.channels + first, mask, bytes);
    }
  }
}

constexpr ByteKernels MakeWithFours() {
  ByteKernels kernels = MakeByteKernels();
  kernels.fours = &RunFours;
  return kernels;
}

constexpr ByteKernels kKernels = MakeWithFours();

}  // namespace

const ByteKernels& ByteKernelsAvx512Vnni() { return kKernels; }

}  // namespace tenon::kernels::cpu
