// Recurrent layers. nn.recurrence gets what the inputs add to the gates, which ONNX's nodes compute
// themselves: their matrix of input weights is then the unit matrix.

#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/nn_ops.h"

namespace tenon::onnx {
namespace {

Value UnitMatrix(Lowering& l, DType dtype, int64_t size) {
  const int64_t dims[] = {1, size, size};
  const size_t bytes = SizeOf(dtype);
  std::vector<std::byte> content(static_cast<size_t>(size * size) * bytes);
  for (int64_t i = 0; i < size; ++i)
    StoreFromDouble(dtype, 1, &content[static_cast<size_t>(i * size + i) * bytes]);
  const Type type = Type::Tensor(l.context(), dtype, dims);
  const auto made =
      core::ConstantOp::Create(l.builder(), l.op().location(),
                               {.value = Attribute::Elements(l.context(), type, content)});
  return made.ok() ? made->out() : Value();
}

// A tensor with an axis of one direction in front.
Value WithDirection(Lowering& l, Value x) {
  return x ? l.Node("Unsqueeze", {x, l.Ints({0})}) : Value();
}

void Recurrence(Lowering& l, const nn::RecurrenceOp& op) {
  const auto attrs = op.attrs();
  const Type weights = op.r().type();
  if (!weights.is_static()) return l.Fail("the size of its weights is not known");
  const int64_t hidden = weights.dim(1).constant(), rows = weights.dim(0).constant();
  const DType dtype = weights.dtype();
  const bool lstm = attrs.cell == "lstm", gru = attrs.cell == "gru";
  Lowering::Attrs made = {{"hidden_size", l.Int(hidden)},
                          {"direction", l.Str(attrs.reverse ? "reverse" : "forward")}};
  if (gru) made.emplace_back("linear_before_reset", l.Int(attrs.reset_after ? 1 : 0));
  if (!lstm && !gru) {
    const std::string_view activation = attrs.activation == "relu"      ? "Relu"
                                        : attrs.activation == "sigmoid" ? "Sigmoid"
                                                                        : "Tanh";
    const Attribute name = l.Str(activation);
    made.emplace_back("activations", Attribute::Array(l.context(), std::span(&name, 1)));
  }
  Value bias;
  if (op.bias()) {
    // The last of the biases, that of the hidden gate.
    const int64_t before = 2 * rows - hidden;
    bias = l.Node("Concat", {l.Scalar(dtype, 0, std::span(&before, 1)), op.bias()},
                  {{"axis", l.Int(0)}});
  }
  Value lengths = op.lengths();
  if (lengths) lengths = l.Node("Cast", {lengths}, {{"to", l.Int(onnxpb::TensorProto::INT32)}});
  std::vector<Value> inputs = {op.x(),
                               UnitMatrix(l, dtype, rows),
                               WithDirection(l, op.r()),
                               WithDirection(l, bias),
                               lengths,
                               WithDirection(l, op.h())};
  if (lstm) {
    inputs.push_back(WithDirection(l, op.c()));
    inputs.push_back(WithDirection(l, op.peepholes()));
  }
  const std::string_view type = lstm ? "LSTM" : gru ? "GRU" : "RNN";
  Operation* node = l.Nodes(type, inputs, made, lstm ? 3 : 2);
  if (node == nullptr) return;
  std::vector<Value> results = {l.Node("Squeeze", {node->result(0), l.Ints({1})})};
  for (unsigned i = 1; i < node->num_results() && i < l.op().num_results(); ++i) {
    results.push_back(l.Node("Squeeze", {node->result(i), l.Ints({0})}));
  }
  l.Done(results);
}

}  // namespace

bool LowerRecurrence(Lowering& l) {
  if (l.op().id() != nn::RecurrenceOp::kId) return false;
  Recurrence(l, nn::RecurrenceOp(&l.op()));
  return true;
}

}  // namespace tenon::onnx
