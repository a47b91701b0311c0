// Compressed layers, embeddings and elementwise groups as the operations that they join.
#include "fmt/format.h"
#include "ir/base/pointwise.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "transforms/expand/fused_parts_internal.h"

namespace tenon {
namespace {

// The attributes of a step, by slot of its operation.
absl::InlinedVector<Attribute, 6> SlotsOf(Context& context, const OpInfo& info,
                                          const PointwiseStep& step) {
  absl::InlinedVector<Attribute, 6> slots(info.def().attrs.size());
  const auto& params = InfoOf(step.op).params;
  for (size_t i = 0; i < params.size() && params[i] != nullptr; ++i) {
    const int slot = info.FindSlot(params[i]);
    if (slot < 0) continue;
    const AttrDef& def = info.def().attrs[static_cast<size_t>(slot)];
    Attribute& value = slots[static_cast<size_t>(slot)];
    const double number = step.params[i];
    if (def.type == AttrType::kType) {
      value = Attribute::TypeAttr(context, Type::Scalar(context, step.dtype));
    } else if (def.type == AttrType::kF64) {
      value = Attribute::F64(context, number);
    } else if (def.type == AttrType::kF32) {
      value = Attribute::F32(context, static_cast<float>(number));
    } else {
      for (const std::string& word : def.enums) {
        double of_word = 0;
        if (PointwiseWord(step.op, word, of_word) && of_word == number)
          value = Attribute::Str(context, word);
      }
    }
  }
  return slots;
}

// A row op on the last axis of `x`, which has whole rows.
Value MakeRowOp(OpFormula& f, const PointwiseStep& step, Value x) {
  const int64_t last = x.type().rank() - 1;
  const auto epsilon = static_cast<float>(step.params[0]);
  switch (step.op) {
    case PointwiseOp::kLayerNorm:
      return f.Norm("layer", last, epsilon, x, Value(), Value());
    case PointwiseOp::kRmsNorm:
      return f.Norm("rms", last, epsilon, x, Value(), Value());
    case PointwiseOp::kSoftmax:
      return f.Make<nn::SoftmaxOp>(x, nn::SoftmaxOp::Attrs{.axis = last});
    case PointwiseOp::kLogSoftmax:
      return f.Make<nn::LogSoftmaxOp>(x, nn::LogSoftmaxOp::Attrs{.axis = last});
    case PointwiseOp::kReduceL2:
      return f.Make<ten::ReduceL2Op>(x, ten::ReduceL2Op::Attrs{.axes = {last}});
    case PointwiseOp::kReduceMax:
      return f.Make<ten::ReduceMaxOp>(x, ten::ReduceMaxOp::Attrs{.axes = {last}});
    case PointwiseOp::kReduceMean:
      return f.Make<ten::ReduceMeanOp>(x, ten::ReduceMeanOp::Attrs{.axes = {last}});
    case PointwiseOp::kReduceMin:
      return f.Make<ten::ReduceMinOp>(x, ten::ReduceMinOp::Attrs{.axes = {last}});
    default:
      return f.Make<ten::ReduceSumOp>(x, ten::ReduceSumOp::Attrs{.axes = {last}});
  }
}

// The extents that the inputs of a group broadcast to.
OpFormula::Dims ShapeOfGroup(const OpFormula& f, std::span<const Value> inputs) {
  OpFormula::Dims dims;
  for (const Value input : inputs) {
    const OpFormula::Dims more = f.DimsOf(input);
    if (more.size() > dims.size())
      dims.insert(dims.begin(), more.size() - dims.size(), f.Number(1));
    for (size_t i = 1; i <= more.size(); ++i) {
      DimExpr& dim = dims[dims.size() - i];
      if (dim.is_constant(1)) dim = more[more.size() - i];
    }
  }
  return dims;
}

}  // namespace

std::vector<Value> PartsOfGroup(OpFormula& f) {
  const fused::GroupOp op(&f.op());
  Context& context = f.op().context();
  std::vector<Value> values = op.inputs();
  std::vector<DType> dtypes;
  for (const Value input : values) dtypes.push_back(input.type().dtype());
  PointwiseBody body;
  std::string error;
  if (!ParsePointwise(op.body(), dtypes, body, error)) {
    f.Fail(fmt::format("{}: {}", f.op().name(), error));
    return {};
  }
  const OpFormula::Dims shape = ShapeOfGroup(f, values);
  for (const PointwiseConstant& constant : body.constants) {
    values.push_back(constant.dtype == DType::kF32
                         ? f.Scalar(constant.dtype, constant.real)
                         : f.Cast(f.Integer(constant.integer), constant.dtype));
  }
  for (const PointwiseStep& step : body.steps) {
    if (!f.ok()) return {};
    if (InfoOf(step.op).rows != PointwiseOpInfo::Rows::kNone) {
      Value x = values[static_cast<size_t>(step.operands[0])];
      if (f.DimsOf(x) != shape) {
        x = f.Make<ten::ExpandOp>(x, ten::ExpandOp::Attrs{.shape = shape});
      }
      values.push_back(f.ok() ? MakeRowOp(f, step, x) : Value());
      continue;
    }
    const OpInfo* info = context.FindOp(InfoOf(step.op).name);
    std::vector<Value> operands;
    for (const int operand : step.used()) operands.push_back(values[static_cast<size_t>(operand)]);
    const absl::StatusOr<Operation*> made = f.builder().CreateInferred(
        *info, f.op().location(), operands, SlotsOf(context, *info, step));
    if (!made.ok()) {
      f.Fail(std::string(made.status().message()));
      return {};
    }
    values.push_back((*made)->result());
  }
  std::vector<Value> results;
  for (size_t i = 0; i < body.results.size() && f.ok(); ++i) {
    Value value = values[static_cast<size_t>(body.results[i])];
    const Type type = f.op().result(static_cast<unsigned>(i)).type();
    // A step on smaller inputs only has the shape of those.
    if (type.is_tensor() && value.type() != type) {
      value = f.Make<ten::ExpandOp>(
          value, ten::ExpandOp::Attrs{.shape = {type.dims().begin(), type.dims().end()}});
    }
    results.push_back(value);
  }
  return results;
}

std::vector<Value> PartsOfCompressedLinear(OpFormula& f) {
  const fused::CompressedLinearOp op(&f.op());
  const auto attrs = op.attrs();
  Value x = op.x();
  if (op.w().type().dtype() == DType::kBF16) x = f.Cast(f.Cast(x, DType::kBF16), DType::kF32);
  Value w = f.Cast(op.w(), DType::kF32);
  if (attrs.transpose_w) w = f.Transpose(w, {1, 0});
  if (op.scale()) {
    Value scale = op.scale();
    const DimExpr rows = f.DimOf(w, 0);
    if (attrs.group > 0) {
      if (!rows.is_constant()) {
        f.Fail(fmt::format("{}: the matrix has {} rows (expected a number)", f.op().name(),
                           rows.text()));
        return {};
      }
      std::vector<int64_t> group(static_cast<size_t>(rows.constant()));
      for (size_t k = 0; k < group.size(); ++k) group[k] = static_cast<int64_t>(k) / attrs.group;
      scale = f.Make<ten::GatherOp>(scale, f.Ints(group), ten::GatherOp::Attrs{.axis = 0});
    }
    w = f.Mul(w, scale);
  }
  return {f.Make<fused::LinearOp>(
      x, w, op.bias(), op.residual(),
      fused::LinearOp::Attrs{
          .activation = attrs.activation, .alpha = attrs.alpha, .beta = attrs.beta})};
}

std::vector<Value> PartsOfEmbedding(OpFormula& f) {
  const fused::EmbeddingOp op(&f.op());
  const std::vector<Value> lookups = op.lookups();
  Value sum;
  for (size_t i = 0; i + 1 < lookups.size(); i += 2) {
    const Value rows =
        f.Make<ten::GatherOp>(lookups[i + 1], lookups[i], ten::GatherOp::Attrs{.axis = 0});
    sum = sum ? f.Add(sum, rows) : rows;
  }
  if (op.added()) sum = f.Add(sum, op.added());
  if (op.norm() == "none" || !f.ok()) return {sum, sum};
  return {f.Norm(op.norm(), sum.type().rank() - 1, op.epsilon(), sum, op.scale(), op.bias()), sum};
}

}  // namespace tenon
