#include "frontends/onnx/edit/edit_model.h"

#include "ir/base/check.h"

namespace tenon::onnx {
void ExposeValues(onnxpb::GraphProto& graph) {
  NameSet read, known;
  for (const onnxpb::NodeProto& node : graph.node()) CollectReads(node, read);
  for (const onnxpb::ValueInfoProto& output : graph.output()) known.insert(output.name());
  for (const onnxpb::NodeProto& node : graph.node()) {
    for (const std::string& name : node.output()) {
      if (!name.empty() && read.contains(name) && known.insert(name).second)
        graph.add_output()->set_name(name);
    }
  }
}

absl::Status EditModel(Context& context, const ModelEdit& edit, const InferTypes& infer,
                       onnxpb::ModelProto& model) {
  onnxpb::GraphProto& graph = *model.mutable_graph();
  if (!edit.part.empty()) TENON_RETURN_IF_ERROR(CutPart(context, edit.part, infer, graph));
  if (!edit.sizes.empty()) TENON_RETURN_IF_ERROR(FixSizes(context, edit.sizes, graph));
  return absl::OkStatus();
}

std::string OutputDeclarations(std::span<const std::string> names) {
  onnxpb::ModelProto model;
  for (const std::string& name : names) model.mutable_graph()->add_output()->set_name(name);
  return names.empty() ? std::string() : model.SerializeAsString();
}

}  // namespace tenon::onnx
