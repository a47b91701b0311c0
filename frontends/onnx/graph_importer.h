// Converting a parsed model to a module. Internal to the importer.
#ifndef TENON_FRONTENDS_ONNX_GRAPH_IMPORTER_H_
#define TENON_FRONTENDS_ONNX_GRAPH_IMPORTER_H_

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/ops/containers/containers.h"
#include "frontends/onnx/scope.h"
#include "ir/core/builder.h"
#include "ir/dialect/shapes/shape_data.h"

namespace tenon::onnx {

class Node;
struct Following;  // diverging_if.h

// Limits on nested graphs and on nested calls of model-local functions. Also on the number of nodes
// after calls are expanded. Models beyond them are refused.
inline constexpr int kMaxGraphDepth = 64;
inline constexpr int kMaxCallDepth = 64;
inline constexpr int64_t kMaxInlinedNodes = 250000;

// The domain of ONNX Runtime's own operators.
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

// Returns the domain of a node or import in one spelling: "" for the standard one.
std::string_view DomainOf(std::string_view domain);

// Imports one model. All statuses that it returns have been reported as diagnostics.
class GraphImporter {
 public:
  GraphImporter(Context& context, const onnxpb::ModelProto& model, const TensorSource& source,
                std::string name);
  // Sets the types of those keys of `types` that are values of the main graph; of those in front
  // of an error, too.
  absl::StatusOr<OwnedOp> Run(std::map<std::string, Type>* types = nullptr);

  // From now on nodes that only ONNX Runtime has become opaque operations, with their declared
  // types.
  void KeepMicrosoft() { keep_microsoft_ = true; }

  Context& context() const { return context_; }
  const TensorSource& source() const { return source_; }

  // Imports the nodes of a graph or function at `builder`, in order.
  absl::Status ImportNodes(const NodeList& nodes, Scope& scope, OpBuilder& builder,
                           const Frame& frame);
  // Imports a node at `builder`. An If whose branches differ may import nodes that come after it:
  // those of `following`, which may be null.
  absl::Status ImportNode(const onnxpb::NodeProto& node, Scope& scope, OpBuilder& builder,
                          const Frame& frame, const Following* following);
  // Imports a graph that is an attribute of a node, at `builder`. Surrounding values are visible.
  // `inputs` has one value per input of the graph; inputs of an opaque op's graph, which has none,
  // are names of its initializers. Returns the values of its outputs.
  absl::StatusOr<std::vector<Value>> ImportSubgraph(const onnxpb::GraphProto& graph,
                                                    Location location, Scope& outer,
                                                    const Frame& frame,
                                                    std::span<const Value> inputs,
                                                    OpBuilder& builder);
  // Imports the graph of an opaque op into an empty region.
  absl::Status ImportRegion(const onnxpb::GraphProto& graph, Location location, Scope& outer,
                            const Frame& frame, Region& region);
  // Erases an op that was created here, with everything in it.
  void Erase(Operation* op);
  // Returns the number of a sequence of random numbers that no other node has.
  int64_t NextStream() { return ++last_stream_; }
  // Notes that a node was imported by the elements of this constant.
  void NoteRead(const Operation& constant);
  // The names of those that are of floats.
  const std::set<std::string, std::less<>>& read_constants() const { return read_constants_; }
  // Counts nodes that are imported again; an error if there are too many.
  absl::Status CountRepeats(int64_t nodes, Location location);
  // Returns the value of a name; null if there is none. Creates the constant of an initializer.
  absl::StatusOr<Value> Lookup(Scope& scope, const std::string& name);

  // Call it for every op created: names Unknown dimensions of its results after the node, and
  // records the contents of small integer tensors.
  void Register(Operation* op);
  // Returns the type of a declaration; null if it has no counterpart. Dimension names count only if
  // they are `binding`; other and missing ones are Unknown.
  Type Convert(const onnxpb::TypeProto& type, bool binding);
  // Returns the type of a declared tensor of strings; nullopt for other declarations, and without a
  // rank. `binding` as above.
  std::optional<ContainerType> ConvertStrings(const onnxpb::TypeProto& type, bool binding);
  // Returns the type of a declared sequence or optional value of tensors, or of a tensor of
  // strings; nullopt for other declarations, and for element types without counterpart.
  std::optional<ContainerType> ConvertContainer(const onnxpb::TypeProto& type);
  // ResourceExhausted if a value is declared with more than kMaxRank dimensions.
  absl::Status CheckSize(const onnxpb::ValueInfoProto& info);
  // Names Unknown dimensions of a value after it.
  void NameDims(Value value, const std::string& name) { dim_namer_.NameUnknownDims(value, name); }
  // Contents of integer tensors, as far as they follow from shapes and constants.
  const ShapeData& shape_data() const { return shape_data_; }
  // Returns the result type of an op without counterpart: the declared type, or !onnx.any.
  Type DeclaredOrAny(const Scope& scope, const std::string& name);
  // Warns if the type of a value contradicts its declaration.
  void CheckDeclared(const Scope& scope, const std::string& name, Type type, Location location);

  absl::Status Error(Location location, std::string message) {
    return EmitError(context_, location, std::move(message));
  }

 private:
  using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

  absl::Status ReadOpsets();
  absl::Status IndexFunctions();
  // A declared input: its name, and the arguments of the function that stand for it.
  struct Input {
    std::string name;
    std::optional<ContainerType> container;
    size_t arguments = 1;
  };
  absl::StatusOr<std::vector<Input>> DeclareInputs(const onnxpb::GraphProto& graph,
                                                   std::vector<Type>& types,
                                                   std::vector<std::string>& names);
  // Makes the arguments of the function visible as the inputs.
  absl::Status BindInputs(std::span<const Input> inputs, Scope& scope);
  // The values that the function returns for the outputs of a graph, and their names.
  absl::StatusOr<std::vector<Value>> Results(const onnxpb::GraphProto& graph, Scope& scope,
                                             OpBuilder& builder, std::vector<std::string>& names);
  absl::Status DeclareWeights(const onnxpb::GraphProto& graph, Scope& scope);
  absl::Status DeclareTypes(const onnxpb::GraphProto& graph, Scope& scope);
  absl::Status ImportBody(const onnxpb::GraphProto& graph, Scope& scope, OpBuilder& builder,
                          const Frame& frame);
  absl::StatusOr<std::vector<Value>> Outputs(const onnxpb::GraphProto& graph, Scope& scope);
  // Returns an `onnx.Constant` at the end of the scope's block.
  absl::StatusOr<Value> SparseConstant(const onnxpb::SparseTensorProto& tensor, Scope& scope);

  absl::StatusOr<std::vector<Value>> ImportGraph(const onnxpb::GraphProto& graph, Location location,
                                                 Scope& scope, const Frame& frame,
                                                 OpBuilder& builder);
  Type TensorType(const onnxpb::TypeProto::Tensor& tensor, DType dtype, bool binding);
  absl::Status RunAdapter(Node& node);
  // Returns, for messages, why a value of this name is no ranked tensor.
  std::string DescribeInput(const std::string& name) const;
  // Erases everything after `last`; null: everything except the constants of `scope`.
  void EraseAfter(const Scope& scope, Block& block, Operation* last);
  // Makes the outputs of a node visible, and names them in the IR.
  absl::Status Bind(Node& node, Scope& scope);
  // Gives a value without a name the one of the model, with "_" for all but letters and digits.
  static void SetName(Value value, std::string name);
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
  std::map<std::string, std::string> symbols_;  // of the model's dimensions: symbol, name there
  DimNamer dim_namer_;
  ShapeData shape_data_;
  bool keep_microsoft_ = false;
  int64_t inlined_nodes_ = 0;
  int64_t last_stream_ = 0;
  std::set<std::string, std::less<>> read_constants_;
  int graph_depth_ = 0;
};

// Creates the operation `info` (`<domain>.<OpType>`) for a node and sets its outputs. The error
// names an input or attribute that does not fit the definition.
absl::Status ImportRegistered(Node& node, const OpInfo& info);

// Creates an opaque op for a node without counterpart and sets its outputs. The op is
// `onnx.<OpType>`, or `onnx.<domain>.<OpType>` outside of the standard domain. It has the
// attributes of the node and
//   opset    version of its opset
//   domain   if it is not the standard one
//   present  if optional inputs are absent: for each input, whether it is an operand
//   regions  if it has graphs: the name of the attribute that each region was.
// A graph's inputs are its block's arguments, its outputs the operands of a closing `onnx.yield`.
absl::Status ImportOpaque(GraphImporter& importer, Node& node, Scope& scope, const Frame& frame);
// Creates an `onnx.Constant` for a tensor whose element type has no counterpart.
absl::StatusOr<Operation*> OpaqueConstant(GraphImporter& importer,
                                          const onnxpb::TensorProto& tensor, Location location,
                                          OpBuilder& builder);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_GRAPH_IMPORTER_H_
