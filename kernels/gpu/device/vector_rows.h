// Kernels of rows that lie in whole vectors of 16 bytes, and fit the registers of a block.
#ifndef TENON_KERNELS_GPU_DEVICE_VECTOR_ROWS_H_
#define TENON_KERNELS_GPU_DEVICE_VECTOR_ROWS_H_

#include "kernels/gpu/launch.h"

namespace tenon::kernels::gpu {

// Launches a kernel and returns true, if the rows of all operands are such.
bool LaunchVectors(StreamHandle stream, const NormParams& p);
bool LaunchVectors(StreamHandle stream, const EmbeddingParams& p);

}  // namespace tenon::kernels::gpu

#endif  // TENON_KERNELS_GPU_DEVICE_VECTOR_ROWS_H_
