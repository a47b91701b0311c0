"""Encoder-decoder models and speech encoders."""

import torch
import transformers as T

from families_base import Case, text_inputs, token_ids, two_sizes

T5 = dict(vocab_size=99, d_model=48, d_kv=12, d_ff=96, num_layers=2, num_decoder_layers=2, num_heads=4,
          decoder_start_token_id=0)
BART = dict(vocab_size=99, d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96, max_position_embeddings=64)
AXES = {"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"},
        "decoder_input_ids": {0: "batch", 1: "dec_seq"}}


def encoder_decoder(model, config, base, outputs=("logits",), **overrides):
    def make(attention, size):
        del size
        settings = config(**{**base, **overrides}, attn_implementation=attention)

        def sample(batch, seq, dec_seq, **_):
            inputs = text_inputs(99, batch, seq)[0]
            inputs["decoder_input_ids"] = token_ids(99, batch, dec_seq, padding=False)[0]
            return inputs
        inputs, others = two_sizes(sample)
        return Case(model(settings), inputs, AXES, list(outputs), others=others, arguments=dict(use_cache=False))
    return make


def encoder(model, config, base, **overrides):
    def make(attention, size):
        del size
        settings = config(**{**base, **overrides}, attn_implementation=attention)
        inputs, others = two_sizes(lambda batch, seq, **_: text_inputs(99, batch, seq)[0])
        axes = {name: AXES[name] for name in inputs}
        return Case(model(settings), inputs, axes, ["last_hidden_state"], others=others)
    return make


class EncoderOf(torch.nn.Module):
    """The encoder of a model that is only made whole."""

    def __init__(self, model):
        super().__init__()
        self.encoder = model.get_encoder()

    def forward(self, **inputs):
        return self.encoder(**inputs)


def bart_encoder(config):
    return EncoderOf(T.BartModel(config))


WHISPER = dict(BART, num_mel_bins=16, max_source_positions=20, max_target_positions=32, pad_token_id=0,
               bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
WHISPER.pop("max_position_embeddings")
SPEECH = dict(WHISPER, max_source_positions=64, conv_channels=32, input_feat_per_channel=16, conv_kernel_sizes=[5, 5],
              num_conv_layers=2)


def whisper(attention, size):
    del size
    model = T.WhisperForConditionalGeneration(T.WhisperConfig(**WHISPER, attn_implementation=attention))
    inputs, others = two_sizes(lambda batch, dec_seq, **_: {
        "input_features": torch.randn(batch, 16, 40),
        "decoder_input_ids": token_ids(99, batch, dec_seq, padding=False)[0],
        "decoder_attention_mask": torch.ones(batch, dec_seq, dtype=torch.int64)})
    axes = {"input_features": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "dec_seq"},
            "decoder_attention_mask": {0: "batch", 1: "dec_seq"}}
    return Case(model, inputs, axes, ["logits"], others=others, arguments=dict(use_cache=False))


def whisper_encoder(attention, size):
    del size
    model = EncoderOf(T.WhisperModel(T.WhisperConfig(**WHISPER, attn_implementation=attention)))
    inputs, others = two_sizes(lambda batch, **_: {"input_features": torch.randn(batch, 16, 40)})
    return Case(model, inputs, {"input_features": {0: "batch"}}, ["last_hidden_state"], others=others)


def whisper_decoder(attention, size):
    del size
    model = T.WhisperModel(T.WhisperConfig(**WHISPER, attn_implementation=attention)).decoder
    inputs, others = two_sizes(lambda batch, dec_seq, **_: {
        "input_ids": token_ids(99, batch, dec_seq, padding=False)[0],
        "attention_mask": torch.ones(batch, dec_seq, dtype=torch.int64),
        "encoder_hidden_states": torch.randn(batch, 20, 48)})
    axes = {"input_ids": {0: "batch", 1: "dec_seq"}, "attention_mask": {0: "batch", 1: "dec_seq"},
            "encoder_hidden_states": {0: "batch"}}
    return Case(model, inputs, axes, ["last_hidden_state"], others=others, arguments=dict(use_cache=False))


def speech_to_text(attention, size):
    del size
    model = T.Speech2TextForConditionalGeneration(T.Speech2TextConfig(**SPEECH, attn_implementation=attention))

    def sample(batch, seq, dec_seq, **_):
        mask = torch.ones(batch, 4 * seq, dtype=torch.int64)
        mask[-1, 4 * seq - 8:] = 0
        return {"input_features": torch.randn(batch, 4 * seq, 16), "attention_mask": mask,
                "decoder_input_ids": token_ids(99, batch, dec_seq, padding=False)[0]}
    inputs, others = two_sizes(sample)
    axes = {"input_features": {0: "batch", 1: "frames"}, "attention_mask": {0: "batch", 1: "frames"},
            "decoder_input_ids": {0: "batch", 1: "dec_seq"}}
    return Case(model, inputs, axes, ["logits"], others=others, arguments=dict(use_cache=False))


WAVE = dict(vocab_size=32, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
            conv_dim=(24, 24, 24), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 2), num_feat_extract_layers=3,
            num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, mask_time_prob=0.0, mask_feature_prob=0.0)


def wave(model, config, outputs=("last_hidden_state",), **overrides):
    def make(attention, size):
        del size
        settings = config(**{**WAVE, **overrides}, attn_implementation=attention)
        inputs, others = two_sizes(lambda batch, seq, **_: {"input_values": torch.randn(batch, 40 * seq)})
        return Case(model(settings), inputs, {"input_values": {0: "batch", 1: "samples"}}, list(outputs),
                    others=others)
    return make


FAMILIES = {
    "t5": encoder_decoder(T.T5ForConditionalGeneration, T.T5Config, T5),
    "t5_gated": encoder_decoder(T.T5ForConditionalGeneration, T.T5Config, T5, feed_forward_proj="gated-gelu"),
    "t5_encoder": encoder(T.T5EncoderModel, T.T5Config, T5),
    "mt5": encoder_decoder(T.MT5ForConditionalGeneration, T.MT5Config, T5),
    "umt5_encoder": encoder(T.UMT5EncoderModel, T.UMT5Config, T5),
    "bart": encoder_decoder(T.BartForConditionalGeneration, T.BartConfig, BART),
    "bart_encoder": encoder(bart_encoder, T.BartConfig, BART),
    "bart_model": encoder_decoder(T.BartModel, T.BartConfig, BART, outputs=("last_hidden_state",)),
    "mbart": encoder_decoder(T.MBartForConditionalGeneration, T.MBartConfig, BART, scale_embedding=True),
    "plbart": encoder_decoder(T.PLBartForConditionalGeneration, T.PLBartConfig, BART),
    "pegasus": encoder_decoder(T.PegasusForConditionalGeneration, T.PegasusConfig, BART),
    "marian": encoder_decoder(T.MarianMTModel, T.MarianConfig, BART, pad_token_id=0, decoder_start_token_id=0,
                              eos_token_id=2, decoder_vocab_size=99),
    "blenderbot": encoder_decoder(T.BlenderbotForConditionalGeneration, T.BlenderbotConfig, BART),
    "blenderbot_small": encoder_decoder(T.BlenderbotSmallForConditionalGeneration, T.BlenderbotSmallConfig, BART),
    "m2m_100": encoder_decoder(T.M2M100ForConditionalGeneration, T.M2M100Config, BART),
    "whisper": whisper,
    "whisper_encoder": whisper_encoder,
    "whisper_decoder": whisper_decoder,
    "speech_to_text": speech_to_text,
    "wav2vec2": wave(T.Wav2Vec2Model, T.Wav2Vec2Config),
    "wav2vec2_ctc": wave(T.Wav2Vec2ForCTC, T.Wav2Vec2Config, outputs=("logits",), feat_extract_norm="layer",
                         do_stable_layer_norm=True),
    "hubert": wave(T.HubertModel, T.HubertConfig),
    "unispeech": wave(T.UniSpeechModel, T.UniSpeechConfig),
    "wavlm": wave(T.WavLMModel, T.WavLMConfig, num_buckets=16, max_bucket_distance=20),
}
