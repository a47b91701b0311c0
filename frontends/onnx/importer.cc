#include "frontends/onnx/importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/edit/edit_model.h"
#include "frontends/onnx/file/type_proto.h"
#include "frontends/onnx/file/wire.h"
#include "frontends/onnx/graph_importer.h"
#include "frontends/onnx/node.h"
#include "frontends/onnx/ops/adapters.h"
#include "ir/base/check.h"
#include "ir/core/constants/blob.h"
#include "ir/core/context/context_limits.h"
#include "ir/core/verify/verifier.h"

namespace tenon::onnx {
namespace {

std::string NameOf(const std::string& path, const ImportOptions& options) {
  if (!options.name.empty()) return options.name;
  return path == "-" ? "<stdin>" : path;
}

absl::Status Report(Context& context, const std::string& name, const absl::Status& status) {
  const absl::Status emitted =
      EmitError(context, Location::Name(context, name), std::string(MessageOf(status)));
  return absl::Status(status.code(), emitted.message());
}

void CountOperators(const onnxpb::GraphProto& graph, std::map<std::string, int64_t>& counts) {
  for (const onnxpb::NodeProto& node : graph.node()) {
    const std::string_view domain = DomainOf(node.domain());
    ++counts[domain.empty() ? node.op_type() : fmt::format("{}.{}", domain, node.op_type())];
    for (const onnxpb::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CountOperators(attribute.g(), counts);
      for (const onnxpb::GraphProto& inner : attribute.graphs()) CountOperators(inner, counts);
    }
  }
}

ModelInfo InfoOf(const onnxpb::ModelProto& model) {
  ModelInfo info;
  info.ir_version = model.ir_version();
  for (const onnxpb::OperatorSetIdProto& opset : model.opset_import()) {
    const std::string_view domain = DomainOf(opset.domain());
    if (domain.empty()) info.opset = opset.version();
    info.opsets.emplace_back(domain, opset.version());
  }
  CountOperators(model.graph(), info.operators);
  info.model_version = model.model_version();
  info.producer_name = model.producer_name();
  info.producer_version = model.producer_version();
  info.domain = model.domain();
  info.doc_string = model.doc_string();
  info.graph_name = model.graph().name();
  for (const onnxpb::StringStringEntryProto& entry : model.metadata_props()) {
    info.metadata.emplace_back(entry.key(), entry.value());
  }
  return info;
}

// Imports the whole model for the types of some of its values. Values that cannot be imported have
// none.
void InferTypesOf(Context& context, const onnxpb::ModelProto& model, const TensorSource& source,
                  const std::string& name, TypeProtos& types) {
  const ScopedDiagnosticHandler silence(context, {});
  std::map<std::string, Type> inferred;
  for (const auto& [value, type] : types) inferred.emplace(value, Type());
  const absl::StatusOr<OwnedOp> module = GraphImporter(context, model, source, name).Run(&inferred);
  for (const auto& [value, type] : inferred) {
    if (!type) continue;
    if (const auto proto = TypeProtoOf(type)) types[value] = *proto;
  }
}

// Declares the results of the nodes that only ONNX Runtime has with the types that the importer
// infers.
void DeclareMicrosoft(Context& context, const TensorSource& source, const std::string& name,
                      onnxpb::ModelProto& model) {
  TypeProtos types;
  for (const onnxpb::NodeProto& node : model.graph().node()) {
    if (!IsOfOnnxRuntime(DomainOf(node.domain()), node.op_type())) continue;
    for (const std::string& output : node.output()) {
      if (!output.empty()) types.emplace(output, onnxpb::TypeProto());
    }
  }
  if (types.empty()) return;
  InferTypesOf(context, model, source, name, types);
  std::erase_if(types, [](const auto& entry) { return entry.second.value_case() == 0; });
  auto& infos = *model.mutable_graph()->mutable_value_info();
  infos.erase(std::remove_if(infos.begin(), infos.end(),
                             [&](const auto& info) { return types.contains(info.name()); }),
              infos.end());
  for (auto& [value, type] : types) {
    onnxpb::ValueInfoProto& info = *infos.Add();
    info.set_name(value);
    *info.mutable_type() = std::move(type);
  }
}

absl::StatusOr<OwnedOp> Import(Context& context, const FileBytes& file, const std::string& name,
                               const std::string& root, const ImportOptions& options) {
  context.AllowUnregisteredDialect(kOpaqueDialect);
  onnxpb::ModelProto model;
  const auto depth =
      static_cast<int>(std::min<int64_t>(LimitsOf(context).nesting, kMaxMessageDepth));
  if (absl::Status status = ParseModel(file.bytes, model, depth); !status.ok()) {
    return Report(context, name, status);
  }
  ExternalData external(root, options.allow_external_data_links);
  const TensorSource source{.file = file, .external = &external};
  if (!options.edit.empty()) {
    const auto infer = [&](TypeProtos& types) {
      InferTypesOf(context, model, source, name, types);
    };
    if (absl::Status status = EditModel(context, options.edit, infer, model); !status.ok()) {
      return Report(context, name, status);
    }
  }
  const int own_outputs = model.graph().output_size();
  if (options.edit.expose_values) ExposeValues(*model.mutable_graph());
  if (options.edit.keep_microsoft) DeclareMicrosoft(context, source, name, model);
  GraphImporter importer(context, model, source, name);
  if (options.edit.keep_microsoft) importer.KeepMicrosoft();
  TENON_ASSIGN_OR_RETURN(OwnedOp module, importer.Run());
  if (options.verify) TENON_RETURN_IF_ERROR(Verify(module.get()));
  if (options.info != nullptr) {
    *options.info = InfoOf(model);
    options.info->read_constants = importer.read_constants();
    for (int i = own_outputs; i < model.graph().output_size(); ++i)
      options.info->exposed.push_back(model.graph().output(i).name());
  }
  if (options.files != nullptr) {
    const auto add = [&](const SourceFile& source) {
      if (!source.path.empty()) options.files->push_back(source);
    };
    add(file.source);
    for (const auto& [location, opened] : external.files()) add(opened.source);
  }
  return module;
}

}  // namespace

absl::StatusOr<OwnedOp> ImportOnnx(Context& context, const std::string& path,
                                   const ImportOptions& options) {
  absl::StatusOr<FileBytes> file = MapFile(path);
  if (!file.ok()) return Report(context, NameOf(path, options), file.status());
  return ImportOnnxFromFile(context, *file, path, options);
}

absl::StatusOr<OwnedOp> ImportOnnxFromFile(Context& context, const FileBytes& file,
                                           const std::string& path, const ImportOptions& options) {
  std::string root = options.external_data_root;
  if (root.empty() && path != "-") {
    const size_t slash = path.rfind('/');
    root = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  }
  return Import(context, file, NameOf(path, options), root, options);
}

absl::StatusOr<OwnedOp> ImportOnnxFromBytes(Context& context, std::span<const std::byte> bytes,
                                            std::shared_ptr<const void> owner,
                                            const ImportOptions& options) {
  FileBytes file{.bytes = bytes, .owner = std::move(owner)};
  if (file.owner == nullptr) {
    std::shared_ptr<const Blob> copy = Blob::Copy(bytes);
    file = FileBytes{.bytes = copy->bytes(), .owner = copy};
  }
  const std::string name = options.name.empty() ? "<memory>" : options.name;
  return Import(context, file, name, options.external_data_root, options);
}

}  // namespace tenon::onnx
