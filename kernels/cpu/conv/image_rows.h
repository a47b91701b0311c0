// Copies of rows of images with channels last.
#ifndef TENON_KERNELS_CPU_CONV_IMAGE_ROWS_H_
#define TENON_KERNELS_CPU_CONV_IMAGE_ROWS_H_

#include <cstdint>

namespace tenon::kernels::cpu {

// The extents of an image.
struct ImageExtents {
  int64_t rows, columns, channels;
};

// Copies `columns` pixels of row `row` from column `first` on. Pixels outside of the image are 0.
// In `to`, pixels are `step` elements apart.
void CopyRow(const ImageExtents& image, const float* x, int64_t row, int64_t first, int64_t columns,
             float* to, int64_t step);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_IMAGE_ROWS_H_
