"""Families made from a configuration class and the settings it knows: many models, little said of each."""

import inspect

import torch
import transformers as T
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

from families_base import SMALL, Case, batch_and_seq, text_inputs, two_sizes
from families_encdec import AXES, BART, T5, WAVE, token_ids

# Settings under the names that configurations use for them; each takes those that it knows.
EXPERTS = dict(num_experts=4, num_local_experts=4, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2,
               n_group=1, topk_group=1, first_k_dense_replace=1, moe_intermediate_size=32,
               shared_expert_intermediate_size=32, shared_intermediate_size=32)
LATENT = dict(q_lora_rank=24, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=12, v_head_dim=12)
TEXT = dict(SMALL, **EXPERTS, **LATENT, num_key_value_heads=2, head_dim=12, pad_token_id=0, bos_token_id=1,
            eos_token_id=2, sliding_window=6, type_vocab_size=2, embedding_size=48, max_2d_position_embeddings=64,
            state_size=8, use_cache=False)
IMAGE = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, image_size=32,
             patch_size=8, num_channels=3, mlp_ratio=2.0, d_model=48)
BATCHED_EXPERTS = dict(experts_implementation="batched_mm")  # the others have loops that depend on data


def settle(kind, base, without, settings):
    """The configuration of a model type, of those settings of `base` that it knows and of `settings`."""
    config = CONFIG_MAPPING[kind]
    known = set(inspect.signature(config.__init__).parameters) | set(getattr(config, "attribute_map", {}))
    for parent in config.__mro__:
        known |= set(getattr(parent, "__annotations__", {}))
    chosen = {name: value for name, value in base.items() if name in known and name not in without}
    return lambda attention: config(**{**chosen, **settings}, attn_implementation=attention)


def family(kind, base, sample, axes, outputs=("last_hidden_state",), arguments=None, without=(), **settings):
    def make(attention, size):
        del size
        config = settle(kind, base, without, settings)(attention)
        model = MODEL_MAPPING[type(config)](config)
        inputs, others = two_sizes(sample)
        return Case(model, inputs, axes, list(outputs), others=others, arguments=arguments or {})
    return make


def text(kind, **settings):
    return family(kind, TEXT, lambda batch, seq, **_: text_inputs(99, batch, seq)[0],
                  batch_and_seq("input_ids", "attention_mask"), **settings)


def decoder(kind, **settings):
    return text(kind, arguments=dict(use_cache=False), **settings)


def encoder_decoder(kind, base, **settings):
    def sample(batch, seq, dec_seq, **_):
        inputs = text_inputs(99, batch, seq)[0]
        inputs["decoder_input_ids"] = token_ids(99, batch, dec_seq, padding=False)[0]
        return inputs
    return family(kind, base, sample, AXES, arguments=dict(use_cache=False), **settings)


def image(kind, shape=(3, 32, 32), **settings):
    return family(kind, IMAGE, lambda batch, **_: {"pixel_values": torch.randn(batch, *shape)},
                  {"pixel_values": {0: "batch"}}, **settings)


def wave(kind, **settings):
    return family(kind, WAVE, lambda batch, seq, **_: {"input_values": torch.randn(batch, 40 * seq)},
                  {"input_values": {0: "batch", 1: "samples"}}, **settings)


def boxed_text(kind, **settings):
    def sample(batch, seq, **_):
        inputs = text_inputs(99, batch, seq)[0]
        corner = torch.randint(0, 30, (batch, seq, 2))
        inputs["bbox"] = torch.cat([corner, corner + torch.randint(1, 30, (batch, seq, 2))], -1)
        return inputs
    return family(kind, TEXT, sample, batch_and_seq("input_ids", "attention_mask", "bbox"), **settings)


def trajectories(batch, seq, **_):
    return dict(states=torch.randn(batch, seq, 5), actions=torch.randn(batch, seq, 3),
                returns_to_go=torch.randn(batch, seq, 1),
                timesteps=torch.arange(seq).expand(batch, seq).contiguous(),
                attention_mask=torch.ones(batch, seq, dtype=torch.int64))


def series(batch, **_):
    return dict(past_values=torch.randn(batch, 32), past_values_padding=torch.zeros(batch, 32, dtype=torch.int64),
                freq=torch.zeros(batch, 1, dtype=torch.int64))


def detector(kind, without=(), **settings):
    def make(attention, size):
        backbone = T.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic",
                                  out_features=["stage2"])
        return image(kind, (3, 64, 64), use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                     without=without, backbone_config=backbone, encoder_layers=2, decoder_layers=2, num_queries=7,
                     encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96,
                     **settings)(attention, size)
    return make


WINDOWS = dict(depths=[2, 2], num_heads=[2, 4], window_size=4, embed_dim=16)
VIDEO = (4, 3, 32, 32)
SWIFT = dict(depths=[1, 1, 1, 1], embed_dims=[16, 24, 32, 48], image_size=64, mlp_ratio=2)
HIERA = dict(image_size=[32, 32], patch_size=[3, 3], patch_stride=[4, 4], patch_padding=[1, 1], embed_dim=16,
             depths=[1, 1, 1], num_heads=[1, 2, 4], num_query_pool=2, masked_unit_size=[4, 4], query_stride=[2, 2])
GLPN = dict(depths=[1, 1], num_encoder_blocks=2, hidden_sizes=[16, 32], num_attention_heads=[1, 2], sr_ratios=[2, 1],
            patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[2, 2], decoder_hidden_size=24)
CONFORMER = dict(feature_projection_input_dim=16, output_hidden_size=48, left_max_position_embeddings=8,
                 right_max_position_embeddings=4, conv_depthwise_kernel_size=5)
ALL_HEADS = dict(num_key_value_heads=4)

FAMILIES = {
    **{kind.replace("-", "_"): text(kind) for kind in (
        "bert-generation", "eurobert", "gte", "jina_embeddings_v3", "nomic_bert", "mra", "xlm-roberta-xl",
        "visual_bert", "gpt-sw3", "markuplm", "roc_bert", "rwkv", "clip_text_model", "tipsv2_text_model")},
    "luke": text("luke", entity_vocab_size=50, entity_emb_size=24, use_entity_aware_attention=False),
    "yoso": text("yoso", use_expectation=True),
    "lilt": boxed_text("lilt", channel_shrink_ratio=2),
    "layoutlmv3": boxed_text("layoutlmv3", visual_embed=False, coordinate_size=8, shape_size=8),
    **{kind.replace("-", "_"): decoder(kind) for kind in (
        "apertus", "arcee", "bitnet", "diffllama", "doge", "exaone4", "hunyuan_v1_dense", "internlm3", "jais2", "lfm2",
        "ministral", "olmo3", "seed_oss", "vaultgemma", "cwm", "nanochat", "granite_swa", "gpt_neox_japanese",
        "imagegpt", "modernbert-decoder", "mamba", "falcon_mamba", "gemma3_text", "hrm_text", "iquestcoder",
        "ministral3", "qwen3_vl_text", "recurrent_gemma", "xlstm")},
    "minicpm3": decoder("minicpm3", **ALL_HEADS),
    "youtu": decoder("youtu", **ALL_HEADS),
    "deepseek_v3": decoder("deepseek_v3", **ALL_HEADS, **BATCHED_EXPERTS),
    "gpt_oss": decoder("gpt_oss", layer_types=["sliding_attention", "full_attention"], **BATCHED_EXPERTS),
    **{kind: decoder(kind, **BATCHED_EXPERTS) for kind in (
        "mixtral", "olmoe", "flex_olmo", "qwen2_moe", "qwen3_moe", "phimoe", "granitemoe", "granitemoeshared",
        "glm4_moe", "dots1", "afmoe", "bailing_hybrid", "exaone_moe", "gemma4_text", "granitemoe_swa", "hunyuan_v1_moe",
        "hy_v3", "jamba", "laguna", "mellum", "mimo_v2_flash", "minimax", "minimax_m2", "solar_open")},
    **{kind.replace("-", "_"): encoder_decoder(kind, BART) for kind in (
        "bigbird_pegasus", "mvp", "fsmt", "nllb-moe")},
    "pegasus_x": encoder_decoder("pegasus_x", BART, block_size=8, num_global_tokens=4),
    **{kind: encoder_decoder(kind, T5) for kind in ("longt5", "switch_transformers", "umt5")},
    "dinov3_vit": image("dinov3_vit"),
    "dinov3_convnext": image("dinov3_convnext", hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 1, 1]),
    "vitdet": image("vitdet", without=("mlp_ratio",), window_size=2, window_block_indices=[0]),
    "hiera": image("hiera", without=("num_attention_heads",), **HIERA),
    "pixio": image("pixio", without=("mlp_ratio",)),
    "dpt": image("dpt"),
    **{kind: image(kind) for kind in ("clip_vision_model", "internvl_vision", "pixtral", "radio")},
    "sam_vision_model": image("sam_vision_model"),
    "aimv2_vision_model": image("aimv2_vision_model"),
    "mlcd_vision_model": image("mlcd_vision_model"),
    "swin2sr": image("swin2sr", without=("num_attention_heads",), **dict(WINDOWS, patch_size=1)),
    "maskformer_swin": image("maskformer-swin", without=("num_attention_heads", "hidden_size"), patch_size=2,
                             **WINDOWS),
    "donut_swin": image("donut-swin", without=("num_attention_heads", "hidden_size"), patch_size=2, **WINDOWS),
    "glpn": image("glpn", without=("patch_size",), **GLPN),
    "swiftformer": image("swiftformer", (3, 64, 64), **SWIFT),
    "bit": image("bit", embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], num_groups=8),
    "timesformer": image("timesformer", VIDEO, num_frames=4),
    "videomae": image("videomae", VIDEO, num_frames=4, tubelet_size=2),
    "vivit": image("vivit", VIDEO, without=("patch_size",), num_frames=4, tubelet_size=[2, 8, 8]),
    "detr": detector("detr"),
    "table_transformer": detector("table-transformer"),
    "conditional_detr": detector("conditional_detr"),
    "dab_detr": detector("dab-detr", without=("d_model",), hidden_size=48),
    "wav2vec2_conformer": wave("wav2vec2-conformer", position_embeddings_type="relative"),
    "data2vec_audio": wave("data2vec-audio", conv_pos_kernel_size=5, num_conv_pos_embeddings=2),
    "sew": wave("sew", squeeze_factor=2),
    "sew_d": wave("sew-d", squeeze_factor=2, max_position_embeddings=64, position_buckets=8),
    "unispeech_sat": wave("unispeech-sat"),
    "wav2vec2_bert": family("wav2vec2-bert", WAVE,
                            lambda batch, seq, **_: {"input_features": torch.randn(batch, seq, 16)},
                            {"input_features": {0: "batch", 1: "frames"}}, **CONFORMER),
    "decision_transformer": family(
        "decision_transformer", {}, trajectories,
        batch_and_seq("states", "actions", "returns_to_go", "timesteps", "attention_mask"), outputs=("action_preds",),
        state_dim=5, act_dim=3, hidden_size=48, max_ep_len=40, n_layer=2, n_head=4),
    "timesfm": family(
        "timesfm", TEXT, series, {name: {0: "batch"} for name in ("past_values", "past_values_padding", "freq")},
        patch_length=8, context_length=32, horizon_length=8),
}
