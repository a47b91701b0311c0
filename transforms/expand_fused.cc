// expand-fused: fused operations that no CUDA kernel computes become the operations that they join.
// A linear layer with a norm becomes a linear layer and a norm, and so on.
#include <numeric>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/check.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

using PartValue = absl::StatusOr<Value>;

// Makes the parts of one operation before it.
class FusedParts {
 public:
  explicit FusedParts(Operation& op) : op_(op), builder_(OpBuilder::Before(&op)) {}

  // The values of the results, in order; empty if the operation is not one of these.
  absl::StatusOr<std::vector<Value>> Make() {
    switch (op_.id()) {
      case fused::LinearNormOp::kId:
        return LinearNorm(fused::LinearNormOp(&op_));
      case fused::NormLinearOp::kId:
        return NormLinear(fused::NormLinearOp(&op_));
      case fused::LinearChainOp::kId:
        return LinearChain(fused::LinearChainOp(&op_));
      case fused::MovedNormOp::kId:
        return MovedNorm(fused::MovedNormOp(&op_));
      case fused::AddTransposeOp::kId:
        return AddTranspose(fused::AddTransposeOp(&op_));
      case fused::TransposeConcatOp::kId:
        return TransposeConcat(fused::TransposeConcatOp(&op_));
      case fused::GroupNormOp::kId:
        return GroupNorm(fused::GroupNormOp(&op_));
      default:
        return std::vector<Value>();
    }
  }

 private:
  using Values = absl::StatusOr<std::vector<Value>>;

  template <typename Op, typename... Args>
  PartValue Add(const Args&... args) {
    TENON_ASSIGN_OR_RETURN(const Op made, Op::Create(builder_, op_.location(), args...));
    return made.op()->result(0);
  }

  template <typename Op>
  PartValue Linear(const Op& op, Value x, Value w, Value bias, Value residual) {
    const auto attrs = op.attrs();
    return Add<fused::LinearOp>(x, w, bias, residual,
                                fused::LinearOp::Attrs{.transpose_w = attrs.transpose_w,
                                                       .activation = attrs.activation,
                                                       .alpha = attrs.alpha,
                                                       .beta = attrs.beta});
  }

  PartValue Norm(std::string_view norm, float epsilon, Value x, Value scale, Value bias) {
    const int64_t axis = x.type().rank() - 1;
    if (norm == "layer") {
      return Add<nn::LayerNormOp>(x, scale, bias,
                                  nn::LayerNormOp::Attrs{.axis = axis, .epsilon = epsilon});
    }
    return Add<nn::RmsNormOp>(x, scale, nn::RmsNormOp::Attrs{.axis = axis, .epsilon = epsilon});
  }

  Values LinearNorm(const fused::LinearNormOp& op) {
    TENON_ASSIGN_OR_RETURN(const Value sum, Linear(op, op.x(), op.w(), op.bias(), op.residual()));
    if (!sum.type().is_tensor()) return std::vector<Value>();
    TENON_ASSIGN_OR_RETURN(const Value out,
                           Norm(op.norm(), op.epsilon(), sum, op.scale(), op.norm_bias()));
    return std::vector<Value>{out, sum};
  }

  Values NormLinear(const fused::NormLinearOp& op) {
    if (!op.x().type().is_tensor()) return std::vector<Value>();
    TENON_ASSIGN_OR_RETURN(const Value x,
                           Norm(op.norm(), op.epsilon(), op.x(), op.scale(), op.norm_bias()));
    TENON_ASSIGN_OR_RETURN(const Value out, Linear(op, x, op.w(), op.bias(), op.residual()));
    return std::vector<Value>{out};
  }

  Values LinearChain(const fused::LinearChainOp& op) {
    Value x = op.x();
    const std::vector<Value> parameters = op.parameters();
    for (size_t i = 0; i < parameters.size(); i += 2) {
      TENON_ASSIGN_OR_RETURN(x, Linear(op, x, parameters[i], parameters[i + 1], Value()));
    }
    return std::vector<Value>{x};
  }

  Values MovedNorm(const fused::MovedNormOp& op) {
    if (!op.x().type().is_tensor()) return std::vector<Value>();
    Value sum = op.x();
    if (op.skip()) {
      TENON_ASSIGN_OR_RETURN(sum, Add<ten::AddOp>(op.x(), op.skip()));
    }
    TENON_ASSIGN_OR_RETURN(const Value normed,
                           Norm(op.norm(), op.epsilon(), sum, op.scale(), op.bias()));
    const auto attrs = op.attrs();
    TENON_ASSIGN_OR_RETURN(
        const Value out,
        op.index()
            ? Add<ten::GatherOp>(normed, op.index(), ten::GatherOp::Attrs{.axis = attrs.axis})
            : Add<ten::TransposeOp>(normed, ten::TransposeOp::Attrs{.perm = attrs.perm}));
    return std::vector<Value>{out, sum};
  }

  Values AddTranspose(const fused::AddTransposeOp& op) {
    TENON_ASSIGN_OR_RETURN(const Value sum, Add<ten::AddOp>(op.x(), op.y()));
    TENON_ASSIGN_OR_RETURN(
        const Value out,
        Add<ten::TransposeOp>(sum, ten::TransposeOp::Attrs{.perm = op.attrs().perm}));
    return std::vector<Value>{out};
  }

  Values TransposeConcat(const fused::TransposeConcatOp& op) {
    const auto attrs = op.attrs();
    const Type type = op_.result().type();
    if (!type.is_tensor()) return std::vector<Value>();
    std::vector<Value> matrices;
    for (Value input : op.inputs()) {
      TENON_ASSIGN_OR_RETURN(
          const Value transpose,
          Add<ten::TransposeOp>(input, ten::TransposeOp::Attrs{.perm = attrs.perm}));
      const std::span<const DimExpr> dims = transpose.type().dims();
      const DimExpr columns =
          std::accumulate(dims.begin() + attrs.axis, dims.end(),
                          DimExpr::Constant(op_.context(), 1), std::multiplies<>());
      if (columns.is_unknown() || type.dim(0).is_unknown()) return std::vector<Value>();
      TENON_ASSIGN_OR_RETURN(
          const Value matrix,
          Add<ten::ReshapeOp>(transpose, ten::ReshapeOp::Attrs{.shape = {type.dim(0), columns}}));
      matrices.push_back(matrix);
    }
    TENON_ASSIGN_OR_RETURN(const Value out, Add<ten::ConcatOp>(std::span<const Value>(matrices),
                                                               ten::ConcatOp::Attrs{.axis = 1}));
    return std::vector<Value>{out};
  }

  Values GroupNorm(const fused::GroupNormOp& op) {
    const auto attrs = op.attrs();
    Value sum = op.x();
    if (op.skip()) {
      TENON_ASSIGN_OR_RETURN(sum, Add<ten::AddOp>(op.x(), op.skip()));
    }
    TENON_ASSIGN_OR_RETURN(
        Value out, Add<nn::GroupNormOp>(
                       sum, op.scale(), op.bias(),
                       nn::GroupNormOp::Attrs{.groups = attrs.groups, .epsilon = attrs.epsilon}));
    TENON_ASSIGN_OR_RETURN(out, Activated(out, attrs.activation, attrs.alpha, attrs.beta));
    return std::vector<Value>{out, sum};
  }

  PartValue Activated(Value x, std::string_view name, float alpha, float beta) {
    if (name == "none") return x;
    if (name == "relu") return Add<ten::ReluOp>(x);
    if (name == "silu") return Add<nn::SiluOp>(x);
    if (name == "sigmoid") return Add<ten::SigmoidOp>(x);
    if (name == "tanh") return Add<ten::TanhOp>(x);
    if (name == "hard_swish") return Add<ten::HardSwishOp>(x);
    if (name == "mish") return Add<nn::MishOp>(x);
    if (name == "gelu") return Add<nn::GeluOp>(x, nn::GeluOp::Attrs{});
    if (name == "gelu_tanh") return Add<nn::GeluOp>(x, nn::GeluOp::Attrs{.approximate = "tanh"});
    if (name == "gelu_sigmoid") {
      return Add<nn::GeluOp>(x, nn::GeluOp::Attrs{.approximate = "sigmoid"});
    }
    if (name == "leaky_relu") {
      return Add<ten::LeakyReluOp>(x, ten::LeakyReluOp::Attrs{.alpha = alpha});
    }
    if (name == "hard_sigmoid") {
      return Add<ten::HardSigmoidOp>(x, ten::HardSigmoidOp::Attrs{.alpha = alpha, .beta = beta});
    }
    if (name == "clip") return Add<ten::ClipOp>(x, ten::ClipOp::Attrs{.min = alpha, .max = beta});
    return absl::InternalError("an activation is not known");
  }

  Operation& op_;
  OpBuilder builder_;
};

class ExpandFused : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* func, PassContext& context) override {
    std::vector<Operation*> ops;
    func->Walk([&](Operation* op) { ops.push_back(op); });
    int64_t expanded = 0;
    for (Operation* op : ops) {
      TENON_ASSIGN_OR_RETURN(const std::vector<Value> values, FusedParts(*op).Make());
      if (values.empty()) continue;
      for (unsigned i = 0; i < op->num_results(); ++i) {
        op->result(i).ReplaceAllUsesWith(values[i]);
      }
      op->Erase();
      ++expanded;
    }
    if (expanded > 0) context.statistics->Add("expanded", expanded);
    return PassResult{expanded > 0};
  }
};

}  // namespace

PassInfo ExpandFusedPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.create = [](const PassOptionValues&) { return std::make_unique<ExpandFused>(); };
  return info;
}

}  // namespace tenon
