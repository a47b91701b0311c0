// What the files that compute shapes from values share.
#ifndef TENON_EXECUTOR_RUN_TIME_SHAPES_INTERNAL_H_
#define TENON_EXECUTOR_RUN_TIME_SHAPES_INTERNAL_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/core/op_info.h"
#include "kernels/tensor_view.h"

namespace tenon::run_time_shapes {

using Shape = std::vector<int64_t>;
using Shapes = std::vector<Shape>;  // of all results

// No tensor may have more elements than this: sizes in bytes stay far from overflow.
inline constexpr int64_t kMaxElements = int64_t{1} << 48;

// The integers of an operand of rank 0 or 1; FailedPrecondition if they are not known yet.
absl::StatusOr<Shape> Ints(const kernels::TensorView& view, std::string_view name);

// Operations of run_time_selection.cc. REQUIRES for SelectionShapes: IsSelection(info.id()).
bool IsSelection(OpId op);
absl::StatusOr<Shapes> SelectionShapes(const OpInfo& info, std::span<const Attribute> slots,
                                       std::span<const kernels::TensorView> operands);

}  // namespace tenon::run_time_shapes

#endif  // TENON_EXECUTOR_RUN_TIME_SHAPES_INTERNAL_H_
