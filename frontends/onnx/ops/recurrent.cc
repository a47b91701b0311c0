// LSTM, GRU and RNN, and the LSTM of ONNX Runtime's quantizers: the products of the inputs, then a
// recurrence in each direction.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/quantized_arithmetic.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using Dims = Formula::Dims;

enum class Cell : uint8_t { kLstm, kGru, kRnn };
constexpr const char* kCellNames[] = {"lstm", "gru", "rnn"};  // as nn.recurrence has them

struct InputInfo {
  const char* name;
  int64_t rank;
};
constexpr InputInfo kInputs[] = {
    {"X", 3},         {"W", 3},         {"R", 3}, {"B", 2}, {"sequence_lens", 1},
    {"initial_h", 3}, {"initial_c", 3}, {"P", 2}};

constexpr int kNumInputs = static_cast<int>(std::size(kInputs));

// A node while it is imported. Weights are [directions, gates * hidden, …]. A quantized node has
// bytes for X, W and R: weights of the node, and X while the model runs. The state stays f32.
class Recurrent {
 public:
  Recurrent(Node& node, Cell cell, bool quantized = false)
      : node_(node),
        f_(node),
        cell_(cell),
        quantized_(quantized),
        gates_(cell == Cell::kLstm  ? 4
               : cell == Cell::kGru ? 3
                                    : 1) {}
  absl::Status Import();

 private:
  absl::Status ReadAttributes();
  absl::Status ReadActivations();
  // Fills inputs_: those of the node, or the numbers that quantized ones stand for.
  absl::Status ReadInputs();
  // Returns the weights of input i as [directions, gates * hidden, …] in f32; their scale and zero
  // point are inputs `scale` and `scale` + 1.
  Value Dequantized(int i, int scale);
  absl::Status ReadBatch();
  absl::Status ReadShapes();
  // Errors unless an input has that rank, or shape where extents are known; fine if it is absent.
  absl::Status CheckRank(int input) const;
  absl::Status CheckShape(int input, const Dims& expected) const;
  absl::Status ImportDirection(int64_t direction);

  DimExpr Times(DimExpr dim, int64_t n) const { return dim * node_.Dim(n); }
  Value Slice(Value x, int64_t axis, DimExpr begin, DimExpr end);
  // What a direction has of an input, its axis of directions gone; null if the input is absent.
  Value Of(Value x, int64_t direction, Dims rest);
  Value State(int input, int64_t direction);
  // The results of all directions side by side along `axis`, of which each has one row.
  Value Join(const std::vector<Value>& parts, int64_t axis);
  absl::Status Return();

  Node& node_;
  Formula f_;
  const Cell cell_;
  const bool quantized_;
  const int64_t gates_;
  nn::RecurrenceOp::Attrs attrs_;
  std::vector<std::string> activations_;  // an rnn's, one a direction
  std::string direction_;
  bool batch_first_ = false;
  int64_t directions_ = 1;
  Value inputs_[kNumInputs];  // as kInputs; null if absent
  Value x_;                   // [steps, batch, inputs]
  DimExpr hidden_, batch_;
  std::vector<Value> y_, last_h_, last_c_;
};

absl::Status Recurrent::ReadActivations() {
  const onnxpb::AttributeProto* names = node_.Find("activations");
  activations_.assign(static_cast<size_t>(directions_), "tanh");
  if (names == nullptr || names->strings_size() == 0) return absl::OkStatus();
  const int64_t each = cell_ == Cell::kLstm ? 3 : cell_ == Cell::kGru ? 2 : 1;
  if (names->strings_size() != each * directions_) {
    return node_.Error(fmt::format("activations has {} elements, expected {} for each direction",
                                   names->strings_size(), each));
  }
  for (int i = 0; i < names->strings_size(); ++i) {
    const std::string& name = names->strings(i);
    if (cell_ != Cell::kRnn) {
      if (absl::EqualsIgnoreCase(name, i % each == 0 ? "Sigmoid" : "Tanh")) continue;
      return node_.Unsupported(fmt::format("{} with the activation {}", node_.op_type(), name),
                               "Sigmoid for the gates and Tanh for the rest");
    }
    const std::string lower = absl::AsciiStrToLower(name);
    if (lower != "tanh" && lower != "relu" && lower != "sigmoid") {
      return node_.Unsupported(fmt::format("RNN with the activation {}", name),
                               "Tanh, Relu or Sigmoid");
    }
    activations_[static_cast<size_t>(i)] = lower;
  }
  return absl::OkStatus();
}

absl::Status Recurrent::ReadAttributes() {
  // The activations that we have take no factors.
  for (const char* name : {"activation_alpha", "activation_beta"}) node_.MarkRead(name);
  TENON_ASSIGN_OR_RETURN(direction_, node_.Str("direction", "forward"));
  if (direction_ != "forward" && direction_ != "reverse" && direction_ != "bidirectional") {
    return node_.Error(
        fmt::format("{} has the direction {} (expected forward, reverse or bidirectional)",
                    node_.op_type(), direction_));
  }
  directions_ = direction_ == "bidirectional" ? 2 : 1;
  TENON_RETURN_IF_ERROR(ReadActivations());
  TENON_ASSIGN_OR_RETURN(const int64_t layout, node_.Int("layout", 0));
  if (layout != 0 && layout != 1) {
    return node_.Error(
        fmt::format("{} has the layout {}, expected 0 or 1", node_.op_type(), layout));
  }
  batch_first_ = layout == 1;
  if (node_.Find("clip") != nullptr)
    return node_.Unsupported(fmt::format("{} with clip", node_.op_type()), "a layer without clip");
  TENON_ASSIGN_OR_RETURN(const bool coupled, node_.Flag("input_forget", false));
  if (coupled) return node_.Unsupported("LSTM with input_forget", "input_forget = 0");
  if (cell_ == Cell::kGru) {
    TENON_ASSIGN_OR_RETURN(attrs_.reset_after, node_.Flag("linear_before_reset", false));
  }
  attrs_.cell = kCellNames[static_cast<int>(cell_)];
  return absl::OkStatus();
}

absl::Status Recurrent::CheckRank(int input) const {
  const Value value = inputs_[input];
  const InputInfo& info = kInputs[input];
  if (!value || value.type().rank() == info.rank) return absl::OkStatus();
  return node_.Error(fmt::format("{} of {} is {}, expected rank {}", info.name, node_.op_type(),
                                 value.type().text(), info.rank));
}

absl::Status Recurrent::CheckShape(int input, const Dims& expected) const {
  const Value value = inputs_[input];
  if (!value) return absl::OkStatus();
  bool differs = false;
  std::vector<std::string> wanted;
  for (size_t i = 0; i < expected.size(); ++i) {
    const DimExpr found = value.type().dim(static_cast<int64_t>(i));
    differs |= found.is_constant() && expected[i].is_constant() && found != expected[i];
    wanted.push_back(expected[i].text());
  }
  if (!differs) return absl::OkStatus();
  return node_.Error(fmt::format("{} of {} ({}) is {}, expected [{}]", kInputs[input].name,
                                 node_.op_type(), direction_, value.type().text(),
                                 fmt::join(wanted, ", ")));
}

Value Recurrent::Dequantized(int i, int scale) {
  // Scales and zero points are [directions] or [directions, gates * hidden].
  const auto along = [&](Value v) {
    Dims dims = Formula::DimsOf(v);
    if (dims.size() == 1) dims.push_back(f_.One());
    dims.insert(dims.begin() + 1, f_.One());
    return f_.Reshape(v, std::move(dims));
  };
  Value w = f_.Cast(node_.input(i), DType::kF32);
  if (const Value zero = node_.input(scale + 1)) w = f_.Sub(w, along(f_.Cast(zero, DType::kF32)));
  return f_.Transpose(f_.Mul(w, along(node_.input(scale))), {0, 2, 1});
}

absl::Status Recurrent::ReadInputs() {
  for (int i = 0; i < kNumInputs; ++i) inputs_[i] = node_.input(i);
  if (quantized_) {
    for (const int i : {1, 2}) {
      const int scale = 8 + 2 * (i - 1);
      if (!node_.input(scale)) {
        return node_.Error(fmt::format("input {} of {} is missing", scale, node_.op_type()));
      }
      TENON_RETURN_IF_ERROR(CheckRank(i));
      for (int j = scale; j < scale + 2; ++j) {
        const Value v = node_.input(j);
        if (v && v.type().rank() != 1 && v.type().rank() != 2) {
          return node_.Error(fmt::format("input {} of {} is {}, expected rank 1 or 2", j,
                                         node_.op_type(), v.type().text()));
        }
      }
      inputs_[i] = Dequantized(i, scale);
    }
    const QuantizedByRange x = QuantizeByRange(f_, inputs_[0]);
    inputs_[0] = f_.Mul(f_.Sub(x.elements, x.zero_point), x.scale);
    if (!f_.ok()) return f_.status();
  }
  for (int i = 0; i < kNumInputs; ++i) TENON_RETURN_IF_ERROR(CheckRank(i));
  return absl::OkStatus();
}

// The batch size. States and lengths may know it where X does not; then X must have it.
absl::Status Recurrent::ReadBatch() {
  batch_ = x_.type().dim(1);
  if (batch_.is_constant()) return absl::OkStatus();
  for (const int i : {4, 5, 6}) {
    if (!inputs_[i]) continue;
    const DimExpr known = inputs_[i].type().dim(i == 4 || batch_first_ ? 0 : 1);
    if (!known.is_constant()) continue;
    batch_ = known;
    x_ = f_.Reshape(x_, {x_.type().dim(0), batch_, x_.type().dim(2)});
    break;
  }
  return f_.status();
}

absl::Status Recurrent::ReadShapes() {
  hidden_ = inputs_[2].type().dim(2);
  TENON_ASSIGN_OR_RETURN(const int64_t hidden_size, node_.Int("hidden_size", -1));
  if (node_.Find("hidden_size") != nullptr && hidden_.is_constant() &&
      hidden_.constant() != hidden_size) {
    return node_.Error(fmt::format("{} has the hidden_size {}, but R is {}", node_.op_type(),
                                   hidden_size, inputs_[2].type().text()));
  }
  x_ = batch_first_ ? f_.Transpose(inputs_[0], {1, 0, 2}) : inputs_[0];
  if (!f_.ok()) return f_.status();
  TENON_RETURN_IF_ERROR(ReadBatch());
  const DimExpr ways = node_.Dim(directions_), columns = Times(hidden_, gates_);
  const Dims state = batch_first_ ? Dims{batch_, ways, hidden_} : Dims{ways, batch_, hidden_};
  TENON_RETURN_IF_ERROR(CheckShape(1, {ways, columns, x_.type().dim(2)}));
  TENON_RETURN_IF_ERROR(CheckShape(2, {ways, columns, hidden_}));
  TENON_RETURN_IF_ERROR(CheckShape(3, {ways, Times(columns, 2)}));
  TENON_RETURN_IF_ERROR(CheckShape(4, {batch_}));
  TENON_RETURN_IF_ERROR(CheckShape(5, state));
  TENON_RETURN_IF_ERROR(CheckShape(6, state));
  return CheckShape(7, {ways, Times(hidden_, 3)});
}

Value Recurrent::Slice(Value x, int64_t axis, DimExpr begin, DimExpr end) {
  if (!x) return Value();
  return f_.Make<ten::SliceOp>(
      x, ten::SliceOp::Attrs{.axes = {axis}, .starts = {begin}, .ends = {end}, .steps = {1}});
}

Value Recurrent::Of(Value x, int64_t direction, Dims rest) {
  if (!x) return Value();
  if (directions_ > 1) x = Slice(x, 0, node_.Dim(direction), node_.Dim(direction + 1));
  return f_.Reshape(x, std::move(rest));
}

Value Recurrent::State(int input, int64_t direction) {
  if (!inputs_[input]) {
    return f_.Expand(f_.Scalar(x_.type().dtype(), 0), {batch_, hidden_});
  }
  // With the batch first, the directions are axis 1.
  const Value all = batch_first_ ? f_.Transpose(inputs_[input], {1, 0, 2}) : inputs_[input];
  return Of(all, direction, {batch_, hidden_});
}

absl::Status Recurrent::ImportDirection(int64_t direction) {
  const DimExpr columns = Times(hidden_, gates_), zero = node_.Dim(0);
  const Value w = Of(inputs_[1], direction, {columns, x_.type().dim(2)});
  const Value r = Of(inputs_[2], direction, {columns, hidden_});
  Value gates = f_.Make<ten::MatmulOp>(x_, w, ten::MatmulOp::Attrs{.transpose_b = true});
  Value hidden_bias;
  if (const Value both = Of(inputs_[3], direction, {Times(columns, 2)})) {
    Value of_x = Slice(both, 0, zero, columns), of_h = Slice(both, 0, columns, Times(columns, 2));
    if (attrs_.reset_after) {  // the reset gate multiplies the last part of what h adds
      const DimExpr last = Times(hidden_, 2);
      hidden_bias = Slice(of_h, 0, last, columns);
      const Value parts[] = {f_.Add(Slice(of_x, 0, zero, last), Slice(of_h, 0, zero, last)),
                             Slice(of_x, 0, last, columns)};
      of_x = f_.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 0});
    } else {
      of_x = f_.Add(of_x, of_h);
    }
    gates = f_.Add(gates, of_x);
  }
  const bool lstm = cell_ == Cell::kLstm;
  const Value h = State(5, direction), c = lstm ? State(6, direction) : Value();
  const Value peepholes = lstm ? Of(inputs_[7], direction, {Times(hidden_, 3)}) : Value();
  nn::RecurrenceOp::Attrs attrs = attrs_;
  attrs.reverse = direction_ == "reverse" || direction == 1;
  attrs.activation = activations_[static_cast<size_t>(direction)];
  const Value y =
      f_.Make<nn::RecurrenceOp>(gates, r, h, c, hidden_bias, peepholes, inputs_[4], attrs);
  if (!f_.ok()) return f_.status();
  const Operation& made = *y.defining_op();
  y_.push_back(y);
  last_h_.push_back(made.result(1));
  if (lstm) last_c_.push_back(made.result(2));
  return absl::OkStatus();
}

Value Recurrent::Join(const std::vector<Value>& parts, int64_t axis) {
  std::vector<Value> rows;
  for (const Value part : parts) {
    Dims dims = Formula::DimsOf(part);
    dims.insert(dims.begin() + axis, f_.One());
    rows.push_back(f_.Reshape(part, std::move(dims)));
  }
  if (rows.size() == 1 || !f_.ok()) return rows[0];
  return f_.Make<ten::ConcatOp>(rows, ten::ConcatOp::Attrs{.axis = axis});
}

absl::Status Recurrent::Return() {
  Value y = Join(y_, 1);  // [steps, directions, batch, hidden]
  if (batch_first_) y = f_.Transpose(y, {2, 0, 1, 3});
  TENON_RETURN_IF_ERROR(f_.Return(y));
  for (int i = 1; i < (cell_ == Cell::kLstm ? 3 : 2); ++i) {
    if (!node_.IsOutputUsed(i)) continue;
    const std::vector<Value>& last = i == 1 ? last_h_ : last_c_;
    TENON_RETURN_IF_ERROR(f_.Return(Join(last, batch_first_ ? 1 : 0), i));
  }
  return absl::OkStatus();
}

absl::Status Recurrent::Import() {
  TENON_RETURN_IF_ERROR(node_.CheckInputs(3, quantized_ ? 12 : cell_ == Cell::kLstm ? 8 : 6));
  TENON_RETURN_IF_ERROR(ReadAttributes());
  TENON_RETURN_IF_ERROR(ReadInputs());
  TENON_RETURN_IF_ERROR(ReadShapes());
  for (int64_t direction = 0; direction < directions_; ++direction) {
    TENON_RETURN_IF_ERROR(ImportDirection(direction));
  }
  return Return();
}

}  // namespace

absl::Status ImportLSTM(Node& node) { return Recurrent(node, Cell::kLstm).Import(); }
absl::Status ImportMicrosoftDynamicQuantizeLSTM(Node& node) {
  return Recurrent(node, Cell::kLstm, /*quantized=*/true).Import();
}
absl::Status ImportGRU(Node& node) { return Recurrent(node, Cell::kGru).Import(); }
absl::Status ImportRNN(Node& node) { return Recurrent(node, Cell::kRnn).Import(); }

}  // namespace tenon::onnx
