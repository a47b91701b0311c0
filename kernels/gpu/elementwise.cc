// Host side of elementwise ops, casts and selections.
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels::gpu {
namespace {

bool IsFloatDtype(DType d) { return d == DType::kF32 || d == DType::kF16 || d == DType::kBF16; }
bool IsWord(DType d) { return d == DType::kI32 || d == DType::kI64; }

bool ServesInts(ElementwiseOp op) {
  if (op == OpOf(ActivationKind::kRelu)) return true;
  switch (op) {
    case ElementwiseOp::kAbs:
    case ElementwiseOp::kNeg:
    case ElementwiseOp::kSign:
    case ElementwiseOp::kAdd:
    case ElementwiseOp::kSub:
    case ElementwiseOp::kMul:
    case ElementwiseOp::kMax:
    case ElementwiseOp::kMin:
      return true;
    default:
      return op >= ElementwiseOp::kEqual;
  }
}
bool ServesBools(ElementwiseOp op) {
  return op == ElementwiseOp::kNot || op == ElementwiseOp::kAnd || op == ElementwiseOp::kOr ||
         op == ElementwiseOp::kXor || op == ElementwiseOp::kEqual;
}
bool ServesFloats(ElementwiseOp op) { return !ServesBools(op) || op == ElementwiseOp::kEqual; }

template <ElementwiseOp kOp>
std::string Supports(const CallSignature& call) {
  const DType dtype = call.inputs[0].dtype;
  for (const TensorView& input : call.inputs) {
    if (input.dtype != dtype) {
      return std::string("needs one element type, got ") + Name(dtype) + " and " +
             Name(input.dtype);
    }
  }
  const bool served = (IsFloatDtype(dtype) && ServesFloats(kOp)) ||
                      (IsWord(dtype) && ServesInts(kOp)) ||
                      (dtype == DType::kBool && ServesBools(kOp));
  if (!served) return std::string("does not serve ") + Name(dtype);
  return CheckRanks(call);
}

KernelStatus RunElementwise(const RunArgs& args, ElementwiseParams p) {
  const TensorView &a = args.inputs[0], b = Operand(args.inputs, 1), &out = args.outputs[0];
  p.dtype = a.dtype;
  p.a = a.data;
  p.b = b.data;
  p.out = out.data;
  p.n = out.numel();
  if (p.n == 0) return KernelStatus::Ok();
  p.at = ToStrided<2>(ToDims(out.shape), {StridesIn(a, out.shape), StridesIn(b, out.shape)});
  return QueueOf(args).Launch(p);
}

template <ElementwiseOp kOp>
KernelStatus Plain(const RunArgs& args) {
  ElementwiseParams p = {};
  p.op = kOp;
  return RunElementwise(args, p);
}

template <ElementwiseOp kOp>
Kernel Make(const char* op, const char* name) {
  constexpr bool kBinary = kOp >= ElementwiseOp::kAdd;
  return MakeKernel(op, name, Plain<kOp>, Supports<kOp>, GivesBool(kOp) ? 0 : kBinary ? 3 : 1);
}

template <ActivationKind kKind>
Kernel MakeActivation(const char* op, const char* name) {
  return MakeKernel(op, name, Plain<OpOf(kKind)>, Supports<OpOf(kKind)>, 1);
}

KernelStatus Clip(const RunArgs& args) {
  const auto& attrs = args.get<ten::ClipAttrs>();
  ElementwiseParams p = {};
  p.op = OpOf(ActivationKind::kClip);
  p.alpha = static_cast<float>(attrs.min);
  p.beta = static_cast<float>(attrs.max);
  return RunElementwise(args, p);
}

KernelStatus LeakyRelu(const RunArgs& args) {
  ElementwiseParams p = {};
  p.op = OpOf(ActivationKind::kLeakyRelu);
  p.alpha = args.get<ten::LeakyReluAttrs>().alpha;
  return RunElementwise(args, p);
}

KernelStatus HardSigmoid(const RunArgs& args) {
  const auto& attrs = args.get<ten::HardSigmoidAttrs>();
  ElementwiseParams p = {};
  p.op = OpOf(ActivationKind::kHardSigmoid);
  p.alpha = attrs.alpha;
  p.beta = attrs.beta;
  return RunElementwise(args, p);
}

KernelStatus Elu(const RunArgs& args) {
  const auto& attrs = args.get<ten::EluAttrs>();
  ElementwiseParams p = {};
  p.op = ElementwiseOp::kElu;
  p.alpha = attrs.alpha;
  p.beta = 1.0f / attrs.width;
  p.gamma = attrs.gamma;
  return RunElementwise(args, p);
}

KernelStatus Gelu(const RunArgs& args) {
  ElementwiseParams p = {};
  switch (args.get<nn::GeluAttrs>().approximate) {
    case nn::GeluApproximate::kNone:
      p.op = OpOf(ActivationKind::kGelu);
      break;
    case nn::GeluApproximate::kTanh:
      p.op = OpOf(ActivationKind::kGeluTanh);
      break;
    case nn::GeluApproximate::kSigmoid:
      p.op = OpOf(ActivationKind::kGeluSigmoid);
      break;
  }
  return RunElementwise(args, p);
}

// The element types that a cast reads and writes.
std::string SupportsCast(const CallSignature& call) {
  for (DType dtype : {call.inputs[0].dtype, call.outputs[0].dtype}) {
    const bool served =
        IsFloat(dtype) || IsSignedInt(dtype) || dtype == DType::kBool || dtype == DType::kU8;
    if (!served) return std::string("does not serve ") + Name(dtype);
  }
  return {};
}

KernelStatus Cast(const RunArgs& args) {
  const TensorView &in = args.inputs[0], &out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  return QueueOf(args).Launch(CastParams{in.dtype, out.dtype, in.data, out.data, out.numel()});
}

KernelStatus Fma(const RunArgs& args) {
  const TensorView &a = args.inputs[0], &b = args.inputs[1], &c = args.inputs[2];
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  FmaParams p = {};
  p.dtype = out.dtype;
  p.a = a.data;
  p.b = b.data;
  p.c = c.data;
  p.out = out.data;
  p.n = out.numel();
  p.at = ToStrided<3>(ToDims(out.shape),
                      {StridesIn(a, out.shape), StridesIn(b, out.shape), StridesIn(c, out.shape)});
  return QueueOf(args).Launch(p);
}

std::string SupportsFma(const CallSignature& call) {
  std::string reason = RequireFloats(call);
  return reason.empty() ? CheckRanks(call) : reason;
}

KernelStatus Where(const RunArgs& args) {
  const TensorView &cond = args.inputs[0], &a = args.inputs[1], &b = args.inputs[2];
  const TensorView& out = args.outputs[0];
  if (out.numel() == 0) return KernelStatus::Ok();
  SelectParams p = {};
  p.size = static_cast<int>(SizeOf(out.dtype));
  p.cond = cond.as<uint8_t>();
  p.a = a.data;
  p.b = b.data;
  p.out = out.data;
  p.n = out.numel();
  p.at = ToStrided<3>(ToDims(out.shape), {StridesIn(cond, out.shape), StridesIn(a, out.shape),
                                          StridesIn(b, out.shape)});
  return QueueOf(args).Launch(p);
}

}  // namespace

void AddElementwiseKernels(KernelRegistry& registry) {
  using enum ElementwiseOp;
  registry.Add(Make<kAbs>("ten.abs", "cuda.abs"));
  registry.Add(Make<kNeg>("ten.neg", "cuda.neg"));
  registry.Add(Make<kSign>("ten.sign", "cuda.sign"));
  registry.Add(Make<kExp>("ten.exp", "cuda.exp"));
  registry.Add(Make<kLog>("ten.log", "cuda.log"));
  registry.Add(Make<kSqrt>("ten.sqrt", "cuda.sqrt"));
  registry.Add(Make<kReciprocal>("ten.reciprocal", "cuda.reciprocal"));
  registry.Add(Make<kErf>("ten.erf", "cuda.erf"));
  registry.Add(Make<kSin>("ten.sin", "cuda.sin"));
  registry.Add(Make<kCos>("ten.cos", "cuda.cos"));
  registry.Add(Make<kCeil>("ten.ceil", "cuda.ceil"));
  registry.Add(Make<kFloor>("ten.floor", "cuda.floor"));
  registry.Add(Make<kRound>("ten.round", "cuda.round"));
  registry.Add(Make<kSoftplus>("ten.softplus", "cuda.softplus"));
  registry.Add(Make<kNot>("ten.not", "cuda.not"));
  registry.Add(Make<kIsNan>("ten.is_nan", "cuda.is_nan"));
  registry.Add(Make<kAdd>("ten.add", "cuda.add"));
  registry.Add(Make<kSub>("ten.sub", "cuda.sub"));
  registry.Add(Make<kMul>("ten.mul", "cuda.mul"));
  registry.Add(Make<kDiv>("ten.div", "cuda.div"));
  registry.Add(Make<kPow>("ten.pow", "cuda.pow"));
  registry.Add(Make<kMax>("ten.max", "cuda.max"));
  registry.Add(Make<kMin>("ten.min", "cuda.min"));
  registry.Add(Make<kAnd>("ten.and", "cuda.and"));
  registry.Add(Make<kOr>("ten.or", "cuda.or"));
  registry.Add(Make<kXor>("ten.xor", "cuda.xor"));
  registry.Add(Make<kEqual>("ten.equal", "cuda.equal"));
  registry.Add(Make<kLess>("ten.less", "cuda.less"));
  registry.Add(Make<kLessEqual>("ten.less_equal", "cuda.less_equal"));
  registry.Add(Make<kGreater>("ten.greater", "cuda.greater"));
  registry.Add(Make<kGreaterEqual>("ten.greater_equal", "cuda.greater_equal"));
  registry.Add(MakeActivation<ActivationKind::kRelu>("ten.relu", "cuda.relu"));
  registry.Add(MakeActivation<ActivationKind::kSigmoid>("ten.sigmoid", "cuda.sigmoid"));
  registry.Add(MakeActivation<ActivationKind::kTanh>("ten.tanh", "cuda.tanh"));
  registry.Add(MakeActivation<ActivationKind::kHardSwish>("ten.hard_swish", "cuda.hard_swish"));
  registry.Add(MakeActivation<ActivationKind::kSilu>("nn.silu", "cuda.silu"));
  registry.Add(MakeActivation<ActivationKind::kMish>("nn.mish", "cuda.mish"));
  const auto floats = [](const CallSignature& call) { return RequireFloats(call); };
  registry.Add(MakeKernel("ten.clip", "cuda.clip", Clip, floats, 1));
  registry.Add(MakeKernel("ten.leaky_relu", "cuda.leaky_relu", LeakyRelu, floats, 1));
  registry.Add(MakeKernel("ten.hard_sigmoid", "cuda.hard_sigmoid", HardSigmoid, floats, 1));
  registry.Add(MakeKernel("ten.elu", "cuda.elu", Elu, floats, 1));
  registry.Add(MakeKernel("nn.gelu", "cuda.gelu", Gelu, floats, 1));
  registry.Add(MakeKernel("ten.cast", "cuda.cast", Cast, SupportsCast));
  registry.Add(MakeKernel("ten.fma", "cuda.fma", Fma, SupportsFma, 7));
  registry.Add(MakeKernel("ten.where", "cuda.where", Where, CheckRanks, 6));
}

}  // namespace tenon::kernels::gpu
