#include "frontends/onnx/ops/containers/strings.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/file/string_data.h"
#include "frontends/onnx/ops/containers/string_operators.h"
#include "ir/base/check.h"
#include "ir/base/string_span.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/str_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

Value SizeOfText(Formula& f, Value text) {
  if (!f.ok()) return Value();
  if (!text.type().dim(0).is_unknown()) return f.Extent(text.type().dim(0));
  return f.Reshape(f.Make<ten::ShapeOp>(text, ten::ShapeOp::Attrs{.start = 0, .end = 1}), {});
}

absl::Status MoveStrings(Node& node, const StringOperator& op, AdapterFn adapter) {
  std::vector<Container> strings;
  std::vector<int> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!HasStrings(node, i) || op.Accepts(static_cast<unsigned>(i))) continue;
    return node.Error(
        fmt::format("input {} of {} must be a tensor of numbers, got strings", i, node.op_type()));
  }
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!node.input(i) || !op.Accepts(static_cast<unsigned>(i))) continue;
    TENON_ASSIGN_OR_RETURN(strings.emplace_back(), StringsInput(node, i));
    inputs.push_back(i);
  }
  if (node.Find("reduction") != nullptr) {
    TENON_ASSIGN_OR_RETURN(const std::string reduction, node.Str("reduction", "none"));
    if (reduction != "none") {
      return node.Error(fmt::format("{} of strings has the reduction \"{}\" (expected \"none\")",
                                    node.op_type(), reduction));
    }
  }
  Formula f(node);
  const Value text = JoinTexts(f, strings);
  TENON_RETURN_IF_ERROR(f.status());
  for (size_t k = 0; k < inputs.size(); ++k) node.SetInput(inputs[k], strings[k].spans());
  TENON_RETURN_IF_ERROR(adapter(node));
  if (op.use != StringUse::kMoves) return absl::OkStatus();
  for (int i = 0; i < node.num_outputs(); ++i) {
    const Value spans = node.output(i);
    if (!spans) continue;
    TENON_RETURN_IF_ERROR(ReturnStrings(f, node, StringsOf(spans, text), i));
  }
  return absl::OkStatus();
}

absl::Status CompareStrings(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TENON_ASSIGN_OR_RETURN(const Container a, StringsInput(node, 0));
  TENON_ASSIGN_OR_RETURN(const Container b, StringsInput(node, 1));
  return node.Return(node.Make<str::EqualOp>(a.spans(), a.bytes(), b.spans(), b.bytes()));
}

}  // namespace

absl::StatusOr<Container> ConstantStrings(GraphImporter& importer, OpBuilder& builder,
                                          Location location, std::span<const int64_t> dims,
                                          const std::vector<std::string>& strings) {
  const absl::StatusOr<PackedStrings> packed = Pack(strings);
  if (!packed.ok()) return importer.Error(location, std::string(MessageOf(packed.status())));
  Context& context = importer.context();
  const auto constant = [&](Type type, std::span<const std::byte> bytes) -> absl::StatusOr<Value> {
    TENON_ASSIGN_OR_RETURN(
        const core::ConstantOp op,
        core::ConstantOp::Create(builder, location,
                                 {.value = Attribute::Elements(context, type, bytes)}));
    importer.Register(op.op());
    return op->result(0);
  };
  const auto size = static_cast<int64_t>(packed->text.size());
  TENON_ASSIGN_OR_RETURN(const Value spans, constant(Type::Tensor(context, DType::kI64, dims),
                                                     std::as_bytes(std::span(packed->spans))));
  TENON_ASSIGN_OR_RETURN(const Value text,
                         constant(Type::Tensor(context, DType::kU8, std::span(&size, 1)),
                                  std::as_bytes(std::span(packed->text))));
  return StringsOf(spans, text);
}

absl::StatusOr<Container> ConstantStrings(const Node& node, std::span<const int64_t> dims,
                                          const std::vector<std::string>& strings) {
  return ConstantStrings(node.importer(), node.builder(), node.location(), dims, strings);
}

absl::StatusOr<Value> StringInitializer(GraphImporter& importer, const onnxpb::TensorProto& tensor,
                                        Location location, OpBuilder& builder) {
  const absl::StatusOr<StringData> data = DecodeStrings(tensor);
  if (!data.ok()) return importer.Error(location, std::string(MessageOf(data.status())));
  TENON_ASSIGN_OR_RETURN(const Container strings,
                         ConstantStrings(importer, builder, location, data->dims, data->strings));
  return Wrap(builder, location, strings);
}

bool HasStrings(const Node& node, int i) {
  const std::optional<Container> container = Unwrap(node.input(i));
  return container && container->is_strings();
}

absl::StatusOr<Container> StringsInput(const Node& node, int i) {
  if (HasStrings(node, i)) return *Unwrap(node.input(i));
  return node.Error(fmt::format("input {} of {} must be a tensor of strings", i, node.op_type()));
}

Container InOrder(Formula& f, const Container& strings) {
  const Value spans = f.Make<str::PackOp>(strings.spans(), strings.bytes());
  return f.ok() ? StringsOf(spans, spans.defining_op()->result(1)) : strings;
}

Value JoinTexts(Formula& f, std::span<Container> strings) {
  std::vector<Value> texts;
  for (const Container& container : strings) {
    if (std::find(texts.begin(), texts.end(), container.bytes()) == texts.end()) {
      texts.push_back(container.bytes());
    }
  }
  if (texts.size() == 1) return texts[0];
  // Where each text begins, as a span of no bytes.
  std::vector<Value> starts = {Value()};
  Value end;
  for (size_t i = 0; i + 1 < texts.size(); ++i) {
    const Value size = SizeOfText(f, texts[i]);
    end = end ? f.Add(end, size) : size;
    starts.push_back(f.Mul(end, f.Scalar(DType::kI64, static_cast<double>(kMaxStringBytes))));
  }
  for (Container& container : strings) {
    const auto at = std::find(texts.begin(), texts.end(), container.bytes()) - texts.begin();
    if (at > 0) container.parts[0] = f.Add(container.spans(), starts[static_cast<size_t>(at)]);
  }
  return f.Make<ten::ConcatOp>(texts, ten::ConcatOp::Attrs{.axis = 0});
}

Value FindStrings(Formula& f, const Container& strings, const Container& keys) {
  return f.Make<str::FindOp>(strings.spans(), strings.bytes(), keys.spans(), keys.bytes());
}

Container GatherStrings(Formula& f, const Container& table, Value positions) {
  const Value spans = f.Make<ten::GatherOp>(table.spans(), positions, ten::GatherOp::Attrs{});
  return f.ok() ? StringsOf(spans, table.bytes()) : table;
}

absl::Status ReturnStrings(Formula& f, Node& node, const Container& strings, int output) {
  if (!f.ok()) return f.status();
  node.SetOutput(output, Wrap(node.builder(), node.location(), strings));
  return absl::OkStatus();
}

absl::Status ImportOnStrings(Node& node, AdapterFn adapter) {
  if (node.op_type() == "Equal") return CompareStrings(node);
  if (node.op_type() == "Loop") return adapter(node);  // which carries them
  if (const StringOperator* const op = FindStringOperator(node.op_type()))
    return op->use == StringUse::kReads ? adapter(node) : MoveStrings(node, *op, adapter);
  return node.Unsupported("strings", "numbers, or an operator of docs/guide/strings.md");
}

}  // namespace tenon::onnx
