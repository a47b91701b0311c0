// Reference kernels of argmax and argmin.
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Does `candidate` replace `best`? A NaN wins over numbers, and only a later NaN replaces it.
template <bool kMax, typename C>
bool Replaces(C candidate, C best, bool last_of_equal) {
  const bool candidate_nan = candidate != candidate, best_nan = best != best;
  if (candidate_nan || best_nan) return candidate_nan && (!best_nan || last_of_equal);
  if (candidate == best) return last_of_equal;
  return kMax ? candidate > best : candidate < best;
}

template <bool kMax, typename Attrs>
KernelStatus ArgReduce(const RunArgs& args) {
  const auto& attrs = args.get<Attrs>();
  const TensorView& x = args.inputs[0];
  if (args.outputs[0].numel() == 0) return KernelStatus::Ok();
  const int64_t axis = NormalizeAxis(attrs.axis, x.rank());
  const int64_t extent = x.shape[axis], inner = Product(x.shape.subspan(axis + 1));
  const int64_t outer = Product(x.shape.first(axis));
  if (extent == 0) return KernelStatus::Invalid("the axis has no elements to choose from");
  return DispatchNumber(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const T* column = x.as<T>() + o * extent * inner + i;
        int64_t best = 0;
        for (int64_t j = 1; j < extent; ++j) {
          const auto candidate = static_cast<Compute<T>>(column[j * inner]);
          const auto current = static_cast<Compute<T>>(column[best * inner]);
          if (Replaces<kMax>(candidate, current, attrs.select_last_index)) best = j;
        }
        args.outputs[0].as<int64_t>()[o * inner + i] = best;
      }
    }
    return KernelStatus::Ok();
  });
}

}  // namespace

Kernel RefArgmax() {
  return {.op = "ten.argmax", .name = "ref.argmax", .run = ArgReduce<true, ten::ArgmaxAttrs>};
}

Kernel RefArgmin() {
  return {.op = "ten.argmin", .name = "ref.argmin", .run = ArgReduce<false, ten::ArgminAttrs>};
}

}  // namespace tenon::kernels
