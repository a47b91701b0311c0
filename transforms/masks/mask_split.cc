#include "transforms/masks/mask_split.h"

#include <cmath>
#include <vector>

#include "ir/dialect/ten_ops.h"

namespace tenon::mask {
namespace {

using Kind = Term::Kind;

constexpr VarSet kKeyVariables = SetOf(kBatch) | SetOf(kKey);

// Is `hidden` the sum of `plain` and `added`, end by end?
bool IsSum(TermStore& store, Ref hidden, Ref plain, double added) {
  bool is_sum = true;
  const Ref both[] = {hidden, plain};
  store.Map(both, [&](std::span<const Ref> ends) {
    const Term h = store.term(ends[0]), p = store.term(ends[1]);
    if (p.kind == Kind::kNumber) {
      is_sum &= ends[0] == store.Number(p.dtype, p.number + added);
    } else if (std::isinf(added) && h.kind == Kind::kNumber) {
      is_sum = false;  // an unknown number may be +inf
    } else {
      const bool sums = h.kind == Kind::kApply && Isa<ten::AddOp>(h.op);
      const auto is = [&](Ref a, Ref b) { return store.is_number(a, added) && b == ends[1]; };
      is_sum &= sums && (is(h.arguments[0], h.arguments[1]) || is(h.arguments[1], h.arguments[0]));
    }
    return store.Bool(true);
  });
  return is_sum;
}

// Numbers that could be what hides.
std::vector<double> Candidates(const TermStore& store, Ref hidden) {
  std::vector<double> numbers;
  for (Ref end : store.EndsOf(hidden)) {
    const Term& t = store.term(end);
    if (t.kind == Kind::kNumber && t.number < 0) numbers.push_back(t.number);
    for (Ref argument : t.arguments) {
      const Term& a = store.term(argument);
      if (a.kind == Kind::kNumber && a.number < 0) numbers.push_back(a.number);
    }
  }
  return numbers;
}

}  // namespace

std::optional<SplitMask> SplitOffPositions(TermStore& store, Ref mask) {
  if (!IsFloat(store.term(mask).dtype)) return std::nullopt;
  std::vector<AtomId> atoms;
  for (AtomId a : store.AtomsOf(mask)) {
    const Atom& atom = store.atom(a);
    if ((atom.variables & ~kKeyVariables) == 0) continue;
    if (atom.kind != Atom::Kind::kAtLeastZero) return std::nullopt;
    atoms.push_back(a);
  }
  if (atoms.empty() || atoms.size() > 4) return std::nullopt;
  // What is left once positions are known: one function where keys are visible, one elsewhere.
  std::set<Ref> rest;
  for (unsigned answers = 0; answers < 1u << atoms.size(); ++answers) {
    Ref r = mask;
    for (size_t i = 0; i < atoms.size(); ++i) {
      r = store.Cofactor(r, atoms[i], (answers >> i & 1) != 0);
    }
    rest.insert(r);
  }
  if (rest.size() != 2) return std::nullopt;
  for (const auto& order :
       {std::pair(*rest.begin(), *rest.rbegin()), std::pair(*rest.rbegin(), *rest.begin())}) {
    const Ref plain = order.first, hidden = order.second;
    if ((store.term(plain).variables & ~kKeyVariables) != 0) continue;
    for (double added : Candidates(store, hidden)) {
      if (!IsSum(store, hidden, plain, added)) continue;
      const DType dtype = store.term(mask).dtype;
      const auto positions = [&](const auto& self, Ref r, size_t i) -> Ref {
        if (i == atoms.size()) return store.Number(dtype, r == plain ? 0 : added);
        const Atom atom = store.atom(atoms[i]);
        return store.IfThenElse(store.AtLeastZero(atom.affine),
                                self(self, store.Cofactor(r, atoms[i], true), i + 1),
                                self(self, store.Cofactor(r, atoms[i], false), i + 1));
      };
      SplitMask split = {Classify(store, positions(positions, mask, 0)), plain};
      if (split.positions.known && split.positions.all_keys) return split;
    }
  }
  return std::nullopt;
}

}  // namespace tenon::mask
