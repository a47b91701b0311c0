// Host side of fused.group: its body becomes a list of steps that the kernel interprets.
#include <algorithm>
#include <cstring>
#include <vector>

#include "ir/base/pointwise.h"
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
      TENON_SAME(kElu)
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
      TENON_SAME(kSoftplus)
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
         dtype == DType::kBool || dtype == DType::kU8 || dtype == DType::kI8;
}

bool FillStep(const PointwiseBody& body, const PointwiseStep& step, GroupStep& out) {
  out.from = body.dtype(step.operands[0]);
  out.to = step.dtype;
  out.alpha = static_cast<float>(step.params[0]);
  out.beta = static_cast<float>(step.params[1]);
  if (step.op == PointwiseOp::kWhere) {
    out.kind = GroupStep::kSelect;
    return true;
  }
  if (step.op == PointwiseOp::kFma) {
    out.kind = GroupStep::kFma;
    return true;
  }
  if (step.op == PointwiseOp::kCast) {
    out.kind = GroupStep::kCast;
    return true;
  }
  out.kind = GroupStep::kOp;
  // The body's parameters of clip are max, min.
  if (step.op == PointwiseOp::kClip) std::swap(out.alpha, out.beta);
  if (step.op == PointwiseOp::kElu) {
    out.beta = 1 / static_cast<float>(step.params[2]);
    out.gamma = static_cast<float>(step.params[1]);
  }
  return FindOp(step, out.op);
}

// Gives values slots, which are free again behind the last step that reads them: the fewer there
// are, the more threads a multiprocessor holds.
void PlaceValues(const PointwiseBody& body, GroupParams& p) {
  const auto num_values = static_cast<size_t>(body.num_values());
  constexpr int kNever = -1;
  std::vector<int> last_read(num_values, kNever), slot_of(num_values, -1);
  for (size_t s = 0; s < body.steps.size(); ++s) {
    for (int v : body.steps[s].used()) last_read[static_cast<size_t>(v)] = static_cast<int>(s);
  }
  std::vector<bool> taken(num_values, false);
  const auto place = [&](size_t value) {
    const auto slot = std::find(taken.begin(), taken.end(), false) - taken.begin();
    taken[static_cast<size_t>(slot)] = true;
    slot_of[value] = static_cast<int>(slot);
    p.num_slots = std::max(p.num_slots, static_cast<int>(slot) + 1);
  };
  const auto constant_of = [&](int v) { return v - body.first_constant(); };
  const auto is_constant = [&](int v) {
    return v >= body.first_constant() && v < body.first_step();
  };
  for (size_t k = 0; k < body.inputs.size(); ++k) place(k);
  for (int v = 0; v < body.num_values(); ++v) p.wide = p.wide || body.dtype(v) == DType::kI64;
  for (size_t s = 0; s < body.steps.size(); ++s) {
    GroupStep& step = p.steps[s];
    const auto operands = body.steps[s].used();
    step.operands = static_cast<int8_t>(operands.size());
    int8_t* const to[] = {&step.a, &step.b, &step.c};
    for (size_t i = 0; i < operands.size(); ++i) {
      const int v = operands[i];
      *to[i] =
          static_cast<int8_t>(is_constant(v) ? ~constant_of(v) : slot_of[static_cast<size_t>(v)]);
    }
    // A step reads its operands before it writes its value.
    for (int v : operands) {
      const auto at = static_cast<size_t>(v);
      if (!is_constant(v) && last_read[at] == static_cast<int>(s))
        taken[static_cast<size_t>(slot_of[at])] = false;
    }
    const size_t value = static_cast<size_t>(body.first_step()) + s;
    if (last_read[value] != kNever) place(value);
    step.slot = static_cast<int8_t>(slot_of[value]);
    step.result = -1;
    for (size_t r = 0; r < body.results.size(); ++r) {
      if (body.results[r] == static_cast<int>(value)) step.result = static_cast<int8_t>(r);
    }
  }
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
    const DType dtype = body.dtype(body.results[i]);
    if (outputs[i].dtype != dtype) {
      return std::string("yields ") + Name(dtype) + ", not " + Name(outputs[i].dtype);
    }
  }
  PlaceValues(body, p);
  return {};
}

struct GroupState : KernelState {
  GroupParams params;
};

std::string SupportsGroup(const CallSignature& call) {
  GroupParams p;
  std::string reason = Read(call.inputs, call.outputs, call.attrs, p);
  return reason.empty() ? CheckRanks(call) : reason;
}

KernelStatus PrepareGroup(PrepareArgs& args, std::shared_ptr<KernelState>& out) {
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
  Kernel group = MakeKernel("fused.group", "cuda.group", Run, SupportsGroup);
  group.prepare = PrepareGroup;
  registry.Add(group);
}

}  // namespace tenon::kernels::gpu
