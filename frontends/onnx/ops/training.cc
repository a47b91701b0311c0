// Steps of optimizers: the domain ai.onnx.preview.training.
#include <fmt/format.h>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/control/loop_body.h"
#include "ir/base/check.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// A node of these: the learning rate, the number of steps done before, then several lists of as
// many tensors each. The first list has the values that are optimized, the second their gradients.
class Step {
 public:
  Step(Node& node, int lists) : node_(node), f_(node), lists_(lists) {}

  // Checks the inputs. `types` of all tensors must be those of the values.
  absl::Status Read();

  int count() const { return count_; }
  Value tensor(int list, int i) const { return node_.input(2 + list * count_ + i); }
  // Outputs: the new values, then the new state in its lists.
  absl::Status Return(Value value, int list, int i) { return f_.Return(value, list * count_ + i); }

  Formula& f() { return f_; }
  // The rate as an f64 scalar.
  Value rate() const { return rate_; }
  // The number of steps as an f64 scalar.
  Value steps() const { return steps_; }
  // Returns `if_started` after the first step, `otherwise` in it.
  Value IfStarted(Value if_started, Value otherwise);
  Value Number(double value) { return f_.Scalar(DType::kF64, value); }
  // x * factor, for an f64 scalar. It is rounded to the type of x before.
  Value Scaled(Value x, Value factor);
  Value Scaled(Value x, double factor) { return Scaled(x, Number(factor)); }
  // The gradient of tensor i with that of the penalty norm_coefficient / 2 * |x|^2.
  Value Gradient(int i, float norm_coefficient) {
    const Value gradient = tensor(1, i);
    return norm_coefficient == 0 ? gradient
                                 : f_.Add(Scaled(tensor(0, i), norm_coefficient), gradient);
  }
  // sqrt(x) + epsilon.
  Value Root(Value x, float epsilon);

 private:
  Node& node_;
  Formula f_;
  int lists_, count_ = 0;
  Value rate_, steps_;
};

absl::Status Step::Read() {
  TENON_RETURN_IF_ERROR(node_.CheckInputs(node_.num_inputs(), node_.num_inputs()));
  const int tensors = node_.num_inputs() - 2;
  if (tensors < lists_ || tensors % lists_ != 0) {
    return node_.Error(fmt::format("{} has {} inputs (expected 2 and {} for each tensor)",
                                   node_.op_type(), node_.num_inputs(), lists_));
  }
  count_ = tensors / lists_;
  if (node_.num_outputs() > count_ * (lists_ - 1)) {
    return node_.Error(fmt::format("{} of {} tensors has {} outputs (expected {})", node_.op_type(),
                                   count_, node_.num_outputs(), count_ * (lists_ - 1)));
  }
  for (int list = 1; list < lists_; ++list) {
    for (int i = 0; i < count_; ++i) {
      const Type value = tensor(0, i).type(), other = tensor(list, i).type();
      if (!JoinTypes(value, other)) {
        return node_.Error(
            fmt::format("{} has tensors of {} and {} that belong together (expected "
                        "equal types)",
                        node_.op_type(), value.text(), other.text()));
      }
    }
  }
  TENON_ASSIGN_OR_RETURN(const Value rate, ToScalar(node_, node_.input(0)));
  TENON_ASSIGN_OR_RETURN(const Value steps, ToScalar(node_, node_.input(1)));
  rate_ = f_.Cast(rate, DType::kF64);
  steps_ = f_.Cast(steps, DType::kF64);
  return f_.status();
}

Value Step::IfStarted(Value if_started, Value otherwise) {
  return f_.Where(f_.Make<ten::GreaterOp>(steps_, Number(0)), if_started, otherwise);
}

Value Step::Scaled(Value x, Value factor) {
  return f_.ok() ? f_.Mul(f_.Cast(factor, x.type().dtype()), x) : Value();
}

Value Step::Root(Value x, float epsilon) {
  if (!f_.ok()) return Value();
  return f_.Add(f_.Make<ten::SqrtOp>(x), f_.Scalar(x.type().dtype(), epsilon));
}

}  // namespace

absl::Status ImportTrainingAdagrad(Node& node) {
  TENON_ASSIGN_OR_RETURN(const float decay, node.Float("decay_factor", 0.0f));
  TENON_ASSIGN_OR_RETURN(const float epsilon, node.Float("epsilon", 1e-6f));
  TENON_ASSIGN_OR_RETURN(const float norm, node.Float("norm_coefficient", 0.0f));
  Step step(node, 3);
  TENON_RETURN_IF_ERROR(step.Read());
  Formula& f = step.f();
  const Value slowed = f.Add(step.Number(1), f.Mul(step.steps(), step.Number(decay)));
  const Value rate = f.Div(step.rate(), slowed);
  for (int i = 0; i < step.count(); ++i) {
    const Value gradient = step.Gradient(i, norm);
    const Value squares = f.Add(step.tensor(2, i), f.Mul(gradient, gradient));
    const Value change = f.Div(step.Scaled(gradient, rate), step.Root(squares, epsilon));
    TENON_RETURN_IF_ERROR(step.Return(f.Sub(step.tensor(0, i), change), 0, i));
    TENON_RETURN_IF_ERROR(step.Return(squares, 1, i));
  }
  return absl::OkStatus();
}

absl::Status ImportTrainingAdam(Node& node) {
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 0.9f));
  TENON_ASSIGN_OR_RETURN(const float beta, node.Float("beta", 0.999f));
  TENON_ASSIGN_OR_RETURN(const float epsilon, node.Float("epsilon", 1e-6f));
  TENON_ASSIGN_OR_RETURN(const float norm, node.Float("norm_coefficient", 0.0f));
  TENON_ASSIGN_OR_RETURN(const float norm_post, node.Float("norm_coefficient_post", 0.0f));
  Step step(node, 4);
  TENON_RETURN_IF_ERROR(step.Read());
  Formula& f = step.f();
  // Running averages begin with 0, and so are too small at first.
  const auto filled = [&](float factor) {
    return f.Sub(step.Number(1), f.Make<ten::PowOp>(step.Number(factor), step.steps()));
  };
  const Value corrected =
      f.Div(f.Mul(step.rate(), f.Make<ten::SqrtOp>(filled(beta))), filled(alpha));
  const Value rate = step.IfStarted(corrected, step.rate());
  for (int i = 0; i < step.count(); ++i) {
    const Value gradient = step.Gradient(i, norm);
    const Value mean = f.Add(step.Scaled(step.tensor(2, i), alpha),
                             step.Scaled(gradient, 1 - static_cast<double>(alpha)));
    const Value squares =
        f.Add(step.Scaled(step.tensor(3, i), beta),
              step.Scaled(f.Mul(gradient, gradient), 1 - static_cast<double>(beta)));
    const Value change = step.Scaled(f.Div(mean, step.Root(squares, epsilon)), rate);
    Value updated = f.Sub(step.tensor(0, i), change);
    if (norm_post != 0) updated = step.Scaled(updated, 1 - static_cast<double>(norm_post));
    TENON_RETURN_IF_ERROR(step.Return(updated, 0, i));
    TENON_RETURN_IF_ERROR(step.Return(mean, 1, i));
    TENON_RETURN_IF_ERROR(step.Return(squares, 2, i));
  }
  return absl::OkStatus();
}

absl::Status ImportTrainingMomentum(Node& node) {
  for (const char* name : {"alpha", "beta", "mode", "norm_coefficient"}) {
    if (node.Find(name) == nullptr) {
      return node.Error(fmt::format("Momentum needs the attribute \"{}\"", name));
    }
  }
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 0.0f));
  TENON_ASSIGN_OR_RETURN(const float beta, node.Float("beta", 0.0f));
  TENON_ASSIGN_OR_RETURN(const float norm, node.Float("norm_coefficient", 0.0f));
  TENON_ASSIGN_OR_RETURN(const std::string mode, node.Str("mode", ""));
  if (mode != "standard" && mode != "nesterov") {
    return node.Error(
        fmt::format("Momentum has the mode \"{}\" (expected standard or nesterov)", mode));
  }
  Step step(node, 3);
  TENON_RETURN_IF_ERROR(step.Read());
  Formula& f = step.f();
  const Value weight = step.IfStarted(step.Number(beta), step.Number(1));
  for (int i = 0; i < step.count(); ++i) {
    const Value gradient = step.Gradient(i, norm);
    const Value momentum =
        f.Add(step.Scaled(step.tensor(2, i), alpha), step.Scaled(gradient, weight));
    const Value direction =
        mode == "standard" ? momentum : f.Add(gradient, step.Scaled(momentum, alpha));
    const Value change = step.Scaled(direction, step.rate());
    TENON_RETURN_IF_ERROR(step.Return(f.Sub(step.tensor(0, i), change), 0, i));
    TENON_RETURN_IF_ERROR(step.Return(momentum, 1, i));
  }
  return absl::OkStatus();
}

}  // namespace tenon::onnx
