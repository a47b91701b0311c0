#include "frontends/onnx/export/lowering.h"

#include <array>

#include "fmt/format.h"
#include "frontends/onnx/export/node_forms.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/core_ops.h"

namespace tenon::onnx {

Attribute ConstantOf(Value value) {
  const auto constant = DefinedBy<core::ConstantOp>(value);
  return constant ? constant.value() : Attribute();
}

void Lowering::Yield(Block& block, std::span<const Value> values) {
  if (!ok()) return;
  OperationState state;
  state.info = context().GetUnregisteredOp("onnx.yield");
  state.location = op_.location();
  state.operands.assign(values.begin(), values.end());
  OpBuilder::AtEnd(context(), &block).Create(state);
}

Value Lowering::Ints(std::span<const int64_t> values) {
  const int64_t size = static_cast<int64_t>(values.size());
  const Type type = Type::Tensor(context(), DType::kI64, std::span(&size, 1));
  const auto made = core::ConstantOp::Create(
      builder_, op_.location(),
      {.value = Attribute::Elements(context(), type, std::as_bytes(values))});
  if (!made.ok() && ok()) status_ = made.status();
  return made.ok() ? made->out() : Value();
}

Value Lowering::Floats(std::span<const float> values) {
  const int64_t size = static_cast<int64_t>(values.size());
  const Type type = Type::Tensor(context(), DType::kF32, std::span(&size, 1));
  const auto made = core::ConstantOp::Create(
      builder_, op_.location(),
      {.value = Attribute::Elements(context(), type, std::as_bytes(values))});
  if (!made.ok() && ok()) status_ = made.status();
  return made.ok() ? made->out() : Value();
}

Value Lowering::Scalar(DType dtype, double value, std::span<const int64_t> dims) {
  std::array<std::byte, 8> bytes{};
  StoreFromDouble(dtype, value, bytes.data());
  const Type type = Type::Tensor(context(), dtype, dims);
  const auto made = core::ConstantOp::Create(
      builder_, op_.location(),
      {.value = Attribute::Splat(context(), type, std::span(bytes).first(SizeOf(dtype)))});
  if (!made.ok() && ok()) status_ = made.status();
  return made.ok() ? made->out() : Value();
}

Value Lowering::Extents(std::span<const DimExpr> dims) {
  std::vector<Value> parts;
  std::vector<int64_t> numbers;  // of the constants since the last part
  const auto flush = [&] {
    if (!numbers.empty()) parts.push_back(Ints(numbers));
    numbers.clear();
  };
  for (const DimExpr dim : dims) {
    if (dim.is_constant()) {
      numbers.push_back(dim.constant());
    } else {
      flush();
      parts.push_back(dims_.Of(dim, *this));
    }
  }
  if (parts.empty()) return Ints(numbers);
  flush();
  if (parts.size() == 1) return parts[0];
  // Vectors of equal extents are one.
  std::string text;
  for (const DimExpr dim : dims) text += fmt::format("{}, ", dim.text());
  if (const Value known = dims_.Known(text, op_.block())) return known;
  const Value vector = Node("Concat", parts, {{"axis", Int(0)}});
  if (vector) dims_.Note(text, vector);
  return vector;
}

Value Lowering::ShapeOf(Value x, int64_t start, int64_t end) {
  const std::optional<NodeForm> form = FormOf("Shape", opset_);
  if (form && form->HasAttribute("start"))
    return Node("Shape", {x}, {{"start", Int(start)}, {"end", Int(end)}});
  return Node("Slice", {Node("Shape", {x}), Ints({start}), Ints({end}), Ints({0})});
}

Value Lowering::ToI64(Value x) {
  if (!ok() || (x.type().is_any_tensor() && x.type().dtype() == DType::kI64)) return x;
  return CastTo(x, DType::kI64);
}

Value Lowering::Transpose(Value x, std::span<const int64_t> perm) {
  return Node("Transpose", {x}, {{"perm", IntList(perm)}});
}

void Lowering::Done(std::span<const Value> values) {
  if (!ok()) return;
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = Resolved(values[i]);
    if (!value) continue;
    Value result = op_.result(static_cast<unsigned>(i));
    if (value.type().kind() == Type::Kind::kOpaque) value.set_type(result.type());
    if (result.has_uses()) result.ReplaceAllUsesWith(value);
  }
  op_.Erase();
}

void Lowering::Fail(std::string_view reason) {
  if (!ok()) return;
  const absl::Status error = EmitError(context(), op_.location(),
                                       fmt::format("{} has no ONNX form: {}", op_.name(), reason));
  status_ = absl::UnimplementedError(error.message());
}

bool Lowering::Needs(int64_t opset, std::string_view what) {
  if (opset_ >= opset) return true;
  Fail(fmt::format("{} needs opset {} (--onnx-opset={})", what, opset, opset));
  return false;
}

}  // namespace tenon::onnx
