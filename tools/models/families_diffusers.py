"""Diffusion models of diffusers, small: U-Nets of one to three axes, transformers, autoencoders. `pip install diffusers`."""

import torch
from torch import nn

try:
    import diffusers
except ImportError:  # FAMILIES is there all the same; making one says what is missing
    diffusers = None

from families_base import Case


class Coded(nn.Module):
    """An autoencoder's image of its own code."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        coded = self.model.encode(x)
        if hasattr(coded, "latent_dist"):
            return self.model.decode(coded.latent_dist.mean).sample
        return self.model.decode(coded.latents).sample


def made(build, sample, out=("sample",)):
    """`sample` makes inputs of a batch; axes whose extents follow it are dynamic."""
    def make(attention, size):
        del attention, size
        inputs, others = sample(1), sample(2)
        axes = {name: {axis: "batch" for axis in range(value.dim()) if value.shape[axis] != others[name].shape[axis]}
                for name, value in inputs.items()}
        return Case(build(), inputs, axes, list(out), others=others)
    return make


def autoencoder(build, *shape):
    return made(lambda: Coded(build()), lambda batch: dict(x=torch.randn(batch, *shape)), ())


FAMILIES = {
    "unet2d_odd": made(lambda: diffusers.UNet2DModel(sample_size=24, in_channels=3, out_channels=3,
        block_out_channels=(16, 24, 32), norm_num_groups=8, down_block_types=("DownBlock2D", "AttnDownBlock2D",
        "DownBlock2D"), up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D"), layers_per_block=1,
        attention_head_dim=8), lambda b: dict(sample=torch.randn(b, 3, 24, 40), timestep=torch.tensor([7] * b))),
    "unet3d": made(lambda: diffusers.UNet3DConditionModel(sample_size=8, block_out_channels=(16, 32),
        norm_num_groups=8, layers_per_block=1, cross_attention_dim=24, attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"), up_block_types=("UpBlock3D", "CrossAttnUpBlock3D")),
        lambda b: dict(sample=torch.randn(b, 4, 3, 8, 8), timestep=torch.tensor([7] * b),
        encoder_hidden_states=torch.randn(b, 7, 24))),
    "unet_sdxl": made(lambda: diffusers.UNet2DConditionModel(sample_size=16, block_out_channels=(16, 32),
        norm_num_groups=8, layers_per_block=2, cross_attention_dim=24, attention_head_dim=(2, 4),
        transformer_layers_per_block=(1, 2), use_linear_projection=True, down_block_types=("DownBlock2D",
        "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), num_class_embeds=10),
        lambda b: dict(sample=torch.randn(b, 4, 16, 12), timestep=torch.tensor([7] * b),
        encoder_hidden_states=torch.randn(b, 9, 24), class_labels=torch.tensor([3] * b))),
    "unet_scale_shift": made(lambda: diffusers.UNet2DConditionModel(sample_size=16, block_out_channels=(16, 32),
        norm_num_groups=8, layers_per_block=1, cross_attention_dim=24, attention_head_dim=8,
        resnet_time_scale_shift="scale_shift", down_block_types=("ResnetDownsampleBlock2D",
        "SimpleCrossAttnDownBlock2D"), up_block_types=("SimpleCrossAttnUpBlock2D", "ResnetUpsampleBlock2D"),
        mid_block_type="UNetMidBlock2DSimpleCrossAttn", only_cross_attention=True),
        lambda b: dict(sample=torch.randn(b, 4, 16, 16), timestep=torch.tensor([7] * b),
        encoder_hidden_states=torch.randn(b, 9, 24))),
    "controlnet": made(lambda: diffusers.ControlNetModel(block_out_channels=(16, 32), norm_num_groups=8,
        layers_per_block=1, cross_attention_dim=24, attention_head_dim=8, down_block_types=("CrossAttnDownBlock2D",
        "DownBlock2D"), conditioning_embedding_out_channels=(8, 16)), lambda b: dict(sample=torch.randn(b, 4, 16, 16),
        timestep=torch.tensor([7] * b), encoder_hidden_states=torch.randn(b, 9, 24), controlnet_cond=torch.randn(b, 3,
        32, 32)), out=()),
    "vae_kl": autoencoder(lambda: diffusers.AutoencoderKL(block_out_channels=(16, 32), norm_num_groups=8,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2), 3, 24, 40),
    "vae_tiny": autoencoder(lambda: diffusers.AutoencoderTiny(encoder_block_out_channels=(16, 16),
        decoder_block_out_channels=(16, 16), num_encoder_blocks=(1, 2), num_decoder_blocks=(2, 1)), 3, 24, 40),
    "vae_asym": autoencoder(lambda: diffusers.AsymmetricAutoencoderKL(down_block_out_channels=(16, 32),
        up_block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=8, layers_per_down_block=1, layers_per_up_block=1),
        3, 16, 16),
    "vae_vq": autoencoder(lambda: diffusers.VQModel(block_out_channels=(16, 32), norm_num_groups=8,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, num_vq_embeddings=32,
        latent_channels=3), 3, 16, 16),
    "vae_video_temporal": autoencoder(lambda: diffusers.AutoencoderKLCogVideoX(block_out_channels=(8, 16),
        down_block_types=("CogVideoXDownBlock3D",) * 2, up_block_types=("CogVideoXUpBlock3D",) * 2, norm_num_groups=4,
        layers_per_block=1, latent_channels=4, temporal_compression_ratio=2), 3, 5, 16, 16),
    "sd3": made(lambda: diffusers.SD3Transformer2DModel(sample_size=8, patch_size=2, in_channels=4, num_layers=2,
        attention_head_dim=12, num_attention_heads=2, joint_attention_dim=20, caption_projection_dim=24,
        pooled_projection_dim=16, out_channels=4, pos_embed_max_size=8), lambda b: dict(hidden_states=torch.randn(b, 4,
        8, 8), encoder_hidden_states=torch.randn(b, 5, 20), pooled_projections=torch.randn(b, 16),
        timestep=torch.tensor([7] * b))),
    "sana": made(lambda: diffusers.SanaTransformer2DModel(patch_size=1, in_channels=4, out_channels=4, num_layers=2,
        attention_head_dim=12, num_attention_heads=2, num_cross_attention_heads=2, cross_attention_head_dim=12,
        cross_attention_dim=24, caption_channels=16, sample_size=8), lambda b: dict(hidden_states=torch.randn(b, 4, 8,
        8), encoder_hidden_states=torch.randn(b, 5, 16), timestep=torch.tensor([7] * b))),
    "auraflow": made(lambda: diffusers.AuraFlowTransformer2DModel(sample_size=8, patch_size=2, in_channels=4,
        num_mmdit_layers=1, num_single_dit_layers=1, attention_head_dim=12, num_attention_heads=2,
        joint_attention_dim=20, caption_projection_dim=24, out_channels=4, pos_embed_max_size=16),
        lambda b: dict(hidden_states=torch.randn(b, 4, 8, 8), encoder_hidden_states=torch.randn(b, 5, 20),
        timestep=torch.full((b,), 0.5))),
    "stable_audio": made(lambda: diffusers.StableAudioDiTModel(sample_size=16, in_channels=4, num_layers=2,
        attention_head_dim=16, num_attention_heads=2, num_key_value_attention_heads=1, out_channels=4,
        cross_attention_dim=20, time_proj_dim=16, global_states_input_dim=16, cross_attention_input_dim=20),
        lambda b: dict(hidden_states=torch.randn(b, 4, 16), timestep=torch.full((b,), 0.5),
        encoder_hidden_states=torch.randn(b, 5, 20), global_hidden_states=torch.randn(b, 1, 16))),
    "latte": made(lambda: diffusers.LatteTransformer3DModel(num_attention_heads=2, attention_head_dim=12,
        in_channels=4, out_channels=8, num_layers=1, cross_attention_dim=24, sample_size=8, patch_size=2,
        caption_channels=16, norm_type="ada_norm_single", norm_elementwise_affine=False, attention_bias=True,
        activation_fn="gelu-approximate", video_length=2), lambda b: dict(hidden_states=torch.randn(b, 4, 2, 8, 8),
        timestep=torch.tensor([7] * b), encoder_hidden_states=torch.randn(b, 5, 16))),
    "cascade": made(lambda: diffusers.models.StableCascadeUNet(in_channels=4, out_channels=4,
        timestep_ratio_embedding_dim=8, patch_size=1, conditioning_dim=32, block_out_channels=(16, 32),
        num_attention_heads=(0, 4), down_num_layers_per_block=(1, 1), up_num_layers_per_block=(1, 1),
        down_blocks_repeat_mappers=(1, 1), up_blocks_repeat_mappers=(1, 1),
        block_types_per_layer=(("SDCascadeResBlock", "SDCascadeTimestepBlock"), ("SDCascadeResBlock",
        "SDCascadeTimestepBlock", "SDCascadeAttnBlock")), clip_text_in_channels=16, clip_text_pooled_in_channels=16,
        clip_image_in_channels=16, clip_seq=4, switch_level=(False,), self_attn=True),
        lambda b: dict(sample=torch.randn(b, 4, 8, 8), timestep_ratio=torch.full((b,), 0.5),
        clip_text_pooled=torch.randn(b, 1, 16), clip_text=torch.randn(b, 5, 16), clip_img=torch.randn(b, 1, 16))),
}
