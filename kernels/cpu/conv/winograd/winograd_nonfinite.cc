#include "kernels/cpu/conv/winograd/winograd_nonfinite.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenon::kernels::cpu {
namespace {

constexpr int64_t kWindow = 3;

// Adds the products of one number of the image, which is not finite, to the results of its tile.
void AddProducts(const NonfiniteTile& tile, int64_t row, int64_t column, int64_t channel, float v,
                 float* results) {
  const WinogradOutput& out = tile.out;
  for (int64_t i = std::max<int64_t>(0, row - kWindow + 1); i <= row && i < out.rows; ++i) {
    for (int64_t j = std::max<int64_t>(0, column - kWindow + 1); j <= column && j < out.columns;
         ++j) {
      const int64_t element = (row - i) * kWindow + column - j;
      const int8_t* signs = tile.signs.signs +
                            (element * tile.signs.channels + channel) * tile.signs.filters +
                            tile.first_filter;
      float* to = results + (i * tile.size + j) * out.filters;
      for (int64_t f = 0; f < out.filters; ++f) to[f] += v * static_cast<float>(signs[f]);
    }
  }
}

}  // namespace

size_t WinogradSigns::Bytes(int64_t channels, int64_t filters) {
  return static_cast<size_t>(kWindow * kWindow * channels * filters);
}

void WinogradSigns::Pack(const float* weights, int64_t channels, int64_t filters, int8_t* to) {
  for (int64_t i = 0; i < kWindow * kWindow; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t f = 0; f < filters; ++f) {
        const float w = weights[(f * channels + c) * kWindow * kWindow + i];
        *to++ = static_cast<int8_t>((w > 0) - (w < 0));
      }
    }
  }
}

bool HasNonfiniteSums(const float* sums, int64_t points, int64_t step) {
  float sum = 0;  // zero times what is finite, and NaN otherwise
  for (int64_t i = 0; i < points; ++i) sum += sums[i * step] * 0.0f;
  return sum != 0;
}

void RunNonfiniteTile(const WinogradTransforms& transforms, const NonfiniteTile& tile) {
  const int64_t size = tile.size, side = size + 2, points = side * side;
  const int64_t channels = tile.signs.channels;
  const auto floats = [](int64_t n) { return std::vector<float>(static_cast<size_t>(n)); };
  std::vector<float> image = floats(points * channels), transformed = floats(points * channels);
  std::vector<float> sums = floats(points * tile.step);
  std::vector<float> added = floats(size * size * tile.out.filters), results = added;
  std::vector<const float*> pixels(static_cast<size_t>(points));
  for (int64_t p = 0; p < points; ++p) {
    float* to = image.data() + p * channels;
    pixels[static_cast<size_t>(p)] = to;
    for (int64_t c = 0; c < channels; ++c) {
      const float v = tile.pixels[p][c];
      to[c] = std::isfinite(v) ? v : 0;
      if (!std::isfinite(v)) AddProducts(tile, p / side, p % side, c, v, added.data());
    }
  }
  (size == 2 ? transforms.input2
             : transforms.input4)({pixels.data(), channels, transformed.data(), channels});
  const float* w = tile.weights;
  for (int64_t p = 0; p < points; ++p) {
    float* to = sums.data() + p * tile.step;
    for (int64_t c = 0; c < channels; ++c, w += tile.columns) {
      const float v = transformed[static_cast<size_t>(p * channels + c)];
      for (int64_t f = 0; f < tile.columns; ++f) to[f] += v * w[f];
    }
  }
  // The same in memory of its own.
  const int64_t filters = tile.out.filters;
  const auto for_pixels = [&](auto f) {
    for (int64_t i = 0; i < tile.out.rows; ++i) {
      for (int64_t j = 0; j < tile.out.columns; ++j)
        f(i * tile.out.row + j * tile.out.pixel, (i * size + j) * filters);
    }
  };
  if (tile.out.residual != nullptr) {
    for_pixels([&](int64_t from, int64_t to) {
      for (int64_t f = 0; f < filters; ++f)
        added[static_cast<size_t>(to + f)] += tile.out.residual[from + f];
    });
  }
  WinogradOutput own = tile.out;
  own.sums = sums.data();
  own.step = tile.step;
  own.next = 0;
  own.residual = added.data();
  own.out = results.data();
  own.row = size * filters;
  own.pixel = filters;
  (size == 2 ? transforms.output2 : transforms.output4)(own);
  for_pixels([&](int64_t to, int64_t from) {
    std::copy_n(results.data() + from, filters, tile.out.out + to);
  });
}

}  // namespace tenon::kernels::cpu
