// Attention whose keys and values are put behind those of the past, as decoders with a cache do it.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::past {
namespace {

constexpr int64_t kHeads = 2, kSize = 4, kHidden = kHeads * kSize;

Extent P() { return {"past", 3}; }
Extent T() { return {"total", 8}; }

V X(Graph& g) { return g.In({B(), S(), kHidden}); }
V Past(Graph& g, int64_t heads = kHeads) { return g.In({B(), heads, P(), kSize}); }
V Split(Graph& g, const V& x, int64_t heads) { return g.Reshape(x, {0, 0, heads, kSize}); }
// [B, heads, S, size] of a projection of x.
V Heads(Graph& g, const V& x, int64_t heads = kHeads) {
  V projected = g.Op("MatMul", {x, g.Param({kHidden, heads * kSize}, -0.5, 0.5)});
  return g.Transpose(Split(g, projected, heads), {0, 2, 1, 3});
}
V Append(Graph& g, const V& past, const V& now, int64_t axis = -2) {
  return g.Op("Concat", {past, now}, {{"axis", g.style().positive_axes ? axis + 4 : axis}});
}

V Swapped(Graph& g, const V& x) { return g.Transpose(x, {0, 1, 3, 2}); }
V Merged(Graph& g, const V& x) { return g.Reshape(g.Transpose(x, {0, 2, 1, 3}), {0, 0, kHidden}); }
// softmax(q · keys * scale + mask) · v with the heads merged; keys [B, heads, size, T].
V Attend(Graph& g, const V& q, const V& keys, const V& values, const V& mask = "") {
  V scores = g.Mul(g.Op("MatMul", {q, keys}), 0.5);
  if (mask.is_number || !mask.name.empty()) scores = g.Add(scores, mask);
  V weights = g.Op("Softmax", {scores}, {{"axis", g.style().positive_axes ? int64_t{3} : -1}});
  return Merged(g, g.Op("MatMul", {weights, values}));
}

struct Cache {
  V keys, values;
};
void Present(Graph& g, const Cache& c) {
  g.Out(c.keys);
  g.Out(c.values);
}

// q of x, and keys and values of x behind those of the past.
void Decoder(Graph& g, bool is_present) {
  V x = X(g), q = Heads(g, x);
  Cache c = {Append(g, Past(g), Heads(g, x)), Append(g, Past(g), Heads(g, x))};
  g.Out(Attend(g, q, Swapped(g, c.keys), c.values));
  if (is_present) Present(g, c);
}

V Turned(Graph& g, const V& x, const V& cos, const V& sin) {
  const std::vector<V> halves = g.Halves(x, -1, kSize);
  V turned = g.Op("Concat", {g.Op("Neg", {halves[1]}), halves[0]}, {{"axis", int64_t{-1}}});
  return g.Add(g.Mul(x, cos), g.Mul(turned, sin));
}

// Each of the heads for all heads of the queries.
V Repeated(Graph& g, const V& x) {
  V wide = g.Op("Expand", {g.Unsqueeze(x, {2}), g.Index({1, 1, kHeads, 1, 1})});
  return g.Reshape(wide, {0, kHeads, -1, kSize});
}

const Spelling kPast[] = {
    {"Appended", "fused.attention fused.linear", [](Graph& g) { Decoder(g, true); }},
    {"PresentIsNoOutput", "fused.attention fused.linear", [](Graph& g) { Decoder(g, false); }},
    {"Masked", "fused.attention fused.linear",
     [](Graph& g) {
       V x = X(g), q = Heads(g, x), mask = g.In({B(), 1, S(), T()});
       V past = Past(g), now = Heads(g, x);
       Cache c = {Append(g, past, now), Append(g, Past(g), Heads(g, x))};
       g.Out(Attend(g, q, Swapped(g, c.keys), c.values, mask));
       Present(g, c);
     }},
    {"KeysTransposedBefore", "fused.attention fused.linear",
     [](Graph& g) {
       V x = X(g), q = Heads(g, x);
       V keys = Append(g, Swapped(g, Past(g)), Swapped(g, Heads(g, x)), -1);
       V values = Append(g, Past(g), Heads(g, x));
       g.Out(Attend(g, q, keys, values));
       Present(g, {Swapped(g, keys), values});
     }},
    {"OneProduct", "fused.attention fused.linear",
     [](Graph& g) {
       V qkv = g.Op("MatMul", {X(g), g.Param({kHidden, 3 * kHidden}, -0.5, 0.5)});
       const auto part = [&](int64_t i) {
         V columns = g.Slice(qkv, i * kHidden, (i + 1) * kHidden, -1);
         return g.Transpose(Split(g, columns, kHeads), {0, 2, 1, 3});
       };
       V q = part(0);
       Cache c = {Append(g, Past(g), part(1)), Append(g, Past(g), part(2))};
       g.Out(Attend(g, q, Swapped(g, c.keys), c.values));
       Present(g, c);
     }},
    {"PastOfBoth",
     "fused.attention fused.linear ten.concat ten.reshape ten.reshape ten.reshape ten.reshape "
     "ten.split",
     [](Graph& g) {
       V x = X(g), q = Heads(g, x), past = g.In({2, B(), kHeads, P(), kSize});
       const auto of = [&](int64_t i) {
         return g.Op("Gather", {past, g.Index({i}, true)}, {{"axis", int64_t{0}}});
       };
       Cache c = {Append(g, of(0), Heads(g, x)), Append(g, of(1), Heads(g, x))};
       g.Out(Attend(g, q, Swapped(g, c.keys), c.values));
       g.Out(g.Op("Concat", {g.Unsqueeze(c.keys, {0}), g.Unsqueeze(c.values, {0})},
                  {{"axis", int64_t{0}}}));
     }},
    {"SharedHeads",
     "fused.attention fused.linear fused.linear fused.linear ten.reshape ten.reshape",
     [](Graph& g) {
       V x = X(g), q = Heads(g, x);
       Cache c = {Append(g, Past(g, 1), Heads(g, x, 1)), Append(g, Past(g, 1), Heads(g, x, 1))};
       g.Out(Attend(g, q, Swapped(g, Repeated(g, c.keys)), Repeated(g, c.values)));
       Present(g, c);
     }},
    {"KeysTurnedBefore",
     "fused.attention fused.linear fused.linear fused.linear fused.rotary fused.rotary ten.reshape "
     "ten.reshape ten.reshape ten.reshape",
     [](Graph& g) {
       V x = X(g), cos = g.In({S(), kSize}), sin = g.In({S(), kSize});
       V q = Turned(g, Heads(g, x), cos, sin), k = Turned(g, Heads(g, x), cos, sin);
       Cache c = {Append(g, Past(g), k), Append(g, Past(g), Heads(g, x))};
       g.Out(Attend(g, q, Swapped(g, c.keys), c.values));
       Present(g, c);
     }},
    {"KeysScaledAfter", "fused.attention fused.linear",
     [](Graph& g) {
       V x = X(g), q = Heads(g, x);
       Cache c = {Append(g, Past(g), Heads(g, x)), Append(g, Past(g), Heads(g, x))};
       g.Out(Attend(g, q, g.Mul(Swapped(g, c.keys), 0.7), c.values));
       Present(g, c);
     }},
    {"UsedElsewhere", "fused.attention fused.linear nn.softmax",
     [](Graph& g) {
       V x = X(g), q = Heads(g, x);
       Cache c = {Append(g, Past(g), Heads(g, x)), Append(g, Past(g), Heads(g, x))};
       g.Out(Attend(g, q, Swapped(g, c.keys), c.values));
       g.Out(g.Op("Softmax", {c.keys}, {{"axis", int64_t{3}}}));
     }},
    {"Attention23", "fused.attention fused.linear",
     [](Graph& g) {
       V x = X(g);
       const auto project = [&] {
         return g.Op("MatMul", {x, g.Param({kHidden, kHidden}, -0.5, 0.5)});
       };
       V q = project(), k = project(), v = project();
       const std::vector<V> made =
           g.Ops("Attention", {q, k, v, "", Past(g), Past(g)}, 3,
                 {{"q_num_heads", kHeads}, {"kv_num_heads", kHeads}, {"is_causal", int64_t{1}}});
       for (const V& result : made) g.Out(result);
     },
     23},

    // Near misses: the keys are a concatenation of their own.
    {"OnlyKeysAppended",
     "fused.attention fused.linear fused.linear ten.concat ten.reshape ten.transpose",
     [](Graph& g) {
       V x = X(g), q = Heads(g, x), keys = Append(g, Past(g), Heads(g, x));
       g.Out(Attend(g, q, Swapped(g, keys), g.In({B(), kHeads, T(), kSize})));
       g.Out(keys);
     }},
    {"AlongTheHeads",
     "fused.attention fused.linear fused.linear fused.linear ten.concat ten.concat ten.reshape "
     "ten.reshape",
     [](Graph& g) {
       V x = X(g), q = Heads(g, x);
       const auto past = [&] { return g.In({B(), 1, S(), kSize}); };
       Cache c = {Append(g, past(), Heads(g, x, 1), -3), Append(g, past(), Heads(g, x, 1), -3)};
       g.Out(Attend(g, q, Swapped(g, c.keys), c.values));
       Present(g, c);
     }},
    {"ThreeParts",
     "fused.attention fused.linear fused.linear fused.linear ten.concat ten.concat ten.reshape "
     "ten.reshape ten.transpose ten.transpose",
     [](Graph& g) {
       V x = X(g), q = Heads(g, x);
       const auto append = [&] {
         return g.Op("Concat", {Past(g), Heads(g, x), g.In({B(), kHeads, 2, kSize})},
                     {{"axis", int64_t{2}}});
       };
       Cache c = {append(), append()};
       g.Out(Attend(g, q, Swapped(g, c.keys), c.values));
       Present(g, c);
     }},
    {"OtherLengths", "fused.attention fused.linear ten.concat ten.concat",
     [](Graph& g) {
       V q = Heads(g, X(g));
       const auto part = [&](int64_t rows) { return g.In({B(), kHeads, rows, kSize}); };
       Cache c = {Append(g, part(3), part(4)), Append(g, part(2), part(5))};
       g.Out(Attend(g, q, Swapped(g, c.keys), c.values));
       Present(g, c);
     }},
};

TENON_SPELLINGS(PastSpelling, kPast);

}  // namespace
}  // namespace tenon::spellings::past
