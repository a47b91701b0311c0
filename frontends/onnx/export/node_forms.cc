#include "frontends/onnx/export/node_forms.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>

#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/onnx.pb.h"

namespace tenon::onnx {
namespace {

// A version of an operator. A formal such as "A3f*" is the letter of its variable, its types as a
// hexadecimal number, and "*" if it is variadic. The attributes "!" are those of a version that has
// been taken back.
struct FormRow {
  std::string_view op;
  int64_t since;
  std::string_view attributes, inputs, outputs;
};
constexpr FormRow kForms[] = {
// in the order of operators and versions
#include "frontends/onnx/export/node_forms.inc"
};

std::span<const FormRow> RowsOf(std::string_view type) {
  const auto [first, last] = std::ranges::equal_range(kForms, type, {}, &FormRow::op);
  return {first, last};
}

// Takes the first word off a text.
std::string_view NextWord(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::vector<Formal> FormalsOf(std::string_view text) {
  std::vector<Formal> formals;
  while (!text.empty()) {
    const std::string_view word = NextWord(text);
    Formal& formal = formals.emplace_back();
    formal.variable = word[0];
    formal.variadic = word.ends_with('*');
    std::from_chars(word.data() + 1, word.data() + word.size(), formal.types, 16);
  }
  return formals;
}

NodeForm FormIn(const FormRow& row) {
  return {row.attributes, FormalsOf(row.inputs), FormalsOf(row.outputs)};
}

const Formal* FormalAt(const std::vector<Formal>& formals, size_t i) {
  if (i < formals.size()) return &formals[i];
  return !formals.empty() && formals.back().variadic ? &formals.back() : nullptr;
}

}  // namespace

bool Formal::Takes(DType dtype) const { return (types >> OnnxTypeOf(dtype) & 1) != 0; }

bool Formal::TakesOnlyStrings() const { return types == 1u << onnxpb::TensorProto::STRING; }

DType Formal::OnlyType() const {
  return std::has_single_bit(types) ? DTypeOf(std::countr_zero(types)) : DType::kInvalid;
}

bool NodeForm::HasAttribute(std::string_view name) const {
  std::string_view rest = attributes;
  while (!rest.empty()) {
    if (NextWord(rest) == name) return true;
  }
  return false;
}

bool NodeForm::HasInputs(size_t count) const {
  return count == 0 || FormalAt(inputs, count - 1) != nullptr;
}

const Formal* NodeForm::input(size_t i) const { return FormalAt(inputs, i); }
const Formal* NodeForm::output(size_t i) const { return FormalAt(outputs, i); }

bool IsOnnxOperator(std::string_view type) { return !RowsOf(type).empty(); }

std::optional<NodeForm> FormOf(std::string_view type, int64_t opset) {
  const FormRow* found = nullptr;
  for (const FormRow& row : RowsOf(type)) {
    if (row.since <= opset) found = &row;
  }
  if (found == nullptr || found->attributes == "!") return std::nullopt;
  return FormIn(*found);
}

std::optional<int64_t> OldestWith(std::string_view type,
                                  absl::FunctionRef<bool(const NodeForm&)> fits) {
  for (const FormRow& row : RowsOf(type)) {
    if (row.attributes != "!" && fits(FormIn(row))) return row.since;
  }
  return std::nullopt;
}

}  // namespace tenon::onnx
