"""What a family is made of: a model, example inputs of two sizes, and which axes of them are dynamic."""

import dataclasses
import zlib
from typing import Any, Callable, Optional

import torch

SMALL = dict(vocab_size=99, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
             max_position_embeddings=64)
SIZES = [dict(batch=2, seq=9, dec_seq=5, past=4), dict(batch=3, seq=14, dec_seq=8, past=7)]

Inputs = dict[str, torch.Tensor]


@dataclasses.dataclass
class Case:
    model: torch.nn.Module
    inputs: Inputs
    dynamic_axes: dict[str, dict[int, str]]
    outputs: list[str]  # names of the fields of the model's result; none: all its tensors in order
    keep_batch_norm: bool = False
    others: Optional[Inputs] = None  # inputs of other sizes than the export's
    arguments: dict[str, Any] = dataclasses.field(default_factory=dict)  # passed to the model as they are
    positional: bool = False  # the model names its inputs otherwise


def tensors(result):
    """All tensors of a nested result, in order."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    return [tensor for part in result or () if part is not None for tensor in tensors(part)]


class Wrapped(torch.nn.Module):
    """Takes positional inputs and returns a tuple, which is what both exporters handle best."""

    def __init__(self, case):
        super().__init__()
        self.model = case.model
        self.names = list(case.inputs)
        self.outputs = case.outputs
        self.arguments = case.arguments
        self.positional = case.positional

    def forward(self, *values):
        if self.positional:
            result = self.model(*values)
        else:
            result = self.model(**dict(zip(self.names, values)), **self.arguments)
        if isinstance(result, torch.Tensor):
            return result
        if self.outputs:
            result = [getattr(result, name) for name in self.outputs]
        return tuple(tensors(result))


def is_mask(value):
    """A table of zeros and ones, such as the causal mask that some models keep as a buffer called "bias"."""
    return value.dim() > 1 and value.numel() > 1 and bool(((value == 0) | (value == 1)).all()) and bool(value.any())


def perturb(model):
    """Changes every parameter, and the buffers that training changes. Fresh ones are ones, zeros or all alike, which hides
    mistakes and matches what no trained model has. The change depends on the parameter's name alone, not on the others."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.is_floating_point():
                value.copy_(perturbed(name, value))
        for name, value in model.named_buffers():
            learned = name.endswith(("running_mean", "running_var", "weight", "bias"))
            if value.is_floating_point() and learned and not is_mask(value):
                value.copy_(perturbed(name, value))


def perturbed(name, value):
    """Values of the size that a trained model has there, no two of them alike."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    normal = torch.randn(value.shape, generator=generator)
    uniform = torch.rand(value.shape, generator=generator)
    if name.endswith("running_var"):
        return 0.5 + uniform
    if name.endswith("running_mean"):
        return 0.2 * normal
    if any(part in name for part in ("layer_scale", "attention_biases", "lambda", "grn.", "gamma")):
        return 0.5 + 0.1 * normal
    if value.dim() == 1 and name.endswith("weight"):
        return 1 + 0.1 * normal
    if name.endswith("bias"):
        return 0.1 * normal
    if value.dim() >= 2 and name.endswith("weight") and "embedding" not in name:
        return normal / value[0].numel() ** 0.5
    if not value.numel():
        return value
    # Embeddings, temperatures, decays, sinks and the like: their own values matter, so they change by a fifth. What is
    # positive stays positive.
    size = value.abs().mean() or 0.1
    shift = 0 if bool((value > 0).all()) else 0.1 * size * normal
    return value * (0.8 + 0.4 * uniform) + shift


def calibrate(model, inputs):
    """Gives batch norms the statistics of what reaches them: with others, a deep network of random weights has outputs
    that vanish or overflow, and comparing them shows nothing."""
    norms = [module for module in model.modules() if isinstance(module, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    for module in norms:
        module.reset_running_stats()
        module.momentum = None
        module.train()
    with torch.no_grad():
        model(*(torch.randn(8, *value.shape[1:]) for value in inputs.values()))
    for module in norms:
        module.eval()


def other_size(make: Callable[..., Inputs]) -> Inputs:
    """Inputs of the second size; what is random later does not depend on them."""
    with torch.random.fork_rng(devices=[]):
        return make(**SIZES[1])


def two_sizes(make: Callable[..., Inputs]) -> tuple[Inputs, Inputs]:
    return make(**SIZES[0]), other_size(make)


def token_ids(vocab, batch, seq, padding=True):
    """Token ids, and a mask whose last row has padding."""
    tokens = torch.randint(5, vocab, (batch, seq))
    mask = torch.ones(batch, seq, dtype=torch.int64)
    if padding:
        mask[-1, seq - 3:] = 0
        tokens[-1, seq - 3:] = 1
    return tokens, mask


def text_inputs(vocab, batch, seq, names=("input_ids", "attention_mask"), padding=True):
    tokens, mask = token_ids(vocab, batch, seq, padding)
    types = torch.zeros(batch, seq, dtype=torch.int64)
    types[:, seq // 2:] = 1
    values = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": types}
    inputs = {name: values[name] for name in names}
    return inputs, {name: {0: "batch", 1: "seq"} for name in names}


def batch_and_seq(*names):
    return {name: {0: "batch", 1: "seq"} for name in names}
