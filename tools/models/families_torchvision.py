"""Image models of torchvision."""

import torch
import torchvision.models as V

from families_base import Case, two_sizes


def cnn(build, side=64, full=None, full_side=224, **arguments):
    def make(attention, size):
        del attention
        if size == "small":
            model = build(weights=None, num_classes=10, **arguments)
            inputs, others = two_sizes(lambda batch, **_: {"input": torch.randn(batch, 3, side, side)})
        else:
            model = (full or build)(weights=None)
            inputs, others = ({"input": torch.randn(batch, 3, full_side, full_side)} for batch in (1, 2))
        return Case(model, inputs, {"input": {0: "batch"}}, [], others=others, positional=True)
    return make


def small_swin(block):
    def build(weights, num_classes, **arguments):
        del weights
        return V.SwinTransformer(num_classes=num_classes, patch_size=[4, 4], embed_dim=16, depths=[2, 2],
                                 num_heads=[2, 4], window_size=[4, 4], mlp_ratio=2.0, block=block, **arguments)
    return build


def small_swin_v2(weights, num_classes):
    from torchvision.models import swin_transformer as S
    return S.SwinTransformer(num_classes=num_classes, patch_size=[4, 4], embed_dim=16, depths=[2, 2],
                             num_heads=[2, 4], window_size=[4, 4], mlp_ratio=2.0, block=S.SwinTransformerBlockV2,
                             downsample_layer=S.PatchMergingV2)


def small_vit(weights, num_classes):
    return V.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=48, mlp_dim=96,
                               num_classes=num_classes)


def small_convnext(weights, num_classes):
    from torchvision.models.convnext import CNBlockConfig
    return V.ConvNeXt([CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 1)], num_classes=num_classes)


def small_maxvit(weights, num_classes):
    return V.MaxVit(input_size=(64, 64), stem_channels=16, partition_size=4, block_channels=[16, 32],
                    block_layers=[1, 1], head_dim=8, stochastic_depth_prob=0.0, num_classes=num_classes)


def small_densenet(weights, num_classes):
    return V.DenseNet(growth_rate=8, block_config=(2, 2), num_init_features=16, num_classes=num_classes)


FAMILIES = {
    "tv_resnet18": cnn(V.resnet18),
    "tv_resnet50": cnn(V.resnet50, width_per_group=16),
    "tv_mobilenet_v2": cnn(V.mobilenet_v2),
    "tv_mobilenet_v3_small": cnn(V.mobilenet_v3_small),
    "tv_mobilenet_v3_large": cnn(V.mobilenet_v3_large),
    "tv_efficientnet_b0": cnn(V.efficientnet_b0),
    "tv_efficientnet_v2_s": cnn(V.efficientnet_v2_s),
    "tv_squeezenet1_1": cnn(V.squeezenet1_1),
    "tv_densenet": cnn(small_densenet),
    "tv_shufflenet_v2": cnn(V.shufflenet_v2_x0_5),
    "tv_regnet_y_400mf": cnn(V.regnet_y_400mf),
    "tv_googlenet": cnn(V.googlenet, init_weights=True, aux_logits=False),
    "tv_inception_v3": cnn(V.inception_v3, side=96, init_weights=True, aux_logits=False),
    "tv_vgg11": cnn(V.vgg11, init_weights=True),
    "tv_alexnet": cnn(V.alexnet),
    "tv_mnasnet": cnn(V.mnasnet0_5),
    "tv_swin": cnn(small_swin(None), full=V.swin_t),
    "tv_swin_v2": cnn(small_swin_v2),
    "tv_vit": cnn(small_vit, side=32, full=V.vit_b_16),
    "tv_convnext": cnn(small_convnext, full=V.convnext_tiny),
    "tv_maxvit": cnn(small_maxvit),
}
