// Reference kernel of fused.group: runs the ops of its body one by one, each by its own reference
// kernel.
#include <cstring>
#include <map>

#include "ir/base/pointwise.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/dispatch.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

Kernel ReferenceOf(PointwiseOp op) {
  switch (op) {
#define TENON_POINTWISE_OP(id, name, operands, dtypes, result) \
  case PointwiseOp::k##id:                                     \
    return Ref##id();
#define TENON_ROW_OP(id, name, rows) \
  case PointwiseOp::k##id:           \
    return Ref##id();
#include "ir/base/pointwise_ops.def"
#undef TENON_POINTWISE_OP
#undef TENON_ROW_OP
  }
  return {};
}

std::shared_ptr<const void> AttrsOf(const PointwiseStep& step) {
  switch (step.op) {
    case PointwiseOp::kCast:
      return std::make_shared<ten::CastAttrs>(
          ten::CastAttrs{static_cast<DType>(static_cast<int>(step.params[0]))});
    case PointwiseOp::kClip:
      return std::make_shared<ten::ClipAttrs>(
          ten::ClipAttrs{.min = step.params[1], .max = step.params[0]});
    case PointwiseOp::kElu:
      return std::make_shared<ten::EluAttrs>(ten::EluAttrs{static_cast<float>(step.params[0]),
                                                           static_cast<float>(step.params[1]),
                                                           static_cast<float>(step.params[2])});
    case PointwiseOp::kGelu:
      return std::make_shared<nn::GeluAttrs>(
          nn::GeluAttrs{static_cast<nn::GeluApproximate>(static_cast<int>(step.params[0]))});
    case PointwiseOp::kHardSigmoid:
      return std::make_shared<ten::HardSigmoidAttrs>(ten::HardSigmoidAttrs{
          static_cast<float>(step.params[0]), static_cast<float>(step.params[1])});
    case PointwiseOp::kLeakyRelu:
      return std::make_shared<ten::LeakyReluAttrs>(
          ten::LeakyReluAttrs{static_cast<float>(step.params[0])});
    // Row ops work on the last axis, which reductions keep.
    case PointwiseOp::kLayerNorm:
      return std::make_shared<nn::LayerNormAttrs>(
          nn::LayerNormAttrs{.axis = -1, .epsilon = static_cast<float>(step.params[0])});
    case PointwiseOp::kRmsNorm:
      return std::make_shared<nn::RmsNormAttrs>(
          nn::RmsNormAttrs{.axis = -1, .epsilon = static_cast<float>(step.params[0])});
    case PointwiseOp::kLogSoftmax:
      return std::make_shared<nn::LogSoftmaxAttrs>(nn::LogSoftmaxAttrs{.axis = -1});
    case PointwiseOp::kSoftmax:
      return std::make_shared<nn::SoftmaxAttrs>(nn::SoftmaxAttrs{.axis = -1});
    case PointwiseOp::kReduceL2:
      return std::make_shared<ten::ReduceL2Attrs>(ten::ReduceL2Attrs{.axes = {-1}});
    case PointwiseOp::kReduceMax:
      return std::make_shared<ten::ReduceMaxAttrs>(ten::ReduceMaxAttrs{.axes = {-1}});
    case PointwiseOp::kReduceMean:
      return std::make_shared<ten::ReduceMeanAttrs>(ten::ReduceMeanAttrs{.axes = {-1}});
    case PointwiseOp::kReduceMin:
      return std::make_shared<ten::ReduceMinAttrs>(ten::ReduceMinAttrs{.axes = {-1}});
    case PointwiseOp::kReduceSum:
      return std::make_shared<ten::ReduceSumAttrs>(ten::ReduceSumAttrs{.axes = {-1}});
    default:
      return nullptr;  // the others have none
  }
}

struct Value {
  std::vector<int64_t> shape;
  std::vector<uint64_t> storage;  // of steps and constants
  TensorView view;
};

void Allocate(Value& value, DType dtype) {
  const auto bytes = static_cast<size_t>(Product(value.shape)) * SizeOf(dtype);
  value.storage.assign(bytes / 8 + 1, 0);
  value.view = {value.storage.data(), dtype, value.shape};
}

void SetConstant(Value& value, const PointwiseConstant& constant) {
  Allocate(value, constant.dtype);
  switch (constant.dtype) {
    case DType::kF32:
      *value.view.as<float>() = static_cast<float>(constant.real);
      return;
    case DType::kI32:
      *value.view.as<int32_t>() = static_cast<int32_t>(constant.integer);
      return;
    case DType::kBool:
      *value.view.as<uint8_t>() = constant.integer != 0;
      return;
    default:
      *value.view.as<int64_t>() = constant.integer;
  }
}

// Copies `from`, which broadcasts to the shape of `to`.
void CopyBroadcast(const TensorView& from, const TensorView& to) {
  StridedWalk<1> walk(to.shape, {BroadcastStrides(from.shape, to.shape)});
  const int64_t n = to.numel();
  const size_t size = SizeOf(to.dtype);
  for (int64_t i = 0; i < n; ++i, walk.Next()) {
    std::memcpy(to.as<char>() + i * static_cast<int64_t>(size),
                from.as<char>() + walk[0] * static_cast<int64_t>(size), size);
  }
}

KernelStatus Group(const RunArgs& args) {
  std::vector<DType> dtypes;
  for (const TensorView& input : args.inputs) dtypes.push_back(input.dtype);
  PointwiseBody body;
  std::string error;
  if (!ParsePointwise(args.get<fused::GroupAttrs>().body, dtypes, body, error)) {
    return KernelStatus::Invalid(std::move(error));
  }
  std::vector<Value> values(body.num_values());
  Dims shape;
  for (const TensorView& input : args.inputs) shape = BroadcastShape(View(shape), input.shape);
  for (size_t i = 0; i < args.inputs.size(); ++i) values[i].view = args.inputs[i];
  for (size_t i = 0; i < body.constants.size(); ++i) {
    SetConstant(values[body.first_constant() + i], body.constants[i]);
  }
  for (size_t s = 0; s < body.steps.size(); ++s) {
    const PointwiseStep& step = body.steps[s];
    Value& value = values[body.first_step() + s];
    std::vector<TensorView> operands;
    Value whole;  // the rows of an operand that repeats them
    if (InfoOf(step.op).rows != PointwiseOpInfo::Rows::kNone) {
      whole.shape.assign(shape.begin(), shape.end());
      Allocate(whole, step.dtype);
      CopyBroadcast(values[step.operands[0]].view, whole.view);
      operands.push_back(whole.view);
      value.shape = whole.shape;
      if (InfoOf(step.op).rows == PointwiseOpInfo::Rows::kReduces) value.shape.back() = 1;
    }
    for (int operand : step.used().subspan(operands.size())) {
      operands.push_back(values[operand].view);
      const Dims both = BroadcastShape(value.shape, operands.back().shape);
      value.shape.assign(both.begin(), both.end());
    }
    Allocate(value, step.dtype);
    const std::shared_ptr<const void> attrs = AttrsOf(step);
    RunArgs call = args;
    call.inputs = operands;
    call.outputs = std::span(&value.view, 1);
    call.attrs = attrs.get();
    if (KernelStatus status = ReferenceOf(step.op).run(call); !status.ok()) return status;
  }
  for (size_t r = 0; r < body.results.size(); ++r) {
    CopyBroadcast(values[body.results[r]].view, args.outputs[r]);
  }
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefGroup() { return {.op = "fused.group", .name = "ref.group", .run = Group}; }

}  // namespace tenon::kernels
