// How a kernel orders the elements of the constants that it packs.
#ifndef TENON_EXECUTOR_WEIGHTS_FIND_ORDER_H_
#define TENON_EXECUTOR_WEIGHTS_FIND_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/base/element_order.h"
#include "kernels/tensor_view.h"

namespace tenon {

// Returns the order of a tensor of `elements` elements. `sources` says for each packed element the
// number of the element in the tensor, counted from 1; other numbers are something else. Nothing if
// an element is missing, or if no few strided copies give the order. `element_bytes` is not set.
std::optional<ElementOrder> FindOrder(std::span<const uint32_t> sources, size_t elements);

// Returns for each input of `from` where its elements lie in what `fill` packs; an order without
// parts if they do not lie there as they are. `fill` packs the constant inputs `from` of a kernel
// into `bytes` bytes. This function calls it with numbers in place of weights, which `views`, the
// kernel's inputs, have during the call. It tries nothing if an input of `from` holds no
// floats: kernels may use integers as positions.
//
// A kernel that computes with weights can give an order that is wrong. Compare what it gives with
// the weights.
std::vector<ElementOrder> ProbeOrders(std::span<kernels::TensorView> views,
                                      std::span<const int> from, size_t bytes,
                                      const std::function<void(std::byte*)>& fill);

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_FIND_ORDER_H_
