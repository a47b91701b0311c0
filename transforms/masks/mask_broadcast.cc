#include "transforms/masks/mask_broadcast.h"

#include <algorithm>
#include <set>

#include "ir/core/dims/dim_expr_rewrite.h"
#include "transforms/masks/mask_split.h"

namespace tenon::mask {
namespace {

// All combinations are tried.
constexpr size_t kMaxLengths = 3;

// May an extent be 1 where that of the scores, which it is or broadcasts to, is not? Also S may, of
// past + S or broadcast(S, T).
bool IsOther(DimExpr own, DimExpr scores) {
  return !own.is_unknown() && !own.is_constant() && !DimExpr::ProvablyEqual(own, scores);
}

// Calls visit(term) for the leaves that a function asks about, each once.
template <typename Visit>
void ForEachLeaf(const TermStore& store, Ref function, const Visit& visit) {
  std::set<Ref> seen;
  const auto walk = [&](const auto& self, Ref r) -> void {
    if (!seen.insert(r).second) return;
    const Term& term = store.term(r);
    for (Ref argument : term.arguments) self(self, argument);
    if (term.kind == Term::Kind::kLeaf) visit(term);
  };
  for (AtomId a : store.AtomsOf(function)) {
    const Atom& atom = store.atom(a);
    if (atom.kind == Atom::Kind::kNonZero) walk(walk, atom.term);
  }
  for (Ref end : store.EndsOf(function)) walk(walk, end);
}

}  // namespace

struct ShortMask::Chosen {
  std::vector<DimExpr> lengths;  // of lengths_
  std::vector<DimExpr> others;   // those that are no lengths of keys
  bool keys = false;             // is one a length of keys, …
  bool all_keys = false;         // … and all such are among them?
};

DimExpr ShortMask::Uncut(DimExpr own, DimExpr scores) {
  if (own.kind() != DimExpr::Kind::kMin) return own;
  return FirstOperand(own) == scores ? SecondOperand(own) : FirstOperand(own);
}

ShortMask::ShortMask(Value mask, std::span<const DimExpr> dims, TableCache& tables,
                     const TermStore& store, Ref function)
    : mask_(mask), dims_(dims), tables_(tables), store_(store), function_(function) {
  ForEachLeaf(store, function, [&](const Term& term) {
    for (size_t axis = 0; axis < term.index.size(); ++axis) {
      const Affine& at = term.index[axis];
      if (!at.known() || at.terms.size() != 1) continue;
      const DimExpr own = term.leaf.type().dim(static_cast<int64_t>(axis));
      const std::pair extents(own, store.ranges.extent(at.terms[0].first));
      const DimExpr length = Uncut(own, extents.second);
      if (!IsOther(length, extents.second)) continue;
      if (std::find(extents_.begin(), extents_.end(), extents) == extents_.end())
        extents_.push_back(extents);
      if (std::find(lengths_.begin(), lengths_.end(), length) == lengths_.end())
        lengths_.push_back(length);
    }
  });
}

AtOne ShortMask::OfClass(const MaskClass& known) const {
  if (ForAll([&](const Chosen& ones) { return SameClass(ones, known); })) return AtOne::kSame;
  const bool repeats = ForAll([&](const Chosen& ones) {
    if (!ones.keys) return SameClass(ones, known);
    return ones.all_keys && RepeatsFirstKey(ones);
  });
  return repeats ? AtOne::kRepeatsFirstKey : AtOne::kOther;
}

bool ShortMask::IsSame() const {
  return ForAll([&](const Chosen& ones) {
    TermStore store({dims_.begin(), dims_.end()});
    const std::optional<Ref> function = MaskAt(ones, store);
    return function && SameFunction(ones, store, *function);
  });
}

bool ShortMask::IsSameSum(const MaskClass& positions) const {
  return ForAll([&](const Chosen& ones) {
    TermStore store({dims_.begin(), dims_.end()});
    const std::optional<Ref> function = MaskAt(ones, store);
    if (!function) return false;
    const std::optional<SplitMask> split = SplitOffPositions(store, *function);
    return split && split->positions.causal == positions.causal &&
           split->positions.window == positions.window &&
           split->positions.mask_value == positions.mask_value &&
           SameFunction(ones, store, split->keys);
  });
}

template <typename Holds>
bool ShortMask::ForAll(const Holds& holds) const {
  if (lengths_.size() > kMaxLengths) return false;
  for (uint32_t chosen = 1; chosen < (1u << lengths_.size()); ++chosen) {
    Chosen ones;
    ones.all_keys = true;
    for (size_t i = 0; i < lengths_.size(); ++i) {
      const bool is_one = (chosen >> i & 1) != 0;
      const bool of_keys = std::any_of(extents_.begin(), extents_.end(), [&](const auto& pair) {
        return pair.second == dims_[kKey] && Uncut(pair.first, pair.second) == lengths_[i];
      });
      if (is_one) ones.lengths.push_back(lengths_[i]);
      if (is_one && !of_keys) ones.others.push_back(lengths_[i]);
      ones.keys |= is_one && of_keys;
      ones.all_keys &= is_one || !of_keys;
    }
    if (!holds(ones)) return false;
  }
  return true;
}

bool ShortMask::SameClass(const Chosen& ones, const MaskClass& known) const {
  TermStore store({dims_.begin(), dims_.end()});
  const std::optional<Ref> function = MaskAt(ones, store);
  if (!function) return false;
  const MaskClass c = Classify(store, *function);
  return c.known && !c.all_keys && c.causal == known.causal && c.window == known.window &&
         c.mask_value == known.mask_value && SameFunction(ones, store, c.keys);
}

bool ShortMask::RepeatsFirstKey(const Chosen& ones) const {
  TermStore store({dims_.begin(), dims_.end()}), at_one({dims_.begin(), dims_.end()});
  Evaluator evaluator(store, tables_);
  evaluator.TakeForOne(ones.others);
  Index first_key = PositionsOf(dims_);
  first_key[kKey] = Affine::Of(mask_.type().context(), 0);
  const Ref first = evaluator.BroadcastElement(mask_, dims_, first_key);
  const std::optional<Ref> all = MaskAt(ones, at_one);
  if (!all || !SameAtOne(store, first, at_one, *all, Short(ones))) return false;
  // What is computed otherwise of a longer mask is no leaf.
  std::set<const void*> known;
  ForEachLeaf(store_, function_, [&](const Term& leaf) { known.insert(leaf.leaf.impl()); });
  bool reads_known = true;
  ForEachLeaf(store, first,
              [&](const Term& leaf) { reads_known &= known.count(leaf.leaf.impl()) > 0; });
  return reads_known;
}

std::optional<Ref> ShortMask::MaskAt(const Chosen& ones, TermStore& store) const {
  Evaluator evaluator(store, tables_);
  evaluator.TakeForOne(ones.lengths);
  const Ref function = evaluator.BroadcastElement(mask_, dims_, PositionsOf(dims_));
  // The other extents are those of the scores; attention checks that.
  const auto full = [&](DimExpr e) {
    const auto scores = [&](DimExpr length) -> std::optional<DimExpr> {
      const auto it = std::find_if(extents_.begin(), extents_.end(), [&](const auto& pair) {
        return Uncut(pair.first, pair.second) == length;
      });
      return it == extents_.end() ? std::nullopt : std::optional(it->second);
    };
    const std::optional<DimExpr> whole = scores(e);
    return whole ? *whole : Rewrite(e, scores);
  };
  for (const auto& [a, b] : evaluator.assumptions()) {
    if (a.is_unknown() || b.is_unknown()) return std::nullopt;
    if (!DimExpr::ProvablyEqual(full(a), full(b))) return std::nullopt;
  }
  return function;
}

std::vector<DimExpr> ShortMask::Short(const Chosen& ones) const {
  std::vector<DimExpr> found;
  for (const auto& [own, scores] : extents_) {
    if (std::find(ones.lengths.begin(), ones.lengths.end(), Uncut(own, scores)) !=
        ones.lengths.end()) {
      found.push_back(own);
    }
  }
  return found;
}

bool ShortMask::SameFunction(const Chosen& ones, const TermStore& at_one, Ref function) const {
  return SameAtOne(store_, function_, at_one, function, Short(ones));
}

}  // namespace tenon::mask
