// Helpers of the files that compute shapes from values.
#ifndef TENON_EXECUTOR_PREPARE_RUN_TIME_SHAPES_INTERNAL_H_
#define TENON_EXECUTOR_PREPARE_RUN_TIME_SHAPES_INTERNAL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/context/op_info.h"
#include "kernels/kernel.h"
#include "kernels/tensor_view.h"

namespace tenon::run_time_shapes {

using Shape = std::vector<int64_t>;
using Shapes = std::vector<Shape>;  // of all results

// The most elements of a tensor: sizes in bytes stay far from overflow.
inline constexpr int64_t kMaxElements = int64_t{1} << 48;

// Returns the integers of an operand of rank 0 or 1. FailedPrecondition if it has no data.
absl::StatusOr<Shape> Ints(const kernels::TensorView& view, std::string_view name);

// Receives what RunTimeShapes finds; may be null.
using KeptResults = std::shared_ptr<kernels::KernelState>*;

// Operations of run_time_selection.cc. SelectionShapes requires IsSelection(info.id()).
bool IsSelection(OpId op);
absl::StatusOr<Shapes> SelectionShapes(const OpInfo& info, std::span<const Attribute> slots,
                                       std::span<const kernels::TensorView> operands,
                                       KeptResults found);

// Operations of run_time_strings.cc, in the same way.
bool MakesStrings(OpId op);
absl::StatusOr<Shapes> StringShapes(const OpInfo& info, std::span<const Attribute> slots,
                                    std::span<const kernels::TensorView> operands,
                                    KeptResults found);

}  // namespace tenon::run_time_shapes

#endif  // TENON_EXECUTOR_PREPARE_RUN_TIME_SHAPES_INTERNAL_H_
