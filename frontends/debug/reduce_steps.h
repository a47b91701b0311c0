// The steps of Reduce. Each changes a module in place and may leave it wrong: the caller verifies.
#ifndef TENON_FRONTENDS_DEBUG_REDUCE_STEPS_H_
#define TENON_FRONTENDS_DEBUG_REDUCE_STEPS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "ir/core/dims/dim_expr.h"
#include "ir/core/operation.h"

namespace tenon {

// The main function of a module, as Model::main finds it. Null if there is none.
Operation* MainFunction(const Operation& module);

// The ops of the main function's body but the terminator, in order.
std::vector<Operation*> BodyOps(const Operation& module);

// Erases ops without use and functions that nobody calls, and arguments without use. Sets the type
// of the function, and drops the attributes of its arguments and results.
void TidyFunction(Operation& module);

// Makes the function return `values`, which its body computes.
void ReturnValues(Operation& module, const std::vector<Value>& values);

// Replaces the results of `count` ops of the body, from the `first` on, by new arguments.
void ReplaceByArguments(Operation& module, size_t first, size_t count);

// Replaces the results of the op at `index` by its operand `operand`. False if the op has other
// than one result, or of another type.
bool ReplaceByOperand(Operation& module, size_t index, unsigned operand);

// Sizes and symbols of the dimensions of arguments and constants, each once: those worth shrinking.
std::vector<DimExpr> ShrinkableDims(const Operation& module);

// Replaces the dimension `was` by `now` in types, attributes and constants, of which leading
// elements stay, and infers the types of all results anew. False if an op refuses that. With
// `attributes` false, integers in attributes stay.
bool ReplaceDim(Operation& module, DimExpr was, DimExpr now, bool attributes);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_REDUCE_STEPS_H_
