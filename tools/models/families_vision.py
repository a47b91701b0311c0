"""Image models of transformers, and those that take text and images."""

import torch
import transformers as T

from families_base import Case, text_inputs, two_sizes

VIT = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, image_size=32,
           patch_size=8)
SWIN = dict(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)


def image(model, config, outputs=("last_hidden_state",), base=None, side=32, keep_batch_norm=False, arguments=None,
          **overrides):
    def make(attention, size):
        del size
        settings = config(**{**(VIT if base is None else base), **overrides}, attn_implementation=attention)
        inputs, others = two_sizes(lambda batch, **_: {"pixel_values": torch.randn(batch, 3, side, side)})
        return Case(model(settings), inputs, {"pixel_values": {0: "batch"}}, list(outputs), keep_batch_norm, others,
                    arguments or {})
    return make


def text_and_image(model, config, text, outputs):
    def make(attention, size):
        del size
        settings = config(text_config=text, vision_config=VIT, attn_implementation=attention)

        def sample(batch, seq, **_):
            inputs = text_inputs(99, batch, seq)[0]
            inputs["input_ids"][:, 5] = 98
            return {"input_ids": inputs["input_ids"], "pixel_values": torch.randn(batch + 1, 3, 32, 32),
                    "attention_mask": inputs["attention_mask"]}
        inputs, others = two_sizes(sample)
        axes = {"input_ids": {0: "batch", 1: "seq"}, "pixel_values": {0: "images"},
                "attention_mask": {0: "batch", 1: "seq"}}
        return Case(model(settings), inputs, axes, list(outputs), others=others)
    return make


CLIP_TEXT = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, vocab_size=99,
                 max_position_embeddings=64, eos_token_id=98, bos_token_id=97, pad_token_id=1)
SEGFORMER = dict(depths=[1, 1], num_encoder_blocks=2, hidden_sizes=[16, 32], num_attention_heads=[1, 2],
                 sr_ratios=[2, 1], patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[2, 2], decoder_hidden_size=24)
PVT = dict(image_size=32, depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 32, 48], num_attention_heads=[1, 2, 2, 4],
           sequence_reduction_ratios=[4, 2, 2, 1], patch_sizes=[4, 2, 2, 1], strides=[4, 2, 2, 1],
           mlp_ratios=[2, 2, 2, 2])
PVT_V2 = dict(image_size=32, depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 32, 48], num_attention_heads=[1, 2, 2, 4],
              sr_ratios=[4, 2, 2, 1], mlp_ratios=[2, 2, 2, 2])
POOLFORMER = dict(depths=[1, 1], num_encoder_blocks=2, hidden_sizes=[16, 32], patch_sizes=[7, 3], strides=[4, 2],
                  padding=[2, 1], mlp_ratio=2.0)
MOBILEVIT = dict(image_size=64, hidden_sizes=[24, 32, 48], neck_hidden_sizes=[8, 16, 24, 32, 32, 40, 48],
                 num_attention_heads=4, output_stride=32)
LEVIT = dict(image_size=64, hidden_sizes=[32, 48, 64], num_attention_heads=[2, 3, 4], depths=[1, 1, 1],
             key_dim=[8, 8, 8], attention_ratio=[2, 2, 2], mlp_ratio=[2, 2, 2],
             down_ops=[["Subsample", 8, 4, 4, 2, 2], ["Subsample", 8, 6, 4, 2, 2]])
RESNET = dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="bottleneck")
CVT = dict(embed_dim=[16, 32, 48], num_heads=[1, 2, 4], depth=[1, 2, 3])
FOCALNET = dict(image_size=32, embed_dim=16, depths=[1, 1], patch_size=4, focal_levels=[2, 2], focal_windows=[3, 3])

FAMILIES = {
    "vit_msn": image(T.ViTMSNModel, T.ViTMSNConfig),
    "ijepa": image(T.IJepaModel, T.IJepaConfig),
    "beit_classify": image(T.BeitForImageClassification, T.BeitConfig, outputs=("logits",),
                           use_relative_position_bias=True),
    "data2vec_vision": image(T.Data2VecVisionModel, T.Data2VecVisionConfig, use_relative_position_bias=True,
                             use_shared_relative_position_bias=False),
    "data2vec_vision_shared": image(T.Data2VecVisionModel, T.Data2VecVisionConfig,
                                    use_shared_relative_position_bias=True),
    "dinov2": image(T.Dinov2Model, T.Dinov2Config, mlp_ratio=2),
    "dinov2_swiglu": image(T.Dinov2Model, T.Dinov2Config, mlp_ratio=2, use_swiglu_ffn=True),
    "dinov2_registers": image(T.Dinov2WithRegistersModel, T.Dinov2WithRegistersConfig, mlp_ratio=2),
    "yolos": image(T.YolosModel, T.YolosConfig, image_size=[32, 32], num_detection_tokens=5),
    "swin": image(T.SwinModel, T.SwinConfig, base=SWIN),
    "swin_classify": image(T.SwinForImageClassification, T.SwinConfig, outputs=("logits",), base=SWIN),
    "swinv2": image(T.Swinv2Model, T.Swinv2Config, base=SWIN),
    "convnext": image(T.ConvNextModel, T.ConvNextConfig, base=dict(
        image_size=32, hidden_sizes=[16, 32], depths=[1, 1], num_stages=2)),
    "convnextv2": image(T.ConvNextV2Model, T.ConvNextV2Config, base=dict(
        image_size=32, hidden_sizes=[16, 32], depths=[1, 1], num_stages=2)),
    "segformer": image(T.SegformerForSemanticSegmentation, T.SegformerConfig, outputs=("logits",), base=SEGFORMER,
                       side=64),
    "segformer_encoder": image(T.SegformerModel, T.SegformerConfig, base=SEGFORMER, side=64),
    "pvt": image(T.PvtModel, T.PvtConfig, base=PVT),
    "pvt_v2": image(T.PvtV2Model, T.PvtV2Config, base=PVT_V2, side=64),
    "poolformer": image(T.PoolFormerModel, T.PoolFormerConfig, base=POOLFORMER),
    "mobilevit": image(T.MobileViTModel, T.MobileViTConfig, base=MOBILEVIT, side=64),
    "mobilevitv2": image(T.MobileViTV2Model, T.MobileViTV2Config, base=dict(
        image_size=64, width_multiplier=0.25, base_attn_unit_dims=[32, 48, 64]), side=64),
    "levit": image(T.LevitModel, T.LevitConfig, base=LEVIT, side=64),
    "cvt": image(T.CvtModel, T.CvtConfig, base=CVT),
    "focalnet": image(T.FocalNetModel, T.FocalNetConfig, base=FOCALNET),
    "resnet_hf": image(T.ResNetModel, T.ResNetConfig, base=RESNET),
    "regnet": image(T.RegNetModel, T.RegNetConfig, base=dict(
        embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], groups_width=8, layer_type="y")),
    "mobilenet_v1_hf": image(T.MobileNetV1Model, T.MobileNetV1Config, base=dict(depth_multiplier=0.25, min_depth=8)),
    "mobilenet_v2_hf": image(T.MobileNetV2Model, T.MobileNetV2Config, base=dict(depth_multiplier=0.25, min_depth=8)),
    "efficientnet_hf": image(T.EfficientNetModel, T.EfficientNetConfig, base=dict(
        image_size=64, width_coefficient=0.25, depth_coefficient=0.3, hidden_dim=320), side=64),
    "clip": text_and_image(T.CLIPModel, T.CLIPConfig, CLIP_TEXT, ["logits_per_image", "text_embeds", "image_embeds"]),
    "siglip": text_and_image(T.SiglipModel, T.SiglipConfig, CLIP_TEXT, ["logits_per_image", "text_embeds"]),
    "siglip_vision": image(T.SiglipVisionModel, T.SiglipVisionConfig,
                           outputs=("last_hidden_state", "pooler_output")),
}
