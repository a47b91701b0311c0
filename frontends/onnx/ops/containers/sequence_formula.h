// Formulas over sequences. Internal to the importer.
#ifndef TENON_FRONTENDS_ONNX_OPS_CONTAINERS_SEQUENCE_FORMULA_H_
#define TENON_FRONTENDS_ONNX_OPS_CONTAINERS_SEQUENCE_FORMULA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/containers/containers.h"

namespace tenon::onnx {

// While it lives, ops of a node are created at another place.
class InsertionScope {
 public:
  InsertionScope(Node& node, const OpBuilder& place) : builder_(node.builder()), before_(builder_) {
    builder_ = place;
  }
  ~InsertionScope() { builder_ = before_; }
  InsertionScope(const InsertionScope&) = delete;
  InsertionScope& operator=(const InsertionScope&) = delete;

 private:
  OpBuilder& builder_;
  OpBuilder before_;
};

// Creates what an operator on sequences stands for. A sequence stays a list as long as everything
// about it is known. As Formula, it keeps the first error, which is Unimplemented for what has no
// counterpart; results are then of no use.
class SequenceFormula {
 public:
  explicit SequenceFormula(Node& node) : node_(node), f_(node) {}

  Formula& formula() { return f_; }
  bool ok() const { return f_.ok(); }
  const absl::Status& status() const { return f_.status(); }
  void Fail(const absl::Status& status);
  // Makes a value or a container output 0 of the node, or returns the error.
  absl::Status Return(Value value);
  absl::Status Return(const Container& container);

  // The number of elements, an i64 scalar.
  Value Length(const Container& c);
  // The element at a position, of which negative ones count from the end. The run checks it, if it
  // is not known.
  Value At(const Container& c, Value position);
  // `x` before a position, or at the end without one.
  Container Insert(Container c, Value x, Value position);
  // Without a position the last element goes.
  Container Erase(Container c, Value position);
  // The elements joined along an axis, or stacked along a new one. `axis` may be negative.
  Value Join(const Container& c, int64_t axis, bool new_axis);
  // The slices of `x` along `axis`, from the front. `sizes`: a scalar, or a vector of sizes; null:
  // slices of one, without the axis unless `keep`.
  Container Split(Value x, int64_t axis, Value sizes, bool keep);

  // The same container as three tensors; of another type that JoinContainers has found.
  Container Packed(const Container& c);
  std::vector<Value> PackedAs(Value value, const ContainerType& type);

 private:
  struct Cut;

  std::optional<int64_t> Known(Value value) const;
  // A position from the front, among `size` elements; with `end` also behind the last one.
  std::optional<int64_t> KnownPosition(Value position, size_t size, bool end = false);
  Value CheckedPosition(Value position, Value size, bool end = false);
  // A list is copied: false, with an error, if that happened too often.
  bool CountElements(const Container& c);
  Container Stacked(const Container& c);
  Value ExtentAt(Value x, int64_t axis);
  Value First(Value vector, int64_t from, int64_t count);
  Value Between(Value x, Value from, Value to);
  Value Joined(std::vector<Value> pieces, int64_t axis);
  Value Constants(std::vector<int64_t> dims, DType dtype, std::span<const int64_t> values);
  Value Flat(Value x) {
    return ok() ? f_.Reshape(x, {Product(node_.context(), x.type().dims())}) : Value();
  }
  // What one element adds: to the offsets, [1, 2], to the extents and to the numbers.
  std::vector<Value> Piece(Value x);
  // The number of elements of packed tensors.
  DimExpr Count(const Container& packed) const { return packed.offsets().type().dim(0) - 1; }
  Value ListOffsets(std::span<const Value> elements);
  Cut CutAt(const Container& packed, Value position);
  // A row of the offsets, and all of them from or up to a row; [2] and [?, 2].
  Value Row(Value offsets, Value position);
  // The extents of all elements of one rank, [n, rank], and those of the first one. But along
  // `joined`, if it is an axis, all elements have the same extents: the run checks it.
  struct Extents {
    Value all, first;
  };
  Extents SameExtents(const Container& packed, int64_t rank, int64_t joined);
  Value JoinPacked(const Container& packed, int64_t rank, int64_t axis);
  Value StackPacked(const Container& packed, int64_t rank, int64_t axis);
  // Slices whose rows have `widths` numbers lie one behind the other, each with `outer` rows.
  // Returns where the numbers of the joined rows lie: [outer, sum of widths].
  Value Places(Value widths, Value outer);
  // A list; nullopt if the sizes are not known.
  std::optional<Container> SplitNow(Value x, int64_t axis, Value sizes, bool keep);
  Container SplitAtRunTime(Value x, int64_t axis, Value sizes);

  Node& node_;
  Formula f_;
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_CONTAINERS_SEQUENCE_FORMULA_H_
