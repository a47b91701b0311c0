// Where Winograd's method (winograd_transform.h) beats the sum over the window.
#ifndef TENON_KERNELS_CPU_CONV_WINOGRAD_CHOICE_H_
#define TENON_KERNELS_CPU_CONV_WINOGRAD_CHOICE_H_

#include "kernels/cpu/conv/geometry.h"

namespace tenon::kernels::cpu {

// Width and height of the tiles of the result, 2 or 4; 0: sum over the window. Follows from the
// shapes alone, so that a model gives the same results whatever the number of threads.
// REQUIRES: a window of 3 x 3 with steps of 1.
int WinogradTileSize(const ImageGeometry& image);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_WINOGRAD_CHOICE_H_
