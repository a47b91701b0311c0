// Types and attributes as protobuf messages.
#include "fmt/format.h"
#include "frontends/onnx/export/graph_writer.h"
#include "frontends/onnx/file/tensor.h"
#include "ir/base/check.h"

namespace tenon::onnx {
namespace {

using onnxpb::AttributeProto;
using onnxpb::TensorProto;

// The ONNX type of a name such as "STRING"; 0 if there is none.
int32_t TypeNamed(std::string_view name) {
  for (int32_t type = 1; type <= TensorProto::INT2; ++type) {
    if (OnnxTypeName(type) == name) return type;
  }
  return 0;
}

// A tensor of an element type that we do not have: the dictionary of OpaqueTensor (opaque.cc).
absl::Status SetOpaqueTensor(Attribute map, TensorProto& proto) {
  const int32_t type = TypeNamed(map.Get("data_type").str());
  if (type == 0) return absl::InvalidArgumentError("has a tensor of an unknown type");
  if (map.Get("external")) return absl::InvalidArgumentError("has a tensor in another file");
  proto.set_data_type(type);
  for (const int64_t dim : map.Get("dims").ints()) proto.add_dims(dim);
  if (const Attribute strings = map.Get("strings")) {
    for (const Attribute string : strings.elements())
      proto.add_string_data(std::string(string.str()));
  }
  if (const Attribute floats = map.Get("floats")) {
    for (const double value : floats.floats()) proto.add_float_data(static_cast<float>(value));
  }
  if (const Attribute doubles = map.Get("doubles")) {
    for (const double value : doubles.floats()) proto.add_double_data(value);
  }
  if (const Attribute ints = map.Get("ints")) {
    for (const int64_t value : ints.ints()) proto.add_int32_data(static_cast<int32_t>(value));
  }
  if (const Attribute raw = map.Get("raw")) {
    const std::shared_ptr<const Blob> blob = raw.DenseBlob();
    proto.set_raw_data(reinterpret_cast<const char*>(blob->bytes().data()), blob->size());
  }
  return absl::OkStatus();
}

absl::Status SetAnyTensor(Attribute value, TensorProto& proto) {
  if (value.kind() == Attribute::Kind::kDictionary) return SetOpaqueTensor(value, proto);
  if (value.kind() != Attribute::Kind::kElements) return absl::InvalidArgumentError("is no tensor");
  SetTensor(value, proto);
  return absl::OkStatus();
}

absl::Status SetDictionary(Attribute value, AttributeProto& proto) {
  if (value.Get("data_type")) {
    proto.set_type(AttributeProto::TENSOR);
    return SetOpaqueTensor(value, *proto.mutable_t());
  }
  if (!value.Get("values") || !value.Get("indices"))
    return absl::InvalidArgumentError("is a dictionary");
  proto.set_type(AttributeProto::SPARSE_TENSOR);
  onnxpb::SparseTensorProto& sparse = *proto.mutable_sparse_tensor();
  TENON_RETURN_IF_ERROR(SetAnyTensor(value.Get("values"), *sparse.mutable_values()));
  TENON_RETURN_IF_ERROR(SetAnyTensor(value.Get("indices"), *sparse.mutable_indices()));
  for (const int64_t dim : value.Get("dims").ints()) sparse.add_dims(dim);
  return absl::OkStatus();
}

absl::Status SetArray(Attribute value, AttributeProto& proto) {
  proto.set_type(AttributeProto::STRINGS);
  for (const Attribute element : value.elements()) {
    if (element.kind() == Attribute::Kind::kString) {
      proto.add_strings(std::string(element.str()));
      continue;
    }
    proto.set_type(AttributeProto::TENSORS);
    TENON_RETURN_IF_ERROR(SetAnyTensor(element, *proto.add_tensors()));
  }
  return absl::OkStatus();
}

}  // namespace

void SetTensor(Attribute elements, TensorProto& proto) {
  const Type type = elements.type();
  proto.set_data_type(OnnxTypeOf(type.dtype()));
  for (const DimExpr dim : type.dims()) proto.add_dims(dim.constant());
  const std::shared_ptr<const Blob> blob = OnnxBytes(type.dtype(), elements.DenseBlob());
  const std::span<const std::byte> bytes = blob->bytes();
  proto.set_raw_data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

absl::Status SetAttribute(std::string_view name, Attribute value, AttributeProto& proto) {
  proto.set_name(std::string(name));
  switch (value.kind()) {
    case Attribute::Kind::kInteger:
    case Attribute::Kind::kBool:
      proto.set_type(AttributeProto::INT);
      proto.set_i(value.int_value());
      return absl::OkStatus();
    case Attribute::Kind::kFloat:
      proto.set_type(AttributeProto::FLOAT);
      proto.set_f(static_cast<float>(value.float_value()));
      return absl::OkStatus();
    case Attribute::Kind::kString:
      proto.set_type(AttributeProto::STRING);
      proto.set_s(std::string(value.str()));
      return absl::OkStatus();
    case Attribute::Kind::kDenseArray:
      if (IsFloat(value.type().dtype())) {
        proto.set_type(AttributeProto::FLOATS);
        for (const double v : value.floats()) proto.add_floats(static_cast<float>(v));
      } else {
        proto.set_type(AttributeProto::INTS);
        for (const int64_t v : value.ints()) proto.add_ints(v);
      }
      return absl::OkStatus();
    case Attribute::Kind::kArray:
      return SetArray(value, proto);
    case Attribute::Kind::kElements:
      proto.set_type(AttributeProto::TENSOR);
      SetTensor(value, *proto.mutable_t());
      return absl::OkStatus();
    case Attribute::Kind::kDictionary:
      return SetDictionary(value, proto);
    case Attribute::Kind::kType: {
      proto.set_type(AttributeProto::TYPE_PROTO);
      const std::unique_ptr<onnxpb::TypeProto> type = TypeProtoOf(value.type());
      if (type == nullptr) return absl::InvalidArgumentError("is a type that is no tensor");
      *proto.mutable_tp() = *type;
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError(fmt::format("is {}", value.text()));
  }
}

}  // namespace tenon::onnx
