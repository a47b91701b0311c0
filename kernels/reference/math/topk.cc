// Reference kernels of topk: each row is sorted as far as it is needed.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Does a come before b? Of equal elements the one with the smaller index does.
template <typename C>
bool Wins(C a, C b, bool largest) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return largest ? a_nan && !b_nan : b_nan && !a_nan;
  return largest ? a > b : a < b;
}

template <typename Attrs>
KernelStatus TopK(const RunArgs& args) {
  const auto& attrs = args.get<Attrs>();
  const TensorView &x = args.inputs[0], &values = args.outputs[0], &indices = args.outputs[1];
  if (values.numel() == 0) return KernelStatus::Ok();
  const int64_t axis = NormalizeAxis(attrs.axis, x.rank());
  const int64_t extent = x.shape[axis], k = values.shape[axis];
  const int64_t inner = Product(x.shape.subspan(axis + 1)), outer = Product(x.shape.first(axis));
  if (k > extent) {
    return KernelStatus::Invalid("k is " + std::to_string(k) + " for an axis of " +
                                 std::to_string(extent) + " elements");
  }
  return DispatchNumber(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    std::vector<int64_t> order(extent);
    for (int64_t row = 0; row < outer * inner; ++row) {
      const T* from = x.as<T>() + row / inner * extent * inner + row % inner;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        const C va = static_cast<C>(from[a * inner]), vb = static_cast<C>(from[b * inner]);
        if (Wins(va, vb, attrs.largest)) return true;
        return !Wins(vb, va, attrs.largest) && a < b;
      });
      const int64_t to = row / inner * k * inner + row % inner;
      for (int64_t i = 0; i < k; ++i) {
        values.as<T>()[to + i * inner] = from[order[i] * inner];
        indices.as<int64_t>()[to + i * inner] = order[i];
      }
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefDynamicTopk() {
  return {.op = "ten.dynamic_topk", .name = "ref.dynamic_topk", .run = TopK<ten::DynamicTopkAttrs>};
}

Kernel RefTopk() { return {.op = "ten.topk", .name = "ref.topk", .run = TopK<ten::TopkAttrs>}; }

}  // namespace tenon::kernels
