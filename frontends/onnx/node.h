// A node, as its adapter sees it.
#ifndef TENON_FRONTENDS_ONNX_NODE_H_
#define TENON_FRONTENDS_ONNX_NODE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/graph_importer.h"

namespace tenon::onnx {

// Inputs, outputs and attributes of a node, checked, and the ops created for it. Errors are
// reported where they occur, at the location of the node. Unsupported() is no error: the node
// becomes an opaque op.
class Node {
 public:
  Node(GraphImporter& importer, const onnxpb::NodeProto& proto, Scope& scope, OpBuilder& builder,
       const Frame& frame, Location location);

  const onnxpb::NodeProto& proto() const { return proto_; }
  const std::string& op_type() const { return proto_.op_type(); }
  const std::string& name() const { return name_; }
  // The version of the opset of the node's domain; 0 if the model does not import it.
  int64_t version() const { return version_; }
  Location location() const { return location_; }
  OpBuilder& builder() const { return builder_; }
  Context& context() const { return importer_.context(); }
  GraphImporter& importer() const { return importer_; }

  absl::Status Error(std::string message) const {
    return importer_.Error(location_, std::move(message));
  }
  // Makes the node opaque. `what` is the part of it that has no counterpart: "GRU with clip".
  // `expected` is what Tenon would take, or what the user can do. The message begins with the name
  // of the operator: "GRU with clip is not supported (expected a GRU without clip)".
  absl::Status Unsupported(std::string_view what, std::string_view expected) const;
  // The same with a sentence of its own: "Bernoulli has no counterpart".
  absl::Status Opaque(std::string_view sentence, std::string_view expected) const;

  // ---- inputs
  absl::Status ResolveInputs(Scope& scope);
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  // Null if it is absent.
  Value input(int i) const { return i < num_inputs() ? inputs_[i] : Value(); }
  std::span<const Value> inputs() const { return inputs_; }
  // Replaces an input: adapters of operators that only move elements get the spans of strings.
  void SetInput(int i, Value value) { inputs_[static_cast<size_t>(i)] = value; }
  // Returns an error unless there are `min` to `max` inputs and the first `min` are present.
  absl::Status CheckInputs(int min, int max) const;
  // Returns the elements of an input that is a constant; null otherwise.
  Attribute Constant(int i) const;
  // Returns the integers of a present input of rank 0 or 1. Returns nullopt unless it is constant
  // or follows from constants.
  absl::StatusOr<std::optional<std::vector<int64_t>>> ConstantInts(int i) const;
  // The same also for inputs that follow from shapes: extents, which may be symbolic and are never
  // negative.
  absl::StatusOr<std::optional<std::vector<DimExpr>>> Extents(int i) const;
  // Returns the only element of a constant input; nullopt if it is absent or not constant.
  absl::StatusOr<std::optional<double>> ConstantScalar(int i) const;

  // ---- attributes; an attribute of another type is an error
  // Returns the attribute, or the attribute of the enclosing function to which it refers; null if
  // absent.
  const onnxpb::AttributeProto* Find(std::string_view name) const;
  absl::StatusOr<int64_t> Int(std::string_view name, int64_t default_value) const;
  absl::StatusOr<bool> Flag(std::string_view name, bool default_value) const;
  absl::StatusOr<float> Float(std::string_view name, float default_value) const;
  absl::StatusOr<std::string> Str(std::string_view name, std::string_view default_value) const;
  absl::StatusOr<std::optional<std::vector<int64_t>>> Ints(std::string_view name) const;
  absl::StatusOr<std::optional<std::vector<float>>> Floats(std::string_view name) const;
  // Returns the graph of a required attribute.
  absl::StatusOr<const onnxpb::GraphProto*> Graph(std::string_view name) const;
  // Returns `axis`, counted from the front; an error unless it is in [-rank, rank).
  absl::StatusOr<int64_t> Axis(int64_t axis, int64_t rank) const;
  // The same for several axes, sorted; an error for repeated ones.
  absl::StatusOr<std::vector<int64_t>> Axes(std::vector<int64_t> axes, int64_t rank) const;
  // Returns attributes that no adapter has read.
  std::vector<std::string> UnreadAttributes() const;
  void MarkRead(std::string_view name) const { read_.emplace(name); }

  // ---- outputs
  int num_outputs() const { return proto_.output_size(); }
  // True if output i exists and is read.
  bool IsOutputUsed(int i) const;
  void SetOutput(int i, Value value) { outputs_[i] = value; }
  absl::Status Return(absl::StatusOr<Value> value);
  Value output(int i) const { return outputs_[i]; }
  // The rank that the model declares for output i; nullopt if it declares none.
  std::optional<int64_t> DeclaredRank(int i) const;
  // Returns Unsupported if an output from `first` on is used.
  absl::Status OnlyOutputsBefore(int first, std::string_view what) const;

  // Says that the graphs of an If give values of different ranks or element types.
  void set_branches_differ() { branches_differ_ = true; }
  bool branches_differ() const { return branches_differ_; }

  // ---- creating ops
  // Creates an op and returns its result.
  template <typename Op, typename... Args>
  absl::StatusOr<Value> Make(Args&&... args) {
    absl::StatusOr<Op> op = Op::Create(builder_, location_, std::forward<Args>(args)...);
    if (!op.ok()) return op.status();
    importer_.Register(op->op());
    return op->op()->result(0);
  }
  // Imports one of the node's graphs at `builder` with these inputs, and returns its outputs.
  absl::StatusOr<std::vector<Value>> ImportGraph(const onnxpb::GraphProto& graph,
                                                 std::span<const Value> inputs, OpBuilder& builder);
  absl::StatusOr<Value> MakeConstant(Attribute elements);
  absl::StatusOr<Value> MakeScalar(DType dtype, double value);
  DimExpr Dim(int64_t value) const { return DimExpr::Constant(context(), value); }

 private:
  const onnxpb::AttributeProto* Typed(std::string_view name,
                                      onnxpb::AttributeProto::AttributeType type,
                                      absl::Status& status) const;

  GraphImporter& importer_;
  const onnxpb::NodeProto& proto_;
  Scope& scope_;
  OpBuilder& builder_;
  const Frame& frame_;
  Location location_;
  std::string name_;
  int64_t version_ = 0;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  mutable std::set<std::string, std::less<>> read_;
  bool branches_differ_ = false;
};

// Returns the type that an attribute declares, or that follows from its fields.
onnxpb::AttributeProto::AttributeType AttributeTypeOf(const onnxpb::AttributeProto& attribute);

std::string_view MessageOf(const absl::Status& status);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_NODE_H_
