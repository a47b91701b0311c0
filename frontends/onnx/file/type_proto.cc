#include "frontends/onnx/file/type_proto.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "frontends/onnx/file/tensor.h"

namespace tenon::onnx {

std::unique_ptr<onnxpb::TypeProto> TypeProtoOf(Type type) {
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
