// Rotary position embeddings from their parts, and out of the way of attention.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

Condition SameLastExtent(const char* words, const Val& a, const Val& b) {
  return If(words, ExtentOf(a, -1) == ExtentOf(b, -1));
}

// The table broadcasts to x, so that it is x that is rotated.
Condition TableBroadcastsTo(const char* words, const Val& x, const Val& table) {
  return If(words, BroadcastsTo(ShapeOf(table), ShapeOf(x)));
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
  Dim half("Half");
  const Parts parts = Halves(x, split, half);
  Val turned = Concat({Neg(parts.second), parts.first}, {.axis = -1});
  return Rule(name, file, line)
      .Summary(split ? "… with the halves made by a split" : "x * cos + concat(-x2, x1) * sin")
      .Match(Add(Mul(x, cos), Mul(turned, sin)))
      .Where(SameLastExtent("the halves are equal", parts.first, parts.second) &&
             SameLastExtent("the halves are all of x", turned, x) &&
             TableBroadcastsTo("cos broadcasts to x", x, cos) &&
             TableBroadcastsTo("sin broadcasts to x", x, sin))
      .Replace(fused::Rotary(x, cos, sin))
      .RequireKernel();
}

// The halves turned with tables for one half: concat(x1 * cos - x2 * sin, x2 * cos + x1 * sin).
Rule RotaryOfHalfTables(const char* name, bool split, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  Val x("x"), cos("cos"), sin("sin");
  Dim half("Half");
  const Parts parts = Halves(x, split, half);
  Val turned = Concat({Sub(Mul(parts.first, cos), Mul(parts.second, sin)),
                       Add(Mul(parts.second, cos), Mul(parts.first, sin))},
                      {.axis = -1});
  return Rule(name, file, line)
      .Summary(split ? "… with the halves made by a split"
                     : "concat(x1 * cos - x2 * sin, x2 * cos + x1 * sin)")
      .Match(turned)
      .Where(SameLastExtent("the halves are equal", parts.first, parts.second) &&
             SameLastExtent("the halves are all of x", turned, x) &&
             TableBroadcastsTo("cos broadcasts to a half of x", parts.first, cos) &&
             TableBroadcastsTo("sin broadcasts to a half of x", parts.first, sin) &&
             SameLastExtent("cos has an element for each pair", parts.first, cos) &&
             SameLastExtent("sin has an element for each pair", parts.first, sin))
      .Replace(fused::Rotary(x, Concat({cos, cos}, {.axis = -1}), Concat({sin, sin}, {.axis = -1})))
      .RequireKernel();
}

// x * cos + interleave(-x_odd, x_even) * sin
Rule RotaryPairs() {
  Val x("x"), cos("cos"), sin("sin");
  Val even = Slice(x, {.axes = {-1}, .starts = {0}, .ends = kAny, .steps = {2}});
  Val odd = Slice(x, {.axes = {-1}, .starts = {1}, .ends = kAny, .steps = {2}});
  Dim P("P"), Q("Q"), R("R"), half("Half");
  auto last = [&](const Val& v) { return Reshape(v, {.shape = {P, Q, R, half, 1}}); };
  Val first = AnyOf(last(Neg(odd)), Neg(last(odd)));
  Val turned =
      Reshape(Concat({first, last(even)}, {.axis = -1}), {.shape = {P, Q, R, half + half}});
  return Rule("rotary-pairs")
      .Summary("x * cos + the pairs of x turned, (-x1, x0, -x3, x2, ...), * sin")
      .Match(Add(Mul(x, cos), Mul(turned, sin)))
      .Where(ShapeIs(x, {P, Q, R, half + half}) &&
             TableBroadcastsTo("cos broadcasts to x", x, cos) &&
             TableBroadcastsTo("sin broadcasts to x", x, sin))
      .Replace(fused::Rotary(x, cos, sin, {.interleaved = true}))
      .RequireKernel();
}

// A table of both elements of each pair, from one for pairs, which has this shape.
Val ForPairs(const Val& table, const Term& shape) {
  Val column = Reshape(table, {.shape = ListOf({Spread(shape), 1})});
  return Reshape(Concat({column, column}, {.axis = -1}),
                 {.shape = ListOf({Spread(Take(shape, -1)), shape[-1] * 2})});
}
Val ForPairs(const Val& table) { return ForPairs(table, ShapeOf(table)); }

// The pairs turned with tables for pairs: (x0 * cos - x1 * sin, x1 * cos + x0 * sin), and so on.
Rule RotaryOfPairTables(const char* name, bool split, const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  Val x("x"), cos("cos"), sin("sin");
  Dim P("P"), Q("Q"), R("R"), half("Half");
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
             TableBroadcastsTo("cos broadcasts to a half of x", even, cos) &&
             TableBroadcastsTo("sin broadcasts to a half of x", even, sin) &&
             SameLastExtent("cos has an element for each pair", even, cos) &&
             SameLastExtent("sin has an element for each pair", even, sin))
      .Replace(fused::Rotary(x, ForPairs(cos), ForPairs(sin), {.interleaved = true}))
      .RequireKernel();
}

// The operator of ONNX: tables for pairs, of which each position takes a row. `joined`: the heads
// are not split.
Rule RotaryEmbedding(const std::string& name, bool joined, bool positions, bool interleaved,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val x("x"), cos("cos"), sin("sin"), ids("ids");
  Attr<int64_t> num_heads("num_heads"), rotary_dim("rotary_dim");
  // A gather counts negative positions from the end, which the operator refuses.
  const Val checked = positions ? ten::CheckRange(ids, Splat(0), Splat(ExtentOf(cos, 0) - 1),
                                                  {.what = "a position of nn.rotary_embedding"})
                                : ids;
  const auto table = [&](const Val& half) {
    const Val rows = positions ? Gather(half, checked, {.axis = 0}) : half;
    const Term shape =
        positions ? ListOf({Spread(ShapeOf(ids)), ExtentOf(half, -1)}) : ShapeOf(half);
    const Val whole = interleaved ? ForPairs(rows, shape) : Concat({rows, rows}, {.axis = -1});
    const Term batch = ExtentOf(positions ? ids : half, 0), length = ExtentOf(x, joined ? 1 : 2),
               columns = ExtentOf(half, -1) * 2;
    return Reshape(whole, {.shape = joined ? ListOf({batch, length, 1, columns})
                                           : ListOf({batch, 1, length, columns})});
  };
  const AttrArg<int64_t> heads = joined ? AttrArg<int64_t>(num_heads) : AttrArg<int64_t>(kAny);
  Val rotary = nn::RotaryEmbedding(
      x, cos, sin, positions ? OptVal(ids) : OptVal(),
      {.interleaved = interleaved, .num_heads = heads, .rotary_dim = rotary_dim});
  const Term split =
      ListOf({ExtentOf(x, 0), ExtentOf(x, 1), num_heads, ExtentOf(x, 2) / Term(num_heads)});
  Val rotated = fused::Rotary(joined ? Reshape(x, {.shape = split}) : x, table(cos), table(sin),
                              {.interleaved = interleaved, .rotary_dim = rotary_dim});
  return Rule(name, file, line)
      .Summary("the rotary embedding of ONNX, with tables for all elements")
      .Match(rotary)
      .Where(Rank(x, joined ? 3 : 4))
      .Replace(joined ? Reshape(rotated, {.shape = ShapeOf(x)}) : rotated)
      .Lowers(OpsOf({"nn.rotary_embedding"}))
      .RequireKernel();
}

void AddRotaryEmbeddings(RuleSet& rules) {
  for (const bool joined : {false, true}) {
    for (const bool positions : {false, true}) {
      for (const bool interleaved : {false, true}) {
        rules.push_back(RotaryEmbedding(
            std::string("rotary-embedding") + (joined ? "-of-joined-heads" : "") +
                (positions ? "-at-positions" : "") + (interleaved ? "-of-pairs" : ""),
            joined, positions, interleaved));
      }
    }
  }
}

// Only the first elements are rotated.
Rule RotaryPartial(const char* name, bool split, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Val x("x"), cos("cos"), sin("sin");
  Attr<bool> interleaved("interleaved");
  Dim r("R"), rest("Rest");
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
      .Where(SameLastExtent("the parts are all of x", whole, x))
      // A rotary_dim of 0 means all of them.
      .Where(If("something rotates", IsNotNumber(r, 0)))
      .Replace(fused::Rotary(x, cos, sin, {.interleaved = interleaved, .rotary_dim = r}));
}

// A table for [B, H, S, D] with one row for all heads, for [B, S, H, D].
Term SwappedTable(const Val& table) {
  const Term shape = Padded(ShapeOf(table), 4);
  return Choose(Compare(shape[1], "==", 1),
                ListOf({shape[0], ExtentOf(table, -2), 1, ExtentOf(table, -1)}));
}

// A rotation of transposed heads is done before the transpose, which attention then absorbs.
Rule RotaryOfTranspose() {
  Val x("x"), cos("cos"), sin("sin");
  Attr<bool> interleaved("interleaved");
  Attr<int64_t> rotary_dim("rotary_dim");
  auto swapped = [](const Val& table) { return Reshape(table, {.shape = SwappedTable(table)}); };
  return Rule("rotary-of-transpose")
      .Summary("a rotation of transposed heads is the transpose of rotated ones")
      .Match(fused::Rotary(Transpose(x, {.perm = {0, 2, 1, 3}}), cos, sin,
                           {.interleaved = interleaved, .rotary_dim = rotary_dim}))
      .Replace(Transpose(fused::Rotary(x, swapped(cos), swapped(sin),
                                       {.interleaved = interleaved, .rotary_dim = rotary_dim}),
                         {.perm = {0, 2, 1, 3}}))
      .Lowers(OpsBefore({"ten.transpose"}, {"fused.rotary"}));
}

}  // namespace

RuleSet RotaryRules() {
  RuleSet rules = {RotaryHalves("rotary-halves", false),
                   RotaryHalves("rotary-halves-split", true),
                   RotaryOfHalfTables("rotary-of-half-tables", false),
                   RotaryOfHalfTables("rotary-of-half-tables-split", true),
                   RotaryPairs(),
                   RotaryOfPairTables("rotary-of-pair-tables", true),
                   RotaryOfPairTables("rotary-of-pair-tables-sliced", false),
                   RotaryPartial("rotary-partial", false),
                   RotaryPartial("rotary-partial-split", true),
                   RotaryOfTranspose()};
  AddRotaryEmbeddings(rules);
  return rules;
}

}  // namespace tenon::pattern
