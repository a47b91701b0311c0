// What fused.linear and fused.compressed_linear do after the sum; both have bias and residual at
// the same places.
#ifndef TENON_KERNELS_CPU_LINEAR_EPILOGUE_H_
#define TENON_KERNELS_CPU_LINEAR_EPILOGUE_H_

#include "kernels/activation.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

struct LinearEpilogue {
  LinearEpilogue(const RunArgs& args, const Activation& activation);
  // Adds a residual whose rows do not lie as the product takes them.
  void Rest(const RunArgs& args) const;

  GemmEpilogue fused;
  const TensorView* rest = nullptr;
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_LINEAR_EPILOGUE_H_
