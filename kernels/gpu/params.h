// Arguments of the GPU kernels: plain structs that the host fills and device code reads. C++20
// without the standard library's containers, for both compilers.
#ifndef TENON_KERNELS_GPU_PARAMS_H_
#define TENON_KERNELS_GPU_PARAMS_H_

#include "kernels/gpu/params/attention_params.h"
#include "kernels/gpu/params/elementwise_params.h"
#include "kernels/gpu/params/movement_params.h"
#include "kernels/gpu/params/product_params.h"
#include "kernels/gpu/params/row_params.h"
#include "kernels/gpu/params/strided.h"
#include "kernels/gpu/params/window_params.h"

#endif  // TENON_KERNELS_GPU_PARAMS_H_
