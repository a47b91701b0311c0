// Numbers as strings.
#ifndef TENON_KERNELS_STRINGS_NUMBER_TEXT_H_
#define TENON_KERNELS_STRINGS_NUMBER_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/tensor_view.h"

namespace tenon::kernels {

// Returns element i of `x`, which has data, as str.from_number writes it.
std::string NumberText(const TensorView& x, int64_t i);
// Sets element i of `out` to the number that `text` is. Returns false if it is no number of the
// type.
bool ReadNumber(std::string_view text, const TensorView& out, int64_t i);

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_STRINGS_NUMBER_TEXT_H_
