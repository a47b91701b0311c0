#include "kernels/cpu/linear/epilogue.h"

#include "kernels/cpu/support.h"
#include "kernels/cpu/vector/vector_ops.h"
#include "kernels/shape.h"

namespace tenon::kernels::cpu {
namespace {

UnaryOp LoopOf(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kNone:
      break;
    case ActivationKind::kRelu:
      return UnaryOp::kRelu;
    case ActivationKind::kGelu:
      return UnaryOp::kGelu;
    case ActivationKind::kGeluTanh:
      return UnaryOp::kGeluTanh;
    case ActivationKind::kGeluSigmoid:
      return UnaryOp::kGeluSigmoid;
    case ActivationKind::kSilu:
      return UnaryOp::kSilu;
    case ActivationKind::kSigmoid:
      return UnaryOp::kSigmoid;
    case ActivationKind::kTanh:
      return UnaryOp::kTanh;
    case ActivationKind::kClip:
      return UnaryOp::kClip;
    case ActivationKind::kLeakyRelu:
      return UnaryOp::kLeakyRelu;
    case ActivationKind::kHardSigmoid:
      return UnaryOp::kHardSigmoid;
    case ActivationKind::kHardSwish:
      return UnaryOp::kHardSwish;
    case ActivationKind::kMish:
      return UnaryOp::kMish;
  }
  return UnaryOp::kAffine;  // not reached: there is nothing to do for kNone
}

}  // namespace

void Activate(const Activation& activation, const float* x, float* y, int64_t n) {
  if (activation.kind == ActivationKind::kNone) {
    Apply(UnaryOp::kAffine, x, y, n, 1, 0);
  } else {
    Apply(LoopOf(activation.kind), x, y, n, activation.alpha, activation.beta);
  }
}

void ActivateInPlace(const Activation& activation, float* y, int64_t n) {
  if (activation.kind == ActivationKind::kNone) return;
  Apply(LoopOf(activation.kind), y, y, n, activation.alpha, activation.beta);
}

void Epilogue(const RunArgs& args, const Activation& activation, const TensorView* residual) {
  if (activation.kind == ActivationKind::kNone && residual == nullptr) return;
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return;
  Dims shape = ToDims(out.shape);
  std::array<Dims, 1> strides = {Dims(shape.size(), 0)};
  if (residual != nullptr) {
    strides[0] = BroadcastStrides(residual->shape, out.shape);
    Coalesce(shape, strides);
  }
  // Rows on which the residual is contiguous or one element; without one, pieces of a grain.
  const int64_t total = out.numel();
  const int64_t n = residual != nullptr ? shape.back() : std::min(total, kGrain / 8);
  const int64_t step = residual != nullptr ? strides[0].back() : 0;
  const auto form = step == 0 ? BinaryForm::kVS : BinaryForm::kVV;
  const auto add = GetVectorOps().binary[static_cast<int>(BinaryOp::kAdd)][static_cast<int>(form)];
  if (residual != nullptr && shape.size() > 1) shape.pop_back(), strides[0].pop_back();
  const bool single_row = residual != nullptr && n == total;
  if (residual == nullptr || single_row) {
    (*args.device->parallel)(total, kGrain / 4, [&](int64_t begin, int64_t end) {
      float* y = out.as<float>() + begin;
      ActivateInPlace(activation, y, end - begin);
      if (residual != nullptr) add(y, residual->as<float>() + begin * step, y, end - begin);
    });
    return;
  }
  (*args.device->parallel)(total / n, RowGrain(n, 4), [&](int64_t begin, int64_t end) {
    StridedWalk<1> walk(View(shape), strides, begin);
    for (int64_t r = begin; r < end; ++r, walk.Next()) {
      float* y = out.as<float>() + r * n;
      ActivateInPlace(activation, y, n);
      add(y, residual->as<float>() + walk[0], y, n);
    }
  });
}

}  // namespace tenon::kernels::cpu
