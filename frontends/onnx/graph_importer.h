// Turns a parsed model into a module. Internal to the importer.
#ifndef TENON_FRONTENDS_ONNX_GRAPH_IMPORTER_H_
#define TENON_FRONTENDS_ONNX_GRAPH_IMPORTER_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/scope.h"
#include "frontends/onnx/tensor.h"
#include "ir/core/builder.h"
#include "ir/dialect/shape_data.h"

namespace tenon::onnx {

class Node;

// Graphs within graphs, and calls of model-local functions, deeper than this are refused, and so is
// a model whose calls expand to more nodes than kMaxInlinedNodes.
inline constexpr int kMaxGraphDepth = 64;
inline constexpr int kMaxCallDepth = 64;
inline constexpr int64_t kMaxInlinedNodes = 250000;

// The domain of a node or import as one spelling: "" for the standard one.
std::string_view DomainOf(std::string_view domain);

// All statuses that it returns have been reported as diagnostics.
class GraphImporter {
 public:
  GraphImporter(Context& context, const onnxpb::ModelProto& model, const TensorSource& source,
                std::string name);
  absl::StatusOr<OwnedOp> Run();

  Context& context() const { return context_; }
  const TensorSource& source() const { return source_; }

  // Imports the nodes of a graph or function to `builder`, in order.
  absl::Status ImportNodes(const NodeList& nodes, Scope& scope, OpBuilder& builder,
                           const Frame& frame);
  // Imports a graph that is an attribute of a node to `builder`; values around it are visible. Its
  // inputs are `inputs`, as many as it has; those of an opaque op's graph, which takes none, are
  // its initializers' names. Gives the values of its outputs.
  absl::StatusOr<std::vector<Value>> ImportSubgraph(const onnxpb::GraphProto& graph,
                                                    Location location, Scope& outer,
                                                    const Frame& frame,
                                                    std::span<const Value> inputs,
                                                    OpBuilder& builder);
  // Imports the graph of an opaque op into an empty region.
  absl::Status ImportRegion(const onnxpb::GraphProto& graph, Location location, Scope& outer,
                            const Frame& frame, Region& region);
  // Erases an op that was made here, with all that lies in it.
  void Erase(Operation* op);
  // Counts nodes that are imported once more; an error when they are too many.
  absl::Status CountRepeats(int64_t nodes, Location location);
  // The value of a name; null if there is none. Makes the constant of an initializer.
  absl::StatusOr<Value> Lookup(Scope& scope, const std::string& name);

  // To be called for every op made: names unknown dimensions of its results after the node, and
  // notes what small integer tensors hold.
  void Register(Operation* op);
  // The type of a declaration. Its dimension names count only if they are `binding`; others, and
  // missing ones, are unknown. Null if the type has no counterpart.
  Type Convert(const onnxpb::TypeProto& type, bool binding);
  // Names unknown dimensions of a value after it.
  void NameDims(Value value, const std::string& name) { dim_namer_.NameUnknownDims(value, name); }
  // What integer tensors hold, as far as it follows from shapes and constants.
  const ShapeData& shape_data() const { return shape_data_; }
  // What the results of an op without counterpart have: the declared type, or !onnx.any.
  Type DeclaredOrAny(const Scope& scope, const std::string& name);
  // Warns if a value's type contradicts its declaration.
  void CheckDeclared(const Scope& scope, const std::string& name, Type type, Location location);

  absl::Status Error(Location location, std::string message) {
    return EmitError(context_, location, std::move(message));
  }

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

  absl::Status ReadOpsets();
  absl::Status IndexFunctions();
  absl::Status DeclareInputs(const onnxpb::GraphProto& graph, std::vector<Type>& types,
                             std::vector<std::string>& names);
  absl::Status DeclareWeights(const onnxpb::GraphProto& graph, Scope& scope);
  void DeclareTypes(const onnxpb::GraphProto& graph, Scope& scope);
  absl::Status ImportBody(const onnxpb::GraphProto& graph, Scope& scope, OpBuilder& builder,
                          const Frame& frame);
  absl::StatusOr<std::vector<Value>> Outputs(const onnxpb::GraphProto& graph, Scope& scope);
  // An `onnx.Constant` at the end of the scope's block.
  absl::StatusOr<Value> SparseConstant(const onnxpb::SparseTensorProto& tensor, Scope& scope);

  absl::StatusOr<std::vector<Value>> ImportGraph(const onnxpb::GraphProto& graph, Location location,
                                                 Scope& scope, const Frame& frame,
                                                 OpBuilder& builder);
  absl::Status ImportNode(const onnxpb::NodeProto& node, Scope& scope, OpBuilder& builder,
                          const Frame& frame);
  absl::Status RunAdapter(Node& node);
  // Why a value of this name is no ranked tensor, for messages.
  std::string DescribeInput(const std::string& name) const;
  // Erases everything behind `last` (null: everything but the constants of `scope`).
  void EraseAfter(const Scope& scope, Block& block, Operation* last);
  absl::Status Bind(Node& node, Scope& scope);
  absl::Status Inline(Node& node, const onnxpb::FunctionProto& function, Scope& scope,
                      OpBuilder& builder, const Frame& frame);
  const onnxpb::FunctionProto* FindFunction(const onnxpb::NodeProto& node) const;

  Context& context_;
  const onnxpb::ModelProto& model_;
  TensorSource source_;
  std::string name_;
  Location file_location_;
  Frame main_;
  std::map<FunctionKey, const onnxpb::FunctionProto*> functions_;
  DimNamer dim_namer_;
  ShapeData shape_data_;
  int64_t inlined_nodes_ = 0;
  int graph_depth_ = 0;
};

// Makes the operation `info`, `<domain>.<OpType>`, of a node and sets the node's outputs. The error
// says which input or attribute does not fit the definition.
absl::Status ImportRegistered(Node& node, const OpInfo& info);

// Appends an opaque op for a node that has no counterpart, and sets the node's outputs: the op
// `onnx.<OpType>` (`onnx.<domain>.<OpType>` outside of the standard domain) with the node's
// attributes and
//   opset    version of its opset
//   domain   if it is not the standard one
//   present  if optional inputs are absent: for each input, whether it is an operand
//   regions  if it has graphs: the name of the attribute that each region was.
// A graph's inputs are its block's arguments, its outputs the operands of a closing `onnx.yield`.
absl::Status ImportOpaque(GraphImporter& importer, Node& node, Scope& scope, const Frame& frame);
// A tensor whose element type has no counterpart: `onnx.Constant`.
absl::StatusOr<Operation*> OpaqueConstant(GraphImporter& importer,
                                          const onnxpb::TensorProto& tensor, Location location,
                                          OpBuilder& builder);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_GRAPH_IMPORTER_H_
