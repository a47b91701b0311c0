#include "kernels/cpu/linear/linear_epilogue.h"

#include <array>

#include "kernels/cpu/linear/epilogue.h"
#include "kernels/cpu/support.h"
#include "kernels/shape.h"

namespace tenon::kernels::cpu {
namespace {

// The distance of the residual's rows if every row of the result has a contiguous one at an even
// distance; otherwise -1.
int64_t ResidualRow(const TensorView& residual, const TensorView& out) {
  Dims shape = ToDims(out.shape.first(out.shape.size() - 1));
  const int64_t n = out.dim(-1);
  Dims strides = BroadcastStrides(residual.shape, out.shape);
  if (n > 1 && strides.back() != 1) return -1;
  strides.pop_back();
  if (Product(View(shape)) == 1) return n;
  std::array<Dims, 1> joined = {strides};
  Coalesce(shape, joined);
  return shape.size() == 1 ? joined[0][0] : -1;
}

}  // namespace

LinearEpilogue::LinearEpilogue(const RunArgs& args, const Activation& activation) {
  if (Present(args.inputs, 2)) fused.bias = args.inputs[2].as<float>();
  fused.activation = activation;
  if (!Present(args.inputs, 3)) return;
  const TensorView& residual = args.inputs[3];
  fused.residual_row = ResidualRow(residual, args.outputs[0]);
  if (fused.residual_row >= 0) {
    fused.residual = residual.as<float>();
  } else {
    rest = &residual;
  }
}

void LinearEpilogue::Rest(const RunArgs& args) const {
  if (rest != nullptr) Epilogue(args, {}, rest);
}

}  // namespace tenon::kernels::cpu
