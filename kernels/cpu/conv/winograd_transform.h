// The transforms of Winograd's minimal filtering for windows of 3 x 3 elements: Lavin and Gray,
// "Fast Algorithms for Convolutional Neural Networks" (2015). F(m x m, 3 x 3) computes a tile of m
// x m pixels of the result from (m + 2) x (m + 2) pixels of the image, as
//
//   A^T ((G g G^T) * (B^T d B)) A
//
// with g the window, d the pixels and * element by element: (m + 2)^2 multiplications where the sum
// itself takes 9 m^2. Over all channels, * becomes (m + 2)^2 matrix products.
//
// The matrices evaluate and interpolate polynomials at m + 1 numbers and at infinity:
// 0, 1, -1 for m = 2, and for m = 4 0, ±5/8, ±3/2. The latter are exact in binary, as are their
// squares, and lie around 1 on a logarithmic scale, so that no row of a matrix has large elements:
// the error is a quarter of the one with the usual 0, ±1, ±2.
#ifndef TENON_KERNELS_CPU_CONV_WINOGRAD_TRANSFORM_H_
#define TENON_KERNELS_CPU_CONV_WINOGRAD_TRANSFORM_H_

#include <cstdint>

#include "kernels/cpu/conv/loop_activation.h"

namespace tenon::kernels::cpu {

inline constexpr float kWinogradInner = 0.625f, kWinogradOuter = 1.5f;  // for m = 4

// B^T d B of one tile, for all channels.
struct WinogradInput {
  const float* const* pixels;  // [m + 2][m + 2], each the first channel of a pixel
  int64_t channels;
  float* out;  // element (i, j) of channel c at out[(i * (m + 2) + j) * step + c]
  int64_t step;
};

// A^T s A of one tile, for some neighbouring filters; then activation(... + bias + residual).
struct WinogradOutput {
  const float* sums;  // element (i, j) of filter f at sums[(i * (m + 2) + j) * step + f]
  int64_t step;
  int64_t next;  // to the sums of the next tile, which are fetched
  int64_t filters;
  const float *bias, *residual;  // null: none; residual lies as out does
  float* out;                    // pixel (i, j) of filter f at out[i * row + j * pixel + f]
  int64_t row, pixel;
  int64_t rows, columns;  // of the tile that lie inside the result
  LoopActivation activation;
};

struct WinogradTransforms {
  using InputFn = void (*)(const WinogradInput& tile);
  using OutputFn = void (*)(const WinogradOutput& tile);
  InputFn input2, input4;  // by m
  OutputFn output2, output4;
};

// For the active instruction set.
const WinogradTransforms& Winograd();

const WinogradTransforms& WinogradAvx2();
const WinogradTransforms& WinogradAvx512();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_WINOGRAD_TRANSFORM_H_
