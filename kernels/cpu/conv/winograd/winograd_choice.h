// Where Winograd's method (winograd_transform.h) beats the sum over the window.
#ifndef TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_CHOICE_H_
#define TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_CHOICE_H_

#include "kernels/cpu/conv/geometry.h"

namespace tenon::kernels::cpu {

// Returns the width and height of the tiles of the result: 2 or 4, or 0 for the sum over the
// window. The choice follows from the shapes alone, so that results do not depend on the number of
// threads. Requires a window of 3 x 3 with strides of 1.
int WinogradTileSize(const ImageGeometry& image);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_CONV_WINOGRAD_WINOGRAD_CHOICE_H_
