// A call of fused.expert_linear, as its kernels see it.
#ifndef TENON_KERNELS_CALLS_EXPERT_CALL_H_
#define TENON_KERNELS_CALLS_EXPERT_CALL_H_

#include <cstdint>
#include <span>

#include "kernels/checked_index.h"
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

  // Returns an error unless each row has an expert.
  KernelStatus CheckIndices() const {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = Index(row);
      if (at >= -experts && at < experts) continue;
      return IndexOutOfRange(at, experts, "a list", "experts");
    }
    return KernelStatus::Ok();
  }
  // The matrix by which a row is multiplied. Requires that CheckIndices() is OK.
  int64_t Expert(int64_t row) const {
    const int64_t at = Index(row);
    return at < 0 ? at + experts : at;
  }

  TensorView index;
  int64_t rows, k, n, experts;
  int64_t w_row, w_col;  // element (p, j) of a matrix lies at p * w_row + j * w_col

 private:
  int64_t Index(int64_t row) const {
    return index.dtype == DType::kI32 ? index.as<int32_t>()[row] : index.as<int64_t>()[row];
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_EXPERT_CALL_H_
