// The work of an operation, from shapes alone.
#ifndef TENON_KERNELS_OP_COST_H_
#define TENON_KERNELS_OP_COST_H_

#include <span>
#include <string_view>

#include "kernels/tensor_view.h"

namespace tenon::kernels {

// The work of one call.
struct OpCost {
  // Arithmetic. Products count 2 per multiplication with its addition; attention leaves out keys
  // hidden by causality or its window. Einsum and pools count 1 per step. Other ops count 1 per
  // result element.
  double flops = 0;
  // Bytes read of every operand, and every result written once.
  double bytes = 0;
};

// Returns the cost of one call. `op` is a name such as "fused.linear". Views are as its kernels
// take them, without data; `attrs` is its generated attribute struct.
OpCost CostOf(std::string_view op, std::span<const TensorView> inputs,
              std::span<const TensorView> outputs, const void* attrs);

// True for ops that multiply and add many times per result element.
bool IsProduct(std::string_view op);

// True for ops that are no products but may take many steps per operand element: einsum, pools.
bool HasManySteps(std::string_view op);

// Returns the bytes that the op reads of input i, which must be present. Usually that is all of it.
// Of tables it is no more than the results hold, and of experts no more than there are rows.
// Results without elements read nothing.
double BytesRead(std::string_view op, std::span<const TensorView> inputs,
                 std::span<const TensorView> outputs, size_t i);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_OP_COST_H_
