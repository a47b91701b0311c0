#include "transforms/masks/mask_emit.h"

#include <algorithm>

#include "ir/core/dims/dim_expr_rewrite.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::mask {
namespace {

using Kind = tenon::mask::Term::Kind;

// Are a and b equal if all pairs are?
bool Connected(const Emitter::Extents& pairs, DimExpr a, DimExpr b) {
  std::vector<DimExpr> reached = {a};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const auto& [x, y] : pairs) {
      if (x.is_unknown() || y.is_unknown()) continue;
      for (const auto& [from, to] : {std::pair(x, y), std::pair(y, x)}) {
        if (!(from == reached[i])) continue;
        if (std::find(reached.begin(), reached.end(), to) == reached.end()) reached.push_back(to);
      }
    }
  }
  return std::find(reached.begin(), reached.end(), b) != reached.end();
}

}  // namespace

bool Emitter::Computable(std::span<const DimExpr> dims, Value from) const {
  std::vector<std::string_view> symbols, own;
  for (DimExpr d : dims) {
    if (d.is_unknown()) return false;
    d.CollectSymbols(symbols);
  }
  if (from) {
    for (DimExpr d : from.type().dims()) d.CollectSymbols(own);
  }
  return std::all_of(symbols.begin(), symbols.end(), [&](std::string_view s) {
    return inputs_.count(s) > 0 || std::find(own.begin(), own.end(), s) != own.end();
  });
}

Value Emitter::Number(DType dtype, double value) {
  std::byte bytes[8] = {};
  StoreFromDouble(dtype, value, bytes);
  const Type type = Type::Tensor(builder_.context(), dtype, std::span<const DimExpr>());
  const Attribute attribute =
      Attribute::Splat(builder_.context(), type, std::span(bytes, SizeOf(dtype)));
  return Note(core::ConstantOp::Create(builder_, location_, {.value = attribute}));
}

Value Emitter::OfAffine(const Affine& a, DType dtype) {
  Context& context = builder_.context();
  const std::optional<int64_t> step = a.Coefficient(kKey);
  if (!step || !a.known() || a.terms.size() > (*step != 0 ? 1u : 0u)) return Value();
  const auto number = [&](DimExpr d) {
    if (d.is_constant()) {
      std::byte bytes[8];
      const int64_t v = d.constant();
      for (size_t b = 0; b < 8; ++b)
        bytes[b] = static_cast<std::byte>(static_cast<uint64_t>(v) >> (8 * b));
      const Type type = Type::Tensor(context, DType::kI64, std::span<const DimExpr>());
      return Note(core::ConstantOp::Create(builder_, location_,
                                           {.value = Attribute::Elements(context, type, bytes)}));
    }
    if (!Computable({&d, 1}, Value())) return Value();
    return Note(core::DimsOp::Create(builder_, location_, {.dims = {d}, .scalar = true}));
  };
  Value made;
  if (*step == 0) {
    made = number(a.constant);
  } else {
    // start, start + step, …
    const Value start = number(a.constant);
    const Value limit = number(a.constant + extent(kKey) * *step);
    const Value delta = number(DimExpr::Constant(context, *step));
    if (start && limit) made = Note(ten::RangeOp::Create(builder_, location_, start, limit, delta));
    if (made) made = Reshaped(made, {DimExpr::Constant(context, 1), extent(kKey)});
  }
  if (!made || dtype == DType::kI64) return made;
  return Note(ten::CastOp::Create(builder_, location_, made, {.to = dtype}));
}

Value Emitter::Reshaped(Value x, std::vector<DimExpr> dims) {
  const std::span<const DimExpr> own = x.type().dims();
  if (std::equal(own.begin(), own.end(), dims.begin(), dims.end(), DimExpr::ProvablyEqual))
    return x;
  if (!Computable(dims, x)) return Value();
  return Note(ten::ReshapeOp::Create(builder_, location_, x, {.shape = std::move(dims)}));
}

Value Emitter::Leaf(const struct Term& t) {
  Context& context = builder_.context();
  const DimExpr one = DimExpr::Constant(context, 1);
  Value x = t.leaf;
  ten::SliceOp::Attrs window;
  const auto may_be_one = [&](DimExpr own, DimExpr scores) {
    return std::find(may_be_one_.begin(), may_be_one_.end(), std::pair(own, scores)) !=
           may_be_one_.end();
  };
  const auto rank = static_cast<int64_t>(t.index.size());
  ten::PadOp::Attrs beyond{.pads = std::vector<DimExpr>(2 * rank, DimExpr::Constant(context, 0))};
  bool is_short = false;
  int batch_axis = -1, key_axis = -1, unproven = 0;
  for (size_t axis = 0; axis < t.index.size(); ++axis) {
    const std::optional<Var> v = t.index[axis].variable();
    const DimExpr own = x.type().dim(static_cast<int64_t>(axis));
    if (v && !may_be_one(own, extent(*v)) && !DimExpr::ProvablyEqual(own, extent(*v))) ++unproven;
  }
  std::vector<std::pair<DimExpr, DimExpr>> checks;
  std::optional<DimExpr> short_batch, short_keys;
  for (size_t axis = 0; axis < t.index.size(); ++axis) {
    const Affine& at = t.index[axis];
    const DimExpr own = x.type().dim(static_cast<int64_t>(axis));
    if (!at.known()) return Value();
    DimExpr count = one;
    if (!at.is_constant()) {
      // batch + c or key + c, each on one axis.
      const Var v = at.terms[0].first;
      int& found = v == kBatch ? batch_axis : key_axis;
      if (at.terms.size() != 1 || (v != kBatch && v != kKey) || at.Coefficient(v) != 1 ||
          found >= 0) {
        return Value();
      }
      found = static_cast<int>(axis);
      count = extent(v);
      // Of a tensor that something was put behind nobody asks for elements beyond its end. Where it
      // might be one that broadcasts there is no saying.
      const DimExpr missing = count + at.constant - own;
      if (missing.is_constant() && missing.constant() > 0) {
        if (may_be_one(own, count)) return Value();
        beyond.pads[rank + static_cast<int64_t>(axis)] = missing;
        is_short = true;
        if (at.constant.is_constant(0)) continue;
        count = count - missing;
      }
      if (at.constant.is_constant(0)) {
        if (DimExpr::ProvablyEqual(own, count)) continue;
        // The reshape below fails unless all elements are there. Of two axes both are cut first, so
        // that neither makes up for the other. (An axis that is longer than the one it broadcasts
        // to is no program; that of a guess may be longer.)
        const bool assumed = Connected(assumed_, own, count);
        const bool broadcasts = may_be_one(own, count);
        const bool exact = assumed && (broadcasts || unproven == 1 || given_ == 0);
        const DimExpr length = exact ? own : Min(own, count);
        checks.emplace_back(length, count);
        if (broadcasts) (v == kKey ? short_keys : short_batch) = length;
        if (assumed && (broadcasts || unproven == 1)) continue;
      }
    } else if (own.is_constant(1)) {
      continue;
    }
    if (!store_.ranges.NonNegative(Affine::Of(at.constant))) return Value();
    window.axes.push_back(static_cast<int64_t>(axis));
    window.starts.push_back(at.constant);
    window.ends.push_back(at.constant + count);
    window.steps.push_back(1);
  }
  if (!window.axes.empty()) {
    if (!Computable(window.starts, x) || !Computable(window.ends, x)) return Value();
    x = Note(ten::SliceOp::Create(builder_, location_, x, window));
    if (!x) return Value();
  }
  if (is_short) {
    beyond.mode = "constant";
    x = Note(ten::PadOp::Create(builder_, location_, x, Value(), beyond));
    if (!x) return Value();
  }
  if (batch_axis > key_axis && key_axis >= 0) {
    std::vector<int64_t> perm;
    for (int i = 0; i < static_cast<int>(t.index.size()); ++i) perm.push_back(i);
    std::swap(perm[batch_axis], perm[key_axis]);
    x = Note(ten::TransposeOp::Create(builder_, location_, x, {.perm = perm}));
    if (!x) return Value();
  }
  checked_.insert(checked_.end(), checks.begin(), checks.end());
  // Attention broadcasts what may be 1, and fails where it does not fit.
  const DimExpr batch = batch_axis >= 0 ? short_batch.value_or(extent(kBatch)) : one;
  const DimExpr keys = key_axis >= 0 ? short_keys.value_or(extent(kKey)) : one;
  return Reshaped(x, {batch, keys});
}

Value Emitter::Question(AtomId a) {
  if (const auto it = questions_.find(a); it != questions_.end()) return it->second;
  const Atom& atom = store_.atom(a);
  Value made;
  if (atom.kind == Atom::Kind::kAtLeastZero) {
    const Value number = OfAffine(atom.affine, DType::kI64);
    const Value zero = OfAffine(Affine::Of(builder_.context(), 0), DType::kI64);
    if (number && zero) made = Note(ten::GreaterEqualOp::Create(builder_, location_, number, zero));
  } else {
    made = Term(atom.term);
    if (made && made.type().dtype() != DType::kBool) {
      made = Note(ten::CastOp::Create(builder_, location_, made, {.to = DType::kBool}));
    }
  }
  questions_.emplace(a, made);
  return made;
}

Value Emitter::Term(Ref r) {
  if (const auto it = terms_.find(r); it != terms_.end()) return it->second;
  const struct Term& t = store_.term(r);
  Value made;
  switch (t.kind) {
    case Kind::kNumber:
      made = Number(t.dtype, t.number);
      break;
    case Kind::kAffine:
      made = OfAffine(t.affine, t.dtype);
      break;
    case Kind::kLeaf:
      made = Leaf(t);
      break;
    case Kind::kApply: {
      std::vector<Value> operands;
      for (Ref argument : t.arguments) operands.push_back(Term(argument));
      if (std::find(operands.begin(), operands.end(), Value()) != operands.end()) break;
      const absl::StatusOr<Operation*> op =
          builder_.CreateInferred(t.op->info(), location_, operands, t.op->slots());
      if (op.ok()) {
        made_.push_back(*op);
        made = (*op)->result();
      }
      break;
    }
    case Kind::kChoice: {
      const Value question = Question(t.atom);
      if (!question) break;
      const bool plain = store_.is_bool(t.hi, true) && store_.is_bool(t.lo, false);
      if (plain) {
        made = question;
        break;
      }
      if (store_.is_bool(t.hi, false) && store_.is_bool(t.lo, true)) {
        made = Note(ten::NotOp::Create(builder_, location_, question));
        break;
      }
      const Value hi = store_.is_bool(t.hi, true) ? question : Term(t.hi);
      const Value lo = store_.is_bool(t.lo, false) ? question : Term(t.lo);
      if (!hi || !lo) break;
      if (store_.is_bool(t.hi, true)) {
        made = Note(ten::OrOp::Create(builder_, location_, question, lo));
      } else if (store_.is_bool(t.lo, false)) {
        made = Note(ten::AndOp::Create(builder_, location_, question, hi));
      } else {
        made = Note(ten::WhereOp::Create(builder_, location_, question, hi, lo));
      }
      break;
    }
  }
  terms_.emplace(r, made);
  return made;
}

Value Emitter::Emit(Ref r) {
  Value made = Term(r);
  if (made && made.type().rank() != 2) {
    const DimExpr one = DimExpr::Constant(builder_.context(), 1);
    made = Reshaped(made, {one, one});
  }
  return made;
}

Value Emitter::BesideHeadsAndQueries(Value keys) {
  const DimExpr one = DimExpr::Constant(builder_.context(), 1);
  return Reshaped(keys, {keys.type().dim(0), one, one, keys.type().dim(1)});
}

const std::pair<DimExpr, DimExpr>* Emitter::Unchecked() const {
  const auto holds = [&](const auto& pair) {
    const auto [a, b] = pair;
    if (a.is_unknown() || b.is_unknown()) return false;
    // min(S, 64) broadcasts to S only if it is S: it is 1 only when S is.
    const auto clamped = [](DimExpr x, DimExpr y) {
      if (x.kind() != DimExpr::Kind::kMin || y.is_constant()) return false;
      const DimExpr n = FirstOperand(x) == y ? SecondOperand(x) : FirstOperand(x);
      return (FirstOperand(x) == y || SecondOperand(x) == y) && n.is_constant() && n.constant() > 1;
    };
    if (Connected(checked_, a, b)) return true;
    if (&pair < assumed_.data() + given_) return false;
    if (store_.ranges.Equal(a, b) || clamped(a, b) || clamped(b, a)) return true;
    for (const auto& [x, y] : checked_) {
      // Both sides with x replaced by y.
      if (x.kind() == DimExpr::Kind::kSymbol) {
        const auto replace = [&, from = x, to = y](std::string_view s) -> std::optional<DimExpr> {
          return s == from.symbol() ? std::optional<DimExpr>(to) : std::nullopt;
        };
        if (store_.ranges.Equal(a.Substitute(replace), b.Substitute(replace))) return true;
      }
    }
    return false;
  };
  const auto it = std::find_if_not(assumed_.begin(), assumed_.end(), holds);
  return it == assumed_.end() ? nullptr : &*it;
}

}  // namespace tenon::mask
