#include "transforms/masks/mask_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fmt/format.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::mask {
namespace {

constexpr AtomId kNoAtom = std::numeric_limits<AtomId>::max();

double Round(DType dtype, double value) {
  std::byte bytes[8];
  StoreFromDouble(dtype, value, bytes);
  return LoadAsDouble(dtype, bytes);
}

// A cast that keeps 0 apart from everything else.
bool KeepsNonZero(DType from, DType to) {
  if (from == DType::kBool) return true;
  if (!IsInt(from)) return IsFloat(from) && IsFloat(to) && SizeOf(to) > SizeOf(from);
  return IsFloat(to) || (IsInt(to) && SizeOf(to) >= SizeOf(from));
}

}  // namespace

Ref TermStore::Intern(const std::string& key, Term term) {
  const auto [it, inserted] = by_key_.try_emplace(key, static_cast<Ref>(terms_.size()));
  if (inserted) terms_.push_back(std::move(term));
  if (terms_.size() > kMaxTerms) overflow_ = true;
  return it->second;
}

AtomId TermStore::InternAtom(const std::string& key, Atom atom) {
  const auto [it, inserted] = atoms_by_key_.try_emplace(key, static_cast<AtomId>(atoms_.size()));
  if (inserted) atoms_.push_back(std::move(atom));
  return it->second;
}

Ref TermStore::Number(DType dtype, double value) {
  if (IsInt(dtype)) {
    return Integer(dtype, Affine::Of(ranges.context(), static_cast<int64_t>(value)));
  }
  value = dtype == DType::kBool ? (value != 0 ? 1 : 0) : Round(dtype, value) + 0.0;
  Term t = {.kind = Term::Kind::kNumber, .dtype = dtype};
  t.number = value;
  return Intern(fmt::format("n{}:{:a}", Name(dtype), value), std::move(t));
}

Ref TermStore::Integer(DType dtype, const Affine& value) {
  Term t = {.kind = Term::Kind::kAffine, .dtype = dtype};
  t.affine = value;
  t.variables = value.variables();
  // Unknown extents are equal to nothing, themselves included.
  const std::string key = value.known() ? value.text() : fmt::format("?{}", terms_.size());
  return Intern(fmt::format("i{}:{}", Name(dtype), key), std::move(t));
}

Ref TermStore::Leaf(Value value, std::vector<Affine> index) {
  Term t = {.kind = Term::Kind::kLeaf, .dtype = value.type().dtype()};
  t.leaf = value;
  std::string key = fmt::format("l{}", static_cast<const void*>(value.impl()));
  for (const Affine& a : index) {
    key += fmt::format(",{}", a.known() ? a.text() : fmt::format("?{}", terms_.size()));
    t.variables |= a.variables();
  }
  t.index = std::move(index);
  const bool boolean = t.dtype == DType::kBool;
  const Ref leaf = Intern(key, std::move(t));
  return boolean ? NonZero(leaf) : leaf;
}

Ref TermStore::Apply(Operation* op, std::span<const Ref> arguments) {
  Term t = {.kind = Term::Kind::kApply, .dtype = op->result().type().dtype()};
  t.op = op;
  t.arguments.assign(arguments.begin(), arguments.end());
  std::string key = fmt::format("a{}", op->name());
  for (const Attribute& slot : op->slots()) {
    key += fmt::format("|{}", static_cast<const void*>(slot.storage()));
  }
  for (Ref r : arguments) {
    key += fmt::format(",{}", r);
    t.variables |= terms_[r].variables;
  }
  const bool boolean = t.dtype == DType::kBool;
  const Ref made = Intern(key, std::move(t));
  return boolean ? NonZero(made) : made;
}

Ref TermStore::AtLeastZero(const Affine& a) {
  if (ranges.NonNegative(a)) return Bool(true);
  if (ranges.Negative(a)) return Bool(false);
  // Of a question and its negation only one is an atom.
  const std::optional<int64_t> leading =
      a.terms.empty() ? std::nullopt : a.Coefficient(a.terms[0].first);
  const bool negated = leading && *leading < 0;
  const Affine positive = negated ? a * -1 + (-1) : a;
  Atom atom = {.kind = Atom::Kind::kAtLeastZero, .affine = positive};
  atom.variables = a.variables();
  const std::string key = positive.known() ? positive.text() : fmt::format("?{}", atoms_.size());
  const AtomId id = InternAtom("p" + key, std::move(atom));
  return negated ? IfAtom(id, Bool(false), Bool(true)) : IfAtom(id, Bool(true), Bool(false));
}

Ref TermStore::NonZero(Ref terminal) {
  const Term* t = &terms_[terminal];
  if (t->kind == Term::Kind::kNumber) return Bool(t->number != 0);
  if (t->kind == Term::Kind::kAffine) {
    const Affine a = t->affine;
    return IfThenElse(AtLeastZero(a), Not(AtLeastZero(a * -1)), Bool(true));
  }
  while (t->kind == Term::Kind::kApply && Isa<ten::CastOp>(t->op) &&
         KeepsNonZero(terms_[t->arguments[0]].dtype, t->dtype)) {
    terminal = t->arguments[0];
    t = &terms_[terminal];
  }
  Atom atom = {.kind = Atom::Kind::kNonZero, .affine = {}, .term = terminal};
  atom.variables = t->variables;
  return IfAtom(InternAtom(fmt::format("t{}", terminal), std::move(atom)), Bool(true), Bool(false));
}

Ref TermStore::Not(Ref boolean) { return IfThenElse(boolean, Bool(false), Bool(true)); }

AtomId TermStore::Top(Ref r) const {
  return terms_[r].kind == Term::Kind::kChoice ? terms_[r].atom : kNoAtom;
}

Ref TermStore::Choice(AtomId atom, Ref hi, Ref lo) {
  const Atom& question = atoms_[atom];
  // Where a number is not other than zero, it is zero.
  if (question.kind == Atom::Kind::kNonZero && lo == question.term)
    lo = Number(terms_[lo].dtype, 0);
  if (hi == lo) return hi;
  Term t = {.kind = Term::Kind::kChoice, .dtype = terms_[hi].dtype};
  t.atom = atom, t.hi = hi, t.lo = lo;
  t.variables = question.variables | terms_[hi].variables | terms_[lo].variables;
  return Intern(fmt::format("c{},{},{}", atom, hi, lo), std::move(t));
}

Ref TermStore::Cofactor(Ref r, AtomId atom, bool answer) {
  const Term t = terms_[r];
  if (t.kind != Term::Kind::kChoice || t.atom > atom) return r;
  if (t.atom == atom) return answer ? t.hi : t.lo;
  return Choice(t.atom, Cofactor(t.hi, atom, answer), Cofactor(t.lo, atom, answer));
}

Ref TermStore::IfAtom(AtomId atom, Ref hi, Ref lo) {
  if (overflow_) return lo;
  const AtomId top = std::min({atom, Top(hi), Top(lo)});
  if (top == atom) return Choice(atom, Cofactor(hi, atom, true), Cofactor(lo, atom, false));
  return Choice(top, IfAtom(atom, Cofactor(hi, top, true), Cofactor(lo, top, true)),
                IfAtom(atom, Cofactor(hi, top, false), Cofactor(lo, top, false)));
}

Ref TermStore::IfThenElse(Ref boolean, Ref hi, Ref lo) {
  const Ref arguments[] = {boolean, hi, lo};
  return Map(arguments, [&](std::span<const Ref> ends) {
    return terms_[ends[0]].number != 0 ? ends[1] : ends[2];
  });
}

Ref TermStore::Map(std::span<const Ref> arguments,
                   const std::function<Ref(std::span<const Ref>)>& f) {
  std::map<std::vector<Ref>, Ref> done;
  const std::function<Ref(const std::vector<Ref>&)> visit = [&](const std::vector<Ref>& refs) {
    AtomId top = kNoAtom;
    for (Ref r : refs) top = std::min(top, Top(r));
    if (top == kNoAtom || overflow_) return f(refs);
    if (const auto it = done.find(refs); it != done.end()) return it->second;
    std::vector<Ref> hi = refs, lo = refs;
    for (size_t i = 0; i < refs.size(); ++i) {
      hi[i] = Cofactor(refs[i], top, true), lo[i] = Cofactor(refs[i], top, false);
    }
    const Ref yes = visit(hi), no = visit(lo);
    const Ref made = IfAtom(top, yes, no);
    done.emplace(refs, made);
    return made;
  };
  return visit({arguments.begin(), arguments.end()});
}

bool TermStore::is_number(Ref r, double value) const {
  const Term& t = terms_[r];
  if (t.kind == Term::Kind::kNumber) return t.number == value;
  return t.kind == Term::Kind::kAffine && value == std::floor(value) &&
         t.affine.is_constant(static_cast<int64_t>(value));
}

std::set<AtomId> TermStore::AtomsOf(Ref r) const {
  std::set<AtomId> atoms;
  std::set<Ref> seen;
  const std::function<void(Ref)> visit = [&](Ref at) {
    const Term& t = terms_[at];
    if (t.kind != Term::Kind::kChoice || !seen.insert(at).second) return;
    atoms.insert(t.atom);
    visit(t.hi), visit(t.lo);
  };
  visit(r);
  return atoms;
}

std::set<Ref> TermStore::EndsOf(Ref r) const {
  std::set<Ref> ends, seen;
  const std::function<void(Ref)> visit = [&](Ref at) {
    if (!seen.insert(at).second) return;
    const Term& t = terms_[at];
    if (t.kind != Term::Kind::kChoice) {
      ends.insert(at);
      return;
    }
    visit(t.hi), visit(t.lo);
  };
  visit(r);
  return ends;
}

}  // namespace tenon::mask
