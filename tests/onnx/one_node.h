// Models of one node, and what they become.
#ifndef TENON_TESTS_ONNX_ONE_NODE_H_
#define TENON_TESTS_ONNX_ONE_NODE_H_

#include <string>

#include "tests/onnx/model_builder.h"

namespace tenon::onnx {

// One node with inputs x [2, 3, 4] (float), y [2, 3, 4] (float), i [2] (int64).
inline ModelBuilder OneNode(int64_t opset, const std::string& op_type, const Names& inputs,
                            const NamedValues& attributes = {}, const Names& outputs = {"out"}) {
  ModelBuilder model(opset);
  model.Input("x", {2, 3, 4}).Input("y", {2, 3, 4}).Input("i", {2}, onnxpb::TensorProto::INT64);
  model.Node(op_type, inputs, outputs, attributes, "the_node").Output(outputs[0]);
  return model;
}

// The model with all of its nodes in ONNX Runtime's domain.
inline Imported ImportMicrosoft(ModelBuilder model) {
  for (onnxpb::NodeProto& node : *model.graph().mutable_node()) node.set_domain("com.microsoft");
  onnxpb::OperatorSetIdProto& opset = *model.model().add_opset_import();
  opset.set_domain("com.microsoft");
  opset.set_version(1);
  return ImportModel(model);
}

inline std::string Ops(const ModelBuilder& model) { return ImportModel(model).Ops(); }

}  // namespace tenon::onnx

#endif  // TENON_TESTS_ONNX_ONE_NODE_H_
