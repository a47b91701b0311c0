// How much an operation computes and moves, from shapes alone.
#ifndef TENON_KERNELS_OP_COST_H_
#define TENON_KERNELS_OP_COST_H_

#include <span>
#include <string_view>

#include "kernels/tensor_view.h"

namespace tenon::kernels {

struct OpCost {
  // Products: 2 for each multiplication with its addition; attention without the keys that
  // causality or its window hide. Of einsum and pools one for each step. Of other ops, 1 for each
  // element of the results.
  double flops = 0;
  // What it reads of every operand, and every result written once.
  double bytes = 0;
};

// `op`: "fused.linear"; the views as its kernels take them, data unused; `attrs` its generated
// attribute struct.
OpCost CostOf(std::string_view op, std::span<const TensorView> inputs,
              std::span<const TensorView> outputs, const void* attrs);

// Does it multiply and add, many times for each element of its results?
bool IsProduct(std::string_view op);

// No product, but may take many steps for each element of its operands: einsum, pools.
bool HasManySteps(std::string_view op);

// Bytes that it reads of input i, which is present: all, but of tables no more than the results
// hold, and of experts no more than there are rows. Nothing for results without elements.
double BytesRead(std::string_view op, std::span<const TensorView> inputs,
                 std::span<const TensorView> outputs, size_t i);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_OP_COST_H_
