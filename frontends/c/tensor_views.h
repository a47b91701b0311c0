// Tensors in memory of a C caller. Internal.
#ifndef TENON_FRONTENDS_C_TENSOR_VIEWS_H_
#define TENON_FRONTENDS_C_TENSOR_VIEWS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "executor/tensor.h"
#include "frontends/c/runs.h"
#include "kernels/tensor_view.h"

namespace tenon::c {

// Reads a tensor of the caller, whose size is one that a tensor can have. The argument is
// `what`[`index`] in messages.
absl::Status ReadView(const TenonTensorView& given, std::string_view what, size_t index,
                      kernels::TensorView& view);
// Reads `count` of them, and appends them to `views`.
absl::Status ReadViews(const TenonTensorView* given, size_t count, std::string_view what,
                       std::vector<kernels::TensorView>& views);
// A tensor over the same bytes, which stay the caller's.
Tensor BorrowedTensor(const kernels::TensorView& view);

}  // namespace tenon::c

#endif  // TENON_FRONTENDS_C_TENSOR_VIEWS_H_
