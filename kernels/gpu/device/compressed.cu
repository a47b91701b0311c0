// Weights in fewer bits as f32.
#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kFour = 4;  // neighbors that one load fetches

// Weights in the order in which they lie, as many to a thread as one load fetches.
template <bool kVector>
__global__ void __launch_bounds__(kThreads) WidenWeights(TENON_GRID_CONSTANT WidenParams p) {
  constexpr int kEach = kVector ? kFour : 1;
  const int64_t count = p.columns * p.k;
  for (int64_t i = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kEach; i < count;
       i += static_cast<int64_t>(gridDim.x) * kThreads * kEach) {
    // Row and column of w; in a vector, of its first.
    int64_t outer = i;
    const int64_t inner = DivMod(outer, p.transpose_w ? p.k : p.columns);
    int64_t group = p.transpose_w ? inner : outer;
    DivMod(group, p.group);
    const int64_t column = p.first + (p.transpose_w ? outer : inner);
    const int8_t* const w = p.w + (p.transpose_w ? column * p.k + inner : outer * p.n + column);
    const float* const scale = p.scale + group * p.n + column;
    if constexpr (kVector) {
      const Pack<int8_t, kFour> four = *As<Pack<int8_t, kFour>>(w);
      Pack<float, kFour> values, factors;
      if (p.transpose_w) {
#pragma unroll
        for (int e = 0; e < kFour; ++e) factors.at[e] = *scale;
      } else {
        factors = *As<Pack<float, kFour>>(scale);
      }
#pragma unroll
      for (int e = 0; e < kFour; ++e) {
        values.at[e] = static_cast<float>(four.at[e]) * factors.at[e];
      }
      *reinterpret_cast<Pack<float, kFour>*>(p.out + i) = values;
    } else {
      p.out[i] = static_cast<float>(*w) * *scale;
    }
  }
}

// Can four neighbours be widened at once?
bool InVectors(const WidenParams& p) {
  if (!IsAligned(p.w, kFour) || !IsAligned(p.out, sizeof(Pack<float, kFour>))) return false;
  if (p.transpose_w) return p.k % kFour == 0 && (p.group % kFour == 0 || p.group >= p.k);
  return p.n % kFour == 0 && p.first % kFour == 0 && p.columns % kFour == 0 &&
         IsAligned(p.scale, sizeof(Pack<float, kFour>));
}

}  // namespace

void LaunchOn(StreamHandle stream, const WidenParams& p) {
  const int64_t count = p.columns * p.k;
  if (InVectors(p)) {
    TENON_LAUNCH(WidenWeights<true>, BlocksFor(count, kThreads * kFour), kThreads, 0, stream, p);
  } else {
    TENON_LAUNCH(WidenWeights<false>, BlocksFor(count, kThreads), kThreads, 0, stream, p);
  }
}

}  // namespace tenon::kernels::gpu
