"""Families at the widths and lengths that people run, with fewer layers where the model is large, for benchmarks."""

import torch
import transformers as T
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_MAPPING

from families_base import Case, token_ids
from families_more import BATCHED_EXPERTS, settle
from families_past import with_past

TOKENS = 128


def ids(vocab, batch, seq, mask=True):
    """Token ids without padding, and their mask."""
    tokens, ones = token_ids(vocab, batch, seq, padding=False)
    return {"input_ids": tokens, **({"attention_mask": ones} if mask else {})}


def settled(kind, settings, attention, mapping, model=None):
    """A configuration, of spelled out attention where the model has no other, and the class of its model."""
    make_config = settle(kind, {}, (), settings)
    network_class = mapping.get(type(make_config("eager")), model)
    has_fused = getattr(network_class, "_supports_sdpa", True)
    return make_config(attention if has_fused else "eager"), network_class


def wide(kind, sample=None, axes=None, outputs=("last_hidden_state",), model=None, mask=True, seq=TOKENS,
         arguments=None, **settings):
    """A model type of transformers with its own defaults but for `settings`; tokens unless `sample` says otherwise."""
    def make(attention, size):
        del size
        config, network_class = settled(kind, settings, attention, MODEL_MAPPING, model)
        network = (model or network_class)(config)
        inputs = sample(config) if sample else ids(config.vocab_size, 1, seq, mask)
        names = axes if axes is not None else {name: {0: "batch", 1: "seq"} for name in inputs}
        return Case(network, inputs, names, list(outputs), arguments=arguments or {})
    return make


def prefill(kind, **settings):
    return wide(kind, arguments=dict(use_cache=False), **settings)


def step(kind, **settings):
    """One token after 128 others."""
    def make(attention, size):
        del size
        config, network_class = settled(kind, settings, attention, MODEL_FOR_CAUSAL_LM_MAPPING)
        return with_past(network_class, lambda **_: config, full={})(attention, "full")
    return make


def both(name, kind, **settings):
    return {name: prefill(kind, **settings), name + "_past": step(kind, **settings)}


def wave(kind, samples, **settings):
    return wide(kind, lambda _: {"input_values": torch.randn(1, samples)},
                {"input_values": {0: "batch", 1: "samples"}}, **settings)


def pixels(kind, side=224, **settings):
    return wide(kind, lambda _: {"pixel_values": torch.randn(1, 3, side, side)}, {"pixel_values": {0: "batch"}},
                **settings)


class DecoderStep(torch.nn.Module):
    """A step of an encoder-decoder: past keys and values of the decoder, and those of the encoder's results."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, decoder_input_ids, encoder_hidden_states, **past):
        layers = len(past) // 4
        caches = [T.DynamicCache(), T.DynamicCache()]
        for index in range(layers):
            for cache, of in zip(caches, ("decoder", "encoder")):
                cache.update(past[f"past.{index}.{of}.key"], past[f"past.{index}.{of}.value"], index)
        cache = T.EncoderDecoderCache(*caches)
        cache.is_updated = {index: True for index in range(layers)}
        result = self.model(decoder_input_ids=decoder_input_ids, encoder_outputs=(encoder_hidden_states,),
                            past_key_values=cache, use_cache=True)
        present = result.past_key_values.self_attention_cache.layers
        return (result.logits, *(tensor for layer in present for tensor in (layer.keys, layer.values)))


def decoder_step(model, config, layers, heads, head, frames=TOKENS, past=64, **settings):
    def make(attention, size):
        del size
        made = config(**settings, attn_implementation=attention)
        inputs = {"decoder_input_ids": token_ids(made.vocab_size, 1, 1, padding=False)[0],
                  "encoder_hidden_states": torch.randn(1, frames, made.d_model)}
        axes = {"decoder_input_ids": {0: "batch"}, "encoder_hidden_states": {0: "batch", 1: "frames"}}
        for index in range(layers):
            for of, length in (("decoder", past), ("encoder", frames)):
                for kind in ("key", "value"):
                    name = f"past.{index}.{of}.{kind}"
                    inputs[name] = torch.randn(1, heads, length, head)
                    axes[name] = {0: "batch", 2: "past" if of == "decoder" else "frames"}
        return Case(DecoderStep(model(made)), inputs, axes, [])
    return make


class EncoderOf(torch.nn.Module):
    """The encoder of a model that is only made whole."""

    def __init__(self, config):
        super().__init__()
        self.encoder = MODEL_MAPPING[type(config)](config).get_encoder()

    def forward(self, **inputs):
        return self.encoder(**inputs)


def encoder(kind, **settings):
    return wide(kind, model=EncoderOf, **settings)


class Recurrent(torch.nn.Module):
    """A tagger: embedded tokens, recurrent layers, a linear layer."""

    def __init__(self, cell, width, layers, both_ways):
        super().__init__()
        self.embedding = torch.nn.Embedding(20000, width)
        self.cells = cell(width, width, layers, batch_first=True, bidirectional=both_ways)
        self.head = torch.nn.Linear(width * (2 if both_ways else 1), 64)

    def forward(self, tokens):
        return self.head(self.cells(self.embedding(tokens))[0])


def recurrent(cell, width, layers, seq, both_ways=False):
    def make(attention, size):
        del attention, size
        return Case(Recurrent(cell, width, layers, both_ways), {"tokens": torch.randint(0, 20000, (1, seq))},
                    {"tokens": {0: "batch", 1: "seq"}}, [], positional=True)
    return make


class Recommender(torch.nn.Module):
    """Bags of embeddings and dense features, their pairwise products, a perceptron."""

    def __init__(self, tables=26, rows=10000, width=64):
        super().__init__()
        self.tables = torch.nn.ModuleList(torch.nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = torch.nn.Sequential(torch.nn.Linear(13, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256),
                                          torch.nn.ReLU(), torch.nn.Linear(256, width), torch.nn.ReLU())
        self.top = torch.nn.Sequential(torch.nn.Linear(width + (tables + 1) * tables // 2, 512), torch.nn.ReLU(),
                                       torch.nn.Linear(512, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1),
                                       torch.nn.Sigmoid())
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense, bags):
        dense = self.bottom(dense)
        rows = torch.stack([dense] + [table(bags[:, i]).sum(1) for i, table in enumerate(self.tables)], 1)
        products = rows @ rows.transpose(1, 2)
        return self.top(torch.cat([dense, products[:, self.pairs[0], self.pairs[1]]], 1))


def recommender(batch):
    def make(attention, size):
        del attention, size
        return Case(Recommender(), {"dense": torch.randn(batch, 13), "bags": torch.randint(0, 10000, (batch, 26, 4))},
                    {"dense": {0: "batch"}, "bags": {0: "batch"}}, [], positional=True)
    return make


class TabTransformer(torch.nn.Module):
    """Categories as tokens of a transformer, numbers beside its results, a perceptron."""

    def __init__(self, columns=16, width=64):
        super().__init__()
        self.embedding = torch.nn.Embedding(1000, width)
        layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, activation="gelu")
        self.layers = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.top = torch.nn.Sequential(torch.nn.Linear(columns * width + 8, 256), torch.nn.ReLU(),
                                       torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2))

    def forward(self, categories, numbers):
        rows = self.layers(self.embedding(categories))
        return torch.softmax(self.top(torch.cat([rows.flatten(1), numbers], 1)), -1)


def tab_transformer(batch):
    def make(attention, size):
        del attention, size
        torch.backends.mha.set_fastpath_enabled(False)  # which exporters do not know
        return Case(TabTransformer(), {"categories": torch.randint(0, 1000, (batch, 16)),
                                       "numbers": torch.randn(batch, 8)},
                    {"categories": {0: "batch"}, "numbers": {0: "batch"}}, [], positional=True)
    return make


class Sampler(torch.nn.Module):
    """The tail of a decoder: the largest logits of a temperature, their probabilities, the most probable token."""

    def forward(self, logits):
        values, places = torch.topk(logits / 0.7, 50)
        chosen = torch.softmax(values, -1)
        mass = chosen.cumsum(-1)
        return places, torch.where(mass - chosen < 0.9, chosen, torch.zeros_like(chosen)), logits.argmax(-1)


def sampler(attention, size):
    del attention, size
    return Case(Sampler(), {"logits": torch.randn(4, 50257)}, {"logits": {0: "batch"}}, [], positional=True)


class Pooled(torch.nn.Module):
    """A sentence's embedding: the mean over tokens that are not padding, normalised."""

    def __init__(self, config):
        super().__init__()
        self.model = T.BertModel(config, add_pooling_layer=False)

    def forward(self, input_ids, attention_mask):
        rows = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask[..., None].float()
        mean = (rows * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=-1)


def boxes(config):
    corner = torch.randint(0, 500, (1, TOKENS, 2))
    return {**ids(config.vocab_size, 1, TOKENS), "bbox": torch.cat([corner, corner + 100], -1)}


def dit(attention, size):
    """A diffusion transformer of 4 layers at 256 tokens."""
    del attention, size
    from diffusers import DiTTransformer2DModel  # pylint: disable=import-outside-toplevel
    model = DiTTransformer2DModel(num_attention_heads=6, attention_head_dim=64, in_channels=4, out_channels=8,
                                  num_layers=4, sample_size=32, patch_size=2, norm_type="ada_norm_zero",
                                  num_embeds_ada_norm=1000)
    inputs = {"hidden_states": torch.randn(1, 4, 32, 32), "timestep": torch.tensor([7]),
              "class_labels": torch.tensor([3])}
    return Case(model, inputs, {name: {0: "batch"} for name in inputs}, ["sample"])


def unet(attention, size):
    """A conditional U-net of diffusion, narrower than Stable Diffusion's."""
    del attention, size
    from diffusers import UNet2DConditionModel  # pylint: disable=import-outside-toplevel
    model = UNet2DConditionModel(sample_size=32, block_out_channels=(128, 256, 256), layers_per_block=1,
                                 cross_attention_dim=256, attention_head_dim=8,
                                 down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
                                 up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"))
    inputs = {"sample": torch.randn(1, 4, 32, 32), "timestep": torch.tensor([7]),
              "encoder_hidden_states": torch.randn(1, 77, 256)}
    return Case(model, inputs, {"sample": {0: "batch"}}, ["sample"])


FOUR = dict(num_hidden_layers=4)
DEBERTA = dict(FOUR, relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=-1,
               position_biased_input=False)
BART = dict(d_model=768, encoder_layers=4, decoder_layers=4, encoder_attention_heads=12, decoder_attention_heads=12,
            encoder_ffn_dim=3072, decoder_ffn_dim=3072, vocab_size=50265)
MARIAN = dict(d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
              encoder_ffn_dim=2048, decoder_ffn_dim=2048, vocab_size=58101, pad_token_id=58100,
              decoder_start_token_id=58100)
WHISPER = dict(d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6,
               encoder_ffn_dim=1536, decoder_ffn_dim=1536)
EXPERTS = dict(FOUR, vocab_size=32000, hidden_size=512, num_attention_heads=8, num_key_value_heads=4,
               **BATCHED_EXPERTS)
MEL = dict(sample=lambda _: {"input_features": torch.randn(1, 80, 3000)}, axes={"input_features": {0: "batch"}})

FAMILIES = {
    "roberta_pooled": wide("roberta", outputs=("last_hidden_state", "pooler_output"), **FOUR),
    "albert_base": wide("albert", hidden_size=768, num_attention_heads=12, intermediate_size=3072, **FOUR),
    "electra_small": wide("electra", **FOUR),
    "electra_base": wide("electra", hidden_size=768, embedding_size=768, num_attention_heads=12,
                         intermediate_size=3072, **FOUR),
    "deberta_base": wide("deberta", **DEBERTA),
    "deberta_v3_base": wide("deberta-v2", hidden_size=768, num_attention_heads=12, intermediate_size=3072,
                            share_att_key=True, norm_rel_ebd="layer_norm", position_buckets=256, vocab_size=128100,
                            **DEBERTA),
    "mpnet_base": wide("mpnet", **FOUR),
    "minilm_sentence": wide("bert", model=Pooled, outputs=(), hidden_size=384, num_attention_heads=12,
                            intermediate_size=1536, num_hidden_layers=6),
    "longformer_base": wide("longformer", attention_window=[128] * 4, seq=512, max_position_embeddings=4098,
                            onnx_export=True, axes={}, **FOUR),  # which unfolds what has a fixed size only
    "big_bird_full": wide("big_bird", attention_type="original_full", **FOUR),
    "xlnet_base": wide("xlnet", d_model=768, n_head=12, d_inner=3072, n_layer=4, arguments=dict(use_mems=False)),
    "convbert_base": wide("convbert", **FOUR),
    "squeezebert_base": wide("squeezebert", **FOUR),
    "mobilebert": wide("mobilebert", num_hidden_layers=6),
    "roformer_base": wide("roformer", embedding_size=768, **FOUR),
    "modernbert_base": wide("modernbert", num_hidden_layers=6),
    "esm_35m": wide("esm", vocab_size=33, hidden_size=480, num_attention_heads=20, intermediate_size=1920,
                    position_embedding_type="rotary", pad_token_id=1, mask_token_id=32, num_hidden_layers=6),
    "layoutlm_base": wide("layoutlm", boxes, **FOUR),
    "layoutlmv3_text": wide("layoutlmv3", boxes, visual_embed=False, **FOUR),
    "t5_small_encoder": encoder("t5"),
    "t5_small_step": decoder_step(T.T5ForConditionalGeneration, T.T5Config, 6, 8, 64),
    "flan_t5_step": decoder_step(T.T5ForConditionalGeneration, T.T5Config, 4, 12, 64, d_model=768, d_ff=2048,
                                 num_layers=1, num_decoder_layers=4, num_heads=12, feed_forward_proj="gated-gelu"),
    "bart_base_encoder": encoder("bart", **BART),
    "bart_base_step": decoder_step(T.BartForConditionalGeneration, T.BartConfig, 4, 12, 64, **BART),
    "mbart_encoder": encoder("mbart", **dict(BART, vocab_size=32000)),
    "marian_encoder": encoder("marian", **MARIAN),
    "marian_step": decoder_step(T.MarianMTModel, T.MarianConfig, 6, 8, 64, **MARIAN),
    "pegasus_encoder": encoder("pegasus", **dict(BART, vocab_size=32000)),
    "whisper_tiny_encoder": encoder("whisper", **MEL, **WHISPER),
    "whisper_tiny_step": decoder_step(T.WhisperForConditionalGeneration, T.WhisperConfig, 4, 6, 64, frames=1500,
                                      **WHISPER),
    "wav2vec2_1s": wave("wav2vec2", 16000, **FOUR),
    "wav2vec2_5s": wave("wav2vec2", 80000, **FOUR),
    "hubert_2s": wave("hubert", 32000, **FOUR),
    "wavlm_2s": wave("wavlm", 32000, **FOUR),
    "wav2vec2_conformer_2s": wave("wav2vec2-conformer", 32000, position_embeddings_type="relative", hidden_size=512,
                                  num_attention_heads=8, intermediate_size=2048, **FOUR),
    "data2vec_audio_2s": wave("data2vec-audio", 32000, **FOUR),
    "clip_text": wide("clip_text_model", seq=77, num_hidden_layers=6, outputs=("last_hidden_state", "pooler_output")),
    "clip_vision_b32": pixels("clip_vision_model", outputs=("last_hidden_state", "pooler_output"), **FOUR),
    "siglip_vision": pixels("siglip_vision_model", outputs=("last_hidden_state", "pooler_output"), **FOUR),
    "blip_vision": pixels("blip_vision_model", side=384, model=T.BlipVisionModel, **FOUR),
    "sam_encoder": pixels("sam_vision_model", side=1024, num_hidden_layers=2, global_attn_indexes=[1]),
    "dinov2_small": pixels("dinov2", side=224, hidden_size=384, num_attention_heads=6, num_hidden_layers=6),
    **both("qwen2", "qwen2", vocab_size=32000, hidden_size=896, num_attention_heads=14, num_key_value_heads=2,
           intermediate_size=4864, max_position_embeddings=2048, **FOUR),
    **both("qwen3", "qwen3", vocab_size=32000, hidden_size=1024, num_attention_heads=16, num_key_value_heads=8,
           head_dim=128, intermediate_size=3072, max_position_embeddings=2048, **FOUR),
    **both("gemma2", "gemma2", vocab_size=32000, hidden_size=1152, intermediate_size=4608, num_attention_heads=8,
           num_key_value_heads=4, head_dim=256, sliding_window=64, **FOUR),
    **both("gemma3", "gemma3_text", vocab_size=32000, hidden_size=640, intermediate_size=2048, num_attention_heads=4,
           num_key_value_heads=1, head_dim=256, sliding_window=64, num_hidden_layers=6),
    **both("phi", "phi", vocab_size=32000, hidden_size=1024, intermediate_size=4096, num_attention_heads=16, **FOUR),
    **both("mistral", "mistral", vocab_size=32000, hidden_size=1024, intermediate_size=3584, num_attention_heads=16,
           num_key_value_heads=4, sliding_window=64, **FOUR),
    "falcon": prefill("falcon", vocab_size=32000, hidden_size=1024, num_attention_heads=16, **FOUR),
    **both("bloom", "bloom", vocab_size=32000, hidden_size=1024, n_layer=4, n_head=16),
    **both("gpt_neox", "gpt_neox", vocab_size=32000, hidden_size=768, intermediate_size=3072, num_attention_heads=12,
           **FOUR),
    **both("opt_125m", "opt", **FOUR),
    **both("mixtral", "mixtral", intermediate_size=1792, num_local_experts=8, **EXPERTS),
    **both("qwen2_moe", "qwen2_moe", intermediate_size=1408, moe_intermediate_size=352, num_experts=16,
           shared_expert_intermediate_size=1408, num_experts_per_tok=4, **EXPERTS),
    "mamba_130m": prefill("mamba", mask=False, num_hidden_layers=2, seq=64),
    "rwkv_169m": prefill("rwkv", mask=False, hidden_size=768, num_hidden_layers=2, seq=32),
    "lstm_256": recurrent(torch.nn.LSTM, 256, 1, 128),
    "lstm_512x2_both": recurrent(torch.nn.LSTM, 512, 2, 64, both_ways=True),
    "lstm_1024x3": recurrent(torch.nn.LSTM, 1024, 3, 32),
    "gru_256_both": recurrent(torch.nn.GRU, 256, 1, 256, both_ways=True),
    "gru_512x2": recurrent(torch.nn.GRU, 512, 2, 64),
    "gru_1024x3": recurrent(torch.nn.GRU, 1024, 3, 32),
    "rnn_512": recurrent(torch.nn.RNN, 512, 1, 128),
    "recommender": recommender(1),
    "recommender_64": recommender(64),
    "tab_transformer": tab_transformer(1),
    "tab_transformer_32": tab_transformer(32),
    "sampler": sampler,
    "dit_s2": dit,
    "unet": unet,
}
