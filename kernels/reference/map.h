// Elementwise loops of reference kernels.
#ifndef TENON_KERNELS_REFERENCE_MAP_H_
#define TENON_KERNELS_REFERENCE_MAP_H_

#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {

// out[i] = f(x[i]), computed in Compute<T>.
template <typename T, typename F>
KernelStatus Map(const RunArgs& args, F f) {
  const T* x = args.inputs[0].as<T>();
  T* out = args.outputs[0].as<T>();
  const int64_t n = args.outputs[0].numel();
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(f(static_cast<Compute<T>>(x[i])));
  return KernelStatus::Ok();
}

template <typename F>
KernelStatus MapFloat(const RunArgs& args, F f) {
  return DispatchFloat(args.inputs[0].dtype,
                       [&](auto tag) { return Map<typename decltype(tag)::type>(args, f); });
}

template <typename F>
KernelStatus MapNumber(const RunArgs& args, F f) {
  return DispatchNumber(args.inputs[0].dtype,
                        [&](auto tag) { return Map<typename decltype(tag)::type>(args, f); });
}

// out[i] = f(a[i], b[i]) over the broadcast index space; f takes and returns Compute types.
template <typename In, typename Out, typename F>
KernelStatus Zip(const RunArgs& args, F f) {
  const TensorView& out = args.outputs[0];
  const In* a = args.inputs[0].as<In>();
  const In* b = args.inputs[1].as<In>();
  Out* result = out.as<Out>();
  StridedWalk<2> walk(out.shape, {BroadcastStrides(args.inputs[0].shape, out.shape),
                                  BroadcastStrides(args.inputs[1].shape, out.shape)});
  const int64_t n = out.numel();
  for (int64_t i = 0; i < n; ++i, walk.Next()) {
    result[i] = static_cast<Out>(
        f(static_cast<Compute<In>>(a[walk[0]]), static_cast<Compute<In>>(b[walk[1]])));
  }
  return KernelStatus::Ok();
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_REFERENCE_MAP_H_
