// The reference kernel of ten.check_range.
#include <cstring>
#include <string>

#include "kernels/checked_index.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/elementwise/map.h"

namespace tenon::kernels {
namespace {

KernelStatus CheckRange(const RunArgs& args) {
  const TensorView &x = args.inputs[0], &low = args.inputs[1], &high = args.inputs[2];
  const TensorView& out = args.outputs[0];
  return DispatchNumber(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Compute<T>;
    const auto at = [](const TensorView& view, int64_t i) {
      return static_cast<C>(view.as<T>()[i]);
    };
    KernelStatus status;
    ForEachBroadcast<3>(args, [&](int64_t, const auto& i) {
      const C v = at(x, i[0]), least = at(low, i[1]), most = at(high, i[2]);
      if ((v >= least && v <= most) || !status.ok()) return;  // NaN is in no range
      status = KernelStatus::Invalid(args.get<ten::CheckRangeAttrs>().what + " is " +
                                     std::to_string(v) + ExpectedRange(least, most));
    });
    const auto bytes = static_cast<size_t>(out.bytes());
    if (status.ok() && bytes > 0 && out.data != x.data) std::memcpy(out.data, x.data, bytes);
    return status;
  });
}

}  // namespace

Kernel RefCheckRange() {
  return {.op = "ten.check_range", .name = "ref.check_range", .run = CheckRange, .inplace_mask = 1};
}

}  // namespace tenon::kernels
