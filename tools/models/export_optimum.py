#!/usr/bin/env python3
"""Exports decoders with past keys and values, and merged ones (one `If`), by Optimum, as people get them.

  export_optimum.py DIR [FAMILY...]

Writes DIR/<family>.optimum_past (decoders with past) and DIR/<family>_<file>.optimum (encoder_model, decoder_model,
decoder_with_past_model, decoder_model_merged), each with model.onnx and test_data_set_M: inputs of several batch,
sequence and past lengths, and ONNX Runtime's outputs with optimisation off. Needs an environment of its own:

  pip install torch==2.3.1 'numpy<2' transformers==4.43.4 optimum==1.23.3 onnx==1.16.2 onnxruntime==1.18.1
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

import numpy
import onnx
import onnxruntime
import torch
import transformers as T
from optimum.exporters.onnx import main_export

from families_base import SMALL, perturb

GROUPED = dict(SMALL, num_key_value_heads=2)
TOKENS = dict(bos_token_id=1, eos_token_id=2)
GPT2 = dict(vocab_size=99, n_embd=48, n_layer=2, n_head=4, n_positions=64, **TOKENS)
NEO = dict(vocab_size=99, hidden_size=48, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
           window_size=6, max_position_embeddings=64, **TOKENS)
T5 = dict(vocab_size=99, d_model=48, d_kv=12, d_ff=96, num_layers=2, num_decoder_layers=2, num_heads=4,
          decoder_start_token_id=0)
BART = dict(vocab_size=99, d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96, max_position_embeddings=64)
DECODERS = {
    "gpt2": (T.GPT2LMHeadModel, T.GPT2Config, GPT2),
    "llama": (T.LlamaForCausalLM, T.LlamaConfig, GROUPED),
    "mistral": (T.MistralForCausalLM, T.MistralConfig, dict(GROUPED, sliding_window=6)),
    "qwen2": (T.Qwen2ForCausalLM, T.Qwen2Config, GROUPED),
    "gemma": (T.GemmaForCausalLM, T.GemmaConfig, dict(SMALL, head_dim=16, num_key_value_heads=1)),
    "phi": (T.PhiForCausalLM, T.PhiConfig, dict(SMALL, partial_rotary_factor=0.5, **TOKENS)),
    "phi3": (T.Phi3ForCausalLM, T.Phi3Config, dict(GROUPED, pad_token_id=0, **TOKENS)),
    "gpt_neox": (T.GPTNeoXForCausalLM, T.GPTNeoXConfig, dict(SMALL, rotary_pct=0.5)),
    "gptj": (T.GPTJForCausalLM, T.GPTJConfig, dict(GPT2, rotary_dim=8)),
    "gpt_neo": (T.GPTNeoForCausalLM, T.GPTNeoConfig, NEO),
    "opt": (T.OPTForCausalLM, T.OPTConfig, dict(SMALL, ffn_dim=96, word_embed_proj_dim=48)),
    "bloom": (T.BloomForCausalLM, T.BloomConfig, dict(vocab_size=99, hidden_size=48, n_layer=2, n_head=4)),
    "mpt": (T.MptForCausalLM, T.MptConfig, dict(vocab_size=99, d_model=48, n_layers=2, n_heads=4, max_seq_len=64)),
    "falcon": (T.FalconForCausalLM, T.FalconConfig,
               dict(vocab_size=99, hidden_size=48, num_hidden_layers=2, num_attention_heads=4)),
    "codegen": (T.CodeGenForCausalLM, T.CodeGenConfig, dict(GPT2, rotary_dim=8)),
    "gpt_bigcode": (T.GPTBigCodeForCausalLM, T.GPTBigCodeConfig, GPT2),
}
MERGED = ("gpt2", "llama", "mistral", "gptj", "gpt_neo", "opt", "bloom")  # exported in parts and merged too
ENCODER_DECODERS = {
    "t5": (T.T5ForConditionalGeneration, T.T5Config, T5),
    "t5_gated": (T.T5ForConditionalGeneration, T.T5Config, dict(T5, feed_forward_proj="gated-gelu")),
    "bart": (T.BartForConditionalGeneration, T.BartConfig, BART),
    "mbart": (T.MBartForConditionalGeneration, T.MBartConfig, BART),
    "marian": (T.MarianMTModel, T.MarianConfig, dict(BART, pad_token_id=0, decoder_start_token_id=0, eos_token_id=2)),
    "pegasus": (T.PegasusForConditionalGeneration, T.PegasusConfig, BART),
    "blenderbot": (T.BlenderbotForConditionalGeneration, T.BlenderbotConfig, BART),
    "m2m_100": (T.M2M100ForConditionalGeneration, T.M2M100Config, BART),
}

# Sizes of the data sets: without past, with past, and of merged decoders (`use` is their use_cache_branch).
PLAIN = [dict(batch=2, seq=9, past=0, encoder=7), dict(batch=3, seq=6, past=0, encoder=4)]
PAST = [dict(batch=2, seq=1, past=5, encoder=7), dict(batch=3, seq=1, past=8, encoder=4),
        dict(batch=1, seq=3, past=6, encoder=5)]
BRANCHES = [dict(size, use=True) for size in PAST[:2]] + [
    dict(batch=2, seq=6, past=1, encoder=7, use=False), dict(batch=3, seq=4, past=0, encoder=9, use=False)]


def extent(dimension, size, heads=4):
    """The size of a dimension that Optimum names."""
    if isinstance(dimension, int):
        return dimension
    name = dimension.replace(" ", "")
    if name == "attention_mask_sequence_length":
        return size["seq"] + (size["past"] if size["use"] else 0)
    if name in ("past_sequence_length+1", "past_sequence_length+sequence_length"):
        return size["past"] + size["seq"]
    if "encoder_sequence" in name:
        return size["encoder"]
    if "past" in name:
        return size["past"]
    if "batch" in name:
        return size["batch"] * (heads if "num_heads" in name else 1)
    return size["seq"]


def example(value, size, random):
    shape = [extent(dimension, size) for dimension in value.shape]
    if value.name == "use_cache_branch":
        return numpy.array([size["use"]])
    if "int64" not in value.type:
        return random.standard_normal(shape).astype(numpy.float32)
    if "position" in value.name:
        return numpy.broadcast_to(numpy.arange(size["past"], size["past"] + shape[1]), shape).copy()
    if "mask" not in value.name:
        return random.integers(5, 99, shape)
    mask = numpy.ones(shape, numpy.int64)
    if shape[0] > 1 and shape[1] > 3:
        mask[-1, :2] = 0
    return mask


def write_data(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    sizes = BRANCHES if "use_cache_branch" in names else PAST if any("past" in name for name in names) else PLAIN
    random = numpy.random.default_rng(0)
    written = 0
    for size in sizes:
        inputs = {value.name: example(value, size, random) for value in session.get_inputs()}
        try:
            outputs = session.run(None, inputs)
        except Exception:  # pylint: disable=broad-except
            continue  # a decoder that takes one token a step
        folder = path.parent / f"test_data_set_{written}"
        folder.mkdir()
        written += 1
        results = zip((value.name for value in session.get_outputs()), outputs)
        for kind, values in (("input", inputs.items()), ("output", results)):
            for index, (name, value) in enumerate(values):
                tensor = onnx.numpy_helper.from_array(numpy.ascontiguousarray(value), name)
                (folder / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())
    if not written:
        raise RuntimeError("ONNX Runtime runs none of the data sets")


def place(source, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(source, folder / "model.onnx")
    write_data(folder / "model.onnx")
    print(folder.name, flush=True)


def export(family, out, scratch):
    model_class, config_class, settings = {**DECODERS, **ENCODER_DECODERS}[family]
    torch.manual_seed(sum(family.encode()))
    model = model_class(config_class(**settings)).eval()
    perturb(model)
    model.save_pretrained(scratch / "model", safe_serialization=False)
    common = dict(do_validation=False, library_name="transformers")
    if family in DECODERS:
        main_export(str(scratch / "model"), str(scratch / "one"), task="text-generation-with-past", **common)
        place(scratch / "one" / "model.onnx", out / f"{family}.optimum_past")
        if family in MERGED:
            main_export(str(scratch / "model"), str(scratch / "parts"), task="text-generation-with-past", legacy=True,
                        **common)
    else:
        main_export(str(scratch / "model"), str(scratch / "parts"), task="text2text-generation-with-past", **common)
    for part in sorted((scratch / "parts").glob("*.onnx")):
        place(part, out / f"{family}_{part.stem}.optimum")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, metavar="DIR")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    arguments = parser.parse_args()
    failed = 0
    for family in arguments.families or [*DECODERS, *ENCODER_DECODERS]:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                export(family, arguments.out, pathlib.Path(scratch))
            except Exception as exception:  # pylint: disable=broad-except
                failed += 1
                print(f"{family} FAILED: {str(exception).strip().splitlines()[0][:150]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
