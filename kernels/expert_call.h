// A call of fused.expert_linear as its kernels see it.
#ifndef TENON_KERNELS_EXPERT_CALL_H_
#define TENON_KERNELS_EXPERT_CALL_H_

#include <cstdint>
#include <span>
#include <string>

#include "kernels/kernel.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {

struct ExpertCall {
  ExpertCall(std::span<const TensorView> inputs, const void* attrs) : index(inputs[2]) {
    const TensorView& w = inputs[1];
    const bool transposed = static_cast<const fused::ExpertLinearAttrs*>(attrs)->transpose_w;
    rows = inputs[0].dim(0), k = inputs[0].dim(1);
    experts = w.dim(0), n = w.dim(transposed ? 1 : 2);
    w_row = transposed ? 1 : n, w_col = transposed ? k : 1;
  }

  // Which matrix a row is multiplied by; an error if there is none such.
  KernelStatus Expert(int64_t row, int64_t& expert) const {
    expert = index.dtype == DType::kI32 ? index.as<int32_t>()[row] : index.as<int64_t>()[row];
    if (expert < -experts || expert >= experts) {
      return KernelStatus::Invalid("index " + std::to_string(expert) +
                                   " is out of range for an axis of " + std::to_string(experts) +
                                   " elements");
    }
    if (expert < 0) expert += experts;
    return KernelStatus::Ok();
  }

  TensorView index;
  int64_t rows, k, n, experts;
  int64_t w_row, w_col;  // element (p, j) of a matrix at p * w_row + j * w_col
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_EXPERT_CALL_H_
