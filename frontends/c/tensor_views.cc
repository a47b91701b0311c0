#include "frontends/c/tensor_views.h"

#include <span>
#include <string>

#include "frontends/c/convert.h"
#include "frontends/c/convert_types.h"
#include "ir/base/limits.h"

namespace tenon::c {

absl::Status ReadView(const TenonTensorView& given, std::string_view what, size_t index,
                      kernels::TensorView& view) {
  if (absl::Status wrong = ReadDType(given.dtype, view.dtype); !wrong.ok())
    return Wrong("{}[{}]: {}", what, index, std::string(wrong.message()));
  if (given.rank > static_cast<size_t>(kMaxRank) || (given.rank > 0 && given.shape == nullptr))
    return Wrong("{}[{}] has no shape of {} extents", what, index, given.rank);
  view.data = given.data;
  view.shape = std::span<const int64_t>(given.shape, given.rank);
  for (const int64_t extent : view.shape) {
    if (extent < 0) return Wrong("{}[{}] has the extent {}", what, index, extent);
  }
  return CheckedBytes(view.dtype, view.shape).status();
}

absl::Status ReadViews(const TenonTensorView* given, size_t count, std::string_view what,
                       std::vector<kernels::TensorView>& views) {
  if (count > 0) TENON_RETURN_IF_ERROR(NotNull(given, what));
  for (size_t i = 0; i < count; ++i)
    TENON_RETURN_IF_ERROR(ReadView(given[i], what, i, views.emplace_back()));
  return absl::OkStatus();
}

Tensor BorrowedTensor(const kernels::TensorView& view) {
  return Tensor::Borrow(view.dtype, view.shape, view.data, nullptr);
}

}  // namespace tenon::c
