// Attention to two groups of keys under one softmax, to global tokens and to those of a block:
// scores beside each other are one product with the keys of both behind each other, and what the
// two groups of values contribute is one product, too. Scales, masks and the softmax between them
// stay.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// Which of two products has the rows of all blocks, [B, H, N * L, D], where the other one has those
// of each, [B, H, N, L, D]: its keys and values are the same for all blocks.
enum class WithoutBlocks { kNeither, kFirst, kSecond };

// The last two extents of a factor [..., rows, columns], or of a transposed one.
Term RowsAndColumns(const Val& factor, const Term& upright) {
  const Term last = Drop(ShapeOf(factor), -2);
  return Choose(upright, last, SwapLast(last));
}

// The batches of `like`, then rows and columns of a factor.
Term OfGroup(const Val& like, const Term& rows_and_columns) {
  return ListOf({Spread(Take(ShapeOf(like), -2)), Spread(rows_and_columns)});
}

// … of one that is the same for all blocks: their axis has the extent 1.
Term OfAllBlocks(const Val& factor, const Term& rows_and_columns) {
  return ListOf({ExtentOf(factor, 0), ExtentOf(factor, 1), 1, Spread(rows_and_columns)});
}

// The last two axes swapped, or not.
Term SwappedPerm(const Val& v, const Attr<bool>& upright) {
  const Term axes = IntegersFrom(0, RankOf(v));
  return Choose(upright, axes, SwapLast(axes));
}

// The right factor of a product as [..., rows, columns] with the batches of `like`.
Val Upright(const Val& factor, const Attr<bool>& upright, const Val& like, bool of_all_blocks) {
  const Term last = RowsAndColumns(factor, upright);
  Val rows = Transpose(factor, {.perm = SwappedPerm(factor, upright)});
  if (of_all_blocks) rows = Reshape(rows, {.shape = OfAllBlocks(factor, last)});
  return Expand(rows, {.shape = OfGroup(like, last)});
}

// Batches of a factor are those of what it stands beside, or 1.
Condition Fits(const Val& factor, const Val& like, bool of_all_blocks) {
  const Term batches = Take(ShapeOf(like), RankOf(factor) - 2);
  return If(of_all_blocks ? "the factor has the batches of all blocks"
                          : "the factor has the batches of the rows",
            BroadcastsTo(Take(ShapeOf(factor), -2), batches) &&
                (of_all_blocks ? RankOf(factor) + 1 : RankOf(factor)) == RankOf(like));
}

// The keys of all blocks, which are copied to each, are no more than twice its rows. Then the
// copies are as nothing beside the products.
Condition FewBesideRows(const Dim& keys, const Dim& rows) {
  return If("the keys of all blocks are at most twice the rows of one",
            IsFixed(keys) && IsFixed(rows) && Compare(keys, "<=", rows * 2));
}

// [q k1^T, q k2^T] = q [k1, k2]^T
Rule JoinedScores(const char* name, WithoutBlocks which, int rank,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val rows("rows"), k("k"), l("l");
  Attr<bool> tk("transposed_k"), tl("transposed_l");
  const bool first = which == WithoutBlocks::kFirst, second = which == WithoutBlocks::kSecond;
  Dim B("B"), H("H"), N("N"), L("L"), D("D"), T("T");
  Val q = first || second ? Reshape(rows, {.shape = {B, H, N, L, D}}) : rows;
  auto product = [&](bool of_all_blocks, const Val& b, const Attr<bool>& transposed) {
    Val made = Matmul(of_all_blocks ? rows : q, b, {.transpose_b = transposed});
    return of_all_blocks ? Reshape(made, {.shape = {B, H, N, L, T}}) : made;
  };
  Val keys = Concat({Upright(k, tk, q, first), Upright(l, tl, q, second)}, {.axis = rank - 2});
  Condition fits = Rank(rows, first || second ? 4 : rank);
  if (first || second) {
    // Of scores without elements a reshape may give any number of keys.
    const Term keys_of_all = RowsAndColumns(first ? k : l, first ? tk : tl)[0];
    fits = fits && ShapeIs(rows, {B, H, N * L, D}) && FewBesideRows(T, L) &&
           If("the scores have a column for each key", keys_of_all == Term(T));
  }
  return Rule(name, file, line)
      .Summary(which == WithoutBlocks::kNeither ? "[q k1^T, q k2^T] = q [k1, k2]^T"
               : first                          ? "… where the first keys are those of all blocks"
                       : "… where the second keys are those of all blocks")
      .Match(Concat({product(first, k, tk), product(second, l, tl)}, {.axis = rank - 1}))
      .Where(fits && IsFloat(rows) && !IsConstant(k) && !IsConstant(l))
      .Where(Fits(k, q, first) && Fits(l, q, second))
      .Replace(Matmul(q, keys, {.transpose_b = true}))
      .Lowers(OpsBefore({"ten.matmul"}, {"ten.concat"}));
}

// p1 v1 + p2 v2 = [p1, p2] [v1, v2]
Rule JoinedValues(const char* name, WithoutBlocks which, int rank,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  Val p("p"), v("v"), u("u");
  const bool first = which == WithoutBlocks::kFirst, second = which == WithoutBlocks::kSecond;
  Dim B("B"), H("H"), N("N"), L("L"), T("T"), U("U"), E("E");
  Val weights = Split(p, {.axis = rank - 1, .sizes = {T, U}});
  auto product = [&](bool of_all_blocks, const Val& part, const Dim& keys, const Val& values) {
    if (!of_all_blocks) return Matmul(part, values);
    Val made = Matmul(Reshape(part, {.shape = {B, H, N * L, keys}}), values);
    return Reshape(made, {.shape = {B, H, N, L, E}});
  };
  auto values = [&](const Val& x, bool of_all_blocks) {
    Val blocks = x;
    if (of_all_blocks) blocks = Reshape(x, {.shape = OfAllBlocks(x, Drop(ShapeOf(x), -2))});
    return Expand(blocks, {.shape = OfGroup(p, Drop(ShapeOf(x), -2))});
  };
  Condition fits = Rank(p, rank);
  if (first || second) {
    fits = fits && ShapeIs(p, {B, H, N, L, T + U}) && FewBesideRows(first ? T : U, L);
  }
  // Sums of products broadcast their columns, values beside each other do not.
  auto shape = [&](const Dim& keys, bool of_all_blocks) {
    std::vector<Dim> dims(static_cast<size_t>(of_all_blocks ? rank - 3 : rank - 2), AnyDim());
    dims.push_back(keys);
    dims.push_back(E);
    return dims;
  };
  fits = fits && ShapeIs(v, shape(T, first)) && ShapeIs(u, shape(U, second));
  return Rule(name, file, line)
      .Summary(which == WithoutBlocks::kNeither ? "p1 v1 + p2 v2 = [p1, p2] [v1, v2]"
               : first ? "… where the first values are those of all blocks"
                       : "… where the second values are those of all blocks")
      .Match(Add(product(first, weights, T, v), product(second, weights.result(1), U, u)))
      .Where(fits && IsFloat(p) && !IsConstant(v) && !IsConstant(u))
      .Where(Fits(v, p, first) && Fits(u, p, second))
      .Replace(Matmul(p, Concat({values(v, first), values(u, second)}, {.axis = rank - 2})))
      .Lowers(OpsOf({"ten.add"}));
}

}  // namespace

RuleSet JoinedKeysRules() {
  return {JoinedScores("joined-scores", WithoutBlocks::kNeither, 4),
          JoinedScores("joined-scores-of-blocks", WithoutBlocks::kNeither, 5),
          JoinedScores("joined-scores-first-of-all", WithoutBlocks::kFirst, 5),
          JoinedScores("joined-scores-second-of-all", WithoutBlocks::kSecond, 5),
          JoinedValues("joined-values", WithoutBlocks::kNeither, 4),
          JoinedValues("joined-values-of-blocks", WithoutBlocks::kNeither, 5),
          JoinedValues("joined-values-first-of-all", WithoutBlocks::kFirst, 5),
          JoinedValues("joined-values-second-of-all", WithoutBlocks::kSecond, 5)};
}

}  // namespace tenon::pattern
