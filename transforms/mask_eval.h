// Derives what an element of a tensor is as a function of its position, from the operations that
// compute the tensor.
#ifndef TENON_TRANSFORMS_MASK_EVAL_H_
#define TENON_TRANSFORMS_MASK_EVAL_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transforms/mask_table.h"
#include "transforms/mask_terms.h"

namespace tenon::mask {

using Index = std::vector<Affine>;

// The position of a score, as far as it is not known.
Index PositionsOf(std::span<const DimExpr> dims);

// Looks through operations that move elements or compute with numbers and positions; everything
// else is a leaf. Index arithmetic is taken not to overflow, f32 to hold positions exactly, and
// extents that meet in a broadcast to be equal (`assumptions`), unless one is the number 1.
class Evaluator {
 public:
  Evaluator(TermStore& store, TableCache& tables) : store_(store), tables_(tables) {}

  // The element of `value` at `index`, one position an axis.
  Ref Element(Value value, const Index& index);
  // The same for a tensor that broadcasts to `dims`; `index` is a position there.
  Ref BroadcastElement(Value value, std::span<const DimExpr> dims, const Index& index);

  // From now on a symbol is an extent; one of the assumptions.
  void Assume(DimExpr symbol, DimExpr extent) {
    store_.ranges.Assume(symbol, extent);
    assumptions_.emplace_back(symbol, extent);
  }
  // From now on these extents are 1: what has such an extent broadcasts.
  void TakeForOne(std::span<const DimExpr> extents);
  // Extents taken to be equal that are not provably so.
  const std::vector<std::pair<DimExpr, DimExpr>>& assumptions() const { return assumptions_; }

 private:
  static constexpr int kMaxDepth = 200;

  Ref Derive(Value value, const Index& index);
  // Null: not known, the tensor is a leaf.
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

  // The affine function that an integer tensor's element is; null if it is something else.
  std::optional<Affine> AffineElement(Value value, const Index& index);
  // An index as ONNX reads it: negative ones count from the end. Null if its sign is not known.
  std::optional<Affine> Wrapped(const Affine& index, DimExpr extent) const;
  // One variable an axis at most, from its start on: what a slice reads.
  bool IsPlain(const Index& index) const;
  bool HasPlainLeaves(Ref r) const;

  DimExpr Known(DimExpr extent) const;  // with 1 for the extents that are taken for it

  TermStore& store_;
  TableCache& tables_;
  std::vector<DimExpr> ones_;
  std::map<std::string, Ref> done_;
  std::vector<std::pair<DimExpr, DimExpr>> assumptions_;
  int depth_ = 0;
};

// Whether positions are numbers of this dtype, also after arithmetic with them.
bool HoldsPositions(DType d);

// An elementwise operation on terms that are no choices.
Ref ApplyElementwise(TermStore& store, Operation* op, std::span<const Ref> arguments);

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASK_EVAL_H_
