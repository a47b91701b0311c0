// Embeddings: the sum of rows looked up in tables, and the norm that follows, in one op. It grows
// by one summand at a time, in whatever order they are added.
#include "patterns/prelude.h"

namespace tenon::pattern {
namespace {

// A row of a constant table for each index.
struct Lookup {
  Val ids, table;
  Lookup(const char* ids_name, const char* table_name) : ids(ids_name), table(Const(table_name)) {}
  Val rows() const { return Gather(table, ids); }
  Condition valid() const { return Rank(table, 2); }
};

// Rows of another length would repeat one element.
Condition WholeRows(const Val& sum, const Val& part) {
  return If("the rows are as long as those of the sum", ExtentOf(sum, -1) == ExtentOf(part, -1));
}

// The sum of rows of `lookups`, pairs of ids and tables, as it is before a norm.
Val SumOf(const ValList& lookups, const OptVal& added) {
  return fused::Embedding(added, {}, {}, lookups, {.epsilon = kAny});
}

Rule EmbeddingOfTwo() {
  Lookup a("ids", "table"), b("ids1", "table1");
  Val first = a.rows(), second = b.rows(), sum = Add(first, second);
  return Rule("embedding-of-two")
      .Summary("the sum of two lookups")
      .Match(sum)
      .Where(a.valid() && b.valid() && WholeRows(sum, first) && WholeRows(sum, second))
      .Replace(fused::Embedding({}, {}, {}, {a.ids, a.table, b.ids, b.table}))
      .RequireKernel();
}

Rule EmbeddingAndValue() {
  Lookup a("ids", "table");
  Val added = Const("added");
  Val rows = a.rows(), sum = Add(rows, added);
  return Rule("embedding-and-value")
      .Summary("a lookup plus a constant, such as the embeddings of fixed positions")
      .Match(sum)
      .Where(a.valid() && WholeRows(sum, rows))
      .Replace(fused::Embedding(added, {}, {}, {a.ids, a.table}))
      .RequireKernel();
}

Rule EmbeddingMore() {
  Lookup b("ids", "table");
  Val added("added"), lookups = Each("lookups");
  Val before = SumOf(lookups, Maybe(added)), rows = b.rows(), sum = Add(before, rows);
  return Rule("embedding-more")
      .Summary("an embedding plus a lookup, whatever the number of tables")
      .Match(sum)
      .Where(b.valid() && WholeRows(sum, before) && WholeRows(sum, rows))
      .Replace(fused::Embedding(added, {}, {}, {lookups, b.ids, b.table}))
      .RequireKernel();
}

// Sums of lookups in two branches.
Rule EmbeddingOfEmbeddings() {
  Val added("added"), lookups = Each("lookups"), more = Each("more");
  Val first = SumOf(lookups, Maybe(added)), second = SumOf(more, {}), sum = Add(first, second);
  return Rule("embedding-of-embeddings")
      .Summary("the sum of two sums of lookups")
      .Match(sum)
      .Where(WholeRows(sum, first) && WholeRows(sum, second))
      .Replace(fused::Embedding(added, {}, {}, {lookups, more}))
      .RequireKernel();
}

Rule EmbeddingAdded() {
  Val added = Const("added"), lookups = Each("lookups");
  Val before = SumOf(lookups, {}), sum = Add(before, added);
  return Rule("embedding-added")
      .Summary("an embedding of tables plus a constant")
      .Match(sum)
      .Where(WholeRows(sum, before))
      .Replace(fused::Embedding(added, {}, {}, lookups))
      .RequireKernel();
}

// The norm of a sum of embeddings, and the sum for whoever else needs it.
Rule EmbeddingNorm(const char* name, bool layer, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Val added("added"), w("w"), bias("bias"), lookups = Each("lookups");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val sum = SumOf(lookups, Maybe(added));
  Val norm = layer ? LayerNorm(sum, Maybe(w), Maybe(bias), {.axis = axis, .epsilon = epsilon})
                   : RmsNorm(sum, Maybe(w), {.axis = axis, .epsilon = epsilon});
  Val fused = fused::Embedding(added, w, layer ? OptVal(bias) : OptVal(), lookups,
                               {.norm = layer ? "layer" : "rms", .epsilon = epsilon});
  return Rule(name, file, line)
      .Summary("the norm of a sum of embeddings, and the sum")
      .Match({norm, sum})
      .Where(If("the last axis is normalized", axis == RankOf(sum) - 1))
      .Replace({fused, fused.result(1)})
      .RequireKernel();
}

// The same for a single lookup.
Rule LookupNorm(const char* name, bool layer, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  Lookup a("ids", "table");
  Val w("w"), bias("bias");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val rows = a.rows();
  Val norm = layer ? LayerNorm(rows, Maybe(w), Maybe(bias), {.axis = axis, .epsilon = epsilon})
                   : RmsNorm(rows, Maybe(w), {.axis = axis, .epsilon = epsilon});
  Val fused = fused::Embedding({}, w, layer ? OptVal(bias) : OptVal(), {a.ids, a.table},
                               {.norm = layer ? "layer" : "rms", .epsilon = epsilon});
  return Rule(name, file, line)
      .Summary("the norm of an embedding, and the embedding")
      .Match({norm, rows})
      .Where(a.valid() && If("the last axis is normalized", axis == RankOf(rows) - 1))
      .Replace({fused, fused.result(1)})
      .RequireKernel();
}

// Bags of words: the sum or the mean of the rows along an axis of the ids.
Rule EmbeddingPool(const char* name, bool mean, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Lookup a("ids", "table");
  Attr<I64s> axes("axes");
  const Val rows = a.rows();
  const Val root = mean ? ReduceMean(rows, {.axes = axes, .keepdims = kAny})
                        : ReduceSum(rows, {.axes = axes, .keepdims = kAny});
  return Rule(name, file, line)
      .Summary(mean ? "the mean of looked-up rows" : "the sum of looked-up rows")
      .Match(root)
      .Where(a.valid() &&
             If("the axis is one of the ids", LengthOf(axes) == 1 && Term(axes)[0] < RankOf(a.ids)))
      .Replace(Reshape(fused::EmbeddingPool(a.ids, a.table, {.axis = Term(axes)[0], .mean = mean}),
                       {.shape = Known(ShapeOf(root))}))
      .Lowers(OpsOf({mean ? "ten.reduce_mean" : "ten.reduce_sum"}))
      .RequireKernel();
}

}  // namespace

RuleSet EmbeddingRules() {
  return {EmbeddingOfTwo(),
          EmbeddingAndValue(),
          EmbeddingMore(),
          EmbeddingOfEmbeddings(),
          EmbeddingAdded(),
          EmbeddingNorm("embedding-layer-norm", true),
          EmbeddingNorm("embedding-rms-norm", false),
          LookupNorm("lookup-layer-norm", true),
          LookupNorm("lookup-rms-norm", false),
          EmbeddingPool("embedding-sum", false),
          EmbeddingPool("embedding-mean", true)};
}

}  // namespace tenon::pattern
