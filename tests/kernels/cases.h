// What the families of case generators share, and their tables.
#ifndef TENON_TESTS_KERNELS_CASES_H_
#define TENON_TESTS_KERNELS_CASES_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "tests/kernels/case_generators.h"

namespace tenon::kernels::testing {

// A shape that broadcasts to `out`: some extents 1, leading axes sometimes missing.
Shape BroadcastInput(Random& random, const Shape& out);

inline Case Make(std::vector<Tensor> inputs, std::vector<Tensor> outputs,
                 std::shared_ptr<const void> attrs = nullptr, std::vector<size_t> constant = {}) {
  return {std::move(inputs), std::move(outputs), std::move(attrs), std::move(constant), 0};
}

inline Tensor F32(Shape shape) { return Tensor(DType::kF32, std::move(shape)); }

template <typename Attrs>
void SetActivation(Random& random, Attrs& attrs) {
  using Enum = decltype(attrs.activation);
  attrs.activation = static_cast<Enum>(random.Int(0, 12));
  attrs.alpha = attrs.activation == Enum::kClip ? -0.5f : 0.2f;
  attrs.beta = attrs.activation == Enum::kClip ? 0.7f : 0.4f;
}

// <family>_cases.cc each; no op is in two of them.
GeneratorsByOp ElementwiseCases();
GeneratorsByOp MovementCases();
GeneratorsByOp LinearCases();
GeneratorsByOp ConvCases();
GeneratorsByOp RowCases();
GeneratorsByOp AttentionCases();
GeneratorsByOp RecurrenceCases();
GeneratorsByOp SelectionCases();

}  // namespace tenon::kernels::testing

#endif  // TENON_TESTS_KERNELS_CASES_H_
