// The transforms of Winograd's minimal filtering for windows of 3 x 3 elements: Lavin and Gray,
// "Fast Algorithms for Convolutional Neural Networks" (2015). F(m x m, 3 x 3) computes a tile of m
// x m pixels of the result from (m + 2) x (m + 2) pixels of the image, as
//
//   A^T ((G g G^T) * (B^T d B)) A
//
// Here g is the window, d are the pixels, and * multiplies element by element. That takes (m + 2)^2
// multiplications instead of 9 m^2. Over all channels, * becomes (m + 2)^2 matrix products.
//
// The matrices evaluate and interpolate polynomials at m + 1 numbers and at infinity. The numbers
// are 0, 1, -1 for m = 2, and 0, ±5/8, ±3/2 for m = 4. The latter and their squares are exact in
// binary. They lie around 1 on a logarithmic scale, so that no row of a matrix has large elements.
// The error is a quarter of that with the usual 0, ±1, ±2.
#ifndef TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_TRANSFORM_H_
#define TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_TRANSFORM_H_

#include <cstdint>

#include "kernels/cpu/conv/loop_activation.h"

namespace tenon::kernels::cpu {

// The numbers for m = 4, without their signs.
inline constexpr float kWinogradInner = 0.625f, kWinogradOuter = 1.5f;

// Computes B^T d B of one tile, for all channels.
struct WinogradInput {
  const float* const* pixels;  // [m + 2][m + 2], each the first channel of a pixel
  int64_t channels;
  float* out;  // element (i, j) of channel c at out[(i * (m + 2) + j) * step + c]
  int64_t step;
};

// Computes activation(A^T s A + bias + residual) of one tile, for some adjacent filters.
struct WinogradOutput {
  const float* sums;  // element (i, j) of filter f at sums[(i * (m + 2) + j) * step + f]
  int64_t step;
  int64_t next;  // from these sums to those of the next tile, which are prefetched
  int64_t filters;
  const float *bias, *residual;  // null: none; residual is addressed like out
  float* out;                    // pixel (i, j) of filter f at out[i * row + j * pixel + f]
  int64_t row, pixel;
  int64_t rows, columns;  // of the part of the tile inside the result
  LoopActivation activation;
};

// The transforms of one instruction set.
struct WinogradTransforms {
  using InputFn = void (*)(const WinogradInput& tile);
  using OutputFn = void (*)(const WinogradOutput& tile);
  InputFn input2, input4;  // by m
  OutputFn output2, output4;
};

// Returns the transforms for the active instruction set.
const WinogradTransforms& Winograd();

// The transforms of each instruction set.
const WinogradTransforms& WinogradAvx2();
const WinogradTransforms& WinogradAvx512();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_TRANSFORM_H_
