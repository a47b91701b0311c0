// Copies of rows of images with channels last.
#ifndef TENON_KERNELS_CPU_CONV_IMAGE_ROWS_H_
#define TENON_KERNELS_CPU_CONV_IMAGE_ROWS_H_

#include <cstdint>

namespace tenon::kernels::cpu {

struct ImageExtents {
  int64_t rows, columns, channels;
};

// `columns` pixels of row `row` of the image from column `first` on, which may lie outside; those
// are 0. They go to `to`, `step` elements apart.
void CopyRow(const ImageExtents& image, const float* x, int64_t row, int64_t first, int64_t columns,
             float* to, int64_t step);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_IMAGE_ROWS_H_
