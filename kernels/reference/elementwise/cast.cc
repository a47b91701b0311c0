// Reference kernel of ten.cast, for every pair of dtypes.
#include "kernels/kernel_list.h"
#include "kernels/reference/dispatch.h"

namespace tenon::kernels {
namespace {

template <typename From>
KernelStatus CastFrom(const RunArgs& args) {
  const From* x = args.inputs[0].as<From>();
  const int64_t n = args.outputs[0].numel();
  if (args.outputs[0].dtype == DType::kBool) {
    uint8_t* out = args.outputs[0].as<uint8_t>();
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Compute<From>>(x[i]) != 0;
    return KernelStatus::Ok();
  }
  return DispatchNumber(args.outputs[0].dtype, [&](auto tag) {
    using To = typename decltype(tag)::type;
    To* out = args.outputs[0].as<To>();
    for (int64_t i = 0; i < n; ++i) out[i] = Convert<To>(x[i]);
    return KernelStatus::Ok();
  });
}

KernelStatus Cast(const RunArgs& args) {
  return DispatchAny(args.inputs[0].dtype,
                     [&](auto tag) { return CastFrom<typename decltype(tag)::type>(args); });
}

}  // namespace

// In place only when both element sizes agree, which the byte sizes show.
Kernel RefCast() { return {.op = "ten.cast", .name = "ref.cast", .run = Cast, .inplace_mask = 1}; }

}  // namespace tenon::kernels
