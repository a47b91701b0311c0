#include "frontends/onnx/export/lowering.h"

#include <array>

#include "fmt/format.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/core_ops.h"

namespace tenon::onnx {
namespace {

// The version of its domain that a node of another domain than ONNX's is written for.
int64_t VersionInDomain(std::string_view type) {
  constexpr std::pair<std::string_view, int64_t> kVersions[] = {
      {"ai.onnx.ml.LabelEncoder", 2},
      {"ai.onnx.ml.TreeEnsemble", 5},
      {"ai.onnx.ml.TreeEnsembleRegressor", 3}};
  for (const auto& [name, version] : kVersions) {
    if (type == name) return version;
  }
  return 1;  // com.microsoft
}

}  // namespace

Attribute ConstantOf(Value value) {
  const auto constant = DefinedBy<core::ConstantOp>(value);
  return constant ? constant.value() : Attribute();
}

Operation* Lowering::Nodes(std::string_view type, std::vector<Value> inputs, const Attrs& attrs,
                           size_t results, std::span<const std::string_view> graphs) {
  if (!ok()) return nullptr;
  // A Loop always has its first two inputs, even if they are absent.
  const size_t least = type == "Loop" ? 2 : 0;
  while (inputs.size() > least && !inputs.back()) inputs.pop_back();
  const size_t dot = type.rfind('.');  // behind the domain
  const bool own = dot == std::string_view::npos;
  std::vector<NamedAttribute> entries = {
      {context().Intern("opset"), Int(own ? opset_ : VersionInDomain(type))}};
  if (!own) entries.push_back({context().Intern("domain"), Str(type.substr(0, dot))});
  for (const auto& [name, value] : attrs) entries.push_back({context().Intern(name), value});
  OperationState state;
  std::vector<int64_t> present;
  for (const Value input : inputs) {
    present.push_back(input ? 1 : 0);
    if (input) state.operands.push_back(input);
  }
  if (state.operands.size() < present.size()) {
    entries.push_back(
        {context().Intern("present"), Attribute::Ints(context(), DType::kBool, present)});
  }
  std::vector<Attribute> names;
  for (const std::string_view graph : graphs) names.push_back(Str(graph));
  if (!names.empty())
    entries.push_back({context().Intern("regions"), Attribute::Array(context(), names)});
  state.num_regions = static_cast<unsigned>(graphs.size());
  state.info = context().GetUnregisteredOp(fmt::format("onnx.{}", type));
  state.location = op_.location();
  state.slots.push_back(Attribute::Dictionary(context(), entries));
  state.result_types.assign(results, Type::Opaque(context(), "!onnx.any"));
  return builder_.Create(state);
}

Value Lowering::Node(std::string_view type, std::vector<Value> inputs, const Attrs& attrs) {
  Operation* node = Nodes(type, std::move(inputs), attrs, 1);
  return node != nullptr ? node->result() : Value();
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

Value Lowering::ToI64(Value x) {
  if (!ok() || (x.type().is_any_tensor() && x.type().dtype() == DType::kI64)) return x;
  return Node("Cast", {x}, {{"to", Int(onnxpb::TensorProto::INT64)}});
}

Value Lowering::Transpose(Value x, std::span<const int64_t> perm) {
  return Node("Transpose", {x}, {{"perm", IntList(perm)}});
}

void Lowering::Done(std::span<const Value> values) {
  if (!ok()) return;
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = values[i];
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
