// Elements of a tensor as functions of their position. A function is a decision diagram over yes/no
// questions (atoms); its ends are numbers, affine functions, or elements of other tensors. Equal
// functions of the same atoms have one representation.
#ifndef TENON_TRANSFORMS_MASKS_MASK_TERMS_H_
#define TENON_TRANSFORMS_MASKS_MASK_TERMS_H_

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/core/operation.h"
#include "transforms/masks/mask_affine.h"

namespace tenon::mask {

using Ref = int;     // a term of a TermStore
using AtomId = int;  // a question

// A node of a function.
struct Term {
  enum class Kind : uint8_t {
    kNumber,  // of a float dtype, or kBool: 0 or 1
    kAffine,  // of an integer dtype
    kLeaf,    // an element of a tensor of the program
    kApply,   // an elementwise operation on terms that are no choices
    kChoice,  // `hi` if the answer to `atom` is yes, `lo` otherwise
  };
  Kind kind;
  DType dtype;
  double number = 0;
  Affine affine{};
  Value leaf{};
  std::vector<Affine> index{};   // of the leaf
  Operation* op = nullptr;       // of an application: gives its kind and attributes
  std::vector<Ref> arguments{};  // of an application
  AtomId atom = 0;
  Ref hi = 0, lo = 0;
  VarSet variables = 0;  // on which it depends
};

// A question about a position.
struct Atom {
  enum class Kind : uint8_t { kAtLeastZero, kNonZero };
  Kind kind;
  Affine affine{};  // kAtLeastZero: asks whether this is >= 0
  // kNonZero: asks about a leaf or an application; of a bool, whether it is true.
  Ref term = 0;
  VarSet variables = 0;
};

// Makes and stores the functions of one mask. Not thread-safe.
class TermStore {
 public:
  explicit TermStore(std::vector<DimExpr> score_extents) : ranges(std::move(score_extents)) {}

  const Term& term(Ref r) const { return terms_[r]; }
  const Atom& atom(AtomId a) const { return atoms_[a]; }
  // A number, rounded to `dtype`; -0 becomes 0. For an integer type the number must be an integer.
  Ref Number(DType dtype, double value);
  Ref Bool(bool value) { return Number(DType::kBool, value ? 1 : 0); }
  Ref Integer(DType dtype, const Affine& value);
  // A leaf of type kBool is a choice between true and false.
  Ref Leaf(Value value, std::vector<Affine> index);
  Ref Apply(Operation* op, std::span<const Ref> arguments);

  Ref AtLeastZero(const Affine& a);
  Ref NonZero(Ref terminal);
  Ref Not(Ref boolean);
  Ref And(Ref a, Ref b) { return IfThenElse(a, b, Bool(false)); }
  Ref IfThenElse(Ref boolean, Ref hi, Ref lo);
  // Applies `f` to all combinations of ends of the arguments, and joins the results.
  Ref Map(std::span<const Ref> arguments, const std::function<Ref(std::span<const Ref>)>& f);
  // The function if the answer to `atom` is `answer`.
  Ref Cofactor(Ref r, AtomId atom, bool answer);

  bool is_bool(Ref r, bool value) const {
    const Term& t = terms_[r];
    return t.kind == Term::Kind::kNumber && t.dtype == DType::kBool && t.number == (value ? 1 : 0);
  }
  bool is_number(Ref r, double value) const;
  std::set<AtomId> AtomsOf(Ref r) const;
  std::set<Ref> EndsOf(Ref r) const;  // terms that are no choices
  // False if there were too many terms, so that results are wrong.
  bool ok() const { return !overflow_; }

  Ranges ranges;

 private:
  static constexpr size_t kMaxTerms = 20000;
  Ref Intern(const std::string& key, Term term);
  AtomId InternAtom(const std::string& key, Atom atom);
  Ref Choice(AtomId atom, Ref hi, Ref lo);  // `atom` must come before those of hi and lo
  Ref IfAtom(AtomId atom, Ref hi, Ref lo);
  AtomId Top(Ref r) const;

  std::vector<Term> terms_;
  std::vector<Atom> atoms_;
  std::map<std::string, Ref> by_key_;
  std::map<std::string, AtomId> atoms_by_key_;
  bool overflow_ = false;
};

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASKS_MASK_TERMS_H_
