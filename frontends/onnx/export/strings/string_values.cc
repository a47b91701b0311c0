#include "frontends/onnx/export/strings/string_values.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "frontends/onnx/export/lowering.h"
#include "ir/base/string_span.h"
#include "ir/core/builder.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/str_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// Spans behind more operations than this in a row are not followed.
constexpr int kMaxDepth = 500;

// The operands that an operation moves elements of; none for other operations.
std::vector<unsigned> MovedOperands(const Operation& op) {
  const auto with_group = [&](unsigned group) {
    std::vector<unsigned> moved = {0};
    const auto [first, count] = op.operand_group(group);
    if (count > 0) moved.push_back(first);
    return moved;
  };
  switch (op.id()) {
    case ten::ReshapeOp::kId:
    case ten::DynamicReshapeOp::kId:
    case ten::DynamicSqueezeOp::kId:
    case ten::DynamicUnsqueezeOp::kId:
    case ten::ExpandOp::kId:
    case ten::DynamicExpandOp::kId:
    case ten::TransposeOp::kId:
    case ten::SliceOp::kId:
    case ten::DynamicSliceOp::kId:
    case ten::SplitOp::kId:
    case ten::GatherOp::kId:
    case ten::GatherElementsOp::kId:
    case ten::GatherNdOp::kId:
    case ten::ReverseSequenceOp::kId:
    case ten::TileOp::kId:
    case ten::DynamicTileOp::kId:
    case ten::TriluOp::kId:
    case ten::DynamicTriluOp::kId:
      return {0};
    case ten::WhereOp::kId:
      return {1, 2};
    case ten::PadOp::kId:
      return with_group(1);
    case ten::DynamicPadOp::kId:
      return with_group(2);
    case ten::ScatterNdOp::kId:
      return ten::ScatterNdOp(const_cast<Operation*>(&op)).reduction() == "none"
                 ? std::vector<unsigned>{0, 2}
                 : std::vector<unsigned>();
    case ten::ScatterElementsOp::kId:
      return ten::ScatterElementsOp(const_cast<Operation*>(&op)).reduction() == "none"
                 ? std::vector<unsigned>{0, 2}
                 : std::vector<unsigned>();
    case ten::ConcatOp::kId: {
      std::vector<unsigned> all(op.num_operands());
      for (unsigned i = 0; i < op.num_operands(); ++i) all[i] = i;
      return all;
    }
    default:
      return {};
  }
}

// A sum of extents, and of the sizes of texts that have no extent.
struct Size {
  DimExpr known;
  std::vector<Value> texts;

  void Add(Value text) {
    const DimExpr size = text.type().dim(0);
    if (size.is_unknown()) {
      texts.push_back(text);
    } else {
      known = known + size;
    }
  }
};

// Adds what a number of i64 computes to `size`. False if it is no sum of sizes of vectors.
bool AddTerms(Value number, Size& size, int depth = 0) {
  if (depth > kMaxDepth) return false;
  if (const Attribute constant = ConstantOf(number)) {
    if (constant.type().num_elements() != 1) return false;
    size.known = size.known + DimExpr::Constant(size.known.context(), constant.ElementAsInt(0));
    return true;
  }
  if (const auto add = DefinedBy<ten::AddOp>(number))
    return AddTerms(add.a(), size, depth + 1) && AddTerms(add.b(), size, depth + 1);
  if (const auto reshape = DefinedBy<ten::ReshapeOp>(number))
    return AddTerms(reshape.x(), size, depth + 1);
  if (const auto dims = DefinedBy<core::DimsOp>(number)) {
    if (dims.dims().size() != 1) return false;
    size.known = size.known + dims.dims()[0];
    return true;
  }
  const auto shape = DefinedBy<ten::ShapeOp>(number);
  if (!shape || !shape.x().type().is_tensor() || shape.x().type().rank() != 1) return false;
  size.Add(shape.x());
  return true;
}

// True if `offset` is where text `index` of a concatenation begins, as a span of no bytes.
bool IsStart(Value offset, const Operation& concat, unsigned index) {
  constexpr int64_t kByte = int64_t{1} << kSpanLengthBits;
  Context& context = concat.context();
  Size expected{DimExpr::Constant(context, 0), {}}, actual = expected;
  for (unsigned i = 0; i < index; ++i) {
    if (!concat.operand(i).type().is_tensor()) return false;
    expected.Add(concat.operand(i));
  }
  if (const Attribute constant = ConstantOf(offset)) {
    return constant.type().num_elements() == 1 && expected.texts.empty() &&
           expected.known.is_constant() &&
           constant.ElementAsInt(0) == expected.known.constant() * kByte;
  }
  if (const auto reshape = DefinedBy<ten::ReshapeOp>(offset))
    return IsStart(reshape.x(), concat, index);
  const auto product = DefinedBy<ten::MulOp>(offset);
  if (!product) return false;
  for (const auto& [a, b] :
       {std::pair(product.a(), product.b()), std::pair(product.b(), product.a())}) {
    const Attribute factor = ConstantOf(b);
    if (!factor || factor.type().num_elements() != 1 || factor.ElementAsInt(0) != kByte) continue;
    actual = {DimExpr::Constant(context, 0), {}};
    if (AddTerms(a, actual))
      return actual.known == expected.known && actual.texts == expected.texts;
  }
  return false;
}

// The bytes [start, start + length) of a text; nullopt if they are not known.
std::optional<std::string> BytesOf(Value text, int64_t start, int64_t length, int depth = 0) {
  if (length == 0) return std::string();
  if (start < 0 || depth > kMaxDepth) return std::nullopt;
  if (const Attribute constant = ConstantOf(text)) {
    if (start + length > constant.type().num_elements()) return std::nullopt;
    std::string bytes;
    for (int64_t i = start; i < start + length; ++i)
      bytes += static_cast<char>(constant.ElementAsInt(i));
    return bytes;
  }
  const auto concat = DefinedBy<ten::ConcatOp>(text);
  if (!concat) return std::nullopt;
  for (const OpOperand& part : concat->operands()) {
    const Type type = part.get().type();
    if (!type.is_tensor() || type.rank() != 1 || !type.dim(0).is_constant()) return std::nullopt;
    const int64_t size = type.dim(0).constant();
    if (start < size)
      return start + length <= size ? BytesOf(part.get(), start, length, depth + 1) : std::nullopt;
    start -= size;
  }
  return std::nullopt;
}

std::optional<std::vector<std::string>> Decode(Attribute spans, Value text) {
  std::vector<std::string> strings;
  for (int64_t i = 0; i < spans.type().num_elements(); ++i) {
    const int64_t span = spans.ElementAsInt(i);
    std::optional<std::string> string = BytesOf(text, SpanStart(span), SpanLength(span));
    if (!string) return std::nullopt;
    strings.push_back(std::move(*string));
  }
  return strings;
}

}  // namespace

Value MakeStrings(Operation& before, Type spans, const std::vector<std::string>& strings) {
  Context& context = before.context();
  std::vector<Attribute> elements;
  for (const std::string& string : strings) elements.push_back(Attribute::Str(context, string));
  std::vector<int64_t> dims;
  for (const DimExpr dim : spans.dims()) dims.push_back(dim.constant());
  const NamedAttribute value[] = {{context.Intern("data_type"), Attribute::Str(context, "STRING")},
                                  {context.Intern("dims"), Attribute::I64s(context, dims)},
                                  {context.Intern("strings"), Attribute::Array(context, elements)}};
  const NamedAttribute entries[] = {
      {context.Intern("opset"), Attribute::I64(context, 13)},
      {context.Intern("value"), Attribute::Dictionary(context, value)}};
  OperationState state;
  state.info = context.GetUnregisteredOp("onnx.Constant");
  state.location = before.location();
  state.slots.push_back(Attribute::Dictionary(context, entries));
  state.result_types.push_back(spans);
  return OpBuilder::Before(&before).Create(state)->result();
}

void StringValues::Note(Value spans, Value text, Value strings) {
  known_[{spans.impl(), text.impl()}] = strings;
}

std::optional<std::vector<std::string>> StringValues::Constants(Value spans, Value text) const {
  if (const Attribute constant = ConstantOf(spans)) return Decode(constant, text);
  const auto change = DefinedBy<str::ChangeCaseOp>(spans);
  if (!change || change->result(0) != spans || change->result(1) != text) return std::nullopt;
  const Attribute constant = ConstantOf(change.x());
  std::optional<std::vector<std::string>> strings;
  if (constant) strings = Decode(constant, change.text());
  if (!strings) return std::nullopt;
  for (std::string& string : *strings) {
    if (!std::all_of(string.begin(), string.end(),
                     [](char c) { return absl::ascii_isascii(static_cast<unsigned char>(c)); })) {
      return std::nullopt;
    }
    string = change.to() == "upper" ? absl::AsciiStrToUpper(string) : absl::AsciiStrToLower(string);
  }
  return strings;
}

Value StringValues::Of(Value spans, Value text) {
  const std::pair key(spans.impl(), text.impl());
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (depth_ > kMaxDepth) return Value();
  ++depth_;
  const Value strings = Find(spans, text);
  --depth_;
  return known_[key] = strings;
}

Value StringValues::Find(Value spans, Value text) {
  if (!spans.type().is_tensor()) return Value();
  if (const auto constant = DefinedBy<core::ConstantOp>(spans))
    return OfConstant(*constant.op(), text);
  if (const Value strings = OfControl(spans, text)) return strings;
  // Texts that lie one behind the other: spans in a later one have its first byte added.
  if (const auto concat = DefinedBy<ten::ConcatOp>(text)) {
    if (const auto add = DefinedBy<ten::AddOp>(spans)) {
      for (const auto& [inner, offset] :
           {std::pair(add.a(), add.b()), std::pair(add.b(), add.a())}) {
        for (unsigned i = 1; i < concat->num_operands(); ++i) {
          if (inner.type() != spans.type() || !IsStart(offset, *concat.op(), i)) continue;
          if (const Value strings = Of(inner, concat->operand(i))) return strings;
        }
      }
    }
    if (const Value strings = Of(spans, concat->operand(0))) return strings;
  }
  return spans.is_result() ? OfMove(spans, text) : Value();
}

Value StringValues::OfConstant(Operation& constant, Value text) {
  const std::optional<std::vector<std::string>> strings =
      Decode(core::ConstantOp(&constant).value(), text);
  return strings ? MakeStrings(constant, constant.result().type(), *strings) : Value();
}

Value StringValues::OfMove(Value spans, Value text) {
  Operation& op = *spans.defining_op();
  const std::vector<unsigned> moved = MovedOperands(op);
  if (moved.empty()) return Value();
  std::vector<Value> strings;
  for (const unsigned i : moved) {
    strings.push_back(Of(op.operand(i), text));
    if (!strings.back()) return Value();
  }
  Operation* const copy = OpBuilder::Before(&op).Insert(Clone(op));
  for (size_t i = 0; i < moved.size(); ++i) copy->set_operand(moved[i], strings[i]);
  for (unsigned i = 0; i < op.num_results(); ++i) Note(op.result(i), text, copy->result(i));
  return copy->result(spans.result_index());
}

}  // namespace tenon::onnx
