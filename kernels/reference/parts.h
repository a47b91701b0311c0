// Parts of reference kernels that run those of other ops one after the other. Private to
// kernels/reference.
#ifndef TENON_KERNELS_REFERENCE_PARTS_H_
#define TENON_KERNELS_REFERENCE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {

// A tensor between two parts.
struct Between {
  Between(DType dtype, Dims dims)
      : shape(std::move(dims)),
        words(static_cast<size_t>(Product(View(shape)) * static_cast<int64_t>(SizeOf(dtype)) + 7) /
              8),
        view{words.data(), dtype, View(shape)} {}
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;

  Dims shape;
  std::vector<uint64_t> words;
  TensorView view;
};

// Operand i, or `other` where it is absent.
inline TensorView InputOr(const RunArgs& args, size_t i, const TensorView& other = {}) {
  return i < args.inputs.size() && args.inputs[i].present() ? args.inputs[i] : other;
}

// Runs the reference kernel of an op with several results.
template <typename Attrs>
KernelStatus RunParts(const RunArgs& args, const Kernel& kernel, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs, const Attrs& attrs) {
  return kernel.run({.inputs = inputs,
                     .outputs = outputs,
                     .attrs = &attrs,
                     .device = args.device,
                     .scratch = args.scratch});
}

// Runs the reference kernel of an op with one result.
template <typename Attrs>
KernelStatus RunPart(const RunArgs& args, const Kernel& kernel, std::span<const TensorView> inputs,
                     const TensorView& output, const Attrs& attrs) {
  return RunParts(args, kernel, inputs, std::span<const TensorView>(&output, 1), attrs);
}

// out = norm(x) * scale + bias over the last axis
inline KernelStatus NormPart(const RunArgs& args, bool layer, float epsilon, const TensorView& x,
                             const TensorView& scale, const TensorView& bias,
                             const TensorView& out) {
  const TensorView inputs[] = {x, scale, bias};
  const int64_t axis = x.rank() - 1;
  if (layer) {
    return RunPart(args, RefLayerNorm(), inputs, out,
                   nn::LayerNormAttrs{.axis = axis, .epsilon = epsilon});
  }
  return RunPart(args, RefRmsNorm(), std::span(inputs).first(2), out,
                 nn::RmsNormAttrs{.axis = axis, .epsilon = epsilon});
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_REFERENCE_PARTS_H_
