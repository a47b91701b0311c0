// Recurrent layers. nn.recurrence gets what the inputs add to the gates, which ONNX's nodes compute
// themselves. The nodes that compute it are taken in; where it comes from elsewhere, the matrix of
// input weights is the unit matrix.

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
  const auto made = core::ConstantOp::Create(
      l.builder(), l.op().location(), {.value = Attribute::Elements(l.context(), type, content)});
  return made.ok() ? made->out() : Value();
}

// A tensor with an axis of one direction in front.
Value WithDirection(Lowering& l, Value x) {
  return x ? l.Node("Unsqueeze", {x, l.Ints({0})}) : Value();
}

// What a layer computes of its inputs: x * w + bias.
struct Inputs {
  Value x, w, bias;  // w: [1, rows, inputs]; bias: [rows], may be null
};

// The operation of a node of that type; null for other values.
Operation* NodeOf(Value value, std::string_view type) {
  Operation* op = value ? value.defining_op() : nullptr;
  return op != nullptr && op->name() == type ? op : nullptr;
}

Inputs InputsOf(Lowering& l, Value gates, int64_t rows) {
  Inputs inputs{.x = gates, .w = {}, .bias = {}};
  Operation* product = NodeOf(gates, "onnx.MatMul");
  if (Operation* sum = NodeOf(gates, "onnx.Add"); sum != nullptr) {
    product = NodeOf(sum->operand(0), "onnx.MatMul");
    const Type bias = sum->operand(1).type();
    if (!bias.is_tensor() || bias.rank() != 1 || !bias.dim(0).is_constant(rows)) product = nullptr;
    inputs.bias = sum->operand(1);
  }
  if (product == nullptr || !product->operand(0).type().is_tensor() ||
      product->operand(0).type().rank() != 3) {
    inputs.bias = Value();
    inputs.w = UnitMatrix(l, gates.type().dtype(), rows);
    return inputs;
  }
  inputs.x = product->operand(0);
  Operation* transpose = NodeOf(product->operand(1), "onnx.Transpose");
  const Value w = transpose != nullptr ? transpose->operand(0)
                                       : l.Node("Transpose", {product->operand(1)},
                                                {{"perm", l.IntList(std::vector<int64_t>{1, 0})}});
  inputs.w = WithDirection(l, w);
  return inputs;
}

// The biases of the inputs and of the state, side by side; null for none. Of the state's, only the
// last is not part of the inputs'.
Value Biases(Lowering& l, Value of_inputs, Value of_hidden, DType dtype, int64_t rows,
             int64_t hidden) {
  if (!of_inputs && !of_hidden) return Value();
  const auto zeros = [&](int64_t size) { return l.Scalar(dtype, 0, std::span(&size, 1)); };
  std::vector<Value> parts = {of_inputs ? of_inputs : zeros(rows)};
  if (!of_hidden) {
    parts.push_back(zeros(rows));
  } else {
    parts.push_back(zeros(rows - hidden));
    parts.push_back(of_hidden);
  }
  return l.Node("Concat", parts, {{"axis", l.Int(0)}});
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
  const Value gates = op.x();
  const Inputs of_inputs = InputsOf(l, gates, rows);
  const Value bias = Biases(l, of_inputs.bias, op.bias(), dtype, rows, hidden);
  Value lengths = op.lengths();
  if (lengths) lengths = l.Node("Cast", {lengths}, {{"to", l.Int(onnxpb::TensorProto::INT32)}});
  std::vector<Value> inputs = {of_inputs.x,
                               of_inputs.w,
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
  if (of_inputs.x != gates) l.MayBeUnused(gates);
}

}  // namespace

bool LowerRecurrence(Lowering& l) {
  if (l.op().id() != nn::RecurrenceOp::kId) return false;
  Recurrence(l, nn::RecurrenceOp(&l.op()));
  return true;
}

}  // namespace tenon::onnx
