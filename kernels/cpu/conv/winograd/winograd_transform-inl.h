// The loops of winograd_transform.h for the instruction set of the including file.
#ifndef TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_TRANSFORM_INL_H_
#define TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_TRANSFORM_INL_H_

#include "kernels/cpu/conv/loop_activation-inl.h"
#include "kernels/cpu/conv/winograd/winograd_transform.h"

namespace tenon::kernels::cpu {
namespace {

// t = B^T d of one column. With the numbers 0, ±1:
//   -1  0  1  0
//    0  1  1  0
//    0 -1  1  0
//    0 -1  0  1
__attribute__((always_inline)) inline void TransformInput(const Vec (&d)[4], Vec (&t)[4]) {
  t[0] = d[2] - d[0];
  t[1] = d[2] + d[1];
  t[2] = d[2] - d[1];
  t[3] = d[3] - d[1];
}

// With the numbers 0, ±a, ±b; s = a^2 + b^2:
//   a^2 b^2     0     -s    0  1  0
//      0     -a b^2  -b^2   a  1  0
//      0      a b^2  -b^2  -a  1  0
//      0     -a^2 b  -a^2   b  1  0
//      0      a^2 b  -a^2  -b  1  0
//      0     a^2 b^2   0   -s  0  1
__attribute__((always_inline)) inline void TransformInput(const Vec (&d)[6], Vec (&t)[6]) {
  constexpr float a = kWinogradInner, b = kWinogradOuter;
  const Vec s = Set(-a * a - b * b), product = Set(a * a * b * b);
  t[0] = Fma(d[0], product, Fma(d[2], s, d[4]));
  t[5] = Fma(d[1], product, Fma(d[3], s, d[5]));
  const Vec even_a = Fma(d[2], Set(-b * b), d[4]), odd_a = Fma(d[1], Set(-b * b), d[3]);
  t[1] = Fma(odd_a, Set(a), even_a);
  t[2] = Fma(odd_a, Set(-a), even_a);
  const Vec even_b = Fma(d[2], Set(-a * a), d[4]), odd_b = Fma(d[1], Set(-a * a), d[3]);
  t[3] = Fma(odd_b, Set(b), even_b);
  t[4] = Fma(odd_b, Set(-b), even_b);
}

// y = A^T s of one column. Each row of A has the powers of a number, the last one those of
// infinity.
__attribute__((always_inline)) inline void TransformOutput(const Vec (&s)[4], Vec (&y)[2]) {
  y[0] = s[0] + (s[1] + s[2]);
  y[1] = s[3] + (s[1] - s[2]);
}

__attribute__((always_inline)) inline void TransformOutput(const Vec (&s)[6], Vec (&y)[4]) {
  constexpr float a = kWinogradInner, b = kWinogradOuter;
  const Vec sum_a = s[1] + s[2], difference_a = s[1] - s[2];
  const Vec sum_b = s[3] + s[4], difference_b = s[3] - s[4];
  y[0] = s[0] + (sum_a + sum_b);
  y[1] = Fma(difference_b, Set(b), difference_a * Set(a));
  y[2] = Fma(sum_b, Set(b * b), sum_a * Set(a * a));
  y[3] = Fma(difference_b, Set(b * b * b), Fma(difference_a, Set(a * a * a), s[5]));
}

// kLanes channels from c on, or the first n of them (kPart). What stores might change is read
// before.
template <int kSize, bool kPart>
__attribute__((always_inline)) inline void InputAt(const WinogradInput& tile, int64_t c,
                                                   int64_t n) {
  constexpr int kPoints = kSize + 2;
  const float* const* pixels = tile.pixels;
  const int64_t next = kSize * tile.channels, step = tile.step;
  float* out = tile.out + c;
  Vec columns[kPoints][kPoints];
  for (int i = 0; i < kPoints; ++i, pixels += kPoints) {
    Vec d[kPoints], t[kPoints];
#pragma GCC unroll 6
    for (int j = 0; j < kPoints; ++j) {
      const float* from = pixels[j] + c;
      d[j] = kPart ? LoadPart(from, n) : Load(from);
      // What the next tile does not share with this one.
      if (j >= 2) __builtin_prefetch(from + next);
    }
    TransformInput(d, t);
#pragma GCC unroll 6
    for (int j = 0; j < kPoints; ++j) columns[j][i] = t[j];
  }
  for (int j = 0; j < kPoints; ++j, out += step) {
    Vec t[kPoints];
    TransformInput(columns[j], t);
    float* to = out;
#pragma GCC unroll 6
    for (int i = 0; i < kPoints; ++i, to += kPoints * step) {
      if constexpr (kPart) {
        StorePart(to, t[i], n);
      } else {
        Store(to, t[i]);
      }
    }
  }
}

template <int kSize>
void RunInput(const WinogradInput& tile) {
  int64_t c = 0;
  for (; c + kLanes <= tile.channels; c += kLanes) InputAt<kSize, false>(tile, c, kLanes);
  if (c < tile.channels) InputAt<kSize, true>(tile, c, tile.channels - c);
}

// kLanes filters from f on, or the first n of them (kPart).
template <int kSize, bool kPart, typename Activate>
__attribute__((always_inline)) inline void OutputAt(const WinogradOutput& tile, int64_t f,
                                                    int64_t n, Activate activate) {
  constexpr int kPoints = kSize + 2;
  const auto load = [n](const float* p) { return kPart ? LoadPart(p, n) : Load(p); };
  const int64_t step = tile.step, next = tile.next, row = tile.row;
  Vec columns[kSize][kPoints];
  const float* sums = tile.sums + f;
  for (int i = 0; i < kPoints; ++i) {
    Vec s[kPoints], y[kSize];
#pragma GCC unroll 6
    for (int j = 0; j < kPoints; ++j, sums += step) {
      s[j] = Load(sums);
      __builtin_prefetch(sums + next);
    }
    TransformOutput(s, y);
#pragma GCC unroll 6
    for (int j = 0; j < kSize; ++j) columns[j][i] = y[j];
  }
  const Vec bias = tile.bias == nullptr ? Vec{} : load(tile.bias + f);
  const bool adds = tile.residual != nullptr;
  const float* residual = adds ? tile.residual + f : nullptr;
  float* out = tile.out + f;
  const int64_t rows = tile.rows, width = tile.columns, pixel = tile.pixel;
  for (int64_t j = 0; j < width; ++j, out += pixel) {
    Vec y[kSize];
    TransformOutput(columns[j], y);
#pragma GCC unroll 4
    for (int i = 0; i < kSize; ++i) {
      if (i >= rows) break;
      Vec sum = y[i] + bias;
      if (adds) sum = sum + load(residual + j * pixel + i * row);
      if constexpr (kPart) {
        StorePart(out + i * row, activate(sum), n);
      } else {
        Store(out + i * row, activate(sum));
      }
    }
  }
}

template <int kSize>
void RunOutput(const WinogradOutput& tile) {
  WithActivation(tile.activation, [&](auto activate) {
    int64_t f = 0;
    for (; f + kLanes <= tile.filters; f += kLanes) {
      OutputAt<kSize, false>(tile, f, kLanes, activate);
    }
    if (f < tile.filters) OutputAt<kSize, true>(tile, f, tile.filters - f, activate);
  });
}

constexpr WinogradTransforms kTransforms = {RunInput<2>, RunInput<4>, RunOutput<2>, RunOutput<4>};

}  // namespace
}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_TRANSFORM_INL_H_
