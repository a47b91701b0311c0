// Two whole layers of a decoder without a past, as exporters write them: with rotary embeddings by
// the operator of ONNX or of ONNX Runtime, gates whose two products are one, and others.
#include "tests/spellings/spelling.h"

namespace tenon::spellings::layers {
namespace {

constexpr int64_t kHeads = 4, kSize = 4, kHidden = kHeads * kSize, kInner = 24, kPositions = 16;

enum class Rotary { kNone, kOnnx, kMicrosoft, kJoinedMicrosoft };
enum class Inner { kRelu, kGeluErf, kGeluTanh, kGate, kPackedGate };

struct Kind {
  bool rms = false, biased = true;
  int64_t kv_heads = kHeads;
  Rotary rotary = Rotary::kNone;
  bool interleaved = false;
  Inner inner = Inner::kGeluErf;
};

V Linear(Graph& g, const V& x, int64_t rows, int64_t columns, bool biased) {
  V product = g.Op("MatMul", {x, g.Param({rows, columns}, -0.4, 0.4)});
  return biased ? g.Add(product, g.Param({columns}, -0.2, 0.2)) : product;
}

V Norm(Graph& g, const V& x, bool rms) {
  V off = rms ? x : g.Sub(x, g.Mean(x));
  V deviation = g.Op("Sqrt", {g.Add(g.Mean(g.Pow(off, 2)), 1e-5)});
  V normed = g.Mul(g.Div(off, deviation), g.Param({kHidden}, 0.8, 1.2));
  return rms ? normed : g.Add(normed, g.Param({kHidden}, -0.1, 0.1));
}

// [B, heads, S, size]
V Heads(Graph& g, const V& rows, int64_t heads) {
  return g.Transpose(g.Reshape(rows, {0, 0, heads, kSize}), {0, 2, 1, 3});
}

struct Tables {
  V ids, cos, sin;
};

V Turned(Graph& g, const Kind& kind, const Tables& t, const V& x, int64_t heads) {
  const int64_t flag = kind.interleaved ? 1 : 0;
  switch (kind.rotary) {
    case Rotary::kNone:
      return Heads(g, x, heads);
    case Rotary::kOnnx:
      return g.Op("RotaryEmbedding", {Heads(g, x, heads), t.cos, t.sin, t.ids},
                  {{"interleaved", flag}});
    case Rotary::kMicrosoft:
      return g.Op("com.microsoft::RotaryEmbedding", {Heads(g, x, heads), t.ids, t.cos, t.sin},
                  {{"interleaved", flag}});
    case Rotary::kJoinedMicrosoft:
      return Heads(g,
                   g.Op("com.microsoft::RotaryEmbedding", {x, t.ids, t.cos, t.sin},
                        {{"interleaved", flag}, {"num_heads", heads}}),
                   heads);
  }
  return x;
}

// Each of the heads for as many heads of the queries.
V Repeated(Graph& g, const V& x, int64_t heads) {
  if (heads == kHeads) return x;
  V wide = g.Op("Expand", {g.Unsqueeze(x, {2}), g.Index({1, 1, kHeads / heads, 1, 1})});
  return g.Reshape(wide, {0, kHeads, -1, kSize});
}

V Attend(Graph& g, const Kind& kind, const Tables& t, const V& x) {
  const int64_t kv = kind.kv_heads;
  V q = Turned(g, kind, t, Linear(g, x, kHidden, kHidden, kind.biased), kHeads);
  V k = Turned(g, kind, t, Linear(g, x, kHidden, kv * kSize, kind.biased), kv);
  V v = Heads(g, Linear(g, x, kHidden, kv * kSize, kind.biased), kv);
  V keys = g.Transpose(Repeated(g, k, kv), {0, 1, 3, 2});
  V weights = g.Op("Softmax", {g.Mul(g.Op("MatMul", {q, keys}), 0.5)}, {{"axis", int64_t{3}}});
  V merged = g.Transpose(g.Op("MatMul", {weights, Repeated(g, v, kv)}), {0, 2, 1, 3});
  return Linear(g, g.Reshape(merged, {0, 0, kHidden}), kHidden, kHidden, kind.biased);
}

V Silu(Graph& g, const V& x) { return g.Mul(x, g.Op("Sigmoid", {x})); }

V Forward(Graph& g, const Kind& kind, const V& x) {
  const auto rows = [&](int64_t columns) { return Linear(g, x, kHidden, columns, kind.biased); };
  V inner = "";
  switch (kind.inner) {
    case Inner::kRelu:
      inner = g.Op("Relu", {rows(kInner)});
      break;
    case Inner::kGeluErf: {
      V y = rows(kInner);
      inner = g.Mul(g.Mul(y, g.Add(g.Op("Erf", {g.Div(y, 1.4142135381698608)}), 1)), 0.5);
      break;
    }
    case Inner::kGeluTanh: {
      V y = rows(kInner), cube = g.Mul(g.Pow(y, 3), 0.044715);
      V turned = g.Op("Tanh", {g.Mul(g.Add(y, cube), 0.7978845608028654)});
      inner = g.Mul(g.Mul(y, 0.5), g.Add(turned, 1));
      break;
    }
    case Inner::kGate: {
      V gate = rows(kInner);
      inner = g.Mul(Silu(g, gate), rows(kInner));
      break;
    }
    case Inner::kPackedGate: {
      const std::vector<V> halves = g.Halves(rows(2 * kInner), -1, 2 * kInner);
      inner = g.Mul(Silu(g, halves[0]), halves[1]);
      break;
    }
  }
  return Linear(g, inner, kInner, kHidden, kind.biased);
}

void Decoder(Graph& g, const Kind& kind) {
  V x = g.In({B(), S(), kHidden});
  Tables t = {"", "", ""};
  if (kind.rotary != Rotary::kNone) {
    t.ids = g.Ids({B(), S()}, kPositions);
    t.cos = g.Param({kPositions, kSize / 2});
    t.sin = g.Param({kPositions, kSize / 2});
  }
  for (int layer = 0; layer < 2; ++layer) {
    x = g.Add(x, Attend(g, kind, t, Norm(g, x, kind.rms)));
    x = g.Add(x, Forward(g, kind, Norm(g, x, kind.rms)));
  }
  g.Out(Norm(g, x, kind.rms));
}

Spelling Of(const char* name, const char* ops, const Kind& kind) {
  Spelling spelling{name, ops, [kind](Graph& g) { Decoder(g, kind); }};
  spelling.f16 = false;
  spelling.rules = "transformer,stacks";
  if (kind.rotary == Rotary::kOnnx) spelling.min_opset = 23;
  return spelling;
}

constexpr char kLayerNorms[] = "fused.transformer_stack nn.layer_norm";
constexpr char kRmsNorms[] = "fused.transformer_stack nn.rms_norm";
// The tables are made once, from rows at the positions.
constexpr char kRotated[] =
    "fused.transformer_stack nn.rms_norm ten.check_range ten.concat ten.concat ten.gather "
    "ten.gather ten.reshape "
    "ten.reshape";

std::vector<Spelling> All() {
  return {
      Of("LayerNormGeluErf", kLayerNorms, {}),
      Of("LayerNormGeluTanh", kLayerNorms, {.inner = Inner::kGeluTanh}),
      Of("LayerNormRelu", kLayerNorms, {.biased = false, .inner = Inner::kRelu}),
      Of("RmsNormGate", kRmsNorms, {.rms = true, .biased = false, .inner = Inner::kGate}),
      Of("GroupedQueries", kRmsNorms,
         {.rms = true, .biased = false, .kv_heads = 2, .inner = Inner::kGate}),
      Of("PackedGate", kRmsNorms, {.rms = true, .biased = false, .inner = Inner::kPackedGate}),
      Of("PackedGateBiased", kLayerNorms, {.inner = Inner::kPackedGate}),
      Of("RotaryOnnx", kRotated,
         {.rms = true,
          .biased = false,
          .kv_heads = 2,
          .rotary = Rotary::kOnnx,
          .inner = Inner::kGate}),
      Of("RotaryMicrosoft", kRotated,
         {.rms = true,
          .biased = false,
          .kv_heads = 2,
          .rotary = Rotary::kMicrosoft,
          .inner = Inner::kPackedGate}),
      Of("RotaryMicrosoftJoinedHeads", kRotated,
         {.rms = true, .biased = false, .rotary = Rotary::kJoinedMicrosoft, .inner = Inner::kGate}),
      Of("RotaryPairs", "!nn.rotary_embedding nn.softmax fused.attention",
         {.rms = true,
          .biased = false,
          .rotary = Rotary::kOnnx,
          .interleaved = true,
          .inner = Inner::kGate}),
  };
}

TENON_SPELLINGS(LayersSpelling, All());

}  // namespace
}  // namespace tenon::spellings::layers
