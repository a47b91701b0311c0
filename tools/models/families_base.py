"""What a family is made of: a model, example inputs of two sizes, and which axes of them are dynamic."""

import dataclasses
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


def randomize(model):
    """Makes biases, norm scales and running statistics matter: their initial zeros and ones hide mistakes."""
    with torch.no_grad():
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            if not value.is_floating_point() or is_mask(value):
                continue
            if name.endswith("running_var"):
                value.copy_(0.5 + torch.rand_like(value))
            elif name.endswith("running_mean"):
                value.copy_(0.2 * torch.randn_like(value))
            elif any(part in name for part in ("layer_scale", "attention_biases", "lambda", "grn.", "gamma")):
                value.copy_(0.5 + 0.1 * torch.randn_like(value))
            elif value.dim() == 1 and name.endswith("weight"):
                value.copy_(1 + 0.1 * torch.randn_like(value))
            elif name.endswith("bias"):
                value.copy_(0.1 * torch.randn_like(value))
            elif value.dim() >= 2 and name.endswith("weight") and "embedding" not in name:
                value.copy_(torch.randn_like(value) / value[0].numel() ** 0.5)


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
