"""Text encoders: token ids and a padding mask in, one vector a token out."""

import torch
import transformers as T

from families_base import SMALL, Case, batch_and_seq, text_inputs, two_sizes

IDS_MASK = ("input_ids", "attention_mask")
WITH_TYPES = IDS_MASK + ("token_type_ids",)


def text(model, config, outputs=("last_hidden_state",), names=IDS_MASK, arguments=None, base=None, **overrides):
    def make(attention, size):
        del size
        settings = config(**{**(SMALL if base is None else base), **overrides}, attn_implementation=attention)
        inputs, others = two_sizes(
            lambda batch, seq, **_: text_inputs(99, batch, seq, names)[0])
        return Case(model(settings), inputs, batch_and_seq(*names), list(outputs), others=others,
                    arguments=arguments or {})
    return make


def layoutlm(attention, size):
    del size
    config = T.LayoutLMConfig(**SMALL, max_2d_position_embeddings=64, attn_implementation=attention)

    def sample(batch, seq, **_):
        inputs = text_inputs(99, batch, seq)[0]
        corner = torch.randint(0, 30, (batch, seq, 2))
        inputs["bbox"] = torch.cat([corner, corner + torch.randint(1, 30, (batch, seq, 2))], -1)
        return inputs
    inputs, others = two_sizes(sample)
    return Case(T.LayoutLMModel(config), inputs, batch_and_seq(*inputs), ["last_hidden_state"], others=others)


XLM = dict(emb_dim=48, n_layers=2, n_heads=4, vocab_size=99, n_words=99, max_position_embeddings=64,
           use_cache=False)
XLNET = dict(vocab_size=99, d_model=48, n_layer=2, n_head=4, d_inner=96)
FUNNEL = dict(vocab_size=99, block_sizes=[1, 1], num_decoder_layers=1, d_model=48, n_head=4, d_head=12, d_inner=96)
DEBERTA = dict(relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=16,
               position_biased_input=False)
MOBILEBERT = dict(embedding_size=24, intra_bottleneck_size=24, true_hidden_size=24)

FAMILIES = {
    "ernie": text(T.ErnieModel, T.ErnieConfig),
    "megatron_bert": text(T.MegatronBertModel, T.MegatronBertConfig),
    "roberta_prelayernorm": text(T.RobertaPreLayerNormModel, T.RobertaPreLayerNormConfig),
    "data2vec_text": text(T.Data2VecTextModel, T.Data2VecTextConfig),
    "layoutlm": layoutlm,
    "mobilebert": text(T.MobileBertModel, T.MobileBertConfig, **MOBILEBERT),
    "squeezebert": text(T.SqueezeBertModel, T.SqueezeBertConfig, embedding_size=48, q_groups=2, k_groups=2,
                        v_groups=2, post_attention_groups=1, intermediate_groups=2, output_groups=2),
    "convbert": text(T.ConvBertModel, T.ConvBertConfig, embedding_size=48, conv_kernel_size=5),
    "rembert": text(T.RemBertModel, T.RemBertConfig, input_embedding_size=24, output_embedding_size=24),
    "roformer": text(T.RoFormerModel, T.RoFormerConfig, embedding_size=48),
    "nystromformer": text(T.NystromformerModel, T.NystromformerConfig, segment_means_seq_len=64, num_landmarks=64,
                          conv_kernel_size=5),
    "esm": text(T.EsmModel, T.EsmConfig, position_embedding_type="rotary", pad_token_id=1, mask_token_id=32,
                token_dropout=True),
    "modernbert": text(T.ModernBertModel, T.ModernBertConfig, pad_token_id=1, local_attention=6,
                       global_attn_every_n_layers=2),
    "xlm": text(T.XLMModel, T.XLMConfig, base=XLM),
    "flaubert": text(T.FlaubertModel, T.FlaubertConfig, base=XLM, pre_norm=True, arguments=dict(use_cache=False)),
    "xlnet": text(T.XLNetModel, T.XLNetConfig, base=XLNET),
    "funnel": text(T.FunnelModel, T.FunnelConfig, base=FUNNEL),
    "funnel_base": text(T.FunnelBaseModel, T.FunnelConfig, base=FUNNEL),
    "deberta": text(T.DebertaModel, T.DebertaConfig, **DEBERTA),
    "deberta_v2": text(T.DebertaV2Model, T.DebertaV2Config, **DEBERTA, share_att_key=True, norm_rel_ebd="layer_norm",
                       position_buckets=8),
    "splinter": text(T.SplinterModel, T.SplinterConfig),
    "ibert": text(T.IBertModel, T.IBertConfig),
    "xmod": text(T.XmodModel, T.XmodConfig, default_language="en_XX", languages=("en_XX",)),
    "big_bird": text(T.BigBirdModel, T.BigBirdConfig, attention_type="original_full"),
    "bert_decoder": text(T.BertModel, T.BertConfig, is_decoder=True, arguments=dict(use_cache=False)),
    "bert_gelu_new": text(T.BertModel, T.BertConfig, hidden_act="gelu_new"),
    "bert_types": text(T.BertModel, T.BertConfig, outputs=("last_hidden_state", "pooler_output"), names=WITH_TYPES),
    "bert_masked_lm": text(T.BertForMaskedLM, T.BertConfig, outputs=("logits",)),
    "bert_qa": text(T.BertForQuestionAnswering, T.BertConfig, outputs=("start_logits", "end_logits"),
                    names=WITH_TYPES),
    "distilbert_masked_lm": text(T.DistilBertForMaskedLM, T.DistilBertConfig, outputs=("logits",), dim=48, n_layers=2,
                                 n_heads=4, hidden_dim=96),
    "electra_discriminator": text(T.ElectraForPreTraining, T.ElectraConfig, outputs=("logits",), embedding_size=24),
}
