"""More models of transformers: mixtures, state spaces, sound, time series, detection, text with images; and other settings
of families that are elsewhere: activations, rotary embeddings, windows, biases."""

import torch
import transformers as T
from torch import nn
from transformers.models.auto.modeling_auto import MODEL_MAPPING

from families_base import Case, batch_and_seq, text_inputs, token_ids, two_sizes
from families_more import ALL_HEADS, BATCHED_EXPERTS, IMAGE, TEXT, settle


class Picked(nn.Module):
    """What `pick` makes of a model and its inputs."""

    def __init__(self, model, pick):
        super().__init__()
        self.model = model
        self.pick = pick

    def forward(self, **inputs):
        return self.pick(self.model, **inputs)


def made(kind, sample, axes, base=None, model=None, pick=None, out=(), without=(), args=None, **settings):
    """A model type of transformers; `sample` makes inputs of a size, `out` names the results that count."""
    def make(attention, size):
        del size
        config = settle(kind, base or {}, without, settings)(attention)
        network = (model or MODEL_MAPPING[type(config)])(config)
        if pick:
            network = Picked(network, pick)
        inputs, others = two_sizes(sample)
        return Case(network, inputs, axes, list(out), others=others, arguments=args or {})
    return make


def tokens(batch, seq, **_):
    return text_inputs(99, batch, seq)[0]


def decoder(kind, **settings):
    return made(kind, tokens, TOKENS, base=TEXT, args=dict(use_cache=False), out=("last_hidden_state",), **settings)


def encoder(kind, **settings):
    return made(kind, tokens, TOKENS, base=TEXT, out=("last_hidden_state",), **settings)


def pixels(*shape):
    return lambda batch, **_: {"pixel_values": torch.randn(batch, *shape)}


def tokens_and_images(batch, seq, **_):
    return {**tokens(batch, seq), "pixel_values": torch.randn(batch, 3, 32, 32)}


def series(batch, **_):
    return dict(past_values=torch.randn(batch, 20), past_time_features=torch.randn(batch, 20, 2),
                past_observed_mask=torch.ones(batch, 20), future_values=torch.randn(batch, 6),
                future_time_features=torch.randn(batch, 6, 2))


TOKENS = batch_and_seq("input_ids", "attention_mask")
IMAGES = {"pixel_values": {0: "batch"}}
TOKENS_AND_IMAGES = {**TOKENS, **IMAGES}
WAVES = {"input_values": {0: "batch", 2: "samples"}}
ROTARY = dict(rope_type="default", rope_theta=10000.0)
SECTIONS = dict(rope_parameters=dict(ROTARY, mrope_section=[2, 2, 2]))
MAMBA = dict(mamba_n_heads=4, mamba_d_state=8, mamba_d_head=24, mamba_n_groups=2, mamba_expand=2, mamba_chunk_size=8,
             mamba_d_conv=4)
ACTIVATIONS = ("quick_gelu", "mish", "relu6", "leaky_relu", "sigmoid", "laplace", "relu2", "gelu_10", "gelu_fast", "prelu",
               "hardswish", "gelu_accurate")
RESNET = T.RTDetrResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], layer_type="basic",
                              out_features=["stage2", "stage3", "stage4"])
DETECTOR = dict(num_queries=7, encoder_layers=1, decoder_layers=1, encoder_hidden_dim=32, d_model=32, encoder_ffn_dim=48,
                decoder_ffn_dim=48, encoder_attention_heads=4, decoder_attention_heads=4, num_labels=5)
DINO = T.Dinov2Config(hidden_size=48, num_hidden_layers=4, num_attention_heads=4, mlp_ratio=2, image_size=42, patch_size=14,
                      out_features=["stage1", "stage2", "stage3", "stage4"], reshape_hidden_states=False)

FAMILIES = {
    "bamba": decoder("bamba", num_hidden_layers=3, attn_layer_indices=[1], **MAMBA),
    "granitemoehybrid": decoder("granitemoehybrid", layer_types=["mamba", "attention"], **MAMBA, **BATCHED_EXPERTS),
    "glm4_moe_lite": decoder("glm4_moe_lite", **ALL_HEADS, **BATCHED_EXPERTS),
    "dbrx": decoder("dbrx", without=("rope_theta",), d_model=48, n_heads=4, n_layers=2, attn_config=dict(kv_n_heads=2,
        clip_qkv=8.0, rope_theta=10000.0), ffn_config=dict(ffn_hidden_size=32, moe_num_experts=4, moe_top_k=2)),
    "gemma3n_text": decoder("gemma3n_text", num_hidden_layers=4, num_kv_shared_layers=2,
        layer_types=["sliding_attention", "full_attention"] * 2, laurel_rank=8, altup_num_inputs=2,
        hidden_size_per_layer_input=8, vocab_size_per_layer_input=99, activation_sparsity_pattern=[0.0] * 4),
    "phi_qknorm": decoder("phi", qk_layernorm=True, partial_rotary_factor=0.5),
    "mpt_clip": decoder("mpt", d_model=48, n_heads=4, n_layers=2, attn_config=dict(alibi=True, clip_qkv=4.0,
        qk_ln=False)),
    "opt_post": decoder("opt", do_layer_norm_before=False, word_embed_proj_dim=24, ffn_dim=96),
    "qwen2_sliding": decoder("qwen2", use_sliding_window=True, max_window_layers=1, sliding_window=4),
    "gemma2_soft": decoder("gemma2", attn_logit_softcapping=5.0, final_logit_softcapping=3.0, query_pre_attn_scalar=7,
        sliding_window=4),
    "llama_linear": decoder("llama", rope_parameters=dict(rope_type="linear", factor=4.0, rope_theta=10000.0)),
    "llama3_rope": decoder("llama", rope_parameters=dict(rope_type="llama3", factor=8.0, rope_theta=10000.0,
        low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
    "llama_dynamic": decoder("llama", rope_parameters=dict(rope_type="dynamic", factor=2.0, rope_theta=10000.0),
        max_position_embeddings=12),
    "gpt2_reorder": decoder("gpt2", n_embd=48, n_head=4, n_layer=2, scale_attn_by_inverse_layer_idx=True,
        reorder_and_upcast_attn=True),
    "cohere_qk": decoder("cohere", use_qk_norm=True),
    "gptj_small_rotary": decoder("gptj", n_embd=48, n_head=4, n_layer=2, rotary_dim=6),
    "bert_relative": encoder("bert", position_embedding_type="relative_key_query"),
    "esm_contact": encoder("esm", position_embedding_type="absolute", emb_layer_norm_before=True, token_dropout=True,
        mask_token_id=4, pad_token_id=1),
    "modernbert_local": encoder("modernbert", local_attention=4, global_attn_every_n_layers=2),
    "deberta_v2_conv": encoder("deberta-v2", relative_attention=True, pos_att_type=["c2p", "p2c"],
        max_relative_positions=16, position_buckets=4, share_att_key=True, norm_rel_ebd="layer_norm",
        conv_kernel_size=3, position_biased_input=False),
    "electra_gelu": encoder("electra", hidden_act="gelu_pytorch_tanh"),
    "encodec": made("encodec", lambda batch, seq, **_: {"input_values": torch.randn(batch, 1, 64 * seq)}, WAVES,
        num_filters=4, hidden_size=16, upsampling_ratios=[4, 2], num_residual_layers=1, codebook_size=16,
        codebook_dim=16, num_lstm_layers=1, normalize=False, pick=lambda m, input_values: (m.encoder(input_values),
        m.decoder(m.encoder(input_values)))),
    "dac": made("dac", lambda batch, seq, **_: {"input_values": torch.randn(batch, 1, 64 * seq)}, WAVES,
        encoder_hidden_size=8, downsampling_ratios=[2, 4], decoder_hidden_size=32, n_codebooks=2, codebook_size=16,
        codebook_dim=4, hidden_size=32, upsampling_ratios=[4, 2], pick=lambda m,
        input_values: (m.decoder(m.quantizer(m.encoder(input_values))[0]),)),
    "ast": made("audio-spectrogram-transformer", lambda batch, **_: {"input_values": torch.randn(batch, 48, 32)},
        {"input_values": {0: "batch"}}, base=IMAGE, without=("image_size",), max_length=48, num_mel_bins=32,
        out=("last_hidden_state", "pooler_output")),
    "speecht5_vocoder": made("speecht5_hifigan", lambda batch, seq, **_: {"spectrogram": torch.randn(batch, seq, 20)},
        {"spectrogram": {0: "batch", 1: "frames"}}, model=T.SpeechT5HifiGan, model_in_dim=20,
        upsample_initial_channel=16, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3, 5],
        resblock_dilation_sizes=[[1, 3], [1, 3]]),
    "univnet": made("univnet", lambda batch, seq, **_: {"input_features": torch.randn(batch, seq, 20),
        "noise_sequence": torch.randn(batch, seq, 8)}, {"input_features": {0: "batch", 1: "frames"},
        "noise_sequence": {0: "batch", 1: "frames"}}, model=T.UnivNetModel, model_in_channels=8,
        model_hidden_channels=8, num_mel_bins=20, resblock_kernel_sizes=[3, 3], resblock_stride_sizes=[4, 2],
        resblock_dilation_sizes=[[1, 3], [1, 3]], kernel_predictor_hidden_channels=8, kernel_predictor_num_blocks=1,
        out=("waveforms",)),
    "parakeet": made("parakeet_encoder", lambda batch, seq, **_: {"input_features": torch.randn(batch, 8 * seq, 16)},
        {"input_features": {0: "batch", 1: "frames"}}, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=96, num_mel_bins=16, subsampling_conv_channels=8, conv_kernel_size=5,
        max_position_embeddings=64, out=("last_hidden_state",)),
    "lasr": made("lasr_encoder", lambda batch, seq, **_: {"input_features": torch.randn(batch, 8 * seq, 16)},
        {"input_features": {0: "batch", 1: "frames"}}, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=96, num_mel_bins=16, subsampling_conv_channels=8, out=("last_hidden_state",)),
    "seamless": made("seamless_m4t_v2", lambda batch, seq, dec_seq, **_: {**tokens(batch, seq),
        "decoder_input_ids": token_ids(99, batch, dec_seq, padding=False)[0]}, {**TOKENS,
        "decoder_input_ids": {0: "batch", 1: "dec_seq"}}, model=T.SeamlessM4Tv2ForTextToText, vocab_size=99,
        hidden_size=48, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=64, decoder_ffn_dim=64, speech_encoder_layers=1, speech_encoder_attention_heads=4,
        speech_encoder_intermediate_size=64, adaptor_kernel_size=2, t2u_vocab_size=50, out=("logits",),
        args=dict(use_cache=False)),
    "musicgen_decoder": made("musicgen_decoder", lambda batch, seq, **_: {"input_ids": torch.randint(0, 20, (batch * 2,
        seq)), "encoder_hidden_states": torch.randn(batch, 4, 48)}, {"input_ids": {0: "rows", 1: "seq"},
        "encoder_hidden_states": {0: "batch"}}, model=T.MusicgenForCausalLM, vocab_size=20, num_codebooks=2,
        hidden_size=48, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, audio_channels=1,
        max_position_embeddings=64, pad_token_id=20, bos_token_id=20, out=("logits",), args=dict(use_cache=False)),
    "qwen2_audio": made("qwen2_audio_encoder", lambda batch, **_: {"input_features": torch.randn(batch, 16, 40)},
        {"input_features": {0: "batch"}}, d_model=48, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64,
        num_mel_bins=16, max_source_positions=20, out=("last_hidden_state",)),
    "depth_anything": made("depth_anything", pixels(3, 42, 56), {"pixel_values": {0: "batch", 2: "h", 3: "w"}},
        model=T.DepthAnythingForDepthEstimation, backbone_config=DINO, reassemble_hidden_size=48, neck_hidden_sizes=[8,
        16, 16, 16], fusion_hidden_size=8, head_hidden_size=8, patch_size=14, out=("predicted_depth",)),
    "zoedepth": made("zoedepth", pixels(3, 32, 32), IMAGES, model=T.ZoeDepthForDepthEstimation,
        backbone_config=T.BeitConfig(hidden_size=48, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64,
        image_size=32, patch_size=8, use_relative_position_bias=True, out_features=["stage1", "stage2", "stage3",
        "stage4"], reshape_hidden_states=False), backbone_hidden_size=48, reassemble_hidden_size=48,
        neck_hidden_sizes=[8, 16, 16, 16], fusion_hidden_size=8, bottleneck_features=8, num_relative_features=8,
        bin_embedding_dim=16, num_patch_transformer_layers=1, patch_transformer_hidden_size=16,
        patch_transformer_intermediate_size=16, patch_transformer_num_attention_heads=2, out=("predicted_depth",)),
    "vitmatte": made("vitmatte", pixels(4, 32, 32), IMAGES, model=T.VitMatteForImageMatting,
        backbone_config=T.VitDetConfig(hidden_size=24, num_hidden_layers=1, num_attention_heads=2, image_size=32,
        patch_size=16, num_channels=4, mlp_ratio=2, out_features=["stage1"]), hidden_size=24,
        convstream_hidden_sizes=[8, 8, 16], fusion_hidden_sizes=[16, 8, 8, 8], out=("alphas",)),
    "vjepa2": made("vjepa2", lambda batch, **_: {"pixel_values_videos": torch.randn(batch, 4, 3, 32, 32)},
        {"pixel_values_videos": {0: "batch"}}, crop_size=32, frames_per_clip=4, patch_size=8, hidden_size=48,
        num_attention_heads=4, num_hidden_layers=2, mlp_ratio=2, pred_hidden_size=24, pred_num_attention_heads=2,
        pred_num_hidden_layers=1, pick=lambda m, pixel_values_videos: (m(pixel_values_videos,
        skip_predictor=True).last_hidden_state,)),
    "owlvit": made("owlvit", lambda batch, **_: {"input_ids": torch.randint(5, 99, (batch, 6)),
        "pixel_values": torch.randn(batch, 3, 32, 32), "attention_mask": torch.ones(batch, 6, dtype=torch.int64)},
        {k: {0: "batch"} for k in ("input_ids", "pixel_values", "attention_mask")}, model=T.OwlViTForObjectDetection,
        text_config=dict(vocab_size=99, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
        num_attention_heads=4, max_position_embeddings=16), vision_config=dict(hidden_size=32, intermediate_size=48,
        num_hidden_layers=1, num_attention_heads=4, image_size=32, patch_size=8), projection_dim=32, out=("logits",
        "pred_boxes")),
    "blip_vqa": made("blip", tokens_and_images, TOKENS_AND_IMAGES, model=T.BlipForImageTextRetrieval,
        text_config=dict(vocab_size=99, hidden_size=48, encoder_hidden_size=48, intermediate_size=64,
        num_hidden_layers=1, num_attention_heads=4, max_position_embeddings=64), vision_config=dict(hidden_size=48,
        intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, image_size=32, patch_size=8),
        out=("itm_score",)),
    "git": made("git", tokens_and_images, TOKENS_AND_IMAGES, model=T.GitForCausalLM, vocab_size=99, hidden_size=48,
        intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, max_position_embeddings=128,
        vision_config=dict(hidden_size=48, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4,
        image_size=32, patch_size=8), out=("logits",), args=dict(use_cache=False)),
    "lxmert": made("lxmert", lambda batch, seq, **_: {**tokens(batch, seq), "visual_feats": torch.randn(batch, 5, 20),
        "visual_pos": torch.rand(batch, 5, 4)}, {**TOKENS, "visual_feats": {0: "batch"}, "visual_pos": {0: "batch"}},
        vocab_size=99, hidden_size=48, num_attention_heads=4, intermediate_size=64, l_layers=1, x_layers=1, r_layers=1,
        visual_feat_dim=20, out=("language_output", "vision_output")),
    "trocr": made("trocr", lambda batch, seq, **_: {"input_ids": token_ids(99, batch, seq, padding=False)[0],
        "encoder_hidden_states": torch.randn(batch, 7, 32)}, {"input_ids": {0: "batch", 1: "seq"},
        "encoder_hidden_states": {0: "batch"}}, model=T.TrOCRForCausalLM, vocab_size=99, d_model=48, decoder_layers=1,
        decoder_attention_heads=4, decoder_ffn_dim=64, cross_attention_hidden_size=32, max_position_embeddings=64,
        out=("logits",), args=dict(use_cache=False)),
    "mgp_str": made("mgp-str", pixels(3, 32, 64), IMAGES, model=T.MgpstrForSceneTextRecognition, image_size=[32, 64],
        patch_size=4, hidden_size=48, num_hidden_layers=1, num_attention_heads=4, mlp_ratio=2, max_token_length=9,
        num_character_labels=20, num_bpe_labels=30, num_wordpiece_labels=30),
    "llava": made("llava", lambda batch, seq, **_: {"input_ids": torch.cat([torch.full((batch, 16), 98),
        torch.randint(5, 90, (batch, seq))], 1), "attention_mask": torch.ones(batch, seq + 16, dtype=torch.int64),
        "pixel_values": torch.randn(batch, 3, 32, 32)}, {**TOKENS, "pixel_values": {0: "batch"}},
        model=T.LlavaForConditionalGeneration, text_config=dict(model_type="llama", vocab_size=99, hidden_size=48,
        intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2),
        vision_config=dict(model_type="clip_vision_model", hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, image_size=32, patch_size=8, projection_dim=16), image_token_index=98,
        image_seq_length=16, out=("logits",), args=dict(use_cache=False)),
    **{kind: decoder(kind, head_dim=12, **SECTIONS) for kind in ("qwen2_vl_text", "qwen2_5_vl_text", "glm_ocr_text")},
    "glm4v_text": decoder("glm4v_text", rope_parameters=dict(ROTARY, mrope_section=[2, 2, 2],
        partial_rotary_factor=1.0)),
    **{"bert_" + name: encoder("bert", hidden_act=name, num_hidden_layers=1) for name in ACTIVATIONS},
    "rt_detr": made("rt_detr", pixels(3, 64, 96), IMAGES, model=T.RTDetrForObjectDetection, backbone_config=RESNET,
        encoder_in_channels=[32, 48, 64], feat_strides=[8, 16, 32], decoder_in_channels=[32, 32, 32],
        decoder_n_points=2, **DETECTOR, out=("logits", "pred_boxes")),
    "time_series_transformer": made("time_series_transformer", series, {name: {0: "batch"} for name in series(1)},
        model=T.TimeSeriesTransformerModel, out=("last_hidden_state",), args=dict(use_cache=False),
        prediction_length=6, context_length=13, lags_sequence=[1, 2, 7], num_time_features=2, d_model=32,
        encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32),
    **{kind: decoder(kind, **BATCHED_EXPERTS) for kind in ("aria_text", "cohere2_moe", "ernie4_5", "ernie4_5_moe",
        "jetmoe")},
}
