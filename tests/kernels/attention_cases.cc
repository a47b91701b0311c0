// Attention and rotary embeddings.
#include <limits>

#include "kernels/op_attrs.h"
#include "tests/kernels/cases.h"

namespace tenon::kernels::testing {
namespace {

// A tensor of heads in one of the layouts bsh, bshd, bhsd, bhds.
Shape HeadShape(int layout, int64_t batch, int64_t heads, int64_t length, int64_t dim) {
  switch (layout) {
    case 0:
      return {batch, length, heads * dim};
    case 1:
      return {batch, length, heads, dim};
    case 2:
      return {batch, heads, length, dim};
    default:
      return {batch, heads, dim, length};
  }
}

struct AttentionSizes {
  int64_t batch, kv_heads, heads, q_len, k_len, dim, v_dim;
  explicit AttentionSizes(Random& random)
      : batch(random.Int(1, 3)),
        kv_heads(random.Int(1, 3)),
        heads(kv_heads * random.Int(1, random.Chance(20) ? 9 : 2)),
        q_len(random.Chance(20)   ? 1
              : random.Chance(15) ? random.Int(100, 300)
                                  : random.Int(2, 60)),
        k_len(random.Chance(20) ? random.Int(100, 300) : random.Int(1, 60)),
        dim(Columns(random)),
        v_dim(random.Chance(50) ? dim : Columns(random)) {
    if (!random.Chance(15)) return;
    // Decoding with a long past: few heads share many keys.
    batch = 1;
    heads = kv_heads = random.Int(1, 2);
    q_len = random.Int(1, 4);
    k_len = random.Int(500, 1100);
    dim = v_dim = random.Int(1, 150);
  }
  // Of a head; often whole vectors of elements of 16 bits.
  static int64_t Columns(Random& random) {
    return random.Chance(30) ? 8 * random.Int(1, 9) : random.Int(1, 40);
  }
  // Windows of an image: about as many rows as keys, rarely more than a block of them, for every
  // head.
  static AttentionSizes OfWindows(Random& random) {
    AttentionSizes s(random);
    s.heads = s.kv_heads;
    const bool few = random.Chance(60);
    s.q_len = few ? random.Int(9, 70) : random.Int(64, 150);
    s.k_len = few ? random.Int(30, 70) : random.Int(64, 260);
    s.dim = random.Chance(50) ? 32 : random.Int(1, 70);
    s.v_dim = random.Chance(50) ? 32 : random.Int(1, 70);
    return s;
  }
  Tensor Mask(Random& random) const {
    Shape shape = {batch, heads, q_len, k_len};
    if (random.Chance(30)) return Tensor();
    shape = BroadcastInput(random, shape);
    if (shape.empty()) shape = {1, 1};
    if (random.Chance(50)) return random.Bools(shape);
    return Floats(random, shape);
  }
  // Some of them so low that they hide keys.
  static Tensor Floats(Random& random, const Shape& shape) {
    Tensor mask = random.Floats(shape);
    if (random.Chance(50)) return mask;
    const float low = random.Chance(50) ? -std::numeric_limits<float>::infinity() : -3.4028235e38f;
    for (int64_t i = 0; i < mask.numel(); ++i) {
      if (random.Chance(30)) mask.data<float>()[i] = low;
    }
    return mask;
  }
};

// The shape of q, k or v, of layout bsh (0) with columns before and after those of the heads.
Shape WithColumns(Random& random, int layout, Shape shape, bool packed, int64_t& offset) {
  if (layout != 0 || !packed) return shape;
  offset = random.Int(0, 20);
  shape[2] += offset + random.Int(0, 20);
  return shape;
}

// Which keys are no padding: any, all but some at one of the ends, or all; for all batches alike
// also of rank 1, or 0.
Tensor KeyMask(Random& random, int64_t batch, int64_t keys) {
  Shape shape = {batch, keys};
  while (!shape.empty() && shape.front() == 1 && random.Chance(50)) shape.erase(shape.begin());
  Tensor mask = random.Bools(shape);
  if (random.Chance(40)) return mask;
  for (int64_t b = 0; b < batch; ++b) {
    uint8_t* const row = mask.data<uint8_t>() + b * keys;
    const int64_t padding = random.Chance(50) ? 0 : random.Int(0, keys);
    const bool left = random.Chance(50);
    for (int64_t j = 0; j < keys; ++j) row[j] = left ? j >= padding : j < keys - padding;
  }
  return mask;
}

Case FusedAttention(Random& random) {
  const bool windows = random.Chance(30), usual = windows && random.Chance(80);
  const AttentionSizes s = windows ? AttentionSizes::OfWindows(random) : AttentionSizes(random);
  fused::AttentionAttrs attrs;
  attrs.num_heads = s.heads;
  attrs.kv_num_heads = s.kv_heads;
  attrs.scale = 0.3f;
  attrs.softcap = !usual && random.Chance(20) ? 2.0f : 0.0f;
  attrs.causal = !usual && random.Chance(30);
  if (!usual && random.Chance(30)) attrs.window = random.Int(1, s.k_len);
  if (random.Chance(30)) attrs.mask_value = random.Chance(50) ? -3.0f : -3.4028235e38f;
  attrs.mask_replaces = random.Chance(30);
  attrs.mask_last = attrs.mask_replaces && random.Chance(50);
  attrs.repeat_first_key = random.Chance(30);
  attrs.nan_guard = random.Chance(50);
  attrs.zero_nan_rows = random.Chance(25);
  const int q = random.Int(0, 2), k = random.Int(0, 3), v = random.Int(0, 2),
            out = random.Int(0, 2);
  attrs.q_layout = static_cast<fused::AttentionQLayout>(q);
  attrs.k_layout = static_cast<fused::AttentionKLayout>(k);
  attrs.v_layout = static_cast<fused::AttentionVLayout>(v);
  attrs.out_layout = static_cast<fused::AttentionOutLayout>(out);
  const bool packed = random.Chance(30);
  if (packed) {
    attrs.head_dim = s.dim;
    attrs.v_head_dim = s.v_dim;
  }
  const Shape q_shape = WithColumns(random, q, HeadShape(q, s.batch, s.heads, s.q_len, s.dim),
                                    packed, attrs.q_offset);
  const bool has_past = random.Chance(40);
  const int64_t past = has_past ? random.Int(0, s.k_len) : 0, added = s.k_len - past;
  const Shape k_shape = WithColumns(random, k, HeadShape(k, s.batch, s.kv_heads, added, s.dim),
                                    packed, attrs.k_offset);
  const Shape v_shape = WithColumns(random, v, HeadShape(v, s.batch, s.kv_heads, added, s.v_dim),
                                    packed, attrs.v_offset);
  Tensor bias;
  if (random.Chance(40))
    bias = random.Floats(BroadcastInput(random, {s.batch, s.heads, s.q_len, s.k_len}));
  Tensor key_mask;
  if (!usual && random.Chance(40))
    key_mask = KeyMask(random, random.Chance(70) ? s.batch : 1, random.Chance(80) ? s.k_len : 1);
  std::vector<Tensor> inputs = {random.Floats(q_shape, -1, 1),
                                random.Floats(k_shape, -1, 1),
                                random.Floats(v_shape),
                                s.Mask(random),
                                bias,
                                key_mask};
  std::vector<Tensor> results = {F32(HeadShape(out, s.batch, s.heads, s.q_len, s.v_dim))};
  if (has_past) {
    for (int64_t dim : {s.dim, s.v_dim}) {
      inputs.push_back(random.Floats({s.batch, s.kv_heads, past, dim}, -1, 1));
      results.push_back(F32({s.batch, s.kv_heads, s.k_len, dim}));
    }
  }
  return Make(std::move(inputs), std::move(results), MakeAttrs(attrs));
}

Case Attention(Random& random) {
  const AttentionSizes s(random);
  nn::AttentionAttrs attrs;
  attrs.is_causal = random.Chance(30);
  attrs.q_num_heads = s.heads;
  attrs.kv_num_heads = s.kv_heads;
  const int layout = random.Chance(50) ? 0 : 2;
  return Make(
      {random.Floats(HeadShape(layout, s.batch, s.heads, s.q_len, s.dim), -1, 1),
       random.Floats(HeadShape(layout, s.batch, s.kv_heads, s.k_len, s.dim), -1, 1),
       random.Floats(HeadShape(layout, s.batch, s.kv_heads, s.k_len, s.v_dim)), s.Mask(random)},
      {F32(HeadShape(layout, s.batch, s.heads, s.q_len, s.v_dim))}, MakeAttrs(attrs));
}

Case Rotary(Random& random) {
  Shape x = random.RandomShape(1, 4);
  fused::RotaryAttrs attrs;
  attrs.interleaved = random.Chance(50);
  const int64_t rotated = 2 * random.Int(1, 20), rest = random.Chance(50) ? random.Int(0, 5) : 0;
  x.back() = rotated + rest;
  if (rest > 0 || random.Chance(30)) attrs.rotary_dim = rotated;
  auto table = [&] {
    Shape shape = x;
    shape.back() = rotated;
    if (random.Chance(70)) {
      for (size_t i = 0; i + 1 < shape.size(); ++i) {
        if (random.Chance(40)) shape[i] = 1;
      }
    } else {
      shape = {rotated};
    }
    return random.Floats(shape, -1, 1);
  };
  Tensor cos = table(), sin = table();
  return Make({random.Floats(x), std::move(cos), std::move(sin)}, {F32(x)}, MakeAttrs(attrs));
}

Case RotaryEmbedding(Random& random) {
  const int64_t batch = random.Int(1, 3), heads = random.Int(1, 4), length = random.Int(1, 9);
  const int64_t half = random.Int(1, 20), rest = random.Chance(50) ? 0 : random.Int(1, 5);
  const int64_t dim = 2 * half + rest;
  nn::RotaryEmbeddingAttrs attrs;
  attrs.interleaved = random.Chance(50);
  if (rest > 0 || random.Chance(30)) attrs.rotary_dim = 2 * half;
  const bool split = random.Chance(50);
  if (!split) attrs.num_heads = heads;
  const Shape x = split ? Shape{batch, heads, length, dim} : Shape{batch, length, heads * dim};
  Tensor positions;
  Shape angles = {random.Chance(50) ? batch : 1, length, half};
  if (random.Chance(50)) {
    angles = {length + 3, half};
    positions = random.Ints({batch, length}, 0, length + 2);
  }
  return Make({random.Floats(x), random.Floats(angles, -1, 1), random.Floats(angles, -1, 1),
               std::move(positions)},
              {F32(x)}, MakeAttrs(attrs));
}

}  // namespace

GeneratorsByOp AttentionCases() {
  return {
      {"fused.attention", FusedAttention},
      {"fused.rotary", Rotary},
      {"nn.attention", Attention},
      {"nn.rotary_embedding", RotaryEmbedding},
  };
}

}  // namespace tenon::kernels::testing
