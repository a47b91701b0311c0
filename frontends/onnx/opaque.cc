#include <fmt/format.h>

#include <map>

#include "frontends/onnx/graph_importer.h"
#include "frontends/onnx/node.h"
#include "ir/base/check.h"

namespace tenon::onnx {
namespace {

using onnxpb::AttributeProto;
using onnxpb::GraphProto;
using onnxpb::SparseTensorProto;
using onnxpb::TensorProto;

using AttributeMap = std::map<std::string, Attribute>;

Attribute ToDictionary(Context& context, const AttributeMap& map) {
  std::vector<NamedAttribute> entries;
  for (const auto& [name, value] : map) entries.push_back({context.Intern(name), value});
  return Attribute::Dictionary(context, entries);
}

Attribute Strings(Context& context, const google::protobuf::RepeatedPtrField<std::string>& values) {
  std::vector<Attribute> elements;
  for (const std::string& value : values) elements.push_back(Attribute::Str(context, value));
  return Attribute::Array(context, elements);
}

template <typename T>
Attribute I64List(Context& context, const google::protobuf::RepeatedField<T>& values) {
  const std::vector<int64_t> list(values.begin(), values.end());
  return Attribute::I64s(context, list);
}

Attribute RawBytes(Context& context, std::shared_ptr<const Blob> blob) {
  const int64_t size = static_cast<int64_t>(blob->size());
  const Type type = Type::Tensor(context, DType::kU8, std::span(&size, 1));
  return Attribute::Elements(context, type, std::move(blob));
}

// Everything a tensor says, for element types that have no counterpart.
Attribute OpaqueTensor(Context& context, const TensorProto& tensor, const TensorSource& source) {
  AttributeMap map;
  map["data_type"] = Attribute::Str(context, OnnxTypeName(tensor.data_type()));
  map["dims"] = I64List(context, tensor.dims());
  if (tensor.string_data_size() > 0) map["strings"] = Strings(context, tensor.string_data());
  if (tensor.float_data_size() > 0) {
    const std::vector<float> values(tensor.float_data().begin(), tensor.float_data().end());
    map["floats"] = Attribute::F32s(context, values);
  }
  if (tensor.double_data_size() > 0) {
    const std::vector<double> values(tensor.double_data().begin(), tensor.double_data().end());
    map["doubles"] = Attribute::Floats(context, DType::kF64, values);
  }
  if (tensor.int32_data_size() > 0) map["ints"] = I64List(context, tensor.int32_data());
  if (tensor.has_raw_slice()) {
    const TensorProto::RawSlice& slice = tensor.raw_slice();
    const auto bytes = source.file.bytes.subspan(slice.offset(), slice.length());
    map["raw"] = RawBytes(context, Blob::Borrow(bytes, source.file.owner));
  }
  AttributeMap external;
  for (const auto& entry : tensor.external_data()) {
    external[entry.key()] = Attribute::Str(context, entry.value());
  }
  if (!external.empty()) map["external"] = ToDictionary(context, external);
  return ToDictionary(context, map);
}

absl::StatusOr<Attribute> ToAttribute(Context& context, const TensorProto& tensor,
                                      const TensorSource& source) {
  absl::StatusOr<Attribute> elements = DecodeElements(context, tensor, source);
  if (absl::IsUnimplemented(elements.status())) return OpaqueTensor(context, tensor, source);
  return elements;
}

absl::StatusOr<Attribute> ToAttribute(Context& context, const SparseTensorProto& tensor,
                                      const TensorSource& source) {
  AttributeMap map;
  TENON_ASSIGN_OR_RETURN(map["values"], ToAttribute(context, tensor.values(), source));
  TENON_ASSIGN_OR_RETURN(map["indices"], ToAttribute(context, tensor.indices(), source));
  map["dims"] = I64List(context, tensor.dims());
  return ToDictionary(context, map);
}

// An attribute of any type but graphs.
absl::StatusOr<Attribute> ToAttribute(GraphImporter& importer, const AttributeProto& attribute) {
  Context& context = importer.context();
  std::vector<Attribute> list;
  const auto type_attribute = [&](const onnxpb::TypeProto& type) {
    const Type converted = importer.Convert(type, /*binding=*/false);
    return Attribute::TypeAttr(context, converted ? converted : Type::Opaque(context, "!onnx.any"));
  };
  switch (AttributeTypeOf(attribute)) {
    case AttributeProto::FLOAT:
      return Attribute::F32(context, attribute.f());
    case AttributeProto::INT:
      return Attribute::I64(context, attribute.i());
    case AttributeProto::STRING:
      return Attribute::Str(context, attribute.s());
    case AttributeProto::TENSOR:
      return ToAttribute(context, attribute.t(), importer.source());
    case AttributeProto::SPARSE_TENSOR:
      return ToAttribute(context, attribute.sparse_tensor(), importer.source());
    case AttributeProto::TYPE_PROTO:
      return type_attribute(attribute.tp());
    case AttributeProto::FLOATS: {
      const std::vector<float> values(attribute.floats().begin(), attribute.floats().end());
      return Attribute::F32s(context, values);
    }
    case AttributeProto::INTS:
      return I64List(context, attribute.ints());
    case AttributeProto::STRINGS:
      return Strings(context, attribute.strings());
    case AttributeProto::TENSORS:
      for (const TensorProto& tensor : attribute.tensors()) {
        TENON_ASSIGN_OR_RETURN(list.emplace_back(),
                               ToAttribute(context, tensor, importer.source()));
      }
      return Attribute::Array(context, list);
    case AttributeProto::SPARSE_TENSORS:
      for (const SparseTensorProto& tensor : attribute.sparse_tensors()) {
        TENON_ASSIGN_OR_RETURN(list.emplace_back(),
                               ToAttribute(context, tensor, importer.source()));
      }
      return Attribute::Array(context, list);
    case AttributeProto::TYPE_PROTOS:
      for (const onnxpb::TypeProto& type : attribute.type_protos()) {
        list.push_back(type_attribute(type));
      }
      return Attribute::Array(context, list);
    default:
      return absl::InvalidArgumentError("has no type");
  }
}

// "com.microsoft" and "FusedMatMul" give onnx.com.microsoft.FusedMatMul.
std::string OpaqueName(std::string_view domain, std::string_view op_type) {
  std::string name = "onnx.";
  if (!domain.empty()) name += fmt::format("{}.", domain);
  name += op_type;
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.' || c == '$';
    if (!plain) c = '_';
  }
  return name;
}

// A node may have attributes called like ours: theirs get another name.
void AddAttribute(AttributeMap& map, std::string name, Attribute value) {
  while (map.contains(name)) name += '_';
  map[name] = value;
}

struct OpaqueParts {
  AttributeMap attributes;
  std::vector<const GraphProto*> graphs;
  std::vector<Attribute> graph_names;
};

absl::Status CollectAttributes(GraphImporter& importer, const Node& node, OpaqueParts& parts) {
  Context& context = importer.context();
  NameSet seen;
  for (const AttributeProto& written : node.proto().attribute()) {
    if (written.name().empty()) return node.Error("an attribute has no name");
    if (!seen.insert(written.name()).second) {
      return node.Error(fmt::format("attribute \"{}\" is given twice", written.name()));
    }
    const AttributeProto* attribute = node.Find(written.name());
    if (attribute == nullptr) continue;
    const AttributeProto::AttributeType type = AttributeTypeOf(*attribute);
    if (type == AttributeProto::GRAPH || type == AttributeProto::GRAPHS) {
      if (type == AttributeProto::GRAPH) parts.graphs.push_back(&attribute->g());
      for (const GraphProto& graph : attribute->graphs()) parts.graphs.push_back(&graph);
      parts.graph_names.resize(parts.graphs.size(), Attribute::Str(context, written.name()));
      continue;
    }
    absl::StatusOr<Attribute> value = ToAttribute(importer, *attribute);
    if (!value.ok()) {
      return node.Error(
          fmt::format("attribute \"{}\" {}", written.name(), MessageOf(value.status())));
    }
    AddAttribute(parts.attributes, written.name(), *value);
  }
  if (parts.graphs.size() > kMaxRegions) {
    return node.Error(
        fmt::format("the node has {} graphs, more than {}", parts.graphs.size(), kMaxRegions));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportOpaque(GraphImporter& importer, Node& node, Scope& scope, const Frame& frame) {
  Context& context = importer.context();
  const std::string_view domain = DomainOf(node.proto().domain());
  OpaqueParts parts;
  parts.attributes["opset"] = Attribute::I64(context, node.version());
  if (!domain.empty()) parts.attributes["domain"] = Attribute::Str(context, domain);
  OperationState state;
  std::vector<int64_t> present;
  for (const Value input : node.inputs()) {
    present.push_back(input ? 1 : 0);
    if (input) state.operands.push_back(input);
  }
  if (state.operands.size() < present.size()) {
    parts.attributes["present"] = Attribute::Ints(context, DType::kBool, present);
  }
  // Reserved before the node's own are added.
  parts.attributes["regions"] = Attribute();
  TENON_RETURN_IF_ERROR(CollectAttributes(importer, node, parts));
  if (parts.graphs.empty()) {
    parts.attributes.erase("regions");
  } else {
    parts.attributes["regions"] = Attribute::Array(context, parts.graph_names);
  }

  state.info = context.GetUnregisteredOp(OpaqueName(domain, node.op_type()));
  if (state.info->is_registered()) return node.Error("the op's name belongs to a registered op");
  state.location = node.location();
  state.slots.push_back(ToDictionary(context, parts.attributes));
  state.num_regions = static_cast<unsigned>(parts.graphs.size());
  for (const std::string& name : node.proto().output()) {
    state.result_types.push_back(name.empty() ? Type::Opaque(context, "!onnx.any")
                                              : importer.DeclaredOrAny(scope, name));
  }
  Operation* op = node.builder().Create(state);
  for (int i = 0; i < node.num_outputs(); ++i) {
    const Value result = op->result(static_cast<unsigned>(i));
    importer.NameDims(result, node.proto().output(i));
    node.SetOutput(i, result);
  }
  for (size_t i = 0; i < parts.graphs.size(); ++i) {
    TENON_RETURN_IF_ERROR(importer.ImportRegion(*parts.graphs[i], node.location(), scope, frame,
                                                op->region(static_cast<unsigned>(i))));
  }
  return absl::OkStatus();
}

absl::StatusOr<Operation*> OpaqueConstant(GraphImporter& importer, const TensorProto& tensor,
                                          Location location, OpBuilder& builder) {
  Context& context = importer.context();
  OperationState state;
  state.info = context.GetUnregisteredOp("onnx.Constant");
  state.location = location;
  state.slots.push_back(
      ToDictionary(context, {{"value", OpaqueTensor(context, tensor, importer.source())}}));
  state.result_types.push_back(Type::Opaque(context, "!onnx.any"));
  return builder.Create(state);
}

absl::StatusOr<Value> GraphImporter::SparseConstant(const SparseTensorProto& tensor, Scope& scope) {
  const Location location = Location::Name(context_, tensor.values().name());
  absl::StatusOr<Attribute> value = ToAttribute(context_, tensor, source_);
  if (!value.ok()) return Error(location, std::string(MessageOf(value.status())));
  OperationState state;
  state.info = context_.GetUnregisteredOp("onnx.Constant");
  state.location = location;
  state.slots.push_back(ToDictionary(context_, {{"sparse_value", *value}}));
  state.result_types.push_back(DeclaredOrAny(scope, tensor.values().name()));
  const Value result = OpBuilder::AtEnd(context_, scope.block).Create(state)->result();
  NameDims(result, tensor.values().name());
  return result;
}

}  // namespace tenon::onnx
