// The least work that a model takes.
#ifndef TENON_TOOLS_IR_BENCH_MODEL_COST_H_
#define TENON_TOOLS_IR_BENCH_MODEL_COST_H_

#include <span>

#include "executor/tensor.h"
#include "ir/core/operation.h"

namespace tenon::ir_bench {

// The work of one run.
struct ModelCost {
  double flops = 0;  // of all operations; see kernels/op_cost.h
  // The size of inputs, results and used constants. Tables count with the rows that are looked up.
  // Other values can stay in caches.
  double bytes = 0;
};

// Returns the cost of the body of an optimized function. Leaves out operations in regions, and
// those whose sizes depend on values. Requires one input for each argument.
ModelCost CostOf(Operation* function, std::span<const Tensor> inputs);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_MODEL_COST_H_
