// Rotary embeddings of pairs, with tables for pairs.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::rotary {
namespace {

constexpr int64_t kHeads = 2, kPairs = 3;

V X(Graph& g) { return g.In({B(), kHeads, S(), 2 * kPairs}); }
V Table(Graph& g) { return g.In({S(), kPairs}); }

struct Pair {
  V even, odd;
};

Pair Gathered(Graph& g, const V& x) {
  V pairs = g.Reshape(x, {0, 0, 0, kPairs, 2});
  return {g.Op("Gather", {pairs, g.Index({0}, true)}, {{"axis", int64_t{4}}}),
          g.Op("Gather", {pairs, g.Index({1}, true)}, {{"axis", int64_t{-1}}})};
}

V Strided(Graph& g, const V& x, int64_t start) {
  return g.Op("Slice", {x, g.Index({start}), g.Index({1000}), g.Index({3}), g.Index({2})});
}

Pair Sliced(Graph& g, const V& x) { return {Strided(g, x, 0), Strided(g, x, 1)}; }

// The elements a and b of each pair beside each other again.
void OutPairs(Graph& g, const V& a, const V& b) {
  V pairs = g.Op("Concat", {g.Unsqueeze(a, {-1}), g.Unsqueeze(b, {-1})}, {{"axis", int64_t{-1}}});
  g.Out(g.Reshape(pairs, {0, 0, 0, 2 * kPairs}));
}

void Turn(Graph& g, const Pair& p, const V& cos, const V& sin) {
  OutPairs(g, g.Sub(g.Mul(p.even, cos), g.Mul(p.odd, sin)),
           g.Add(g.Mul(p.odd, cos), g.Mul(p.even, sin)));
}

const Spelling kRotary[] = {
    {"Gathered",
     "fused.rotary ten.concat ten.concat ten.reshape ten.reshape ten.reshape ten.reshape",
     [](Graph& g) { Turn(g, Gathered(g, X(g)), Table(g), Table(g)); }},
    {"Sliced", "fused.rotary ten.concat ten.concat ten.reshape ten.reshape ten.reshape ten.reshape",
     [](Graph& g) { Turn(g, Sliced(g, X(g)), Table(g), Table(g)); }},

    // Near misses.
    {"TurnedBack", "!fused.rotary",
     [](Graph& g) {
       const Pair p = Gathered(g, X(g));
       V cos = Table(g), sin = Table(g);
       OutPairs(g, g.Add(g.Mul(p.even, cos), g.Mul(p.odd, sin)),
                g.Sub(g.Mul(p.odd, cos), g.Mul(p.even, sin)));
     }},
    {"ExchangedPairs", "!fused.rotary",
     [](Graph& g) {
       const Pair p = Gathered(g, X(g));
       Turn(g, {p.odd, p.even}, Table(g), Table(g));
     }},
    {"TablesOfHeads", "!fused.rotary",
     [](Graph& g) {
       const Pair p = Gathered(g, X(g));
       Turn(g, p, g.In({S(), 1}), g.In({S(), 1}));
     }},
};

TENON_SPELLINGS(RotarySpelling, kRotary);

}  // namespace
}  // namespace tenon::spellings::rotary
