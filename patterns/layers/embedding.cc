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

Rule EmbeddingOfTwo() {
  Lookup a("ids", "table"), b("ids1", "table1");
  return Rule("embedding-of-two")
      .Summary("the sum of two lookups")
      .Match(Add(a.rows(), b.rows()))
      .Where(a.valid() && b.valid())
      .Replace(fused::Embedding(a.ids, a.table, b.ids, b.table, {}, {}, {}, {}, {}))
      .RequireKernel();
}

Rule EmbeddingAndValue() {
  Lookup a("ids", "table");
  Val added = Const("added");
  Val rows = a.rows();
  return Rule("embedding-and-value")
      .Summary("a lookup plus a constant, such as the embeddings of fixed positions")
      .Match(Add(rows, added))
      .Where(a.valid())
      .Replace(fused::Embedding(a.ids, a.table, {}, {}, {}, {}, added, {}, {}))
      .RequireKernel();
}

Rule EmbeddingSecond() {
  Lookup a("ids", "table"), b("ids1", "table1");
  Val added("added");
  return Rule("embedding-second")
      .Summary("an embedding with a constant plus a lookup")
      .Match(Add(fused::Embedding(a.ids, a.table, {}, {}, {}, {}, added, {}, {}, {.epsilon = kAny}),
                 b.rows()))
      .Where(b.valid())
      .Replace(fused::Embedding(a.ids, a.table, b.ids, b.table, {}, {}, added, {}, {}))
      .RequireKernel();
}

Rule EmbeddingThird() {
  Lookup a("ids", "table"), b("ids1", "table1"), c("ids2", "table2");
  Val added("added");
  return Rule("embedding-third")
      .Summary("an embedding of two tables plus a lookup")
      .Match(Add(fused::Embedding(a.ids, a.table, b.ids, b.table, {}, {}, Maybe(added), {}, {},
                                  {.epsilon = kAny}),
                 c.rows()))
      .Where(c.valid())
      .Replace(fused::Embedding(a.ids, a.table, b.ids, b.table, c.ids, c.table, added, {}, {}))
      .RequireKernel();
}

Rule EmbeddingAdded() {
  Lookup a("ids", "table"), b("ids1", "table1"), c("ids2", "table2");
  Val added = Const("added");
  return Rule("embedding-added")
      .Summary("an embedding of tables plus a constant")
      .Match(Add(fused::Embedding(a.ids, a.table, b.ids, b.table, Maybe(c.ids), Maybe(c.table), {},
                                  {}, {}, {.epsilon = kAny}),
                 added))
      .Replace(fused::Embedding(a.ids, a.table, b.ids, b.table, c.ids, c.table, added, {}, {}))
      .RequireKernel();
}

// The norm of a sum of embeddings, and the sum for whoever else needs it.
Rule EmbeddingNorm(const char* name, bool layer, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  Lookup a("ids", "table"), b("ids1", "table1"), c("ids2", "table2");
  Val added("added"), w("w"), bias("bias");
  Attr<int64_t> axis("axis");
  Attr<float> epsilon("epsilon");
  Val sum = fused::Embedding(a.ids, a.table, Maybe(b.ids), Maybe(b.table), Maybe(c.ids),
                             Maybe(c.table), Maybe(added), {}, {}, {.epsilon = kAny});
  Val norm = layer ? LayerNorm(sum, Maybe(w), Maybe(bias), {.axis = axis, .epsilon = epsilon})
                   : RmsNorm(sum, Maybe(w), {.axis = axis, .epsilon = epsilon});
  Val fused = fused::Embedding(a.ids, a.table, b.ids, b.table, c.ids, c.table, added, w,
                               layer ? OptVal(bias) : OptVal(),
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
  Val fused =
      fused::Embedding(a.ids, a.table, {}, {}, {}, {}, {}, w, layer ? OptVal(bias) : OptVal(),
                       {.norm = layer ? "layer" : "rms", .epsilon = epsilon});
  return Rule(name, file, line)
      .Summary("the norm of an embedding, and the embedding")
      .Match({norm, rows})
      .Where(a.valid() && If("the last axis is normalized", axis == RankOf(rows) - 1))
      .Replace({fused, fused.result(1)})
      .RequireKernel();
}

}  // namespace

RuleSet EmbeddingRules() {
  return {EmbeddingOfTwo(),
          EmbeddingAndValue(),
          EmbeddingSecond(),
          EmbeddingThird(),
          EmbeddingAdded(),
          EmbeddingNorm("embedding-layer-norm", true),
          EmbeddingNorm("embedding-rms-norm", false),
          LookupNorm("lookup-layer-norm", true),
          LookupNorm("lookup-rms-norm", false)};
}

}  // namespace tenon::pattern
