// Visible keys and scores, shared by the kernels of attention.
#ifndef TENON_KERNELS_GPU_DEVICE_ATTENTION_SCORES_H_
#define TENON_KERNELS_GPU_DEVICE_ATTENTION_SCORES_H_

#include "kernels/gpu/device/device_code.h"

namespace tenon::kernels::gpu {

// A range of keys: [first, end).
struct Keys {
  int64_t first, end;
};
__device__ inline int64_t Clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}
// Returns the keys that causality and the window allow for query i.
__device__ inline Keys VisibleTo(const AttentionParams& p, int64_t i) {
  Keys keys = {0, p.k_len};
  if (p.repeats_first_key) {
    const bool hidden = (p.causal && i + p.causal_offset < 0) ||
                        (p.window > 0 && i + p.causal_offset - p.window >= 0);
    return hidden ? Keys{0, 0} : keys;
  }
  if (p.causal) keys.end = Clamp(i + p.causal_offset + 1, 0, p.k_len);
  if (p.window > 0) keys.first = Clamp(i + p.causal_offset - p.window + 1, 0, keys.end);
  return keys;
}
// True if hidden keys have no weight. They count if the value added to their score is finite.
__device__ inline bool SkipsHidden(const AttentionParams& p) { return p.mask_value == -INFINITY; }
// Returns a range with all keys that have a weight for any of the queries.
__device__ inline Keys RangeOf(const AttentionParams& p, int64_t first_row, int64_t rows) {
  if (!SkipsHidden(p) || p.repeats_first_key) return {0, p.k_len};
  return {VisibleTo(p, first_row).first, VisibleTo(p, first_row + rows - 1).end};
}
// Returns the keys that causality and the window allow for all queries.
__device__ inline Keys VisibleToAll(const AttentionParams& p, int64_t first_row, int64_t rows) {
  if (!p.causal && p.window <= 0) return {0, p.k_len};
  if (p.repeats_first_key) return {0, 0};
  return {VisibleTo(p, first_row + rows - 1).first, VisibleTo(p, first_row).end};
}

// True if a row becomes zeros. `any` says whether it has a visible key; `sum` is the sum of its
// weights.
template <typename Params>
__device__ inline bool IsZeroRow(const Params& p, bool any, float sum) {
  return (p.nan_guard && !any) || (p.zero_nan_rows && sum != sum);
}

// The scores of head h of batch element b, for elements of type T.
template <typename T>
struct Scores {
  const AttentionParams& p;
  int64_t b, h;

  // Returns a scaled product after the softcap, if there is one.
  __device__ float Capped(float s) const {
    return p.softcap > 0 ? tanhf(s / p.softcap) * p.softcap : s;
  }
  // Returns the score of key j for query i. `s` is the scaled and capped product. Sets `seen`
  // unless a mask makes the score negative infinity.
  __device__ float Of(float s, int64_t i, int64_t j, bool& seen) const {
    const bool hidden = Hidden(i, j);
    const float hiding = Widen(Narrow<T>(p.mask_value));  // -inf where T cannot hold it
    bool excluded = hidden && hiding == -INFINITY;
    if (hidden && p.mask_last) {
      seen |= !excluded;
      return hiding;
    }
    if (hidden && p.mask_replaces) s = hiding;
    s = PlusTerms(s, i, j, excluded);
    if (hidden && !p.mask_replaces) {
      s = SkipsHidden(p) ? -INFINITY : Widen(Narrow<T>(s + p.mask_value));
    }
    seen |= !excluded;
    return s;
  }

 private:
  __device__ int64_t At(const int64_t (&strides)[4], int64_t i, int64_t j) const {
    return b * strides[0] + h * strides[1] + i * strides[2] + j * strides[3];
  }
  __device__ bool Hidden(int64_t i, int64_t j) const {
    const Keys visible = VisibleTo(p, i);
    if (j < visible.first || j >= visible.end) return true;
    if (p.mask != nullptr && p.mask_is_bool && As<uint8_t>(p.mask)[At(p.mask_strides, i, j)] == 0)
      return true;
    return p.key_mask != nullptr && p.key_mask[At(p.key_mask_strides, i, j)] == 0;
  }
  // Adds bias and mask to the score `s` of key j for query i. Each sum is rounded as in a tensor of
  // scores, so that f16 may overflow. Sets `excluded` if a term is negative infinity.
  __device__ float PlusTerms(float s, int64_t i, int64_t j, bool& excluded) const {
    if (p.bias != nullptr) s = Plus(s, As<T>(p.bias)[At(p.bias_strides, i, j)], excluded);
    if (p.mask != nullptr && !p.mask_is_bool)
      s = Plus(s, As<T>(p.mask)[At(p.mask_strides, i, j)], excluded);
    return s;
  }
  __device__ static float Plus(float s, T term, bool& excluded) {
    const float added = Widen(term);
    excluded |= added == -INFINITY;
    return Widen(Narrow<T>(s + added));
  }
};

// Returns the weight of a score; `most` is the largest so far. If that is -inf, only NaN counts.
__device__ inline float WeightOf(float s, float most) {
  return most == -INFINITY ? (s != s ? s : 0.0f) : expf(s - most);
}
// Returns the factor for sums that were made when the largest score was `before`.
__device__ inline float Shrinking(float before, float most) {
  return most == -INFINITY ? 1.0f : expf(before - most);
}

// True if rows of this many columns lie in whole vectors of 16 bytes.
template <typename T>
bool InVectors(const AttentionOperand& x, int columns) {
  constexpr int64_t kEach = kInPack<T>;
  return x.element == 1 && IsAligned(x.data, 16) && columns % kEach == 0 &&
         (x.offset | x.batch | x.head | x.row) % kEach == 0;
}

inline constexpr int kTileColumns = 128;  // the widest head of LaunchTiles
// Launches attention of many rows, whose keys are not split. Heads have at most kTileColumns
// columns, and fewer than 2^30 queries and keys.
void LaunchTiles(StreamHandle stream, const AttentionParams& p);
// The same on tensor cores. Returns false, and launches nothing, unless elements have 16 bits and
// the rows of queries, keys and values lie in whole vectors.
bool LaunchTensorCores(StreamHandle stream, const AttentionParams& p);

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_DEVICE_ATTENTION_SCORES_H_
