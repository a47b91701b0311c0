"""Segmenters, detectors and captioners at real widths, for benchmarks; more decoders with biases of their own."""

import torch
import transformers as T

from families_base import Case
from families_wide import EncoderOf, ids, pixels, prefill, step, wide

FOUR = dict(num_hidden_layers=4)


class MaskDecoder(torch.nn.Module):
    """SAM's prompt encoder and mask decoder, on the embedding of an image of 1024 x 1024."""

    def __init__(self):
        super().__init__()
        self.sam = T.SamModel(T.SamConfig(vision_config=dict(num_hidden_layers=1, global_attn_indexes=[0])))
        self.sam.vision_encoder = None

    def forward(self, image_embeddings, input_points):
        result = self.sam(image_embeddings=image_embeddings, input_points=input_points)
        return result.pred_masks, result.iou_scores


def mask_decoder(attention, size):
    del attention, size
    inputs = {"image_embeddings": torch.randn(1, 256, 64, 64), "input_points": torch.rand(1, 1, 2, 2) * 1000}
    return Case(MaskDecoder(), inputs, {}, [], positional=True)


def detr(attention, size):
    """DETR-R50 on an image of 512 x 512."""
    del attention, size  # the backbone has no other
    backbone = T.ResNetConfig(out_features=["stage4"])
    config = T.DetrConfig(use_timm_backbone=False, backbone_config=backbone, use_pretrained_backbone=False, backbone=None,
                          encoder_layers=4, decoder_layers=4, attn_implementation="eager")
    return Case(T.DetrForObjectDetection(config), {"pixel_values": torch.randn(1, 3, 512, 512)}, {},
                ["logits", "pred_boxes"])


class Captioner(torch.nn.Module):
    """BLIP's decoder of text, which looks at the image too."""

    def __init__(self):
        super().__init__()
        config = T.models.blip.configuration_blip.BlipTextConfig(
            num_hidden_layers=4, is_decoder=True, encoder_hidden_size=768, attn_implementation="eager")
        self.model = T.models.blip.modeling_blip_text.BlipTextLMHeadModel(config)

    def forward(self, input_ids, attention_mask, image):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, encoder_hidden_states=image,
                          use_cache=False, return_dict=True).logits


def captioner(attention, size):
    del attention, size
    inputs = {**ids(30524, 1, 32), "image": torch.randn(1, 577, 768)}
    axes = {"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}, "image": {0: "batch"}}
    return Case(Captioner(), inputs, axes, [], positional=True)


def segformer(attention, size):
    """SegFormer-B0 on an image of 512 x 512."""
    del size
    config = T.SegformerConfig(attn_implementation=attention)
    return Case(T.SegformerForSemanticSegmentation(config), {"pixel_values": torch.randn(1, 3, 512, 512)},
                {"pixel_values": {0: "batch"}}, ["logits"])


FAMILIES = {
    "sam_mask_decoder": mask_decoder,
    "sam_encoder_512": pixels("sam_vision_model", side=512, image_size=512, num_hidden_layers=4,
                              global_attn_indexes=[3]),
    "detr_r50": detr,
    "blip_text": captioner,
    "segformer_b0": segformer,
    "siglip_text": wide("siglip_text_model", model=T.SiglipTextModel, seq=64, mask=False, outputs=("last_hidden_state", "pooler_output"), **FOUR),
    "dinov2_base": pixels("dinov2", **FOUR),
    "mpt": prefill("mpt", vocab_size=32000, d_model=1024, n_layers=4, n_heads=16, max_seq_len=2048),
    "falcon_groups_past": step("falcon", vocab_size=32000, hidden_size=1024, num_attention_heads=16,
                               num_kv_heads=16, new_decoder_architecture=True, **FOUR),
    "t5_base_encoder": wide("t5", model=EncoderOf, d_model=768, d_ff=3072, num_layers=4, num_heads=12),
    "whisper_base_encoder": wide("whisper", model=EncoderOf, d_model=512, encoder_layers=4, decoder_layers=1,
                                 encoder_attention_heads=8, encoder_ffn_dim=2048, decoder_attention_heads=8,
                                 decoder_ffn_dim=64,
                                 sample=lambda _: {"input_features": torch.randn(1, 80, 3000)},
                                 axes={"input_features": {0: "batch"}}),
}
