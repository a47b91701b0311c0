// What a mask computes where a tensor that it reads has one element along an axis of the scores, so
// that it broadcasts.
#ifndef TENON_TRANSFORMS_MASK_BROADCAST_H_
#define TENON_TRANSFORMS_MASK_BROADCAST_H_

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transforms/mask_class.h"
#include "transforms/mask_eval.h"
#include "transforms/mask_table.h"

namespace tenon::mask {

enum class AtOne : uint8_t {
  kSame,             // it is the same function
  kRepeatsFirstKey,  // with one element for all keys, the function at the first key holds for all
  kOther,
};

// A mask of which it is known what it is where all tensors that it reads are as long as the scores.
class ShortMask {
 public:
  using Extents = std::vector<std::pair<DimExpr, DimExpr>>;

  // `function` of `store` is `mask`, or what is left of it, at a position of scores of extents
  // `dims`.
  ShortMask(Value mask, std::span<const DimExpr> dims, TableCache& tables, const TermStore& store,
            Ref function);

  // Extents of what `function` reads, each with that of the scores which it may not be.
  const Extents& extents() const { return extents_; }
  // What the mask is wherever some of these extents are 1: `known`, as such a class.
  AtOne OfClass(const MaskClass& known) const;
  // The same for a mask that is `function`, …
  bool IsSame() const;
  // … or the sum of `function` and hidden positions.
  bool IsSameSum(const MaskClass& positions) const;
  // An extent n, of min(n, scores).
  static DimExpr Uncut(DimExpr own, DimExpr scores);

 private:
  struct Chosen;  // which of the extents are 1
  template <typename Holds>
  bool ForAll(const Holds& holds) const;
  bool SameClass(const Chosen& ones, const MaskClass& known) const;
  bool RepeatsFirstKey(const Chosen& ones) const;
  // The mask with these extents 1; null if that takes more than what attention checks.
  std::optional<Ref> MaskAt(const Chosen& ones, TermStore& store) const;
  bool SameFunction(const Chosen& ones, const TermStore& at_one, Ref function) const;
  std::vector<DimExpr> Short(const Chosen& ones) const;  // extents that are 1

  Value mask_;
  std::span<const DimExpr> dims_;
  TableCache& tables_;
  const TermStore& store_;
  Ref function_;
  Extents extents_;
  std::vector<DimExpr> lengths_;  // those that may be 1, each once
};

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASK_BROADCAST_H_
