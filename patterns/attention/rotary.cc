// Rotary position embeddings from their parts, and out of the way of attention.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

bool SameLastExtent(Value a, Value b) {
  const Type s = a.type(), t = b.type();
  return s.is_tensor() && t.is_tensor() && s.rank() >= 1 && t.rank() >= 1 &&
         DimExpr::ProvablyEqual(s.dim(-1), t.dim(-1));
}

// Does the second broadcast to the first, so that it is the first that is rotated?
bool TableBroadcastsTo(Value x, Value table) {
  const Type s = x.type(), t = table.type();
  if (!s.is_tensor() || !t.is_tensor() || t.rank() > s.rank()) return false;
  for (int64_t i = 1; i <= t.rank(); ++i) {
    if (!t.dim(-i).is_constant(1) && !DimExpr::ProvablyEqual(t.dim(-i), s.dim(-i))) return false;
  }
  return true;
}

// The parts of x that change places.
struct Parts {
  Val first, second;
};

Parts Halves(const Val& x, bool split, const Dim& half) {
  if (split) {
    Val parts = Split(x, {.axis = -1, .sizes = {half, half}});
    return {parts.result(0), parts.result(1)};
  }
  return {Slice(x, {.axes = {-1}, .starts = {0}, .ends = {half}, .steps = {1}}),
          Slice(x, {.axes = {-1}, .starts = {half}, .ends = kAny, .steps = {1}})};
}

// x * cos + concat(-x2, x1) * sin
Rule RotaryHalves(const char* name, bool split, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  Val x("x"), cos("cos"), sin("sin");
  Dim half("half");
  const Parts parts = Halves(x, split, half);
  Val turned = Concat({Neg(parts.second), parts.first}, {.axis = -1});
  return Rule(name, file, line)
      .Summary(split ? "… with the halves made by a split" : "x * cos + concat(-x2, x1) * sin")
      .Match(Add(Mul(x, cos), Mul(turned, sin)))
      .Where(If("the halves are equal", SameLastExtent, parts.first, parts.second) &&
             If("the halves are all of x", SameLastExtent, turned, x) &&
             If("cos broadcasts to x", TableBroadcastsTo, x, cos) &&
             If("sin broadcasts to x", TableBroadcastsTo, x, sin))
      .Replace(fused::Rotary(x, cos, sin))
      .RequireKernel();
}

// The halves turned with tables for one half: concat(x1 * cos - x2 * sin, x2 * cos + x1 * sin).
Rule RotaryOfHalfTables(const char* name, bool split, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  Val x("x"), cos("cos"), sin("sin");
  Dim half("half");
  const Parts parts = Halves(x, split, half);
  Val turned = Concat({Sub(Mul(parts.first, cos), Mul(parts.second, sin)),
                       Add(Mul(parts.second, cos), Mul(parts.first, sin))},
                      {.axis = -1});
  return Rule(name, file, line)
      .Summary(split ? "… with the halves made by a split"
                     : "concat(x1 * cos - x2 * sin, x2 * cos + x1 * sin)")
      .Match(turned)
      .Where(If("the halves are equal", SameLastExtent, parts.first, parts.second) &&
             If("the halves are all of x", SameLastExtent, turned, x) &&
             If("cos broadcasts to a half of x", TableBroadcastsTo, parts.first, cos) &&
             If("sin broadcasts to a half of x", TableBroadcastsTo, parts.first, sin) &&
             If("cos has an element for each pair", SameLastExtent, parts.first, cos) &&
             If("sin has an element for each pair", SameLastExtent, parts.first, sin))
      .Replace(fused::Rotary(x, Concat({cos, cos}, {.axis = -1}), Concat({sin, sin}, {.axis = -1})))
      .RequireKernel();
}

// x * cos + interleave(-x_odd, x_even) * sin
Rule RotaryPairs() {
  Val x("x"), cos("cos"), sin("sin");
  Val even = Slice(x, {.axes = {-1}, .starts = {0}, .ends = kAny, .steps = {2}});
  Val odd = Slice(x, {.axes = {-1}, .starts = {1}, .ends = kAny, .steps = {2}});
  Dim P("P"), Q("Q"), R("R"), half("half");
  auto last = [&](const Val& v) { return Reshape(v, {.shape = {P, Q, R, half, 1}}); };
  Val first = AnyOf(last(Neg(odd)), Neg(last(odd)));
  Val turned =
      Reshape(Concat({first, last(even)}, {.axis = -1}), {.shape = {P, Q, R, half + half}});
  return Rule("rotary-pairs")
      .Summary("x * cos + the pairs of x turned, (-x1, x0, -x3, x2, ...), * sin")
      .Match(Add(Mul(x, cos), Mul(turned, sin)))
      .Where(ShapeIs(x, {P, Q, R, half + half}) &&
             If("cos broadcasts to x", TableBroadcastsTo, x, cos) &&
             If("sin broadcasts to x", TableBroadcastsTo, x, sin))
      .Replace(fused::Rotary(x, cos, sin, {.interleaved = true}))
      .RequireKernel();
}

// A table's axes and one more, …
std::optional<Dims> WithOne(Value table) {
  const Type t = table.type();
  if (!t.is_tensor() || t.rank() < 1) return std::nullopt;
  Dims dims(t.dims().begin(), t.dims().end());
  dims.push_back(DimExpr::Constant(t.context(), 1));
  return dims;
}

// … and with each element twice.
std::optional<Dims> WithTwice(Value table) {
  std::optional<Dims> dims = WithOne(table);
  if (!dims) return std::nullopt;
  dims->pop_back();
  dims->back() = dims->back() + dims->back();
  return dims;
}

// A table of both elements of each pair, from one for pairs.
Val ForPairs(const Val& table) {
  Val column = Reshape(table, {.shape = Compute(WithOne, table)});
  return Reshape(Concat({column, column}, {.axis = -1}), {.shape = Compute(WithTwice, table)});
}

// The pairs turned with tables for pairs: (x0 * cos - x1 * sin, x1 * cos + x0 * sin), and so on.
Rule RotaryOfPairTables(const char* name, bool split, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  Val x("x"), cos("cos"), sin("sin");
  Dim P("P"), Q("Q"), R("R"), half("half");
  Val parts = Split(Reshape(x, {.shape = {P, Q, R, half, 2}}), {.axis = -1, .sizes = {1, 1}});
  auto part = [&](int64_t i) {
    if (split) return Reshape(parts.result(static_cast<int>(i)), {.shape = {P, Q, R, half}});
    return Slice(x, {.axes = {-1}, .starts = {i}, .ends = kAny, .steps = {2}});
  };
  auto column = [&](const Val& v) { return Reshape(v, {.shape = {P, Q, R, half, 1}}); };
  Val even = part(0), odd = part(1);
  Val turned = Concat(
      {column(Sub(Mul(even, cos), Mul(odd, sin))), column(Add(Mul(odd, cos), Mul(even, sin)))},
      {.axis = -1});
  return Rule(name, file, line)
      .Summary(split ? "(x0 * cos - x1 * sin, x1 * cos + x0 * sin) for pairs made by a split"
                     : "… with the pairs made by slices")
      .Match(Reshape(turned, {.shape = {P, Q, R, half + half}}))
      .Where(ShapeIs(x, {P, Q, R, half + half}) &&
             If("cos broadcasts to a half of x", TableBroadcastsTo, even, cos) &&
             If("sin broadcasts to a half of x", TableBroadcastsTo, even, sin) &&
             If("cos has an element for each pair", SameLastExtent, even, cos) &&
             If("sin has an element for each pair", SameLastExtent, even, sin))
      .Replace(fused::Rotary(x, ForPairs(cos), ForPairs(sin), {.interleaved = true}))
      .RequireKernel();
}

// Only the first elements are rotated.
Rule RotaryPartial(const char* name, bool split, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Val x("x"), cos("cos"), sin("sin");
  Attr<bool> interleaved("interleaved");
  Dim r("r"), rest("rest");
  Val parts = Split(x, {.axis = -1, .sizes = {r, rest}});
  Val head =
      split ? parts.result(0) : Slice(x, {.axes = {-1}, .starts = {0}, .ends = {r}, .steps = {1}});
  Val tail =
      split ? parts.result(1) : Slice(x, {.axes = {-1}, .starts = {r}, .ends = kAny, .steps = {1}});
  Val whole =
      Concat({fused::Rotary(head, cos, sin, {.interleaved = interleaved}), tail}, {.axis = -1});
  return Rule(name, file, line)
      .Summary(split ? "… with the parts made by a split"
                     : "a rotation of the first elements, and the others beside it")
      .Match(whole)
      .Where(If("the parts are all of x", SameLastExtent, whole, x))
      // A rotary_dim of 0 means all of them.
      .Where(If(
          "something rotates", [](DimExpr d) { return !d.is_constant(0); }, r))
      .Replace(fused::Rotary(x, cos, sin, {.interleaved = interleaved, .rotary_dim = r}));
}

// A table for [B, H, S, D] with one row for all heads, for [B, S, H, D].
std::optional<Dims> SwappedTable(Value table) {
  const Type t = table.type();
  if (!t.is_tensor() || t.rank() < 2 || t.rank() > 4) return std::nullopt;
  if (t.rank() >= 3 && !t.dim(-3).is_constant(1)) return std::nullopt;
  const DimExpr one = DimExpr::Constant(t.context(), 1);
  return Dims{t.rank() == 4 ? t.dim(0) : one, t.dim(-2), one, t.dim(-1)};
}

// A rotation of transposed heads is done before the transpose, which attention then absorbs.
Rule RotaryOfTranspose() {
  Val x("x"), cos("cos"), sin("sin");
  Attr<bool> interleaved("interleaved");
  Attr<int64_t> rotary_dim("rotary_dim");
  auto swapped = [](const Val& table) {
    return Reshape(table, {.shape = Compute(SwappedTable, table)});
  };
  return Rule("rotary-of-transpose")
      .Summary("a rotation of transposed heads is the transpose of rotated ones")
      .Match(fused::Rotary(Transpose(x, {.perm = {0, 2, 1, 3}}), cos, sin,
                           {.interleaved = interleaved, .rotary_dim = rotary_dim}))
      .Replace(Transpose(fused::Rotary(x, swapped(cos), swapped(sin),
                                       {.interleaved = interleaved, .rotary_dim = rotary_dim}),
                         {.perm = {0, 2, 1, 3}}))
      .Lowers("rotations of transposed heads");
}

}  // namespace

RuleSet RotaryRules() {
  return {RotaryHalves("rotary-halves", false),
          RotaryHalves("rotary-halves-split", true),
          RotaryOfHalfTables("rotary-of-half-tables", false),
          RotaryOfHalfTables("rotary-of-half-tables-split", true),
          RotaryPairs(),
          RotaryOfPairTables("rotary-of-pair-tables", true),
          RotaryOfPairTables("rotary-of-pair-tables-sliced", false),
          RotaryPartial("rotary-partial", false),
          RotaryPartial("rotary-partial-split", true),
          RotaryOfTranspose()};
}

}  // namespace tenon::pattern
