// Result shapes of operations that depend on the values of operands.
#ifndef TENON_EXECUTOR_PREPARE_RUN_TIME_SHAPES_H_
#define TENON_EXECUTOR_PREPARE_RUN_TIME_SHAPES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/context/op_info.h"
#include "kernels/kernel.h"
#include "kernels/tensor_view.h"

namespace tenon {

// True if the result shapes of the op depend on the values of operands.
bool HasRunTimeShape(OpId op);

// Returns the shapes of the results. `operands` has one view per operand group, with dtype kInvalid
// for absent ones, and must fit the definition of the op. Requires HasRunTimeShape(info.id()).
// FailedPrecondition if a value that is needed has no data. InvalidArgument "<op>: <mistake>
// (expected …)" if values are wrong. `found`, unless null, receives what the kernel of the op can
// take as RunArgs::state (kernels/calls/found_results.h); null for most ops.
absl::StatusOr<std::vector<std::vector<int64_t>>> RunTimeShapes(
    const OpInfo& info, std::span<const Attribute> slots,
    std::span<const kernels::TensorView> operands,
    std::shared_ptr<kernels::KernelState>* found = nullptr);

}  // namespace tenon

#endif  // TENON_EXECUTOR_PREPARE_RUN_TIME_SHAPES_H_
