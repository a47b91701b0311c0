// A model of the CUDA runtime and of cuBLASLt, behind their own headers: what kernels/gpu/cuda
// calls runs on it without a device. It is as unkind as the documentation allows: work of a stream
// is done only when somebody waits for it, and what is not allowed while a stream is captured
// fails.
#ifndef TENON_TESTS_GPU_CUDA_MODEL_MODEL_H_
#define TENON_TESTS_GPU_CUDA_MODEL_MODEL_H_

#include <cuda_runtime_api.h>

#include <functional>

namespace tenon::kernels::gpu::cuda_model {

// Puts work into a stream, or into what is being captured of it.
void Submit(cudaStream_t stream, std::function<void()> work);
// One call in a process fails, that of the number in the environment's TENON_CUDA_MODEL_FAILS.
bool ThisCallFails();
// Ends the program: the caller broke a rule whose breach a device would not report.
[[noreturn]] void Broken(const char* rule);

}  // namespace tenon::kernels::gpu::cuda_model

#endif  // TENON_TESTS_GPU_CUDA_MODEL_MODEL_H_
