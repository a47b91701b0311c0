// Types that a model declares: binding for its inputs, hints for everything else.
#include <fmt/format.h>

#include "frontends/onnx/file/type_proto.h"
#include "frontends/onnx/graph_importer.h"
#include "ir/base/limits.h"
#include "ir/core/block.h"

namespace tenon::onnx {

using onnxpb::TypeProto;

namespace {

// Symbols print between backquotes where they have to.
std::string SymbolText(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (c == '`' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '_';
  }
  return text;
}

// Is the product of the extents, all known, too large?
bool HasTooManyElements(const onnxpb::TensorShapeProto& shape) {
  int64_t count = 1;
  bool overflows = false;
  for (const onnxpb::TensorShapeProto::Dimension& dim : shape.dim()) {
    if (!dim.has_dim_value() || dim.dim_value() <= 0) return false;
    overflows |= __builtin_mul_overflow(count, dim.dim_value(), &count);
  }
  return overflows;
}

}  // namespace

absl::Status GraphImporter::CheckSize(const onnxpb::ValueInfoProto& info) {
  const int64_t rank = info.type().tensor_type().shape().dim_size();
  if (rank <= kMaxRank) {
    if (!HasTooManyElements(info.type().tensor_type().shape())) return absl::OkStatus();
    return EmitError(
        context_, Location::Name(context_, info.name()),
        fmt::format("\"{}\" is declared with more elements than 64 bits can count", info.name()));
  }
  absl::Status error =
      EmitError(context_, Location::Name(context_, info.name()),
                fmt::format("\"{}\" is declared with {} dimensions (expected at most {})",
                            info.name(), rank, kMaxRank));
  return absl::ResourceExhaustedError(error.message());
}

Type GraphImporter::Convert(const onnxpb::TypeProto& type, bool binding) {
  if (type.value_case() != onnxpb::TypeProto::kTensorType) return Type();
  const DType dtype = DTypeOf(type.tensor_type().elem_type());
  if (dtype == DType::kInvalid) return Type();
  return TensorType(type.tensor_type(), dtype, binding);
}

Type GraphImporter::TensorType(const TypeProto::Tensor& tensor, DType dtype, bool binding) {
  if (!tensor.has_shape() || tensor.shape().dim_size() > kMaxRank)
    return Type::Unranked(context_, dtype);
  std::vector<DimExpr> dims;
  for (const onnxpb::TensorShapeProto::Dimension& dim : tensor.shape().dim()) {
    // Some writers put -1 where they know nothing.
    if (dim.value_case() == onnxpb::TensorShapeProto::Dimension::kDimValue &&
        dim.dim_value() >= 0) {
      dims.push_back(DimExpr::Constant(context_, dim.dim_value()));
    } else if (binding && !IsPlaceholderDim(dim.dim_param())) {
      std::string symbol = SymbolText(dim.dim_param());
      // Different names are different symbols, also where they differ in such characters only.
      for (;; symbol += '_') {
        const auto [known, is_new] = symbols_.emplace(symbol, dim.dim_param());
        if (is_new || known->second == dim.dim_param()) break;
      }
      dim_namer_.Reserve(symbol);
      dims.push_back(DimExpr::Symbol(context_, symbol));
    } else {
      dims.push_back(DimExpr::Unknown(context_));
    }
  }
  return Type::Tensor(context_, dtype, std::span<const DimExpr>(dims));
}

std::optional<ContainerType> GraphImporter::ConvertStrings(const TypeProto& type, bool binding) {
  if (type.value_case() != TypeProto::kTensorType ||
      type.tensor_type().elem_type() != onnxpb::TensorProto::STRING) {
    return std::nullopt;
  }
  const Type spans = TensorType(type.tensor_type(), DType::kI64, binding);
  if (!spans.is_tensor()) return std::nullopt;
  return StringsOf(spans);
}

std::optional<ContainerType> GraphImporter::ConvertContainer(const TypeProto& type) {
  using Kind = ContainerType::Kind;
  if (const auto strings = ConvertStrings(type, /*binding=*/false)) return strings;
  ContainerType container;
  const TypeProto* inner = &type;
  if (inner->value_case() == TypeProto::kOptionalType) {
    inner = &inner->optional_type().elem_type();
    container.kind = Kind::kOptionalTensor;
  }
  if (inner->value_case() == TypeProto::kSequenceType) {
    inner = &inner->sequence_type().elem_type();
    container.kind = container.is_optional() ? Kind::kOptionalSequence : Kind::kSequence;
  } else if (!container.is_optional()) {
    return std::nullopt;
  }
  const Type element = Convert(*inner, /*binding=*/false);
  if (!element) return std::nullopt;
  container.dtype = element.dtype();
  container.element = LooseElement(element);
  return container;
}

Type GraphImporter::DeclaredOrAny(const Scope& scope, const std::string& name) {
  Type type;
  if (const auto it = scope.declared.find(name); it != scope.declared.end()) {
    type = Convert(*it->second, /*binding=*/false);
  }
  return type ? type : Type::Opaque(context_, "!onnx.any");
}

void GraphImporter::CheckDeclared(const Scope& scope, const std::string& name, Type type,
                                  Location location) {
  const auto it = scope.declared.find(name);
  if (it == scope.declared.end() || !type.is_tensor()) return;
  if (it->second->value_case() != onnxpb::TypeProto::kTensorType) return;
  const onnxpb::TypeProto::Tensor& tensor = it->second->tensor_type();
  bool conflict = tensor.elem_type() != 0 && DTypeOf(tensor.elem_type()) != type.dtype();
  if (tensor.has_shape() && tensor.shape().dim_size() != type.rank()) {
    conflict = true;
  } else if (tensor.has_shape()) {
    for (int d = 0; d < tensor.shape().dim_size(); ++d) {
      const onnxpb::TensorShapeProto::Dimension& dim = tensor.shape().dim(d);
      conflict =
          conflict || (dim.has_dim_value() && dim.dim_value() >= 0 && type.dim(d).is_constant() &&
                       type.dim(d).constant() != dim.dim_value());
    }
  }
  if (!conflict) return;
  std::string dims = tensor.has_shape() ? "" : "*";
  for (int d = 0; d < tensor.shape().dim_size() && d < 16; ++d) {
    const onnxpb::TensorShapeProto::Dimension& dim = tensor.shape().dim(d);
    dims += fmt::format("{}{}", d == 0 ? "" : ", ",
                        dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param());
  }
  EmitWarning(context_, location,
              fmt::format("\"{}\" is declared as {} [{}], but it is {}", name,
                          OnnxTypeName(tensor.elem_type()), dims, type.text()));
}

}  // namespace tenon::onnx
