"""Decoder-only language models, without past keys and values."""

import transformers as T

from families_base import SMALL, Case, batch_and_seq, text_inputs, two_sizes

NO_CACHE = dict(use_cache=False)
GROUPED = dict(num_key_value_heads=2)


def decoder(model, config, base=None, outputs=("last_hidden_state",), names=("input_ids", "attention_mask"),
            full=None, **overrides):
    def make(attention, size):
        if size == "small":
            settings = config(**{**(SMALL if base is None else base), **overrides}, attn_implementation=attention)
            inputs, others = two_sizes(lambda batch, seq, **_: text_inputs(99, batch, seq, names)[0])
        else:
            settings = config(**full, attn_implementation=attention)
            inputs, others = (text_inputs(settings.vocab_size, batch, seq, names, padding=batch > 1)[0]
                              for batch, seq in ((1, 128), (2, 33)))
        return Case(model(settings), inputs, batch_and_seq(*names), list(outputs), others=others, arguments=NO_CACHE)
    return make


GPT2 = dict(vocab_size=99, n_embd=48, n_layer=2, n_head=4, n_positions=64)
NEO = dict(vocab_size=99, hidden_size=48, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
           window_size=6, max_position_embeddings=64)
BLOOM = dict(vocab_size=99, hidden_size=48, n_layer=2, n_head=4)
MPT = dict(vocab_size=99, d_model=48, n_layers=2, n_heads=4, max_seq_len=64)
FALCON = dict(vocab_size=99, hidden_size=48, num_hidden_layers=2, num_attention_heads=4)
XGLM = dict(vocab_size=99, d_model=48, num_layers=2, attention_heads=4, ffn_dim=96, max_position_embeddings=64)
CTRL = dict(vocab_size=99, n_embd=48, n_layer=2, n_head=4, dff=96, n_positions=64)
LLAMA_110M = dict(vocab_size=32000, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                  intermediate_size=2048, max_position_embeddings=2048)

FAMILIES = {
    "gpt2": decoder(T.GPT2Model, T.GPT2Config, base=GPT2),
    "gpt2_lm": decoder(T.GPT2LMHeadModel, T.GPT2Config, base=GPT2, outputs=("logits",)),
    "openai_gpt": decoder(T.OpenAIGPTModel, T.OpenAIGPTConfig, base=GPT2),
    "gpt_bigcode": decoder(T.GPTBigCodeModel, T.GPTBigCodeConfig, base=GPT2),
    "gpt_neo": decoder(T.GPTNeoModel, T.GPTNeoConfig, base=NEO),
    "gptj": decoder(T.GPTJModel, T.GPTJConfig, base=GPT2, rotary_dim=8),
    "codegen": decoder(T.CodeGenModel, T.CodeGenConfig, base=GPT2, rotary_dim=8),
    "gpt_neox": decoder(T.GPTNeoXModel, T.GPTNeoXConfig, rotary_pct=0.5),
    "opt": decoder(T.OPTModel, T.OPTConfig, ffn_dim=96, word_embed_proj_dim=48),
    "bloom": decoder(T.BloomModel, T.BloomConfig, base=BLOOM),
    "mpt": decoder(T.MptModel, T.MptConfig, base=MPT),
    "falcon": decoder(T.FalconModel, T.FalconConfig, base=FALCON),
    "falcon_alibi": decoder(T.FalconModel, T.FalconConfig, base=FALCON, alibi=True, multi_query=False,
                            parallel_attn=False),
    "falcon_new": decoder(T.FalconModel, T.FalconConfig, base=FALCON, new_decoder_architecture=True, num_kv_heads=2),
    "xglm": decoder(T.XGLMModel, T.XGLMConfig, base=XGLM),
    "biogpt": decoder(T.BioGptModel, T.BioGptConfig),
    "ctrl": decoder(T.CTRLModel, T.CTRLConfig, base=CTRL),
    "llama": decoder(T.LlamaModel, T.LlamaConfig, full=LLAMA_110M, **GROUPED),
    "llama_lm": decoder(T.LlamaForCausalLM, T.LlamaConfig, outputs=("logits",), **GROUPED),
    "llama_yarn": decoder(T.LlamaModel, T.LlamaConfig, rope_parameters=dict(
        rope_type="yarn", rope_theta=10000.0, factor=2.0, original_max_position_embeddings=32), **GROUPED),
    "mistral": decoder(T.MistralModel, T.MistralConfig, sliding_window=6, **GROUPED),
    "qwen2": decoder(T.Qwen2Model, T.Qwen2Config, **GROUPED),
    "qwen3": decoder(T.Qwen3Model, T.Qwen3Config, head_dim=16, **GROUPED),
    "gemma": decoder(T.GemmaModel, T.GemmaConfig, head_dim=16, num_key_value_heads=1),
    "gemma2": decoder(T.Gemma2Model, T.Gemma2Config, head_dim=12, query_pre_attn_scalar=12, sliding_window=6,
                      **GROUPED),
    "gemma3": decoder(T.Gemma3TextModel, T.Gemma3TextConfig, head_dim=12, query_pre_attn_scalar=12, sliding_window=6,
                      layer_types=["sliding_attention", "full_attention"], **GROUPED),
    "phi": decoder(T.PhiModel, T.PhiConfig, rope_parameters=dict(
        rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)),
    "phi3": decoder(T.Phi3Model, T.Phi3Config, pad_token_id=0, **GROUPED),
    "phi3_partial": decoder(T.Phi3Model, T.Phi3Config, pad_token_id=0, rope_parameters=dict(
        rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5), **GROUPED),
    "stablelm": decoder(T.StableLmModel, T.StableLmConfig, rope_parameters=dict(
        rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5), **GROUPED),
    "olmo": decoder(T.OlmoModel, T.OlmoConfig, clip_qkv=4.0, **GROUPED),
    "olmo2": decoder(T.Olmo2Model, T.Olmo2Config, **GROUPED),
    "starcoder2": decoder(T.Starcoder2Model, T.Starcoder2Config, **GROUPED),
    "cohere": decoder(T.CohereModel, T.CohereConfig, use_qk_norm=True, **GROUPED),
    "cohere2": decoder(T.Cohere2Model, T.Cohere2Config, sliding_window=6, **GROUPED),
    "granite": decoder(T.GraniteModel, T.GraniteConfig, attention_multiplier=0.3, residual_multiplier=0.5,
                       embedding_multiplier=2.0, **GROUPED),
    "glm": decoder(T.GlmModel, T.GlmConfig, head_dim=12, pad_token_id=0, **GROUPED),
    "glm4": decoder(T.Glm4Model, T.Glm4Config, head_dim=12, pad_token_id=0, **GROUPED),
    "persimmon": decoder(T.PersimmonModel, T.PersimmonConfig),
    "nemotron": decoder(T.NemotronModel, T.NemotronConfig, head_dim=12, **GROUPED),
    "smollm3": decoder(T.SmolLM3Model, T.SmolLM3Config, pad_token_id=0, no_rope_layer_interval=2, **GROUPED),
    "helium": decoder(T.HeliumModel, T.HeliumConfig, head_dim=12, pad_token_id=0, **GROUPED),
}
