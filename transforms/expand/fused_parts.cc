#include "transforms/expand/fused_parts.h"

#include <numeric>

#include "ir/base/check.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "transforms/expand/fused_parts_internal.h"
#include "transforms/groups/row_ops.h"

namespace tenon {
namespace {

// Makes the parts of one operation before it.
class FusedParts {
 public:
  FusedParts(Operation& op, FusedExpansion expansion) : f_(op), expansion_(expansion) {}

  absl::StatusOr<std::vector<Value>> Make() {
    for (OpOperand& operand : op().operands()) {
      if (!operand.get().type().is_tensor()) return std::vector<Value>();
    }
    const std::vector<Value> values = Parts();
    if (!f_.ok()) return f_.status();
    return values;
  }

 private:
  using Values = std::vector<Value>;

  Operation& op() const { return f_.op(); }

  Values Parts() {
    switch (op().id()) {
      case fused::LinearNormOp::kId:
        return LinearNorm(fused::LinearNormOp(&op()));
      case fused::NormLinearOp::kId:
        return NormLinear(fused::NormLinearOp(&op()));
      case fused::LinearChainOp::kId:
        return LinearChain(fused::LinearChainOp(&op()));
      case fused::MovedNormOp::kId:
        return MovedNorm(fused::MovedNormOp(&op()));
      case fused::SkipLayerNormOp::kId:
      case fused::SkipRmsNormOp::kId:
        return SkipNormWithoutOffset();
      case fused::EmbeddingPoolOp::kId:
        return EmbeddingPool(fused::EmbeddingPoolOp(&op()));
      case fused::SquaredMatSubOp::kId:
        return SquaredMatSub(fused::SquaredMatSubOp(&op()));
      case fused::AddTransposeOp::kId:
        return AddTranspose(fused::AddTransposeOp(&op()));
      case fused::TransposeConcatOp::kId:
        return TransposeConcat(fused::TransposeConcatOp(&op()));
      case fused::GroupNormOp::kId:
        return GroupNorm(fused::GroupNormOp(&op()));
      case nn::GroupNormOp::kId: {
        const nn::GroupNormOp norm(&op());
        const auto attrs = norm.attrs();
        if (expansion_ != FusedExpansion::kPairs) return Values();
        const Value made =
            NormOfGroups(norm.x(), norm.scale(), norm.bias(), attrs.groups, attrs.epsilon);
        return made ? Values{made} : Values();
      }
      case fused::GroupOp::kId:
        if (expansion_ == FusedExpansion::kPairs && !IsGroupWithRows(op())) return Values();
        return PartsOfGroup(f_);
      default:
        return expansion_ == FusedExpansion::kAll ? PartsOfSingle() : Values();
    }
  }

  Values PartsOfSingle() {
    switch (op().id()) {
      case fused::LinearOp::kId:
        return PlainLinear(fused::LinearOp(&op()));
      case fused::CompressedLinearOp::kId:
        return PartsOfCompressedLinear(f_);
      case fused::ExpertLinearOp::kId:
        return ExpertLinear(fused::ExpertLinearOp(&op()));
      case fused::ConvOp::kId:
        return Conv(fused::ConvOp(&op()));
      case fused::ConvTransposeOp::kId:
        return ConvTranspose(fused::ConvTransposeOp(&op()));
      case fused::AttentionOp::kId:
        return PartsOfAttention(f_);
      case fused::RotaryOp::kId:
        return PartsOfRotary(f_);
      case fused::SkipLayerNormOp::kId: {
        const fused::SkipLayerNormOp norm(&op());
        return SkipNorm("layer", norm.axis(), norm.epsilon(), norm.scale(), norm.bias(),
                        norm.offset());
      }
      case fused::SkipRmsNormOp::kId: {
        const fused::SkipRmsNormOp norm(&op());
        return SkipNorm("rms", norm.axis(), norm.epsilon(), norm.scale(), Value(), norm.offset());
      }
      case fused::GatedOp::kId:
        return Gated(fused::GatedOp(&op()));
      case fused::EmbeddingOp::kId:
        return PartsOfEmbedding(f_);
      default:
        return {};
    }
  }

  template <typename Op>
  Value Linear(const Op& op, Value x, Value w, Value bias, Value residual) {
    const auto attrs = op.attrs();
    return f_.Make<fused::LinearOp>(x, w, bias, residual,
                                    fused::LinearOp::Attrs{.transpose_w = attrs.transpose_w,
                                                           .activation = attrs.activation,
                                                           .alpha = attrs.alpha,
                                                           .beta = attrs.beta});
  }

  // The norm over the last axis.
  Value Norm(std::string_view norm, float epsilon, Value x, Value scale, Value bias) {
    if (!f_.ok()) return Value();
    return f_.Norm(norm, x.type().rank() - 1, epsilon, x, scale, bias);
  }

  Values LinearNorm(const fused::LinearNormOp& op) {
    const Value sum = Linear(op, op.x(), op.w(), op.bias(), op.residual());
    if (!f_.ok() || !sum.type().is_tensor()) return {};
    return {Norm(op.norm(), op.epsilon(), sum, op.scale(), op.norm_bias()), sum};
  }

  Values NormLinear(const fused::NormLinearOp& op) {
    const Value x = Norm(op.norm(), op.epsilon(), op.x(), op.scale(), op.norm_bias());
    return {Linear(op, x, op.w(), op.bias(), op.residual())};
  }

  Values LinearChain(const fused::LinearChainOp& op) {
    Value x = op.x();
    const std::vector<Value> parameters = op.parameters();
    const auto attrs = op.attrs();
    const size_t step = attrs.biased ? 2 : 1;
    for (size_t i = 0; i < parameters.size(); i += step) {
      const Value bias = attrs.biased ? parameters[i + 1] : Value();
      const bool last = i + step == parameters.size();
      const Value residual = last ? op.residual() : Value();
      x = last && !attrs.activate_last
              ? f_.Make<fused::LinearOp>(x, parameters[i], bias, residual,
                                         fused::LinearOp::Attrs{.transpose_w = attrs.transpose_w})
              : Linear(op, x, parameters[i], bias, residual);
    }
    return {x};
  }

  // CUDA has a kernel for a norm of the sum of two. Other norms stay.
  Values SkipNormWithoutOffset() {
    if (expansion_ == FusedExpansion::kAll) return PartsOfSingle();
    if (op().id() == fused::SkipLayerNormOp::kId) {
      const fused::SkipLayerNormOp norm(&op());
      if (!norm.offset()) return {};
      return ResultsOf<fused::SkipLayerNormOp>(f_.Add(norm.x(), norm.offset()), norm.skip(),
                                               norm.scale(), norm.bias(), Value(), norm.attrs());
    }
    const fused::SkipRmsNormOp norm(&op());
    if (!norm.offset()) return {};
    return ResultsOf<fused::SkipRmsNormOp>(f_.Add(norm.x(), norm.offset()), norm.skip(),
                                           norm.scale(), Value(), norm.attrs());
  }
  // Makes an operation of two results.
  template <typename Op, typename... Args>
  Values ResultsOf(const Args&... args) {
    const Value first = f_.Make<Op>(args...);
    if (!f_.ok()) return {};
    return {first, first.defining_op()->result(1)};
  }

  Values EmbeddingPool(const fused::EmbeddingPoolOp& op) {
    const Value rows =
        f_.Make<ten::GatherOp>(op.table(), op.ids(), ten::GatherOp::Attrs{.axis = 0});
    const std::vector<int64_t> axes = {op.axis()};
    return {op.mean() ? f_.Make<ten::ReduceMeanOp>(
                            rows, ten::ReduceMeanOp::Attrs{.axes = axes, .keepdims = false})
                      : f_.Make<ten::ReduceSumOp>(
                            rows, ten::ReduceSumOp::Attrs{.axes = axes, .keepdims = false})};
  }

  Values SquaredMatSub(const fused::SquaredMatSubOp& op) {
    const auto attrs = op.attrs();
    const auto product = [&](Value x, Value w) {
      return f_.Make<fused::LinearOp>(x, w, Value(), Value(),
                                      fused::LinearOp::Attrs{.transpose_w = attrs.transpose_w});
    };
    const Value sums = product(op.x(), op.w());
    const Value difference =
        f_.Sub(f_.Mul(sums, sums), product(f_.Mul(op.x(), op.x()), op.squares()));
    if (!f_.ok() || attrs.scale == 1.0f) return {difference};
    return {f_.Mul(difference, f_.Scalar(op.x().type().dtype(), attrs.scale))};
  }

  Values MovedNorm(const fused::MovedNormOp& op) {
    const auto attrs = op.attrs();
    const Value x = op.offset() ? f_.Add(op.x(), op.offset()) : op.x();
    const Value sum = op.skip() ? f_.Add(x, op.skip()) : x;
    const Value normed = Norm(op.norm(), op.epsilon(), sum, op.scale(), op.bias());
    const Value out = op.index() ? f_.Make<ten::GatherOp>(normed, op.index(),
                                                          ten::GatherOp::Attrs{.axis = attrs.axis})
                                 : f_.Transpose(normed, attrs.perm);
    return {out, sum};
  }

  Values AddTranspose(const fused::AddTransposeOp& op) {
    return {f_.Transpose(f_.Add(op.x(), op.y()), op.attrs().perm)};
  }

  Values TransposeConcat(const fused::TransposeConcatOp& op) {
    const auto attrs = op.attrs();
    const Type type = op->result().type();
    if (!type.is_tensor()) return {};
    Values matrices;
    for (Value input : op.inputs()) {
      const Value transpose = f_.Transpose(input, attrs.perm);
      const OpFormula::Dims dims = f_.DimsOf(transpose);
      if (!f_.ok()) return {};
      const DimExpr columns =
          std::accumulate(dims.begin() + attrs.axis, dims.end(), f_.Number(1), std::multiplies<>());
      if (columns.is_unknown() || type.dim(0).is_unknown()) return {};
      matrices.push_back(f_.Make<ten::ReshapeOp>(
          transpose, ten::ReshapeOp::Attrs{.shape = {type.dim(0), columns}}));
    }
    return {f_.Concat(matrices, 1)};
  }

  Values GroupNorm(const fused::GroupNormOp& op) {
    const auto attrs = op.attrs();
    const Value sum = op.skip() ? f_.Add(op.x(), op.skip()) : op.x();
    Value normed;
    if (expansion_ == FusedExpansion::kPairs)
      normed = NormOfGroups(sum, op.scale(), op.bias(), attrs.groups, attrs.epsilon);
    if (!normed) {
      normed = f_.Make<nn::GroupNormOp>(
          sum, op.scale(), op.bias(),
          nn::GroupNormOp::Attrs{.groups = attrs.groups, .epsilon = attrs.epsilon});
    }
    return {f_.Activated(normed, attrs.activation, attrs.alpha, attrs.beta), sum};
  }

  // A layer norm of each group, which CUDA has a kernel for. Null if the number of channels is not
  // known.
  Value NormOfGroups(Value x, Value scale, Value bias, int64_t groups, float epsilon) {
    const OpFormula::Dims dims = f_.DimsOf(x);
    if (dims.size() < 2 || !dims[1].is_constant() || groups <= 0 ||
        dims[1].constant() % groups != 0)
      return Value();
    OpFormula::Dims split = dims;
    split[1] = f_.Number(dims[1].constant() / groups);
    split.insert(split.begin() + 1, f_.Number(groups));
    const Value rows = f_.Reshape(x, split);
    Value y = f_.Reshape(f_.Norm("layer", 2, epsilon, rows, Value(), Value()), dims);
    OpFormula::Dims channels(dims.size() - 1, f_.Number(1));
    channels[0] = dims[1];
    if (scale) y = f_.Mul(y, f_.Reshape(scale, channels));
    return bias ? f_.Add(y, f_.Reshape(bias, channels)) : y;
  }

  Values PlainLinear(const fused::LinearOp& op) {
    const auto attrs = op.attrs();
    Value y = f_.Make<ten::MatmulOp>(op.x(), op.w(),
                                     ten::MatmulOp::Attrs{.transpose_b = attrs.transpose_w});
    if (op.bias()) y = f_.Add(y, op.bias());
    y = f_.Activated(y, attrs.activation, attrs.alpha, attrs.beta);
    return {op.residual() ? f_.Add(y, op.residual()) : y};
  }

  Values ExpertLinear(const fused::ExpertLinearOp& op) {
    const Value w = f_.Make<ten::GatherOp>(op.w(), op.index(), ten::GatherOp::Attrs{.axis = 0});
    const OpFormula::Dims dims = f_.DimsOf(op.x());
    const Value rows = f_.Reshape(op.x(), {dims[0], f_.Number(1), dims[1]});
    const Value y = f_.Make<ten::MatmulOp>(
        rows, w, ten::MatmulOp::Attrs{.transpose_b = op.attrs().transpose_w});
    return {f_.Reshape(y, {f_.DimOf(y, 0), f_.DimOf(y, 2)})};
  }

  Values Conv(const fused::ConvOp& op) {
    const auto attrs = op.attrs();
    Value y = f_.Make<nn::ConvOp>(op.x(), op.w(), op.bias(),
                                  nn::ConvOp::Attrs{.strides = attrs.strides,
                                                    .pads = attrs.pads,
                                                    .dilations = attrs.dilations,
                                                    .group = attrs.group,
                                                    .auto_pad = attrs.auto_pad,
                                                    .layout = attrs.layout});
    if (op.residual()) y = f_.Add(y, op.residual());
    return {f_.Activated(y, attrs.activation, attrs.alpha, attrs.beta)};
  }

  Values ConvTranspose(const fused::ConvTransposeOp& op) {
    const auto attrs = op.attrs();
    const Value y = f_.Make<nn::ConvTransposeOp>(
        op.x(), op.w(), op.bias(),
        nn::ConvTransposeOp::Attrs{.strides = attrs.strides,
                                   .pads = attrs.pads,
                                   .dilations = attrs.dilations,
                                   .output_padding = attrs.output_padding,
                                   .group = attrs.group,
                                   .layout = attrs.layout});
    return {f_.Activated(y, attrs.activation, attrs.alpha, attrs.beta)};
  }

  Values SkipNorm(std::string_view norm, int64_t axis, float epsilon, Value scale, Value bias,
                  Value offset) {
    const Value x = offset ? f_.Add(op().operand(0), offset) : op().operand(0);
    const Value sum = f_.Add(x, op().operand(1));
    return {f_.Norm(norm, axis, epsilon, sum, scale, bias), sum};
  }

  Values Gated(const fused::GatedOp& op) {
    const auto attrs = op.attrs();
    Value gate = op.x(), up = op.up();
    if (!up) {
      const int64_t axis = gate.type().rank() - 1;
      const DimExpr size = gate.type().dim(axis), half = FloorDiv(size, 2);
      const Value first = f_.Slice(op.x(), axis, f_.Number(0), half);
      const Value second = f_.Slice(op.x(), axis, half, size);
      gate = attrs.second ? second : first;
      up = attrs.second ? first : second;
    }
    return {f_.Mul(f_.Activated(gate, attrs.activation, attrs.alpha, attrs.beta), up)};
  }

  OpFormula f_;
  const FusedExpansion expansion_;
};

}  // namespace

absl::StatusOr<std::vector<Value>> FusedPartsOf(Operation& op, FusedExpansion expansion) {
  const bool is_group_norm = op.id() == nn::GroupNormOp::kId;
  if (op.info().dialect() != "fused" && !is_group_norm) return std::vector<Value>();
  return FusedParts(op, expansion).Make();
}

}  // namespace tenon
