#include "frontends/onnx/file/type_proto.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "fmt/format.h"
#include "frontends/onnx/file/tensor.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/text/parser.h"

namespace tenon::onnx {

namespace {

constexpr std::string_view kStrings = "!onnx.strings<";
constexpr std::string_view kMapsOfStrings = "!onnx.maps<string>", kMaps = "!onnx.maps<i64>";

// The type of the spans of strings; null if `type` is not that of strings.
Type SpansOf(Type type) {
  std::string_view text =
      type.kind() == Type::Kind::kOpaque ? type.opaque_text() : std::string_view();
  if (!text.starts_with(kStrings) || !text.ends_with('>')) return Type();
  text.remove_prefix(kStrings.size());
  text.remove_suffix(1);
  const ScopedDiagnosticHandler quiet(type.context(), {});
  const absl::StatusOr<Type> spans = ParseType(type.context(), text);
  return spans.ok() && spans->is_any_tensor() ? *spans : Type();
}

}  // namespace

Type StringsType(Type spans) {
  return Type::Opaque(spans.context(), fmt::format("{}{}>", kStrings, spans.text()));
}

Type MapsType(Context& context, bool of_strings) {
  return Type::Opaque(context, of_strings ? kMapsOfStrings : kMaps);
}

std::unique_ptr<onnxpb::TypeProto> TypeProtoOf(Type type) {
  if (type.kind() == Type::Kind::kOpaque &&
      (type.opaque_text() == kMapsOfStrings || type.opaque_text() == kMaps)) {
    auto proto = std::make_unique<onnxpb::TypeProto>();
    onnxpb::TypeProto::Map& map =
        *proto->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
    map.set_key_type(type.opaque_text() == kMaps ? onnxpb::TensorProto::INT64
                                                 : onnxpb::TensorProto::STRING);
    onnxpb::TypeProto::Tensor& value = *map.mutable_value_type()->mutable_tensor_type();
    value.set_elem_type(onnxpb::TensorProto::FLOAT);
    value.mutable_shape();
    return proto;
  }
  if (const Type spans = SpansOf(type)) {
    std::unique_ptr<onnxpb::TypeProto> proto = TypeProtoOf(spans);
    proto->mutable_tensor_type()->set_elem_type(onnxpb::TensorProto::STRING);
    return proto;
  }
  if (!type.is_any_tensor()) return nullptr;
  auto proto = std::make_unique<onnxpb::TypeProto>();
  onnxpb::TypeProto::Tensor& tensor = *proto->mutable_tensor_type();
  tensor.set_elem_type(OnnxTypeOf(type.dtype()));
  if (!type.is_tensor()) return proto;
  onnxpb::TensorShapeProto& shape = *tensor.mutable_shape();
  for (const DimExpr dim : type.dims()) {
    onnxpb::TensorShapeProto::Dimension& made = *shape.add_dim();
    if (dim.is_constant()) {
      made.set_dim_value(dim.constant());
    } else if (dim.kind() == DimExpr::Kind::kSymbol) {
      made.set_dim_param(std::string(dim.symbol()));
    } else if (!dim.is_unknown()) {
      made.set_dim_param(dim.text());
    }
  }
  return proto;
}

bool IsPlaceholderDim(const std::string& name) {
  absl::string_view text = absl::StripAsciiWhitespace(name);
  for (const absl::string_view word : {"", "?", "*", "none", "null", "unknown", "unk"}) {
    if (absl::EqualsIgnoreCase(text, word)) return true;
  }
  if (!absl::ConsumePrefix(&text, "unk__")) absl::ConsumePrefix(&text, "-");
  return std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
}

}  // namespace tenon::onnx
