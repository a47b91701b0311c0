// Result shapes of operations that depend on the values of operands.
#ifndef TENON_EXECUTOR_RUN_TIME_SHAPES_H_
#define TENON_EXECUTOR_RUN_TIME_SHAPES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/op_info.h"
#include "kernels/tensor_view.h"

namespace tenon {

// Do the op's result shapes depend on the values of operands?
bool HasRunTimeShape(OpId op);

// The shapes of the op's results. `operands`: one per operand group, absent ones with dtype
// kInvalid. FailedPrecondition if a value that is needed has no data; InvalidArgument "<op>: <what
// is wrong> (expected …)" if the values are wrong. REQUIRES: HasRunTimeShape(info.id()), operands
// as the op's definition says.
absl::StatusOr<std::vector<std::vector<int64_t>>> RunTimeShapes(
    const OpInfo& info, std::span<const Attribute> slots,
    std::span<const kernels::TensorView> operands);

}  // namespace tenon

#endif  // TENON_EXECUTOR_RUN_TIME_SHAPES_H_
