"""Decoder-only language models with past keys and values as inputs and all of them as outputs."""

import torch
import transformers as T

from families_base import SMALL, Case, token_ids, two_sizes
from families_decoder import BLOOM, FALCON, GPT2, GROUPED, LLAMA_110M, NEO


class WithPast(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, **past):
        layers = [(past[f"past.{index}.key"], past[f"past.{index}.value"]) for index in range(len(past) // 2)]
        cache = T.DynamicCache()
        for index, (key, value) in enumerate(layers):
            cache.update(key, value, index)
        result = self.model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        present = [tensor for layer in result.past_key_values.layers for tensor in (layer.keys, layer.values)]
        return (result.logits, *present)


def sample(vocab, layers, kv_heads, head, batch, past, steps):
    inputs = {"input_ids": token_ids(vocab, batch, steps, padding=False)[0],
              "attention_mask": torch.ones(batch, past + steps, dtype=torch.int64)}
    inputs["attention_mask"][-1, :2] = 0
    for index in range(layers):
        for kind in ("key", "value"):
            inputs[f"past.{index}.{kind}"] = torch.randn(batch, kv_heads, past, head)
    return inputs


def with_past(model, config, base=None, kv_heads=4, head=12, full=None, **overrides):
    def small(batch, past, **_):
        return sample(99, 2, kv_heads, head, batch, past, steps=2 - past % 2)

    def make(attention, size):
        if size == "small":
            settings = config(**{**(SMALL if base is None else base), **overrides}, attn_implementation=attention)
            inputs, others = two_sizes(small)
        else:  # a step of decoding
            settings = config(**full, attn_implementation=attention)
            heads = settings.num_attention_heads
            groups = getattr(settings, "num_key_value_heads", heads)
            width = getattr(settings, "head_dim", None) or settings.hidden_size // heads
            inputs, others = (sample(settings.vocab_size, settings.num_hidden_layers, groups, width, batch, past, steps=1)
                              for batch, past in ((1, 128), (2, 33)))
        axes = {name: {0: "batch", 2: "past"} for name in inputs}
        axes.update(input_ids={0: "batch", 1: "seq"}, attention_mask={0: "batch", 1: "total"})
        return Case(WithPast(model(settings)), inputs, axes, [], others=others)
    return make


FAMILIES = {
    "gpt2_past": with_past(T.GPT2LMHeadModel, T.GPT2Config, base=GPT2, full={}),
    "llama_past": with_past(T.LlamaForCausalLM, T.LlamaConfig, kv_heads=2,
                            full=dict(LLAMA_110M, tie_word_embeddings=True), **GROUPED),
    "qwen3_past": with_past(T.Qwen3ForCausalLM, T.Qwen3Config, kv_heads=2, head=16, head_dim=16, **GROUPED),
    "phi3_past": with_past(T.Phi3ForCausalLM, T.Phi3Config, kv_heads=2, pad_token_id=0, **GROUPED),
    "gpt_neox_past": with_past(T.GPTNeoXForCausalLM, T.GPTNeoXConfig, rotary_pct=0.5),
    "gptj_past": with_past(T.GPTJForCausalLM, T.GPTJConfig, base=GPT2, rotary_dim=8),
    "gpt_neo_past": with_past(T.GPTNeoForCausalLM, T.GPTNeoConfig, base=NEO),
    "opt_past": with_past(T.OPTForCausalLM, T.OPTConfig, ffn_dim=96, word_embed_proj_dim=48),
    "bloom_past": with_past(T.BloomForCausalLM, T.BloomConfig, base=BLOOM),
    "falcon_past": with_past(T.FalconForCausalLM, T.FalconConfig, base=FALCON, kv_heads=1),
    "gemma2_past": with_past(T.Gemma2ForCausalLM, T.Gemma2Config, kv_heads=2, head_dim=12, query_pre_attn_scalar=12,
                             sliding_window=64, **GROUPED),
}
