#include "kernels/cpu/conv/image_rows.h"

#include <algorithm>
#include <cstring>

namespace tenon::kernels::cpu {

void CopyRow(const ImageExtents& image, const float* x, int64_t row, int64_t first, int64_t columns,
             float* to, int64_t step) {
  const auto bytes = [](int64_t n) { return static_cast<size_t>(n) * sizeof(float); };
  const bool has_row = row >= 0 && row < image.rows;
  const int64_t begin = has_row ? std::clamp<int64_t>(-first, 0, columns) : columns;
  const int64_t end = std::clamp<int64_t>(image.columns - first, begin, columns);
  std::memset(to, 0, bytes(begin * step));
  std::memset(to + end * step, 0, bytes((columns - end) * step));
  const float* from = x + (row * image.columns + first + begin) * image.channels;
  to += begin * step;
  if (step == image.channels) {
    if (begin < end) std::memcpy(to, from, bytes((end - begin) * image.channels));
    return;
  }
  for (int64_t i = begin; i < end; ++i, to += step, from += image.channels) {
    std::memcpy(to, from, bytes(image.channels));
  }
}

}  // namespace tenon::kernels::cpu
