// Reference kernels of the halves of a layer of a transformer, whole layers and stacks. They run
// the reference kernels of their parts, so what lies between two of them is rounded as if it were
// written out.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/base/stacked_layers.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/reference/parts.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// The operands of fused.attention_block, in order.
struct BlockInputs {
  TensorView x, residual, wq, wo, bq, wk, bk, wv, bv, bo, cos, sin, mask, bias, key_mask, past_key,
      past_value, norm_scale, norm_bias;
};
// Those of fused.feed_forward.
struct ForwardInputs {
  TensorView x, residual, wu, wd, bu, wg, bg, bd, norm_scale, norm_bias;
};

using Views = std::span<const TensorView>;

BlockInputs BlockOf(Views inputs, const std::array<size_t, 19>& at) {
  const auto of = [&](size_t i) { return at[i] < inputs.size() ? inputs[at[i]] : TensorView(); };
  return {of(0),  of(1),  of(2),  of(3),  of(4),  of(5),  of(6),  of(7),  of(8), of(9),
          of(10), of(11), of(12), of(13), of(14), of(15), of(16), of(17), of(18)};
}
ForwardInputs ForwardOf(Views inputs, const std::array<size_t, 10>& at) {
  const auto of = [&](size_t i) { return at[i] < inputs.size() ? inputs[at[i]] : TensorView(); };
  return {of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7), of(8), of(9)};
}
constexpr std::array<size_t, 19> kBlockOfBlock = {0,  1,  2,  3,  4,  5,  6,  7,  8, 9,
                                                  10, 11, 12, 13, 14, 15, 16, 17, 18},
                                 kBlockOfLayer = {0,  1,  2,  3,  6,  7,  8,  9,  10, 11,
                                                  12, 13, 14, 15, 16, 17, 18, 19, 20};
constexpr std::array<size_t, 10> kForwardOfForward = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                                 kForwardOfLayer = {0, 1, 4, 5, 21, 22, 23, 24, 25, 26};

// out = activation(x * w + bias) + residual
template <typename Attrs>
KernelStatus LinearPart(const RunArgs& args, const Attrs& attrs, const TensorView& x,
                        const TensorView& w, const TensorView& bias, const TensorView& residual,
                        const TensorView& out, bool activated = false) {
  const TensorView inputs[] = {x, w, bias, residual};
  fused::LinearAttrs linear = {.transpose_w = attrs.transpose_w};
  if constexpr (requires { attrs.activation; }) {
    if (activated) {
      linear.activation = static_cast<fused::LinearActivation>(attrs.activation);
      linear.alpha = attrs.alpha;
      linear.beta = attrs.beta;
    }
  }
  return RunPart(args, RefFusedLinear(), inputs, out, linear);
}

// The rows times a matrix.
template <typename Attrs>
Dims ProductShape(const Attrs& attrs, const TensorView& x, const TensorView& w) {
  Dims shape = ToDims(x.shape);
  shape.back() = w.dim(attrs.transpose_w ? 0 : 1);
  return shape;
}

// Writes `made` with its heads rotated.
template <typename Attrs>
KernelStatus Rotate(const RunArgs& args, const Attrs& attrs, const BlockInputs& in,
                    const TensorView& made, const TensorView& out) {
  const TensorView split{made.data, made.dtype, out.shape};
  const TensorView inputs[] = {split, in.cos, in.sin};
  return RunPart(
      args, RefFusedRotary(), inputs, out,
      fused::RotaryAttrs{.interleaved = attrs.interleaved, .rotary_dim = attrs.rotary_dim});
}

Dims SplitShape(const Between& rows, int64_t heads) {
  Dims shape = rows.shape;
  shape.back() /= heads;
  shape.insert(shape.end() - 1, heads);
  return shape;
}

template <typename Attrs>
fused::AttentionAttrs AttentionOf(const Attrs& attrs) {
  return {.num_heads = attrs.num_heads,
          .kv_num_heads = attrs.kv_num_heads,
          .scale = attrs.scale,
          .causal = attrs.causal,
          .window = attrs.window,
          .mask_value = attrs.mask_value,
          .mask_replaces = attrs.mask_replaces,
          .mask_last = attrs.mask_last,
          .repeat_first_key = attrs.repeat_first_key,
          .nan_guard = attrs.nan_guard,
          .zero_nan_rows = attrs.zero_nan_rows,
          .softcap = attrs.softcap,
          .head_dim = attrs.head_dim,
          .v_head_dim = attrs.v_head_dim,
          .q_offset = attrs.q_offset,
          .k_offset = attrs.k_offset,
          .v_offset = attrs.v_offset};
}

// `present`: the last results of the op; none without a past.
template <typename Attrs>
KernelStatus RunBlock(const RunArgs& args, const Attrs& attrs, const BlockInputs& in,
                      const TensorView& out, const TensorView& sum,
                      std::span<const TensorView> present) {
  const DType dtype = in.x.dtype;
  fused::AttentionAttrs attention = AttentionOf(attrs);
  Between q(dtype, ProductShape(attrs, in.x, in.wq));
  KernelStatus status = LinearPart(args, attrs, in.x, in.wq, in.bq, {}, q.view);
  if (!status.ok()) return status;
  const bool has_k = in.wk.present(), has_v = in.wv.present();
  Between k(dtype, has_k ? ProductShape(attrs, in.x, in.wk) : Dims{0});
  Between v(dtype, has_v ? ProductShape(attrs, in.x, in.wv) : Dims{0});
  if (has_k) {
    status = LinearPart(args, attrs, in.x, in.wk, in.bk, {}, k.view);
    if (!status.ok()) return status;
  }
  if (has_v) {
    status = LinearPart(args, attrs, in.x, in.wv, in.bv, {}, v.view);
    if (!status.ok()) return status;
  }
  const TensorView &keys = has_k ? k.view : q.view, &values = has_v ? v.view : keys;
  TensorView operands[] = {q.view,  keys,        values,      in.mask,
                           in.bias, in.key_mask, in.past_key, in.past_value};
  const int64_t heads = attrs.num_heads, kv_heads = attrs.kv_num_heads;
  const int64_t v_size = attrs.v_head_dim >= 0 ? attrs.v_head_dim : values.dim(-1) / kv_heads;
  const bool rotates = in.cos.present();
  Between turned_q(dtype, rotates ? SplitShape(q, heads) : Dims{0});
  Between turned_k(dtype, rotates ? SplitShape(k, kv_heads) : Dims{0});
  if (rotates) {
    attention.q_layout = fused::AttentionQLayout::kBshd;
    attention.k_layout = fused::AttentionKLayout::kBshd;
    status = Rotate(args, attrs, in, q.view, turned_q.view);
    if (!status.ok()) return status;
    status = Rotate(args, attrs, in, k.view, turned_k.view);
    if (!status.ok()) return status;
    operands[0] = turned_q.view;
    operands[1] = turned_k.view;
  }
  Between attended(dtype, {in.x.dim(0), in.x.dim(1), heads * v_size});
  std::vector<TensorView> results = {attended.view};
  results.insert(results.end(), present.begin(), present.end());
  status = RunParts(args, RefFusedAttention(), operands, results, attention);
  if (!status.ok()) return status;
  Between product(dtype, ToDims(sum.shape));
  status = LinearPart(args, attrs, attended.view, in.wo, in.bo, {}, product.view);
  if (!status.ok()) return status;
  const TensorView summands[] = {product.view, in.residual};
  status = RunPart(args, RefAdd(), summands, sum, ten::AddAttrs{});
  if (!status.ok()) return status;
  return NormPart(args, static_cast<int>(attrs.norm) == 0, attrs.epsilon, sum, in.norm_scale,
                  in.norm_bias, out);
}

template <typename Attrs>
KernelStatus RunForward(const RunArgs& args, const Attrs& attrs, const ForwardInputs& in,
                        const TensorView& out, const TensorView& sum) {
  const DType dtype = in.x.dtype;
  const bool gated = in.wg.present();
  Between inner(dtype, ProductShape(attrs, in.x, in.wu));
  KernelStatus status = LinearPart(args, attrs, in.x, in.wu, in.bu, {}, inner.view, !gated);
  if (!status.ok()) return status;
  Between gate(dtype, gated ? inner.shape : Dims{0}), factor(dtype, gate.shape);
  if (gated) {
    status = LinearPart(args, attrs, in.x, in.wg, in.bg, {}, gate.view);
    if (!status.ok()) return status;
    const TensorView factors[] = {gate.view, inner.view};
    status = RunPart(
        args, RefGated(), factors, factor.view,
        fused::GatedAttrs{.activation = static_cast<fused::GatedActivation>(attrs.activation),
                          .alpha = attrs.alpha,
                          .beta = attrs.beta});
    if (!status.ok()) return status;
  }
  Between product(dtype, ToDims(sum.shape));
  status =
      LinearPart(args, attrs, gated ? factor.view : inner.view, in.wd, in.bd, {}, product.view);
  if (!status.ok()) return status;
  const TensorView summands[] = {product.view, in.residual};
  status = RunPart(args, RefAdd(), summands, sum, ten::AddAttrs{});
  if (!status.ok()) return status;
  return NormPart(args, static_cast<int>(attrs.norm) == 0, attrs.epsilon, sum, in.norm_scale,
                  in.norm_bias, out);
}

// The results of an op that may lack those that nobody reads.
struct Results {
  explicit Results(const RunArgs& args)
      : out(args.outputs[0]), made(out.dtype, ToDims(out.shape)), sum(made.view) {
    if (args.outputs.size() > 1 && args.outputs[1].present()) sum = args.outputs[1];
    present = args.outputs.subspan(std::min<size_t>(2, args.outputs.size()));
  }
  TensorView out;
  Between made;
  TensorView sum;
  std::span<const TensorView> present;
};

KernelStatus AttentionBlock(const RunArgs& args) {
  const Results results(args);
  return RunBlock(args, args.get<fused::AttentionBlockAttrs>(), BlockOf(args.inputs, kBlockOfBlock),
                  results.out, results.sum, results.present);
}

KernelStatus FeedForward(const RunArgs& args) {
  const Results results(args);
  return RunForward(args, args.get<fused::FeedForwardAttrs>(),
                    ForwardOf(args.inputs, kForwardOfForward), results.out, results.sum);
}

// `inputs`: the operands of fused.transformer_layer.
template <typename Attrs>
KernelStatus RunLayer(const RunArgs& args, const Attrs& attrs, Views inputs, const TensorView& out,
                      const TensorView& sum, Views present) {
  const BlockInputs block = BlockOf(inputs, kBlockOfLayer);
  const Dims rows = ProductShape(attrs, block.x, block.wo);
  Between normed(block.x.dtype, rows), between(block.x.dtype, rows);
  if (KernelStatus status = RunBlock(args, attrs, block, normed.view, between.view, present);
      !status.ok())
    return status;
  ForwardInputs forward = ForwardOf(inputs, kForwardOfLayer);
  const int parallel = static_cast<int>(attrs.parallel);
  static_assert(static_cast<int>(fused::TransformerLayerParallel::kShared) == 1 &&
                static_cast<int>(fused::TransformerLayerParallel::kOwn) == 2);
  if (parallel == 2) {
    if (KernelStatus status =
            NormPart(args, static_cast<int>(attrs.norm) == 0, attrs.epsilon, block.residual,
                     block.norm_scale, block.norm_bias, normed.view);
        !status.ok())
      return status;
  }
  forward.x = parallel == 1 ? block.x : normed.view;
  forward.residual = attrs.post_norm ? normed.view : between.view;
  return RunForward(args, attrs, forward, out, sum);
}

KernelStatus TransformerLayer(const RunArgs& args) {
  const Results results(args);
  return RunLayer(args, args.get<fused::TransformerLayerAttrs>(), args.inputs, results.out,
                  results.sum, results.present);
}

KernelStatus TransformerStack(const RunArgs& args) {
  const auto& attrs = args.get<fused::TransformerStackAttrs>();
  const Results results(args);
  const StackedLayers layers(attrs.has);
  const size_t count = (args.inputs.size() - 2) / layers.per_layer();
  std::array<TensorView, StackedLayers::kOperands> inputs;
  inputs[0] = args.inputs[0];
  inputs[1] = args.inputs[1];
  // What each layer makes for the next one.
  std::vector<std::unique_ptr<Between>> between;
  for (size_t layer = 0; layer < count; ++layer) {
    for (size_t i = 2; i < inputs.size(); ++i) {
      const std::optional<size_t> place = layers.PlaceOf(layer, i);
      inputs[i] = place ? args.inputs[2 + *place] : TensorView();
    }
    TensorView out = results.out, sum = results.sum;
    if (layer + 1 < count) {
      const TensorView& wd = inputs[5];
      for (TensorView* made : {&out, &sum}) {
        between.push_back(std::make_unique<Between>(out.dtype, ProductShape(attrs, inputs[0], wd)));
        *made = between.back()->view;
      }
    }
    const Views present =
        results.present.empty() ? results.present : results.present.subspan(2 * layer, 2);
    if (KernelStatus status = RunLayer(args, attrs, inputs, out, sum, present); !status.ok())
      return status;
    inputs[0] = out;
    inputs[1] = attrs.post_norm ? out : sum;
  }
  return KernelStatus::Ok();
}

// Room for the scores of a row. `past`: the operand with the keys of earlier steps.
template <size_t past>
KernelStatus PrepareScores(PrepareArgs& args, std::shared_ptr<KernelState>&) {
  const bool has_past = past < args.inputs.size() && args.inputs[past].present();
  const int64_t keys = args.inputs[0].dim(1) + (has_past ? args.inputs[past].dim(2) : 0);
  args.scratch_bytes = static_cast<size_t>(keys) * sizeof(double);
  return KernelStatus::Ok();
}

// The same for the layer of a stack that has the most keys.
KernelStatus PrepareStackScores(PrepareArgs& args, std::shared_ptr<KernelState>&) {
  const StackedLayers layers(static_cast<const fused::TransformerStackAttrs*>(args.attrs)->has);
  const size_t count = (args.inputs.size() - 2) / layers.per_layer();
  int64_t most = 0;
  constexpr size_t kPastKeyOfLayer = 17;
  for (size_t layer = 0; layer < count; ++layer) {
    const std::optional<size_t> past = layers.PlaceOf(layer, kPastKeyOfLayer);
    if (past) most = std::max(most, args.inputs[2 + *past].dim(2));
  }
  args.scratch_bytes = static_cast<size_t>(args.inputs[0].dim(1) + most) * sizeof(double);
  return KernelStatus::Ok();
}

}  // namespace

Kernel RefAttentionBlock() {
  return {.op = "fused.attention_block",
          .name = "ref.attention_block",
          .run = AttentionBlock,
          .prepare = PrepareScores<15>};
}
Kernel RefFeedForward() {
  return {.op = "fused.feed_forward", .name = "ref.feed_forward", .run = FeedForward};
}
Kernel RefTransformerLayer() {
  return {.op = "fused.transformer_layer",
          .name = "ref.transformer_layer",
          .run = TransformerLayer,
          .prepare = PrepareScores<17>};
}

Kernel RefTransformerStack() {
  return {.op = "fused.transformer_stack",
          .name = "ref.transformer_stack",
          .run = TransformerStack,
          .prepare = PrepareStackScores};
}

}  // namespace tenon::kernels
