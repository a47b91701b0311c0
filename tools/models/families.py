"""The models that export.py knows: how to build each, and example inputs for it.

A family is a function (attention, size) -> Case. Sizes: "small" for tests (hidden 32, 2 layers, 4 heads, a
vocabulary of 100, images of 32x32), "full" for benchmarks.
"""

from typing import Callable

import torch
import transformers

import families_decoder
import families_diffusers
import families_encdec
import families_more
import families_past
import families_rare
import families_text
import families_torchvision
import families_vision
from families_base import Case, Wrapped, calibrate, other_size, perturb, tensors, text_inputs  # noqa: F401 (for export.py)

SMALL_TEXT = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                  max_position_embeddings=40)
SMALL_IMAGE = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32,
                   patch_size=8)


def text(model_class, config_class, outputs=("last_hidden_state",), full=None, names=("input_ids", "attention_mask"),
         **overrides):
    def make(attention, size):
        settings = dict(SMALL_TEXT) if size == "small" else {}
        settings.update(overrides if size == "small" else (full or {}))
        config = config_class(**settings, attn_implementation=attention)
        model = model_class(config)
        inputs, axes = text_inputs(config.vocab_size, *((2, 9) if size == "small" else (1, 128)), names,
                                   padding=size == "small")
        others = other_size(lambda batch, seq, **_: text_inputs(config.vocab_size, batch, seq, names)[0])
        return Case(model, inputs, axes, list(outputs), others=others)
    return make


def image(model_class, config_class, outputs=("last_hidden_state",), full=None, **overrides):
    def make(attention, size):
        settings = dict(SMALL_IMAGE) if size == "small" else {}
        settings.update(overrides if size == "small" else (full or {}))
        config = config_class(**settings, attn_implementation=attention)
        pixels = torch.randn(2 if size == "small" else 1, 3, config.image_size, config.image_size)
        model = model_class(config)
        others = other_size(lambda batch, **_: {"pixel_values": torch.randn(batch, *pixels.shape[1:])})
        return Case(model, {"pixel_values": pixels}, {"pixel_values": {0: "batch"}}, list(outputs), others=others)
    return make


def resnet(attention, size):
    if size == "small":
        config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[2, 1], layer_type="basic")
        side = 32
    else:
        config = transformers.ResNetConfig()
        side = 224
    model = transformers.ResNetForImageClassification(config)
    pixels = torch.randn(2 if size == "small" else 1, 3, side, side)
    return Case(model, {"pixel_values": pixels}, {"pixel_values": {0: "batch"}}, ["logits"], keep_batch_norm=True)


class SmallSqueezeNet(torch.nn.Module):
    """SqueezeNet 1.1's layers (fire modules, ceil-mode pooling), narrower, and with a BatchNorm at the start."""

    def __init__(self):
        super().__init__()
        from torchvision.models.squeezenet import Fire
        nn = torch.nn
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, kernel_size=3, stride=2), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True),
            Fire(16, 4, 8, 8), Fire(16, 4, 8, 8),
            nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True),
            Fire(16, 6, 12, 12))
        self.classifier = nn.Sequential(nn.Dropout(), nn.Conv2d(24, 10, kernel_size=1), nn.ReLU(inplace=True),
                                        nn.AdaptiveAvgPool2d((1, 1)))

    def forward(self, input):  # pylint: disable=redefined-builtin
        return torch.flatten(self.classifier(self.features(input)), 1)


def squeezenet(attention, size):
    if size == "small":
        model, side = SmallSqueezeNet(), 32
    else:
        import torchvision
        model, side = torchvision.models.squeezenet1_1(), 224
    return Case(model, {"input": torch.randn(2 if size == "small" else 1, 3, side, side)}, {"input": {0: "batch"}},
                [], keep_batch_norm=True)


def clip_text(attention, size):
    settings = dict(SMALL_TEXT, eos_token_id=99, bos_token_id=98, pad_token_id=1) if size == "small" else {}
    config = transformers.CLIPTextConfig(**settings, attn_implementation=attention)
    inputs, axes = text_inputs(config.vocab_size, 2, 9)
    inputs["input_ids"][:, -1] = config.eos_token_id
    return Case(transformers.CLIPTextModel(config), inputs, axes, ["last_hidden_state"])


class AdditiveMaskBert(torch.nn.Module):
    """BERT with the mask that exports of older transformers carry: (1 - mask) * -10000, added to the scores."""

    def __init__(self, config):
        super().__init__()
        self.bert = transformers.BertModel(config)

    def forward(self, input_ids, attention_mask):
        bias = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * -10000.0
        return self.bert(input_ids=input_ids, attention_mask=bias).last_hidden_state


def bert_additive_mask(attention, size):
    config = transformers.BertConfig(**SMALL_TEXT, attn_implementation=attention)
    inputs, axes = text_inputs(config.vocab_size, 2, 9)
    return Case(AdditiveMaskBert(config), inputs, axes, [])


class MaskedFillLayer(torch.nn.Module):
    """A layer as older DistilBERTs have it: q scaled before the product, a boolean mask filled into the scores."""

    def __init__(self, width, heads):
        super().__init__()
        nn = torch.nn
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        batch, seq, width = x.shape[0], x.shape[1], x.shape[2]

        def split(y):
            return y.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)

        q, k, v = split(self.q(x)) / (width // self.heads) ** 0.5, split(self.k(x)), split(self.v(x))
        scores = torch.matmul(q, k.transpose(2, 3))
        hidden = (mask == 0).view(batch, 1, 1, seq).expand_as(scores)
        weights = torch.softmax(scores.masked_fill(hidden, torch.finfo(scores.dtype).min), dim=-1)
        context = torch.matmul(weights, v).transpose(1, 2).contiguous().view(batch, -1, width)
        x = self.norm1(x + self.out(context))
        return self.norm2(x + self.down(torch.nn.functional.gelu(self.up(x))))


class MaskedFillEncoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(100, 32)
        self.layers = torch.nn.ModuleList(MaskedFillLayer(32, 4) for _ in range(2))

    def forward(self, input_ids, attention_mask):
        x = self.embedding(input_ids)
        for layer in self.layers:
            x = layer(x, attention_mask)
        return x


def masked_fill_encoder(attention, size):
    inputs, axes = text_inputs(100, 2, 9)
    return Case(MaskedFillEncoder(), inputs, axes, [])


T = transformers
FAMILIES: dict[str, Callable[[str, str], Case]] = {
    **families_text.FAMILIES,
    **families_decoder.FAMILIES,
    **families_past.FAMILIES,
    **families_encdec.FAMILIES,
    **families_vision.FAMILIES,
    **families_more.FAMILIES,
    **families_torchvision.FAMILIES,
    **families_rare.FAMILIES,
    **families_diffusers.FAMILIES,
    "bert": text(T.BertModel, T.BertConfig),
    "bert_pooled": text(T.BertModel, T.BertConfig, outputs=("last_hidden_state", "pooler_output"),
                        names=("input_ids", "attention_mask", "token_type_ids")),
    "bert_classify": text(T.BertForSequenceClassification, T.BertConfig, outputs=("logits",)),
    "bert_additive_mask": bert_additive_mask,
    "masked_fill_encoder": masked_fill_encoder,
    "roberta": text(T.RobertaModel, T.RobertaConfig),
    "camembert": text(T.CamembertModel, T.CamembertConfig),
    "xlm_roberta": text(T.XLMRobertaModel, T.XLMRobertaConfig),
    "distilbert": text(T.DistilBertModel, T.DistilBertConfig, dim=32, n_layers=2, n_heads=4, hidden_dim=64),
    "electra": text(T.ElectraModel, T.ElectraConfig, embedding_size=24),
    "albert": text(T.AlbertModel, T.AlbertConfig, embedding_size=24, inner_group_num=1),
    "mpnet": text(T.MPNetModel, T.MPNetConfig),
    "clip_text": clip_text,
    "vit": image(T.ViTModel, T.ViTConfig),
    "vit_classify": image(T.ViTForImageClassification, T.ViTConfig, outputs=("logits",)),
    "deit": image(T.DeiTModel, T.DeiTConfig),
    "beit": image(T.BeitModel, T.BeitConfig, use_relative_position_bias=True, use_mask_token=False),
    "clip_vision": image(T.CLIPVisionModel, T.CLIPVisionConfig, outputs=("last_hidden_state", "pooler_output")),
    "resnet_bn": resnet,
    "squeezenet_bn": squeezenet,
}
