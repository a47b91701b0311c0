// Building the tensor of a function of batch and key position: [B, Sk], with 1 for an axis on which
// the function does not depend.
#ifndef TENON_TRANSFORMS_MASKS_MASK_EMIT_H_
#define TENON_TRANSFORMS_MASKS_MASK_EMIT_H_

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/builder.h"
#include "transforms/masks/mask_terms.h"

namespace tenon::mask {

class Emitter {
 public:
  using Extents = std::vector<std::pair<DimExpr, DimExpr>>;

  // `assumed` are extents that must be equal for the function to hold; the first `given` of them
  // helped to prove the others. `inputs` are symbols that are known before the program runs. New
  // operations go to the point of the builder, which every leaf must dominate.
  Emitter(const TermStore& store, OpBuilder builder, Location location, const Extents& assumed,
          size_t given, const std::set<std::string_view>& inputs)
      : store_(store),
        builder_(builder),
        location_(location),
        assumed_(assumed),
        given_(given),
        inputs_(inputs) {}

  // Says that the function holds as well where the first extent of a pair, in leaves, is 1 and the
  // second, in the scores, is not.
  void MayBeOne(Extents extents) { may_be_one_ = std::move(extents); }
  // Returns the tensor. Null if a part cannot be built; made() has the operations built until then.
  Value Emit(Ref r);
  // Returns such a tensor as [B, 1, 1, Sk].
  Value BesideHeadsAndQueries(Value keys);
  const std::vector<Operation*>& made() const { return made_; }
  // An assumption that does not follow from checks of the built tensors at run time; null if there
  // is none.
  const std::pair<DimExpr, DimExpr>* Unchecked() const;

 private:
  Value Term(Ref r);
  Value Question(AtomId a);
  Value Leaf(const struct Term& t);
  Value OfAffine(const Affine& a, DType dtype);
  Value Number(DType dtype, double value);
  // True if an attribute of an operation on `from`, or on nothing, can hold these dimensions.
  bool Computable(std::span<const DimExpr> dims, Value from) const;
  Value Reshaped(Value x, std::vector<DimExpr> dims);
  template <typename Op>
  Value Note(const absl::StatusOr<Op>& op) {
    if (!op.ok()) return Value();
    made_.push_back(op->op());
    return op->op()->result();
  }
  DimExpr extent(Var v) const { return store_.ranges.extent(v); }

  const TermStore& store_;
  OpBuilder builder_;
  Location location_;
  const Extents& assumed_;
  size_t given_;
  const std::set<std::string_view>& inputs_;
  Extents may_be_one_;
  Extents checked_;
  std::vector<Operation*> made_;
  std::map<Ref, Value> terms_;
  std::map<AtomId, Value> questions_;
};

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASKS_MASK_EMIT_H_
