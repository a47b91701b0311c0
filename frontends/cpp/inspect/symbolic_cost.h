// The work of an operation as an expression over the dimensions of the model.
#ifndef TENON_FRONTENDS_CPP_INSPECT_SYMBOLIC_COST_H_
#define TENON_FRONTENDS_CPP_INSPECT_SYMBOLIC_COST_H_

#include "ir/core/dims/dim_expr.h"
#include "ir/core/operation.h"

namespace tenon {

// The work of one operation. Unknown where a type does not say enough.
struct SymbolicCost {
  // Two for each multiplication with its addition, in products, convolutions, attention and
  // recurrences; 0 for other operations. Attention counts every pair of a query and a key.
  DimExpr flops;
  // Every operand read once and every result written once.
  DimExpr bytes;
};

// Returns the cost of one execution of `op`, without that of its regions.
SymbolicCost CostOf(const Operation& op);

// The number of elements of a value; Unknown if a dimension is, or the type is no ranked tensor.
DimExpr ElementsOf(Type type, Context& context);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_INSPECT_SYMBOLIC_COST_H_
