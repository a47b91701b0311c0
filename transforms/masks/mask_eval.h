// Computes the elements of a tensor as functions of their position, from the operations that
// compute the tensor.
#ifndef TENON_TRANSFORMS_MASKS_MASK_EVAL_H_
#define TENON_TRANSFORMS_MASKS_MASK_EVAL_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transforms/masks/mask_table.h"
#include "transforms/masks/mask_terms.h"

namespace tenon::mask {

using Index = std::vector<Affine>;

// The position of a score; 0 along axes of one element.
Index PositionsOf(std::span<const DimExpr> dims);

// Evaluates operations that move elements or compute with numbers and positions. Results of other
// operations are leaves. Assumes that index arithmetic does not overflow, that f32 holds positions
// exactly, and that extents that broadcast are equal (`assumptions`), unless one is the number 1.
class Evaluator {
 public:
  Evaluator(TermStore& store, TableCache& tables) : store_(store), tables_(tables) {}

  // The element of `value` at `index`, which has one position per axis.
  Ref Element(Value value, const Index& index);
  // The same for a tensor that broadcasts to `dims`; `index` is a position in `dims`.
  Ref BroadcastElement(Value value, std::span<const DimExpr> dims, const Index& index);

  // From now on takes a symbol to be an extent; records that as an assumption.
  void Assume(DimExpr symbol, DimExpr extent) {
    store_.ranges.Assume(symbol, extent);
    assumptions_.emplace_back(symbol, extent);
  }
  // From now on takes these extents to be 1: tensors with such an extent broadcast.
  void TakeForOne(std::span<const DimExpr> extents);
  // Extents that were taken to be equal without a proof.
  const std::vector<std::pair<DimExpr, DimExpr>>& assumptions() const { return assumptions_; }

 private:
  static constexpr int kMaxDepth = 200;

  Ref Derive(Value value, const Index& index);
  // Nullopt: not supported, so that the tensor is a leaf.
  std::optional<Ref> Movement(Operation* op, Value value, const Index& index);
  std::optional<Ref> Reshape(Operation* op, const Index& index);
  std::optional<Ref> Expand(Operation* op, const Index& index);
  std::optional<Ref> Slice(Operation* op, const Index& index);
  std::optional<Ref> Split(Operation* op, Value value, const Index& index);
  std::optional<Ref> Concat(Operation* op, const Index& index);
  std::optional<Ref> Pad(Operation* op, const Index& index);
  std::optional<Ref> Gather(Operation* op, const Index& index);
  std::optional<Ref> GatherElements(Operation* op, const Index& index);
  std::optional<Ref> GatherNd(Operation* op, const Index& index);
  std::optional<Ref> ScatterNd(Operation* op, const Index& index);
  std::optional<Ref> Trilu(Operation* op, const Index& index);
  std::optional<Ref> Cumsum(Operation* op, const Index& index);
  std::optional<Ref> Range(Operation* op, const Index& index);
  std::optional<Ref> Elementwise(Operation* op, const Index& index);

  // The element as an affine function; nullopt if it is none.
  std::optional<Affine> AffineElement(Value value, const Index& index);
  // An index as ONNX reads it, with negative ones counted from the end. Nullopt if its sign is
  // unknown.
  std::optional<Affine> Wrapped(const Affine& index, DimExpr extent) const;
  // True if each axis has at most one variable, from its start on, as a slice reads it.
  bool IsPlain(const Index& index) const;
  bool HasPlainLeaves(Ref r) const;

  DimExpr Known(DimExpr extent) const;  // with 1 for extents that are taken to be 1

  TermStore& store_;
  TableCache& tables_;
  std::vector<DimExpr> ones_;
  std::map<std::string, Ref> done_;
  std::vector<std::pair<DimExpr, DimExpr>> assumptions_;
  int depth_ = 0;
};

// True if this type holds positions exactly, also after arithmetic with them.
bool HoldsPositions(DType d);

// Applies an elementwise operation to terms that are no choices.
Ref ApplyElementwise(TermStore& store, Operation* op, std::span<const Ref> arguments);

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASKS_MASK_EVAL_H_
