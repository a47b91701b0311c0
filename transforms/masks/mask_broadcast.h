// Masks that read tensors with one element along an axis of the scores, which then broadcast.
#ifndef TENON_TRANSFORMS_MASKS_MASK_BROADCAST_H_
#define TENON_TRANSFORMS_MASKS_MASK_BROADCAST_H_

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transforms/masks/mask_class.h"
#include "transforms/masks/mask_eval.h"
#include "transforms/masks/mask_table.h"

namespace tenon::mask {

// The mask if some extents are 1.
enum class AtOne : uint8_t {
  kSame,             // it is the same function
  kRepeatsFirstKey,  // with one element for all keys, the function at the first key holds for all
                     // keys
  kOther,
};

// A mask whose function is known if all tensors that it reads are as long as the scores.
class ShortMask {
 public:
  using Extents = std::vector<std::pair<DimExpr, DimExpr>>;

  // `function` of `store` is `mask`, or the rest of it, at a position of scores with extents
  // `dims`.
  ShortMask(Value mask, std::span<const DimExpr> dims, TableCache& tables, const TermStore& store,
            Ref function);

  // Extents that `function` reads, each with the extent of the scores from which it may differ.
  const Extents& extents() const { return extents_; }
  // What the mask is wherever some of these extents are 1, given its class `known`.
  AtOne OfClass(const MaskClass& known) const;
  // True if the mask is `function` then, too.
  bool IsSame() const;
  // True if the mask is the sum of `function` and hidden positions then, too.
  bool IsSameSum(const MaskClass& positions) const;
  // Returns n for the extent min(n, scores).
  static DimExpr Uncut(DimExpr own, DimExpr scores);

 private:
  struct Chosen;  // which extents are 1
  template <typename Holds>
  bool ForAll(const Holds& holds) const;
  bool SameClass(const Chosen& ones, const MaskClass& known) const;
  bool RepeatsFirstKey(const Chosen& ones) const;
  // The mask if these extents are 1; nullopt if that needs assumptions that attention does not
  // check.
  std::optional<Ref> MaskAt(const Chosen& ones, TermStore& store) const;
  bool SameFunction(const Chosen& ones, const TermStore& at_one, Ref function) const;
  std::vector<DimExpr> Short(const Chosen& ones) const;  // extents that are 1

  Value mask_;
  std::span<const DimExpr> dims_;
  TableCache& tables_;
  const TermStore& store_;
  Ref function_;
  Extents extents_;
  std::vector<DimExpr> lengths_;  // extents that may be 1, without repeats
};

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASKS_MASK_BROADCAST_H_
