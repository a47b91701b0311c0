// The operations of fused.linear and fused.compressed_linear after the sum. Both ops have bias and
// residual at the same operands.
#ifndef TENON_KERNELS_CPU_LINEAR_LINEAR_EPILOGUE_H_
#define TENON_KERNELS_CPU_LINEAR_LINEAR_EPILOGUE_H_

#include "kernels/activation.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/kernel.h"

namespace tenon::kernels::cpu {

// The epilogue of a product, and the part that must follow it.
struct LinearEpilogue {
  // Reads the operands of a call.
  LinearEpilogue(const RunArgs& args, const Activation& activation);
  // Adds the residual if the product cannot. Call it after the product.
  void Rest(const RunArgs& args) const;

  GemmEpilogue fused;                // for the product
  const TensorView* rest = nullptr;  // the residual that Rest adds; null: none
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_LINEAR_LINEAR_EPILOGUE_H_
