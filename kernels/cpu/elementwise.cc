// Elementwise kernels on floats: one operand, two with broadcasting, where.
#include <cmath>
#include <cstring>

#include "kernels/cpu/support.h"
#include "kernels/cpu/vector_ops.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

using cpu::BinaryForm;
using cpu::BinaryOp;
using cpu::UnaryOp;

KernelStatus RunUnary(const RunArgs& args, UnaryOp op, float alpha = 0, float beta = 0) {
  const float* x = args.inputs[0].as<float>();
  float* out = args.outputs[0].as<float>();
  const auto f = cpu::GetVectorOps().unary[static_cast<int>(op)];
  (*args.device->parallel)(args.outputs[0].numel(), cpu::kGrain, [=](int64_t begin, int64_t end) {
    f(x + begin, out + begin, end - begin, alpha, beta);
  });
  return KernelStatus::Ok();
}

template <UnaryOp kOp>
KernelStatus Unary(const RunArgs& args) {
  return RunUnary(args, kOp);
}

template <UnaryOp kOp>
Kernel UnaryKernel(const char* op, const char* name) {
  return {.op = op,
          .name = name,
          .priority = 10,
          .run = Unary<kOp>,
          .supports = cpu::RequireF32,
          .inplace_mask = 1};
}

Kernel UnaryKernel(const char* op, const char* name, RunFn run) {
  return {.op = op,
          .name = name,
          .priority = 10,
          .run = run,
          .supports = cpu::RequireF32,
          .inplace_mask = 1};
}

// Splits the broadcast index space into rows on which every operand is either contiguous (stride 1)
// or one element (stride 0), and calls row(offsets..., length, out offset) for each, in parallel.
template <size_t N, typename Row>
void ForEachRow(const RunArgs& args, std::array<Dims, N> strides, Row row) {
  Dims shape = ToDims(args.outputs[0].shape);
  if (Product(View(shape)) == 0) return;
  Coalesce(shape, strides);
  const int64_t n = shape.back(), rows = Product(View(shape)) / n;
  if (rows == 1) {
    (*args.device->parallel)(n, cpu::kGrain, [&](int64_t begin, int64_t end) {
      std::array<int64_t, N> offsets, steps;
      for (size_t k = 0; k < N; ++k) {
        steps[k] = strides[k].back();
        offsets[k] = begin * steps[k];
      }
      row(offsets, steps, begin, end - begin);
    });
    return;
  }
  std::array<int64_t, N> steps;
  for (size_t k = 0; k < N; ++k) steps[k] = strides[k].back(), strides[k].pop_back();
  shape.pop_back();
  (*args.device->parallel)(rows, cpu::RowGrain(n), [&](int64_t begin, int64_t end) {
    StridedWalk<N> walk(View(shape), strides, begin);
    for (int64_t r = begin; r < end; ++r, walk.Next()) {
      std::array<int64_t, N> offsets;
      for (size_t k = 0; k < N; ++k) offsets[k] = walk[k];
      row(offsets, steps, r * n, n);
    }
  });
}

template <BinaryOp kOp>
KernelStatus Binary(const RunArgs& args) {
  const DimSpan shape = args.outputs[0].shape;
  const float *a = args.inputs[0].as<float>(), *b = args.inputs[1].as<float>();
  float* out = args.outputs[0].as<float>();
  const auto& forms = cpu::GetVectorOps().binary[static_cast<int>(kOp)];
  ForEachRow<2>(args,
                {BroadcastStrides(args.inputs[0].shape, shape),
                 BroadcastStrides(args.inputs[1].shape, shape)},
                [&](const auto& offsets, const auto& steps, int64_t to, int64_t n) {
                  const BinaryForm form = steps[0] == 0   ? BinaryForm::kSV
                                          : steps[1] == 0 ? BinaryForm::kVS
                                                          : BinaryForm::kVV;
                  forms[static_cast<int>(form)](a + offsets[0], b + offsets[1], out + to, n);
                });
  return KernelStatus::Ok();
}

template <BinaryOp kOp>
Kernel BinaryKernel(const char* op, const char* name) {
  return {.op = op,
          .name = name,
          .priority = 10,
          .run = Binary<kOp>,
          .supports = cpu::RequireF32,
          .inplace_mask = 3};
}

std::string PowSupports(const CallSignature& call) {
  for (int64_t d : call.inputs[1].shape) {
    if (d != 1) return "needs one exponent for all elements";
  }
  return cpu::RequireF32(call);
}

KernelStatus Pow(const RunArgs& args) {
  const float exponent = *args.inputs[1].as<float>();
  if (exponent == 1) return RunUnary(args, UnaryOp::kAffine, 1, 0);
  if (exponent == 2) return RunUnary(args, UnaryOp::kSquare);
  if (exponent == 3) return RunUnary(args, UnaryOp::kCube);
  const float* x = args.inputs[0].as<float>();
  float* out = args.outputs[0].as<float>();
  (*args.device->parallel)(args.outputs[0].numel(), cpu::kGrain / 16, [=](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) out[i] = std::pow(x[i], exponent);
  });
  return KernelStatus::Ok();
}

std::string WhereSupports(const CallSignature& call) {
  return SizeOf(call.outputs[0].dtype) == 4 ? std::string() : "needs elements of 4 bytes";
}

// Elements of 4 bytes of any dtype: they are only moved.
KernelStatus Where(const RunArgs& args) {
  const DimSpan shape = args.outputs[0].shape;
  const uint8_t* condition = args.inputs[0].as<uint8_t>();
  const uint32_t *a = args.inputs[1].as<uint32_t>(), *b = args.inputs[2].as<uint32_t>();
  uint32_t* out = args.outputs[0].as<uint32_t>();
  ForEachRow<3>(
      args,
      {BroadcastStrides(args.inputs[0].shape, shape), BroadcastStrides(args.inputs[1].shape, shape),
       BroadcastStrides(args.inputs[2].shape, shape)},
      [&](const auto& from, const auto& steps, int64_t to, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          out[to + i] = condition[from[0] + i * steps[0]] != 0 ? a[from[1] + i * steps[1]]
                                                               : b[from[2] + i * steps[2]];
        }
      });
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuAbs() { return UnaryKernel<UnaryOp::kAbs>("ten.abs", "cpu.abs"); }
Kernel CpuAdd() { return BinaryKernel<BinaryOp::kAdd>("ten.add", "cpu.add"); }
Kernel CpuCeil() { return UnaryKernel<UnaryOp::kCeil>("ten.ceil", "cpu.ceil"); }
Kernel CpuClip() {
  return UnaryKernel("ten.clip", "cpu.clip", [](const RunArgs& args) {
    const auto& attrs = args.get<ten::ClipAttrs>();
    return RunUnary(args, UnaryOp::kClip, static_cast<float>(attrs.min),
                    static_cast<float>(attrs.max));
  });
}
Kernel CpuDiv() { return BinaryKernel<BinaryOp::kDiv>("ten.div", "cpu.div"); }
Kernel CpuErf() { return UnaryKernel<UnaryOp::kErf>("ten.erf", "cpu.erf"); }
Kernel CpuExp() { return UnaryKernel<UnaryOp::kExp>("ten.exp", "cpu.exp"); }
Kernel CpuFloor() { return UnaryKernel<UnaryOp::kFloor>("ten.floor", "cpu.floor"); }
Kernel CpuGelu() {
  return UnaryKernel("nn.gelu", "cpu.gelu", [](const RunArgs& args) {
    switch (args.get<nn::GeluAttrs>().approximate) {
      case nn::GeluApproximate::kTanh:
        return RunUnary(args, UnaryOp::kGeluTanh);
      case nn::GeluApproximate::kSigmoid:
        return RunUnary(args, UnaryOp::kGeluSigmoid);
      default:
        return RunUnary(args, UnaryOp::kGelu);
    }
  });
}
Kernel CpuHardSigmoid() {
  return UnaryKernel("ten.hard_sigmoid", "cpu.hard_sigmoid", [](const RunArgs& args) {
    const auto& attrs = args.get<ten::HardSigmoidAttrs>();
    return RunUnary(args, UnaryOp::kHardSigmoid, attrs.alpha, attrs.beta);
  });
}
Kernel CpuMish() { return UnaryKernel<UnaryOp::kMish>("nn.mish", "cpu.mish"); }

Kernel CpuHardSwish() {
  return UnaryKernel<UnaryOp::kHardSwish>("ten.hard_swish", "cpu.hard_swish");
}
Kernel CpuLeakyRelu() {
  return UnaryKernel("ten.leaky_relu", "cpu.leaky_relu", [](const RunArgs& args) {
    return RunUnary(args, UnaryOp::kLeakyRelu, args.get<ten::LeakyReluAttrs>().alpha);
  });
}
Kernel CpuMax() { return BinaryKernel<BinaryOp::kMax>("ten.max", "cpu.max"); }
Kernel CpuMin() { return BinaryKernel<BinaryOp::kMin>("ten.min", "cpu.min"); }
Kernel CpuMul() { return BinaryKernel<BinaryOp::kMul>("ten.mul", "cpu.mul"); }
Kernel CpuNeg() { return UnaryKernel<UnaryOp::kNeg>("ten.neg", "cpu.neg"); }
Kernel CpuPow() {
  return {.op = "ten.pow",
          .name = "cpu.pow",
          .priority = 10,
          .run = Pow,
          .supports = PowSupports,
          .inplace_mask = 1};
}
Kernel CpuReciprocal() {
  return UnaryKernel<UnaryOp::kReciprocal>("ten.reciprocal", "cpu.reciprocal");
}
Kernel CpuRelu() { return UnaryKernel<UnaryOp::kRelu>("ten.relu", "cpu.relu"); }
Kernel CpuRound() { return UnaryKernel<UnaryOp::kRound>("ten.round", "cpu.round"); }
Kernel CpuSigmoid() { return UnaryKernel<UnaryOp::kSigmoid>("ten.sigmoid", "cpu.sigmoid"); }
Kernel CpuSilu() { return UnaryKernel<UnaryOp::kSilu>("nn.silu", "cpu.silu"); }
Kernel CpuSqrt() { return UnaryKernel<UnaryOp::kSqrt>("ten.sqrt", "cpu.sqrt"); }
Kernel CpuSub() { return BinaryKernel<BinaryOp::kSub>("ten.sub", "cpu.sub"); }
Kernel CpuTanh() { return UnaryKernel<UnaryOp::kTanh>("ten.tanh", "cpu.tanh"); }
Kernel CpuWhere() {
  return {.op = "ten.where",
          .name = "cpu.where",
          .priority = 10,
          .run = Where,
          .supports = WhereSupports,
          .inplace_mask = 6};
}

}  // namespace tenon::kernels
