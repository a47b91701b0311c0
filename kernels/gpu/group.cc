// Host side of fused.group: its body becomes a list of steps that the kernel interprets.
#include <cstring>

#include "ir/core/pointwise.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/support.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels::gpu {
namespace {

// The op of the elementwise kernels that is the same; nn.gelu is told apart by its parameter.
bool FindOp(const PointwiseStep& step, ElementwiseOp& op) {
  switch (step.op) {
    case PointwiseOp::kGelu:
      op = OpOf(static_cast<ActivationKind>(static_cast<int>(ActivationKind::kGelu) +
                                            static_cast<int>(step.params[0])));
      return true;
    case PointwiseOp::kClip:
      op = OpOf(ActivationKind::kClip);
      return true;
    case PointwiseOp::kHardSigmoid:
      op = OpOf(ActivationKind::kHardSigmoid);
      return true;
    case PointwiseOp::kHardSwish:
      op = OpOf(ActivationKind::kHardSwish);
      return true;
    case PointwiseOp::kLeakyRelu:
      op = OpOf(ActivationKind::kLeakyRelu);
      return true;
    case PointwiseOp::kMish:
      op = OpOf(ActivationKind::kMish);
      return true;
    case PointwiseOp::kRelu:
      op = OpOf(ActivationKind::kRelu);
      return true;
    case PointwiseOp::kSigmoid:
      op = OpOf(ActivationKind::kSigmoid);
      return true;
    case PointwiseOp::kSilu:
      op = OpOf(ActivationKind::kSilu);
      return true;
    case PointwiseOp::kTanh:
      op = OpOf(ActivationKind::kTanh);
      return true;
#define TENON_SAME(name)      \
  case PointwiseOp::name:     \
    op = ElementwiseOp::name; \
    return true;
      TENON_SAME(kAbs)
      TENON_SAME(kAdd)
      TENON_SAME(kAnd)
      TENON_SAME(kCeil)
      TENON_SAME(kCos)
      TENON_SAME(kDiv)
      TENON_SAME(kEqual)
      TENON_SAME(kErf)
      TENON_SAME(kExp)
      TENON_SAME(kFloor)
      TENON_SAME(kGreater)
      TENON_SAME(kGreaterEqual)
      TENON_SAME(kLess)
      TENON_SAME(kLessEqual)
      TENON_SAME(kLog)
      TENON_SAME(kMax)
      TENON_SAME(kMin)
      TENON_SAME(kMul)
      TENON_SAME(kNeg)
      TENON_SAME(kNot)
      TENON_SAME(kOr)
      TENON_SAME(kPow)
      TENON_SAME(kReciprocal)
      TENON_SAME(kRound)
      TENON_SAME(kSign)
      TENON_SAME(kSin)
      TENON_SAME(kSqrt)
      TENON_SAME(kSub)
      TENON_SAME(kXor)
#undef TENON_SAME
    default:
      return false;
  }
}

bool Served(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kI64 ||
         dtype == DType::kBool;
}

bool FillStep(const PointwiseBody& body, const PointwiseStep& step, GroupStep& out) {
  out.a = static_cast<int8_t>(step.operands[0]);
  out.b = static_cast<int8_t>(step.operands[1]);
  out.c = static_cast<int8_t>(step.operands[2]);
  out.from = body.dtype(step.operands[0]);
  out.to = step.dtype;
  out.alpha = static_cast<float>(step.params[0]);
  out.beta = static_cast<float>(step.params[1]);
  if (step.op == PointwiseOp::kWhere) {
    out.kind = GroupStep::kSelect;
    return true;
  }
  if (step.op == PointwiseOp::kCast) {
    out.kind = GroupStep::kCast;
    return true;
  }
  out.kind = GroupStep::kOp;
  // The body's parameters of clip are max, min.
  if (step.op == PointwiseOp::kClip) std::swap(out.alpha, out.beta);
  return FindOp(step, out.op);
}

// Everything of the call but addresses and shapes; empty if it can be served.
std::string Read(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                 const void* attrs, GroupParams& p) {
  const size_t num_results = outputs.size();
  p = {};
  std::vector<DType> dtypes;
  for (const TensorView& input : inputs) dtypes.push_back(input.dtype);
  PointwiseBody body;
  std::string error;
  if (!ParsePointwise(static_cast<const fused::GroupAttrs*>(attrs)->body, dtypes, body, error)) {
    return error;
  }
  if (body.inputs.size() > kMaxGroupInputs || num_results > kMaxGroupResults ||
      body.num_values() > kMaxGroupValues) {
    return "has " + std::to_string(body.inputs.size()) + " inputs, " + std::to_string(num_results) +
           " results and " + std::to_string(body.num_values()) +
           " values (expected at most 8, 4 and 40)";
  }
  for (int v = 0; v < body.num_values(); ++v) {
    if (!Served(body.dtype(v))) return std::string("does not serve ") + Name(body.dtype(v));
  }
  p.num_inputs = static_cast<int>(body.inputs.size());
  p.num_constants = static_cast<int>(body.constants.size());
  p.num_steps = static_cast<int>(body.steps.size());
  p.num_results = static_cast<int>(num_results);
  for (size_t i = 0; i < body.inputs.size(); ++i) p.input_types[i] = body.inputs[i];
  for (size_t i = 0; i < body.constants.size(); ++i) {
    const PointwiseConstant& constant = body.constants[i];
    p.constants[i] = constant.integer;
    if (constant.dtype != DType::kF32) continue;
    const auto value = static_cast<float>(constant.real);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    p.constants[i] = bits;
  }
  for (size_t i = 0; i < body.steps.size(); ++i) {
    if (!FillStep(body, body.steps[i], p.steps[i])) {
      return std::string("does not serve ") + InfoOf(body.steps[i].op).name;
    }
  }
  if (body.results.size() != num_results) {
    return "yields " + std::to_string(body.results.size()) + " results";
  }
  for (size_t i = 0; i < num_results; ++i) {
    p.result_values[i] = static_cast<int8_t>(body.results[i]);
    p.result_types[i] = body.dtype(body.results[i]);
    if (outputs[i].dtype != p.result_types[i]) {
      return std::string("yields ") + Name(p.result_types[i]) + ", not " + Name(outputs[i].dtype);
    }
  }
  return {};
}

struct GroupState : KernelState {
  GroupParams params;
};

std::string Supports(const CallSignature& call) {
  GroupParams p;
  std::string reason = Read(call.inputs, call.outputs, call.attrs, p);
  return reason.empty() ? CheckRanks(call) : reason;
}

KernelStatus Prepare(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
  auto state = std::make_shared<GroupState>();
  GroupParams& p = state->params;
  if (std::string error = Read(args.inputs, args.outputs, args.attrs, p); !error.empty()) {
    return KernelStatus::Invalid(std::move(error));
  }
  const DimSpan shape = args.outputs[0].shape;
  p.n = Product(shape);
  std::array<Dims, kMaxGroupInputs> strides;
  strides.fill(Dims(shape.size(), 0));
  for (size_t i = 0; i < args.inputs.size(); ++i) strides[i] = StridesIn(args.inputs[i], shape);
  p.at = ToStrided<kMaxGroupInputs>(ToDims(shape), std::move(strides));
  out = std::move(state);
  return KernelStatus::Ok();
}

KernelStatus Run(const RunArgs& args) {
  GroupParams p = static_cast<const GroupState*>(args.state)->params;
  if (p.n == 0) return KernelStatus::Ok();
  for (int i = 0; i < p.num_inputs; ++i) p.inputs[i] = args.inputs[static_cast<size_t>(i)].data;
  for (int i = 0; i < p.num_results; ++i) p.results[i] = args.outputs[static_cast<size_t>(i)].data;
  return QueueOf(args).Launch(p);
}

}  // namespace

void AddGroupKernels(KernelRegistry& registry) {
  Kernel group = MakeKernel("fused.group", "cuda.group", Run, Supports);
  group.prepare = Prepare;
  registry.Add(group);
}

}  // namespace tenon::kernels::gpu
