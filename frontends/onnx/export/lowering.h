// Writing one operation as nodes of ONNX. Internal to the exporter.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_LOWERING_H_
#define TENON_FRONTENDS_ONNX_EXPORT_LOWERING_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/export/dim_values.h"
#include "frontends/onnx/export/node_forms.h"
#include "ir/core/builder.h"
#include "ir/core/operation.h"
#include "transforms/expand/formula.h"

namespace tenon::onnx {

// An operation while it is lowered. Nodes go before it, as the opaque operations that ImportOpaque
// describes (graph_importer.h). Keeps the first error, which has been reported; after it, values
// are null and nothing more is created.
class Lowering {
 public:
  using Attrs = std::vector<std::pair<std::string_view, Attribute>>;

  Lowering(Operation& op, int64_t opset, DimValues& dims)
      : op_(op), opset_(opset), dims_(dims), builder_(OpBuilder::Before(&op)) {}

  Operation& op() const { return op_; }
  Context& context() const { return op_.context(); }
  int64_t opset() const { return opset_; }
  OpBuilder& builder() { return builder_; }
  Value operand(unsigned i) const { return op_.operand(i); }

  // ---- nodes
  // Creates a node with one result of an unknown type. Null inputs are absent ones. A type may
  // begin with its domain, "com.microsoft." or "ai.onnx.ml.". An error if the opset has no such
  // node, or none with these attributes. Element types that the opset's node does not take are
  // converted to wider ones, and results back.
  Value Node(std::string_view type, std::vector<Value> inputs, const Attrs& attrs = {});
  // The same with `results` results and, for each of `graphs`, an empty region that stands for the
  // attribute of that name. Null after an error.
  Operation* Nodes(std::string_view type, std::vector<Value> inputs, const Attrs& attrs,
                   size_t results, std::span<const std::string_view> graphs = {});
  // The extents of x from axis `start` to `end`, exclusive.
  Value ShapeOf(Value x, int64_t start, int64_t end);
  Value CastTo(Value x, DType dtype);
  // Ends the graph of a node.
  void Yield(Block& block, std::span<const Value> values);
  // A constant i64 vector.
  Value Ints(std::span<const int64_t> values);
  Value Ints(std::initializer_list<int64_t> values) {
    return Ints(std::span(values.begin(), values.size()));
  }
  // A constant f32 vector.
  Value Floats(std::span<const float> values);
  // A constant of one element, of rank 0, or of the given static extents.
  Value Scalar(DType dtype, double value, std::span<const int64_t> dims = {});
  // Extents as an i64 vector.
  Value Extents(std::span<const DimExpr> dims);
  // `x` converted to i64; x itself if it is that.
  Value ToI64(Value x);
  Value Transpose(Value x, std::span<const int64_t> perm);

  // ---- attributes
  Attribute Int(int64_t value) const { return Attribute::I64(context(), value); }
  Attribute Float(float value) const { return Attribute::F32(context(), value); }
  Attribute Str(std::string_view value) const { return Attribute::Str(context(), value); }
  Attribute IntList(std::span<const int64_t> values) const {
    return Attribute::I64s(context(), values);
  }

  // ---- the end
  // Replaces the results and erases the operation. A new node takes the type of its result.
  void Done(std::span<const Value> values);
  void Done(Value value) { Done(std::span(&value, 1)); }
  // Says that the node of `value` goes at the end, with those that only it reads, if nothing reads
  // it.
  void MayBeUnused(Value value) { dims_.MayBeUnused(value); }
  // Reports an error at the operation: "ten.bitcast has no ONNX form: <reason>".
  void Fail(std::string_view reason);
  // Reports that the operation, as `what`, needs a newer opset. True if it has that opset.
  bool Needs(int64_t opset, std::string_view what);
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  using VariableTypes = std::map<char, DType>;  // by Formal::variable

  // What stands for a result of a node: the result itself, or what it is converted to.
  Value Resolved(Value value) const;
  // kInvalid if it is not known.
  DType ElementTypeOf(Value value) const;
  // The form of a node with such inputs and attributes; nullopt after an error.
  std::optional<NodeForm> FormWith(std::string_view type, size_t inputs, const Attrs& attrs);
  // Reports that `what` needs the first opset whose form fits.
  void NeedsForm(std::string_view type, std::string_view what,
                 absl::FunctionRef<bool(const NodeForm&)> fits);
  // Converts inputs of types that the form does not take. Returns the element types of variables in
  // `types`, and those that they are converted to in `wide`. False after an error.
  bool Widen(std::string_view type, const NodeForm& form, std::vector<Value>& inputs,
             VariableTypes& types, VariableTypes& wide);
  // Converts the results of a widened node back.
  void Narrow(Operation& node, const NodeForm& form, const VariableTypes& types,
              const VariableTypes& wide);

  Operation& op_;
  const int64_t opset_;
  DimValues& dims_;
  OpBuilder builder_;
  absl::Status status_;
  std::map<const void*, DType> element_types_;  // of results of nodes, which have no type yet
  std::map<const void*, Value> narrowed_;       // by result
};

// The constant that a value is; null if it is none.
Attribute ConstantOf(Value value);

// False, after an error, if the opset lacks the element type of an operand or a result.
bool HasElementTypes(Lowering& lowering);

// Each lowers the operations of its part. False if the operation is not one of them.
bool LowerElementwise(Lowering& lowering);
bool LowerMovement(Lowering& lowering);
bool LowerReduction(Lowering& lowering);
bool LowerLayer(Lowering& lowering);
bool LowerMicrosoft(Lowering& lowering);
bool LowerOrtAttention(Lowering& lowering);  // what LowerMicrosoft leaves to it
bool LowerRandom(Lowering& lowering);
bool LowerRecurrence(Lowering& lowering);
bool LowerSignal(Lowering& lowering);
bool LowerStrings(Lowering& lowering);
bool LowerTrees(Lowering& lowering);
bool LowerControl(Lowering& lowering);

// Puts nodes of a lowered function together for which ONNX has one: Gemm, BatchNormalization,
// DequantizeLinear, QuantizeLinear, and a Transpose for two. What they replace goes with
// DimValues::EraseUnused.
absl::Status CombineNodes(Operation& function, int64_t opset, DimValues& dims);

// Writes an operation that no node of the opset computes as simpler operations before it. Returns
// the values of its results; empty if it stays.
absl::StatusOr<std::vector<Value>> Decompose(Operation& op, int64_t opset);
// A ten.dft of a known length as products; null if its length is not known or large.
Value DecomposeDft(OpFormula& f);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_LOWERING_H_
