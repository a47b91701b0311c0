// The operations of a fused op on its result after the product: activation, then residual.
#ifndef TENON_KERNELS_CPU_LINEAR_EPILOGUE_H_
#define TENON_KERNELS_CPU_LINEAR_EPILOGUE_H_

#include "kernels/activation.h"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// y = activation(x) for n floats.
void Activate(const Activation& activation, const float* x, float* y, int64_t n);
// Applies `activation` in place to n floats.
void ActivateInPlace(const Activation& activation, float* y, int64_t n);

// out = activation(out) + residual. The residual broadcasts to out; null means none.
void Epilogue(const RunArgs& args, const Activation& activation, const TensorView* residual);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_LINEAR_EPILOGUE_H_
