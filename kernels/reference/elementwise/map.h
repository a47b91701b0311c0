// Elementwise loops of reference kernels.
#ifndef TENON_KERNELS_REFERENCE_ELEMENTWISE_MAP_H_
#define TENON_KERNELS_REFERENCE_ELEMENTWISE_MAP_H_

#include <array>

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

// Calls f(i, at) for each element i of the first result, in order. Here at[k] is the position of
// the element of operand k that is broadcast to it.
template <size_t N, typename F>
void ForEachBroadcast(const RunArgs& args, F f) {
  const DimSpan shape = args.outputs[0].shape;
  const int64_t n = args.outputs[0].numel();
  if (n == 0) return;
  Dims extents = ToDims(shape);
  std::array<Dims, N> strides;
  for (size_t k = 0; k < N; ++k) strides[k] = BroadcastStrides(args.inputs[k].shape, shape);
  Coalesce(extents, strides);
  const int64_t inner = extents.back();
  StridedWalk<N> walk(View(extents).first(extents.size() - 1), strides);
  std::array<int64_t, N> at;
  for (int64_t i = 0; i < n; walk.Next()) {
    for (size_t k = 0; k < N; ++k) at[k] = walk[k];
    for (const int64_t end = i + inner; i < end; ++i) {
      f(i, at);
      for (size_t k = 0; k < N; ++k) at[k] += strides[k].back();
    }
  }
}

// out[i] = f(a[i], b[i]) with broadcasting; f takes and returns Compute types.
template <typename In, typename Out, typename F>
KernelStatus Zip(const RunArgs& args, F f) {
  const TensorView& out = args.outputs[0];
  const In* a = args.inputs[0].as<In>();
  const In* b = args.inputs[1].as<In>();
  Out* result = out.as<Out>();
  ForEachBroadcast<2>(args, [&](int64_t i, const auto& at) {
    result[i] =
        static_cast<Out>(f(static_cast<Compute<In>>(a[at[0]]), static_cast<Compute<In>>(b[at[1]])));
  });
  return KernelStatus::Ok();
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_REFERENCE_ELEMENTWISE_MAP_H_
