"""Families at other sizes than those of `FULL` in export.py: other widths, depths, heads, windows and images; and models
with heads that read one row of the last layer."""

import dataclasses

import torch
import torchvision.models as V
import transformers as T

from families_base import Case, other_size, text_inputs
from families_decoder import LLAMA_110M, decoder
from families_past import with_past
from families_torchvision import cnn


def encoder(model, config, output="last_hidden_state", **settings):
    def make(attention, size):
        del size
        made = config(**settings, attn_implementation=attention)
        inputs, axes = text_inputs(made.vocab_size, 1, 128, ("input_ids", "attention_mask"), padding=False)
        others = other_size(lambda batch, seq, **_: text_inputs(made.vocab_size, batch, seq,
                                                               ("input_ids", "attention_mask"))[0])
        return Case(model(made), inputs, axes, [output], others=others)
    return make


def bert(width, layers, heads):
    return encoder(T.BertModel, T.BertConfig, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
                   intermediate_size=4 * width)


def llama(width, layers, heads, groups, inner):
    """Grouped heads; prefill, and a step of decoding."""
    settings = dict(vocab_size=32000, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
                    num_key_value_heads=groups, intermediate_size=inner, max_position_embeddings=4096)
    return (decoder(T.LlamaModel, T.LlamaConfig, full=settings),
            with_past(T.LlamaForCausalLM, T.LlamaConfig, full=dict(settings, tie_word_embeddings=True)))


def last_logits(make):
    """A language model's prefill that ends in the logits of the last position."""
    def last(attention, size):
        case = make(attention, size)
        return dataclasses.replace(case, arguments=dict(case.arguments, logits_to_keep=1))
    return last


def vit(width, layers, heads, patch, side, model=T.ViTModel, output="last_hidden_state"):
    def make(attention, size):
        del size
        config = T.ViTConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, patch_size=patch,
                             intermediate_size=4 * width, image_size=side, attn_implementation=attention)
        inputs, others = ({"pixel_values": torch.randn(batch, 3, side, side)} for batch in (1, 2))
        return Case(model(config), inputs, {"pixel_values": {0: "batch"}}, [output], others=others)
    return make


def swin(width, depths, heads, window, side):
    def build(weights, num_classes=1000):
        del weights
        return V.SwinTransformer(num_classes=num_classes, patch_size=[4, 4], embed_dim=width, depths=depths,
                                 num_heads=heads, window_size=[window, window])
    return cnn(build, full_side=side)


GPT2_MEDIUM = dict(n_embd=1024, n_layer=24, n_head=16)
LLAMAS = {  # width, layers, heads, groups of them, inner width
    "llama_head80": llama(960, 8, 12, 12, 2560),
    "llama_head96": llama(1152, 8, 12, 4, 3072),
    "llama_head128": llama(2048, 6, 16, 4, 5632),
    "llama_1b": llama(2048, 22, 32, 4, 5632),  # weights of more bytes than protobuf takes: in files of their own
}
FAMILIES = {
    "bert_tiny": bert(128, 2, 2),
    "bert_mini": bert(256, 4, 4),
    "bert_small": bert(512, 4, 8),
    "bert_large": bert(1024, 24, 16),
    "distilbert_base": encoder(T.DistilBertModel, T.DistilBertConfig),
    "gpt2_distil_past": with_past(T.GPT2LMHeadModel, T.GPT2Config, full=dict(n_layer=6)),
    "gpt2_medium_past": with_past(T.GPT2LMHeadModel, T.GPT2Config, full=GPT2_MEDIUM),
    **{name: prefill for name, (prefill, _) in LLAMAS.items()},
    **{name + "_past": step for name, (_, step) in LLAMAS.items()},
    "vit_s16": vit(384, 12, 6, 16, 224),
    "vit_b32": vit(768, 12, 12, 32, 224),
    "vit_b16_384": vit(768, 12, 12, 16, 384),
    "vit_l32": vit(1024, 24, 16, 32, 224),
    "vit_b16_classify": vit(768, 12, 12, 16, 224, T.ViTForImageClassification, "logits"),
    "tv_vit_b16": cnn(V.vit_b_16),
    "bert_base_classify": encoder(T.BertForSequenceClassification, T.BertConfig, "logits"),
    "llama_110m_last": last_logits(decoder(T.LlamaForCausalLM, T.LlamaConfig, outputs=("logits",), full=LLAMA_110M)),
    "swin_s": swin(96, [2, 2, 18, 2], [3, 6, 12, 24], 7, 224),
    "swin_b": swin(128, [2, 2, 18, 2], [4, 8, 16, 32], 7, 224),
    "swin_t_256": swin(96, [2, 2, 6, 2], [3, 6, 12, 24], 8, 256),
    "swin_t_384": swin(96, [2, 2, 6, 2], [3, 6, 12, 24], 12, 384),
    "resnet18": cnn(V.resnet18),
    "resnet34": cnn(V.resnet34),
    "resnet101": cnn(V.resnet101),
    "resnet50_288": cnn(V.resnet50, full_side=288),
    "mobilenet_v2": cnn(V.mobilenet_v2),
    "mobilenet_v3_small": cnn(V.mobilenet_v3_small),
    "efficientnet_b1": cnn(V.efficientnet_b1, full_side=240),
    "efficientnet_b2": cnn(V.efficientnet_b2, full_side=288),
    "efficientnet_b3": cnn(V.efficientnet_b3, full_side=300),
}
DYNAMO = {"tv_vit_b16"}  # what only the newer exporter takes
