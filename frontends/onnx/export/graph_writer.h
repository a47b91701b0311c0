// A function as a GraphProto. Internal to the exporter.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_GRAPH_WRITER_H_
#define TENON_FRONTENDS_ONNX_EXPORT_GRAPH_WRITER_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/file/type_proto.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/core/block.h"
#include "ir/core/operation.h"

namespace tenon::onnx {

// A constant that the graph reads; its bytes are written apart.
struct Initializer {
  std::string name;
  Attribute value;  // kElements
};

// Sets an attribute of a node. InvalidArgument if ONNX has no such attribute.
absl::Status SetAttribute(std::string_view name, Attribute value, onnxpb::AttributeProto& proto);

// Sets a tensor to the bytes and the type of a constant.
void SetTensor(Attribute elements, onnxpb::TensorProto& proto);

// Writes nodes in their order. Constants become initializers of the outermost graph.
class GraphWriter {
 public:
  // `opset` is that of ONNX's own operators, and `callees` are the names of local functions.
  GraphWriter(Context& context, int64_t opset, std::vector<std::string> callees = {})
      : context_(context), opset_(opset), callees_(std::move(callees)) {}

  // Writes the body of a function.
  absl::Status Write(const Operation& function, onnxpb::GraphProto& graph);
  const std::vector<Initializer>& initializers() const { return initializers_; }
  // Versions of the domains that nodes have, but for ONNX's own.
  const std::map<std::string, int64_t>& domains() const { return domains_; }

 private:
  absl::Status WriteNodes(const Block& block, onnxpb::GraphProto& graph);
  absl::Status WriteNode(const Operation& op, onnxpb::GraphProto& graph);
  // Sets the operator of a node. An error if it means something else in the opset of the model.
  absl::Status SetOperator(const Operation& op, onnxpb::NodeProto& node) const;
  absl::Status WriteRegions(const Operation& op, Attribute names, onnxpb::NodeProto& node);
  // Writes the outputs of a graph. A name for each, or none for names of their own.
  absl::Status WriteOutputs(const Block& block, const std::vector<std::string>& names,
                            onnxpb::GraphProto& graph);
  absl::Status Declare(Value value, const std::string& name, onnxpb::ValueInfoProto& info);
  void DescribeValues(const Block& block, onnxpb::GraphProto& graph);

  // Names that no other value has, made of `base`.
  std::string Unique(std::string base);
  std::string UniqueNode(std::string base);
  const std::string& NameOf(Value value);
  // Adds a node that computes a constant of one value.
  void AddUniform(const std::string& name, Attribute constant);
  absl::Status Error(const Operation& op, std::string_view reason) const;

  Context& context_;
  const int64_t opset_;
  const std::vector<std::string> callees_;
  absl::flat_hash_map<ValueImpl*, std::string> names_;
  absl::flat_hash_map<const AttributeStorage*, std::string> constants_;
  std::set<std::string> used_, used_nodes_;
  std::map<std::string, int64_t> next_;
  std::vector<Initializer> initializers_;
  std::vector<onnxpb::NodeProto> uniform_;
  std::map<std::string, int64_t> domains_;
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_GRAPH_WRITER_H_
