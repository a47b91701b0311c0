// Kernels of single elementwise ops: programs of one step, made for the shapes by Prepare.
#include "ir/base/pointwise.h"
#include "kernels/cpu/pointwise/half_cast.h"
#include "kernels/cpu/pointwise/pointwise_program.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

std::array<double, 3> ParamsOf(PointwiseOp op, const void* attrs) {
  switch (op) {
    case PointwiseOp::kCast:
      return {static_cast<double>(static_cast<const ten::CastAttrs*>(attrs)->to)};
    case PointwiseOp::kClip: {
      const auto& clip = *static_cast<const ten::ClipAttrs*>(attrs);
      return {clip.max, clip.min};
    }
    case PointwiseOp::kElu: {
      const auto& elu = *static_cast<const ten::EluAttrs*>(attrs);
      return {elu.alpha, elu.gamma, elu.width};
    }
    case PointwiseOp::kGelu:
      return {static_cast<double>(static_cast<const nn::GeluAttrs*>(attrs)->approximate)};
    case PointwiseOp::kHardSigmoid: {
      const auto& hard = *static_cast<const ten::HardSigmoidAttrs*>(attrs);
      return {hard.alpha, hard.beta};
    }
    case PointwiseOp::kLeakyRelu:
      return {static_cast<const ten::LeakyReluAttrs*>(attrs)->alpha};
    default:
      return {};
  }
}

DType ResultOf(PointwiseOp op, std::span<const TensorView> inputs, const void* attrs) {
  absl::InlinedVector<DType, 3> dtypes;
  for (const TensorView& input : inputs) dtypes.push_back(input.dtype);
  return PointwiseResult(op, {dtypes.data(), dtypes.size()}, ParamsOf(op, attrs));
}

template <PointwiseOp kOp>
std::string SupportsElementwise(const CallSignature& call) {
  if (kOp == PointwiseOp::kCast && cpu::IsHalfCast(call.inputs[0].dtype, call.outputs[0].dtype))
    return {};
  if (ResultOf(kOp, call.inputs, call.attrs) == call.outputs[0].dtype) return {};
  std::string types;
  for (const TensorView& input : call.inputs) {
    types += (types.empty() ? "" : ", ") + std::string(Name(input.dtype));
  }
  return "does not work on " + types;
}

template <PointwiseOp kOp>
KernelStatus PrepareElementwise(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  if (kOp == PointwiseOp::kCast && cpu::IsHalfCast(args.inputs[0].dtype, args.outputs[0].dtype))
    return KernelStatus::Ok();  // without a state: see RunElementwise
  PointwiseBody body;
  PointwiseStep step = {
      .op = kOp, .dtype = args.outputs[0].dtype, .params = ParamsOf(kOp, args.attrs)};
  for (const TensorView& input : args.inputs) {
    step.operands[body.inputs.size()] = static_cast<int>(body.inputs.size());
    body.inputs.push_back(input.dtype);
  }
  body.steps.push_back(step);
  body.results.push_back(body.first_step());
  state = std::make_shared<cpu::PointwiseProgram>(body, args.inputs, args.outputs[0].shape);
  return KernelStatus::Ok();
}

KernelStatus RunElementwise(const RunArgs& args) {
  if (args.state == nullptr) {
    cpu::RunHalfCast(args);
    return KernelStatus::Ok();
  }
  static_cast<const cpu::PointwiseProgram*>(args.state)->Run(args);
  return KernelStatus::Ok();
}

}  // namespace

// "nn.gelu" is served by "cpu.gelu".
#define TENON_POINTWISE_OP(id, name_, operands, dtypes, result)        \
  Kernel Cpu##id() {                                                   \
    static constexpr std::string_view kName = name_;                   \
    static constexpr auto kKernel = [] {                               \
      std::array<char, kName.size() + 5> text = {'c', 'p', 'u', '.'};  \
      const std::string_view rest = kName.substr(kName.find('.') + 1); \
      std::copy(rest.begin(), rest.end(), text.begin() + 4);           \
      return text;                                                     \
    }();                                                               \
    return {.op = name_,                                               \
            .name = kKernel.data(),                                    \
            .priority = 10,                                            \
            .run = RunElementwise,                                     \
            .prepare = PrepareElementwise<PointwiseOp::k##id>,         \
            .supports = SupportsElementwise<PointwiseOp::k##id>,       \
            .inplace_mask = (1u << (operands)) - 1};                   \
  }
#include "ir/base/pointwise_ops.def"
#undef TENON_POINTWISE_OP

}  // namespace tenon::kernels
