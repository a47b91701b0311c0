"""Full-size models that work on images, of torchvision, of timm and written here, to benchmark what `FULL` lacks.

Each has the size that its paper has; `small` makes no difference. Those of timm need `pip install timm`.
"""

import torch
import torchvision.models as V
from torch import nn
from torch.nn import functional as F

from families_base import Case


def on_images(build, *shape):
    """`build()` is a model of one image of `shape`; the batch is dynamic."""
    def make(attention, size):
        del attention, size
        inputs, others = ({"input": torch.randn(batch, *shape)} for batch in (1, 2))
        return Case(build(), inputs, {"input": {0: "batch"}}, [], others=others, positional=True)
    return make


def torchvision(build, side=224, **arguments):
    return on_images(lambda: build(weights=None, **arguments), 3, side, side)


def segmentation(build, side):
    return on_images(lambda: build(weights=None, weights_backbone=None), 3, side, side)


def timm(name, side=224):
    def build():
        import timm as package
        return package.create_model(name, pretrained=False)
    return on_images(build, 3, side, side)


def activated(channels, filters, kernel, activation, **arguments):
    return nn.Sequential(nn.Conv2d(channels, filters, kernel, padding=kernel // 2, **arguments), activation)


class UNet(nn.Module):
    """Ronneberger et al., 2015, with batch norms; transposed convolutions on the way up."""

    def __init__(self, widths=(32, 64, 128, 256, 512)):
        super().__init__()
        self.down = nn.ModuleList(self.block(a, b) for a, b in zip((3, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in widths[-2::-1])
        self.join = nn.ModuleList(self.block(2 * w, w) for w in widths[-2::-1])
        self.head = nn.Conv2d(widths[0], 2, 1)

    @staticmethod
    def block(channels, filters):
        return nn.Sequential(nn.Conv2d(channels, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(),
                             nn.Conv2d(filters, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU())

    def forward(self, x):
        kept = []
        for block in self.down:
            kept.append(block(F.max_pool2d(kept[-1], 2) if kept else x))
        x = kept.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([kept.pop(), up(x)], 1))
        return self.head(x)


class Generator(nn.Module):
    """Images from noise by transposed convolutions of 4 x 4 (DCGAN; Radford et al., 2015)."""

    def __init__(self, widths=(1024, 512, 256, 128)):
        super().__init__()
        layers = [nn.ConvTranspose2d(128, widths[0], 4), nn.BatchNorm2d(widths[0]), nn.ReLU()]
        for a, b in zip(widths, widths[1:]):
            layers += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.ConvTranspose2d(widths[-1], 3, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.layers(x)


def espcn():
    """Shi et al., 2016."""
    return nn.Sequential(activated(1, 64, 5, nn.Tanh()), activated(64, 32, 3, nn.Tanh()),
                         nn.Conv2d(32, 9, 3, padding=1), nn.PixelShuffle(3))


class Edsr(nn.Module):
    """Lim et al., 2017, the baseline."""

    def __init__(self, width=64, blocks=16):
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.ModuleList(nn.Sequential(activated(width, width, 3, nn.ReLU()),
                                                nn.Conv2d(width, width, 3, padding=1)) for _ in range(blocks))
        self.tail = nn.Sequential(nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2),
                                  nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        x = y = self.head(x)
        for block in self.body:
            y = y + block(y)
        return self.tail(x + y)


class Csp(nn.Module):
    """Half of the channels through bottlenecks, all of their results joined, as YOLOv5 to v8 have it."""

    def __init__(self, channels, filters, depth, residual):
        super().__init__()
        half = filters // 2
        self.first = self.conv(channels, filters, 1)
        self.blocks = nn.ModuleList(nn.Sequential(self.conv(half, half, 3), self.conv(half, half, 3))
                                    for _ in range(depth))
        self.last = self.conv((2 + depth) * half, filters, 1)
        self.residual = residual

    @staticmethod
    def conv(channels, filters, kernel, stride=1):
        return nn.Sequential(nn.Conv2d(channels, filters, kernel, stride, kernel // 2, bias=False),
                             nn.BatchNorm2d(filters), nn.SiLU())

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(parts[-1] + block(parts[-1]) if self.residual else block(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Yolo(nn.Module):
    """A detector like YOLOv8n: CSP blocks, pools of 5 x 5, a pyramid up and down, boxes from sixteen bins a side."""

    def __init__(self, widths=(16, 32, 64, 128, 256), classes=80):
        super().__init__()
        w = widths
        conv = Csp.conv
        self.stem = nn.Sequential(conv(3, w[0], 3, 2), conv(w[0], w[1], 3, 2), Csp(w[1], w[1], 1, True))
        self.stages = nn.ModuleList(nn.Sequential(conv(w[i], w[i + 1], 3, 2), Csp(w[i + 1], w[i + 1], n, True))
                                    for i, n in ((1, 2), (2, 2), (3, 1)))
        self.reduce, self.expand = conv(w[4], w[3], 1), conv(2 * w[4], w[4], 1)
        self.up = nn.ModuleList([Csp(w[4] + w[3], w[3], 1, False), Csp(w[3] + w[2], w[2], 1, False)])
        self.steps = nn.ModuleList([conv(w[2], w[2], 3, 2), conv(w[3], w[3], 3, 2)])
        self.down = nn.ModuleList([Csp(w[2] + w[3], w[3], 1, False), Csp(w[3] + w[4], w[4], 1, False)])
        self.boxes = nn.ModuleList(nn.Sequential(conv(c, 64, 3), conv(64, 64, 3), nn.Conv2d(64, 64, 1)) for c in w[2:])
        self.names = nn.ModuleList(nn.Sequential(conv(c, classes, 3), conv(classes, classes, 3),
                                                 nn.Conv2d(classes, classes, 1)) for c in w[2:])

    def forward(self, x):
        a = self.stages[0](self.stem(x))
        b = self.stages[1](a)
        pools = [self.reduce(self.stages[2](b))]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        c = self.expand(torch.cat(pools, 1))
        b = self.up[0](torch.cat([F.interpolate(c, scale_factor=2.0), b], 1))
        a = self.up[1](torch.cat([F.interpolate(b, scale_factor=2.0), a], 1))
        b = self.down[0](torch.cat([self.steps[0](a), b], 1))
        c = self.down[1](torch.cat([self.steps[1](b), c], 1))
        boxes = torch.cat([head(y).flatten(2) for head, y in zip(self.boxes, (a, b, c))], 2)
        names = torch.cat([head(y).flatten(2) for head, y in zip(self.names, (a, b, c))], 2)
        bins = boxes.view(boxes.shape[0], 4, 16, -1).softmax(2)
        sides = (bins * torch.arange(16.0).view(1, 1, 16, 1)).sum(2)
        return torch.cat([sides, names.sigmoid()], 1)


class ResidualNormed(nn.Module):
    def __init__(self, channels, filters, embedding):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(32, channels), nn.GroupNorm(32, filters)])
        self.convs = nn.ModuleList([nn.Conv2d(channels, filters, 3, padding=1),
                                    nn.Conv2d(filters, filters, 3, padding=1)])
        self.embedding = nn.Linear(embedding, filters)
        self.skip = nn.Identity() if channels == filters else nn.Conv2d(channels, filters, 1)

    def forward(self, x, time):
        y = self.convs[0](F.silu(self.norms[0](x)))
        y = y + self.embedding(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.convs[1](F.silu(self.norms[1](y)))


class PixelAttention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.norm = nn.GroupNorm(32, channels)
        self.project, self.back = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.heads = heads

    def forward(self, x):
        batch, channels, height, width = x.shape
        y = self.norm(x).flatten(2).transpose(1, 2)
        q, k, v = (part.view(batch, height * width, self.heads, channels // self.heads).transpose(1, 2)
                   for part in self.project(y).chunk(3, 2))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, height * width, channels)
        return x + self.back(y).transpose(1, 2).view(batch, channels, height, width)


class Diffusion(nn.Module):
    """A denoising U-Net: group norms, SiLU, attention over pixels (Ho et al., 2020), for latents of 32 x 32."""

    def __init__(self, widths=(128, 256, 256), heads=4):
        super().__init__()
        time = 4 * widths[0]
        self.time = nn.Sequential(nn.Linear(widths[0], time), nn.SiLU(), nn.Linear(time, time))
        self.head = nn.Conv2d(4, widths[0], 3, padding=1)
        inputs = (widths[0], *widths)
        self.down = nn.ModuleList(ResidualNormed(a, b, time) for a, b in zip(inputs, widths))
        self.shrink = nn.ModuleList(nn.Conv2d(w, w, 3, 2, 1) for w in widths[:-1])
        self.middle = nn.ModuleList([ResidualNormed(widths[-1], widths[-1], time),
                                     ResidualNormed(widths[-1], widths[-1], time)])
        self.attention = nn.ModuleList(PixelAttention(w, heads) for w in (*widths[1:], widths[-1]))
        self.up = nn.ModuleList(ResidualNormed(a + b, b, time)
                                for a, b in zip((widths[-1], *widths[:0:-1]), widths[::-1]))
        self.grow = nn.ModuleList(nn.Conv2d(w, w, 3, padding=1) for w in widths[:0:-1])
        self.tail = nn.Sequential(nn.GroupNorm(32, widths[0]), nn.SiLU(), nn.Conv2d(widths[0], 4, 3, padding=1))

    def forward(self, x, time):
        time = self.time(time)
        x = self.head(x)
        kept = []
        for i, block in enumerate(self.down):
            x = block(x, time)
            if i > 0:
                x = self.attention[i - 1](x)
            kept.append(x)
            if i < len(self.shrink):
                x = self.shrink[i](x)
        x = self.middle[1](self.attention[-1](self.middle[0](x, time)), time)
        for i, block in enumerate(self.up):
            x = block(torch.cat([x, kept.pop()], 1), time)
            if i < len(self.grow):
                x = self.grow[i](F.interpolate(x, scale_factor=2.0))
        return self.tail(x)


def diffusion(attention, size):
    del attention, size
    inputs, others = ({"input": torch.randn(n, 4, 32, 32), "time": torch.randn(n, 128)} for n in (1, 2))
    return Case(Diffusion(), inputs, {name: {0: "batch"} for name in inputs}, [], others=others, positional=True)


class Signals(nn.Module):
    """A residual network over one axis, with dilations 1 to 8 (a temporal convolutional network)."""

    def __init__(self, width=128, depth=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(12, width, 15, stride=2, padding=7), nn.BatchNorm1d(width), nn.ReLU())
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv1d(width, width, 7, padding=3 * d, dilation=d), nn.BatchNorm1d(width), nn.ReLU(),
                          nn.Conv1d(width, width, 7, padding=3 * d, dilation=d), nn.BatchNorm1d(width))
            for d in (2 ** (i % 4) for i in range(depth)))
        self.head = nn.Linear(width, 27)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = F.relu(x + block(x))
        return self.head(x.mean(2))


# More of timm, by the side of their images.
TIMM = {
    96: ("convnext_atto_ols", "mobilenetv4_hybrid_medium", "repvit_m0_9", "efficientvit_b0", "edgenext_xx_small",
         "ghostnetv2_100", "ghostnetv3_050", "tinynet_e", "lcnet_035", "convformer_s18", "mambaout_femto",
         "hgnetv2_b0", "starnet_s1", "rdnet_tiny", "res2next50", "resnest14d", "skresnet18", "dpn48b", "xception41",
         "nf_regnet_b0", "nf_resnet26", "gernet_s", "mixnet_s"),
    128: ("fastvit_sa12", "mobilevit_xxs", "mobilevitv2_050"),
    160: ("test_vit",),
    224: ("efficientvit_m0", "coat_lite_tiny", "gcvit_xxtiny", "davit_tiny", "nest_tiny", "twins_pcpvt_small",
         "twins_svt_small", "tnt_s_legacy_patch16_224", "pit_ti_224", "gmlp_ti16_224"),
    240: ("crossvit_tiny_240",),
    256: ("maxvit_pico_rw_256", "lambda_resnet26t", "botnet26t_256"),
}

FAMILIES = {
    "densenet121": torchvision(V.densenet121),
    "resnext50": torchvision(V.resnext50_32x4d),
    "wide_resnet50": torchvision(V.wide_resnet50_2),
    "regnet_y_800mf": torchvision(V.regnet_y_800mf),
    "regnet_x_800mf": torchvision(V.regnet_x_800mf),
    "shufflenet_v2": torchvision(V.shufflenet_v2_x1_0),
    "squeezenet1_1": torchvision(V.squeezenet1_1),
    "mnasnet1_0": torchvision(V.mnasnet1_0),
    "inception_v3": torchvision(V.inception_v3, side=299, init_weights=True, aux_logits=False),
    "googlenet": torchvision(V.googlenet, init_weights=True, aux_logits=False),
    "convnext_tiny": torchvision(V.convnext_tiny),
    "efficientnet_v2_s": torchvision(V.efficientnet_v2_s, side=384),
    "vgg16": torchvision(V.vgg16, init_weights=True),
    "alexnet": torchvision(V.alexnet),
    "maxvit_t": torchvision(V.maxvit_t),
    "swin_v2_t": torchvision(V.swin_v2_t, side=256),
    "mobilenet_v2_160": torchvision(V.mobilenet_v2, side=160),
    "mobilenet_v2_320": torchvision(V.mobilenet_v2, side=320),
    "deeplabv3_mobilenet": segmentation(V.segmentation.deeplabv3_mobilenet_v3_large, 320),
    "fcn_resnet50": segmentation(V.segmentation.fcn_resnet50, 256),
    "unet_256": on_images(UNet, 3, 256, 256),
    "dcgan": on_images(Generator, 128, 1, 1),
    "espcn": on_images(espcn, 1, 240, 320),
    "edsr": on_images(Edsr, 3, 96, 96),
    "yolo_n": on_images(Yolo, 3, 416, 416),
    "diffusion": diffusion,
    "r3d_18": on_images(lambda: V.video.r3d_18(weights=None), 3, 8, 112, 112),
    "signals": on_images(Signals, 12, 4096),
    "mobilenetv4": timm("mobilenetv4_conv_small", 224),
    "repvgg_a2": timm("repvgg_a2"),
    "ghostnet": timm("ghostnet_100"),
    "mixer_b16": timm("mixer_b16_224"),
    "deit3_s": timm("deit3_small_patch16_224"),
    "cait_xxs24": timm("cait_xxs24_224"),
    "xcit_tiny": timm("xcit_tiny_12_p16_224"),
    "pvt_v2_b1": timm("pvt_v2_b1"),
    "poolformer_s12": timm("poolformer_s12"),
    "edgenext_s": timm("edgenext_small", 256),
    "efficientformer_l1": timm("efficientformer_l1"),
    "fastvit_t8": timm("fastvit_t8", 256),
    "hrnet_w18": timm("hrnet_w18_small"),
    "levit_192": timm("levit_192"),
    "convmixer": timm("convmixer_768_32"),
    "res2net50": timm("res2net50_26w_4s"),
    "gcresnet50": timm("gcresnet50t"),
    "coatnet_0": timm("coatnet_0_224"),
    "convnextv2_nano": timm("convnextv2_nano"),
    "repghostnet": timm("repghostnet_100"),
    "efficientvit_b1": timm("efficientvit_b1"),
    "vovnet": timm("ese_vovnet19b_dw"),
    "dla34": timm("dla34"),
    "dpn68": timm("dpn68"),
    "xception": timm("legacy_xception", 299),
    "tf_mixnet_s": timm("tf_mixnet_s"),
    "seresnext26": timm("seresnext26d_32x4d"),
    "eca_nfnet_l0": timm("eca_nfnet_l0"),
    "mobilevit_s": timm("mobilevit_s", 256),
    "mobileone_s1": timm("mobileone_s1"),
    "tiny_vit": timm("tiny_vit_5m_224"),
    "beit_b16": timm("beit_base_patch16_224"),
    **{"timm_" + name: timm(name, side) for side, names in TIMM.items() for name in names},
}
