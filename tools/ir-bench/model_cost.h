// What a model must compute and move at least.
#ifndef TENON_TOOLS_IR_BENCH_MODEL_COST_H_
#define TENON_TOOLS_IR_BENCH_MODEL_COST_H_

#include <span>

#include "executor/tensor.h"
#include "ir/core/operation.h"

namespace tenon::ir_bench {

struct ModelCost {
  double flops = 0;  // of all operations, see kernels/op_cost.h
  // Inputs, results and the constants in use, each once; of tables the rows that are looked up.
  // What else a program moves can stay in caches.
  double bytes = 0;
};

// Of the operations of an optimized function's body, not of those in regions and not of those whose
// sizes depend on values. REQUIRES: one input for each argument.
ModelCost CostOf(Operation* function, std::span<const Tensor> inputs);

}  // namespace tenon::ir_bench

#endif  // TENON_TOOLS_IR_BENCH_MODEL_COST_H_
