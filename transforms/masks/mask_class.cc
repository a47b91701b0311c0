#include "transforms/masks/mask_class.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "fmt/format.h"
#include "ir/core/block.h"

namespace tenon::mask {
namespace {

constexpr size_t kMaxAtoms = 12;
constexpr VarSet kKeySide = SetOf(kBatch) | SetOf(kKey);

// An answer to a question about positions: `at_least_zero` is >= 0.
struct Literal {
  AtomId atom = 0;
  bool answer = false;
  Affine at_least_zero;
};

// Tries all combinations of answers that positions can give.
class Prover {
 public:
  Prover(TermStore& store, Ref visible) : store_(store), visible_(visible) {
    for (AtomId a : store.AtomsOf(visible)) atoms_.push_back(a);
  }

  MaskClass Run();

 private:
  bool Answer(AtomId atom, uint32_t answers) const {
    const size_t at = std::find(atoms_.begin(), atoms_.end(), atom) - atoms_.begin();
    return (answers >> at & 1) != 0;
  }
  bool Evaluate(Ref r, uint32_t answers) const {
    const Term* t = &store_.term(r);
    while (t->kind == Term::Kind::kChoice) {
      t = &store_.term(Answer(t->atom, answers) ? t->hi : t->lo);
    }
    return t->number != 0;
  }
  Affine Holds(AtomId atom, bool answer) const {
    const Affine& a = store_.atom(atom).affine;
    return answer ? a : a * -1 + (-1);
  }
  bool IsAffine(AtomId a) const { return store_.atom(a).kind == Atom::Kind::kAtLeastZero; }
  bool IsKeySide(AtomId a) const { return (store_.atom(a).variables & ~kKeySide) == 0; }

  void CollectPossible();
  bool Proves(const std::vector<Literal>& needed, Ref keys) const;
  // What keys must fulfil where the needed literals hold.
  Ref KeysOf(const std::vector<Literal>& needed) const;
  Ref Simplified(const std::vector<Literal>& needed, Ref keys) const;
  std::string WhyNot(const std::vector<Literal>& needed) const;
  std::optional<std::string> Interpret(const std::vector<Literal>& needed, MaskClass& made) const;

  TermStore& store_;
  Ref visible_;
  std::vector<AtomId> atoms_;
  std::vector<uint32_t> possible_;  // answers that do not contradict each other
};

void Prover::CollectPossible() {
  const size_t n = atoms_.size();
  std::vector<std::pair<uint32_t, uint32_t>> excluded;  // of the answers `first`, not `second`
  for (size_t p = 0; p < n; ++p) {
    for (size_t q = p + 1; q < n; ++q) {
      if (!IsAffine(atoms_[p]) || !IsAffine(atoms_[q])) continue;
      for (uint32_t answers = 0; answers < 4; ++answers) {
        const bool x = (answers & 1) != 0, y = (answers & 2) != 0;
        if (store_.ranges.Negative(Holds(atoms_[p], x) + Holds(atoms_[q], y))) {
          excluded.emplace_back((1u << p) | (1u << q), (uint32_t{x} << p) | (uint32_t{y} << q));
        }
      }
    }
  }
  for (uint32_t answers = 0; answers < (1u << n); ++answers) {
    const bool contradicts = std::any_of(excluded.begin(), excluded.end(), [&](const auto& e) {
      return (answers & e.first) == e.second;
    });
    if (!contradicts) possible_.push_back(answers);
  }
}

bool Prover::Proves(const std::vector<Literal>& needed, Ref keys) const {
  return std::all_of(possible_.begin(), possible_.end(), [&](uint32_t answers) {
    const bool holds = std::all_of(needed.begin(), needed.end(), [&](const Literal& l) {
      return Answer(l.atom, answers) == l.answer;
    });
    return Evaluate(visible_, answers) == (holds && Evaluate(keys, answers));
  });
}

Ref Prover::KeysOf(const std::vector<Literal>& needed) const {
  Ref keys = visible_;
  for (const Literal& l : needed) keys = store_.Cofactor(keys, l.atom, l.answer);
  for (AtomId a : atoms_) {
    if (IsKeySide(a)) continue;
    const Ref yes = store_.Cofactor(keys, a, true), no = store_.Cofactor(keys, a, false);
    keys = store_.IfThenElse(yes, store_.Bool(true), no);
  }
  return keys;
}

Ref Prover::Simplified(const std::vector<Literal>& needed, Ref keys) const {
  for (AtomId a : store_.AtomsOf(keys)) {
    for (bool answer : {true, false}) {
      const Ref simpler = store_.Cofactor(keys, a, answer);
      if (simpler == keys || !Proves(needed, simpler)) continue;
      keys = simpler;
      break;
    }
  }
  return keys;
}

std::string Prover::WhyNot(const std::vector<Literal>& needed) const {
  for (AtomId a : atoms_) {
    const Atom& atom = store_.atom(a);
    if (IsKeySide(a)) continue;
    if ((atom.variables & SetOf(kHead)) != 0) return "it differs between heads";
    if (atom.kind == Atom::Kind::kNonZero) {
      return fmt::format("{} is not a function of one key", Describe(store_, atom.term));
    }
  }
  std::vector<std::string> questions;
  for (AtomId a : atoms_) {
    if (IsAffine(a) && !IsKeySide(a)) questions.push_back(store_.atom(a).affine.text() + " >= 0");
  }
  return fmt::format(
      "it is not a conjunction of a condition on the key and conditions on positions"
      " ({}; {} of them hold for all visible keys)",
      absl::StrJoin(questions, ", "), needed.size());
}

// Reads flags from the conditions; words if they are not flags.
std::optional<std::string> Prover::Interpret(const std::vector<Literal>& needed,
                                             MaskClass& made) const {
  const DimExpr offset = store_.ranges.extent(kKey) - store_.ranges.extent(kQuery);
  int upper = 0, lower = 0;
  for (const Literal& l : needed) {
    const Affine& a = l.at_least_zero;
    const bool plain =
        a.terms.size() == 2 && a.terms[0].first == kQuery && a.terms[1].first == kKey;
    if (plain && a.Coefficient(kQuery) == 1 && a.Coefficient(kKey) == -1 && ++upper == 1) {
      if (!store_.ranges.Equal(a.constant, offset)) {
        return fmt::format(
            "keys are visible up to j = i + {}, not up to i + keys - queries (i + {})",
            a.constant.text(), offset.text());
      }
      made.causal = true;
    } else if (plain && a.Coefficient(kQuery) == -1 && a.Coefficient(kKey) == 1 && ++lower == 1) {
      const DimExpr window = offset + a.constant + 1;
      if (!window.is_constant() || window.constant() < 1) {
        return fmt::format("keys are visible from j = i - ({}), a window of {} keys",
                           a.constant.text(), window.text());
      }
      made.window = window.constant();
    } else {
      return fmt::format("keys are visible where {} >= 0", a.text());
    }
  }
  return std::nullopt;
}

MaskClass Prover::Run() {
  MaskClass made;
  if (atoms_.size() > kMaxAtoms) {
    made.reason = fmt::format("it depends on {} conditions", atoms_.size());
    return made;
  }
  CollectPossible();
  // Conditions that every visible key fulfils.
  std::vector<Literal> needed;
  for (AtomId a : atoms_) {
    if (!IsAffine(a) || IsKeySide(a)) continue;
    for (bool answer : {true, false}) {
      const bool implied = std::all_of(possible_.begin(), possible_.end(), [&](uint32_t answers) {
        return !Evaluate(visible_, answers) || Answer(a, answers) == answer;
      });
      if (implied) needed.push_back({a, answer, Holds(a, answer)});
    }
  }
  Ref keys = KeysOf(needed);
  if (!Proves(needed, keys)) {
    made.reason = WhyNot(needed);
    return made;
  }
  for (size_t i = needed.size(); i-- > 0;) {
    std::vector<Literal> fewer = needed;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (Proves(fewer, keys)) needed = std::move(fewer);
  }
  made.keys = Simplified(needed, keys);
  made.all_keys = store_.is_bool(made.keys, true);
  if (std::optional<std::string> reason = Interpret(needed, made)) {
    made.reason = *std::move(reason);
    return made;
  }
  made.known = true;
  return made;
}

// Walks two functions together.
class Comparison {
 public:
  Comparison(const TermStore& a, const TermStore& b, std::span<const DimExpr> ones)
      : a_(a), b_(b), ones_(ones) {
    std::vector<std::string_view> short_symbols, scores;
    for (DimExpr one : ones) one.CollectSymbols(short_symbols);
    for (Var v = 0; v < kScoreVars; ++v) a.ranges.extent(v).CollectSymbols(scores);
    short_symbols_.insert(short_symbols.begin(), short_symbols.end());
    for (std::string_view s : scores) short_symbols_.erase(s);
  }

  bool Same(Ref r, Ref s) {
    // Terms share their arguments. After the first difference nobody asks again.
    if (!seen_.emplace(r, s).second) return true;
    const Term &x = a_.term(r), &y = b_.term(s);
    if (x.kind != y.kind || x.dtype != y.dtype) return false;
    switch (x.kind) {
      case Term::Kind::kNumber:
        return x.number == y.number || (std::isnan(x.number) && std::isnan(y.number));
      case Term::Kind::kAffine:
        return SameAffine(x.affine, y.affine);
      case Term::Kind::kLeaf:
        return SameLeaf(x, y);
      case Term::Kind::kApply:
        return x.op == y.op &&
               std::equal(x.arguments.begin(), x.arguments.end(), y.arguments.begin(),
                          y.arguments.end(), [this](Ref p, Ref q) { return Same(p, q); });
      case Term::Kind::kChoice: {
        const Atom &p = a_.atom(x.atom), &q = b_.atom(y.atom);
        if (p.kind != q.kind) return false;
        const bool same = p.kind == Atom::Kind::kAtLeastZero ? SameAffine(p.affine, q.affine)
                                                             : Same(p.term, q.term);
        return same && Same(x.hi, y.hi) && Same(x.lo, y.lo);
      }
    }
    return false;
  }

 private:
  // What is 1 in one of them is another number in the other.
  bool SameAffine(const Affine& x, const Affine& y) const {
    std::vector<std::string_view> symbols;
    x.constant.CollectSymbols(symbols);
    for (const auto& [variable, coefficient] : x.terms) coefficient.CollectSymbols(symbols);
    return x == y && std::none_of(symbols.begin(), symbols.end(), [this](std::string_view s) {
             return short_symbols_.count(s) > 0;
           });
  }
  bool SameLeaf(const Term& x, const Term& y) const {
    if (x.leaf != y.leaf || x.index.size() != y.index.size()) return false;
    for (size_t axis = 0; axis < x.index.size(); ++axis) {
      const DimExpr own = x.leaf.type().dim(static_cast<int64_t>(axis));
      const bool is_one = std::find(ones_.begin(), ones_.end(), own) != ones_.end();
      if (is_one ? !y.index[axis].is_constant(0) : !(x.index[axis] == y.index[axis])) return false;
    }
    return true;
  }

  const TermStore& a_;
  const TermStore& b_;
  std::span<const DimExpr> ones_;
  std::set<std::string_view> short_symbols_;  // of them alone
  std::set<std::pair<Ref, Ref>> seen_;
};

}  // namespace

std::string MaskClass::Name() const {
  if (!known) return "general";
  std::vector<std::string> parts;
  if (causal && window == 0) parts.emplace_back("causal");
  if (window > 0) parts.emplace_back(causal ? "window" : "window without causality");
  if (!all_keys) parts.emplace_back("padding");
  return parts.empty() ? "none" : absl::StrJoin(parts, " + ");
}

bool SameAtOne(const TermStore& a, Ref r, const TermStore& b, Ref s,
               std::span<const DimExpr> ones) {
  return Comparison(a, b, ones).Same(r, s);
}

std::string Describe(const TermStore& store, Ref end) {
  const Term& t = store.term(end);
  if (t.kind == Term::Kind::kNumber) return fmt::format("{}", t.number);
  if (t.kind == Term::Kind::kAffine) return t.affine.text();
  Operation* op = t.kind == Term::Kind::kApply ? t.op : t.leaf.defining_op();
  if (op == nullptr) {
    const std::string name =
        t.leaf.location().is_unknown()
            ? std::string()
            : DescribeLocation(t.leaf.argument_owner()->parent_op()->context(), t.leaf.location());
    return name.empty() ? fmt::format("argument {}", t.leaf.argument_index()) : name;
  }
  const std::string node = DescribeLocation(op->context(), op->location());
  return node.empty() ? std::string(op->name()) : fmt::format("{} at {}", op->name(), node);
}

MaskClass Classify(TermStore& store, Ref mask) {
  MaskClass made;
  const double infinity = std::numeric_limits<double>::infinity();
  Ref visible = mask;
  double hidden = store.term(mask).dtype == DType::kBool ? -infinity : 0;
  if (hidden == 0) {
    // Two numbers: 0 for visible keys, one below it for hidden ones.
    for (Ref end : store.EndsOf(mask)) {
      const Term& t = store.term(end);
      if (t.kind != Term::Kind::kNumber) {
        made.reason = fmt::format("{} may be any number", Describe(store, end));
        return made;
      }
      if (t.number == 0) continue;
      if (!(t.number < 0)) {
        made.reason = std::isnan(t.number) ? std::string("it adds NaN to scores")
                                           : fmt::format("it adds {} to scores", t.number);
        return made;
      }
      if (hidden != 0) {
        made.reason = fmt::format("some hidden keys get {} and others {} (expected one number)",
                                  hidden, t.number);
        return made;
      }
      hidden = t.number;
    }
    if (static_cast<double>(static_cast<float>(hidden)) != hidden) {
      made.reason = fmt::format("hidden keys get {}, which f32 cannot hold", hidden);
      return made;
    }
    visible = store.Map({&mask, 1}, [&](std::span<const Ref> ends) {
      return store.Bool(store.term(ends[0]).number == 0);
    });
  }
  if (store.ok()) made = Prover(store, visible).Run();
  if (!store.ok()) {
    made.known = false;
    made.reason = "it is too complex";
  }
  made.mask_value = made.all_visible() ? 0 : hidden;
  return made;
}

}  // namespace tenon::mask
