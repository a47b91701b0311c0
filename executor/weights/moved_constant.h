// Results of data movement on large constants, without their bytes.
#ifndef TENON_EXECUTOR_WEIGHTS_MOVED_CONSTANT_H_
#define TENON_EXECUTOR_WEIGHTS_MOVED_CONSTANT_H_

#include <optional>
#include <span>
#include <vector>

#include "ir/core/attribute.h"
#include "ir/core/operation.h"
#include "kernels/tensor_view.h"

namespace tenon {

// Returns true for operations whose results MoveConstants may give: concat, split, slice and
// transpose. Their shape functions read no operand.
bool OnlyMoves(const Operation& op);

// Returns the results of such an operation on large constants. They share the bytes of the
// operands, or are deferred, so that weights of a file take no memory.
//
// Returns nullopt if the kernel has to compute them: of small operands, and, except for concat, of
// operands that are not in files, which the results replace in memory. `operands` and
// `results` describe the shapes; their data is not read. `attrs` is the struct of the kernels.
// Requires OnlyMoves(op).
std::optional<std::vector<Attribute>> MoveConstants(const Operation& op,
                                                    std::span<const Attribute> constants,
                                                    std::span<const kernels::TensorView> operands,
                                                    std::span<const kernels::TensorView> results,
                                                    const void* attrs);

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_MOVED_CONSTANT_H_
