"""The C++ side of the package tenon; use the package."""

from collections.abc import Mapping, Sequence


version: str = '0.1.0'

class Diagnostic:
    """An error, warning or remark about the user's input."""

    @property
    def severity(self) -> str:
        """'error', 'warning', 'remark' or 'note'."""

    @property
    def message(self) -> str:
        """The message, without its location."""

    @property
    def node(self) -> str:
        """The node of the model; may be empty."""

    @property
    def file(self) -> str:
        """The file of the location; may be empty."""

    @property
    def line(self) -> int:
        """The line in the file, from 1; 0 without one."""

    @property
    def column(self) -> int:
        """The column, from 1; 0 without a file."""

    @property
    def source(self) -> str:
        """The line of text, with a mark below it."""

    @property
    def notes(self) -> list[Diagnostic]:
        """More places, each a Diagnostic."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class Tensor:
    """
    A dense tensor in memory of the CPU. NumPy reads it as a buffer, and others through DLPack, both without a copy.
    """

    def __init__(self, array: object, dtype: str = '') -> None:
        """Shares the memory of an array. `dtype` is for lists and numbers."""

    @property
    def shape(self) -> tuple:
        """The extent of each axis."""

    @property
    def dtype(self) -> str:
        """The element type in NumPy's terms, such as 'float32' or 'bfloat16'."""

    @property
    def nbytes(self) -> int:
        """The size in bytes."""

    def tobytes(self) -> bytes:
        """Returns a copy of the bytes: row-major, as they lie in memory."""

    def __dlpack__(self, **kwargs: object) -> object:
        """Returns a capsule of DLPack that shares the memory."""

    def __dlpack_device__(self) -> tuple: ...

    def __len__(self) -> int: ...

    def __repr__(self) -> str: ...

class CancelToken:
    """
    Ends the runs that have it, from any thread. It stays cancelled until reset(), and may serve several runs.
    """

    def __init__(self) -> None: ...

    def cancel(self) -> None:
        """Ends the runs that have the token."""

    def reset(self) -> None:
        """Lets runs begin again."""

    @property
    def cancelled(self) -> bool:
        """True between cancel() and reset()."""

class Spec:
    @property
    def name(self) -> str: ...

    @property
    def dtype(self) -> str: ...

    @property
    def dims(self) -> list[str]: ...

class Program:
    """A program; see tenon.Program."""

    def call(self, args: tuple, kwargs: dict) -> object: ...

    def run(self, args: tuple, kwargs: dict, cancel: CancelToken | None, seed: int, numpy: bool) -> object: ...

    def session(self) -> Session: ...

    def binding(self) -> Binding: ...

    def inputs(self) -> list: ...

    def outputs(self) -> list: ...

    def parameters(self) -> list: ...

    def replace_parameters(self, values: dict) -> None: ...

    def parameter(self, name: str) -> object: ...

    @property
    def notes(self) -> list[str]: ...

class Session:
    """A session; see tenon.Session."""

    def run(self, args: tuple, kwargs: dict, cancel: CancelToken | None, seed: int, numpy: bool) -> object: ...

    def run_binding(self, binding: Binding, cancel: CancelToken | None, seed: int) -> None: ...

    def stats(self) -> dict: ...

class Binding:
    """Bound inputs and outputs; see tenon.Binding."""

    def input(self, port: object, array: object) -> None: ...

    def output(self, port: object, array: object | None) -> None: ...

    def carry(self, output: object, input: object) -> None: ...

    def value(self, port: object) -> object: ...

class Model:
    """A model; see tenon.Model."""

    def compile(self, *, threads: int, cuda_device: int, reference: bool, weight_cache: str, verify_weights: bool, memory_bytes: int, loop_trips: int) -> Program: ...

    def clone(self) -> Model: ...

    def text(self, *, generic: bool, locations: bool, elide: bool) -> str: ...

    def binary(self) -> bytes: ...

    def export_onnx(self, path: str, *, opset: int, ops: str) -> None: ...

    def inspect(self) -> str: ...

    def take_diagnostics(self) -> list[Diagnostic]: ...

    def optimize(self, *, level: int, pipeline: str, precision: str, rule_files: Sequence[str], rule_texts: Sequence[tuple[str, str]], disabled_rules: Sequence[str], fast_math: bool, verify_each: bool, threads: int, explain: str, progress: object | None) -> dict: ...

def load_path(path: str, *, allow_unregistered: bool, external_data: str, allow_external_links: bool, parameter_files: Sequence[str], replaceable: Sequence[str], sizes: Mapping[str, Sequence[int]], part: str, keep_names: bool) -> Model: ...

def load_bytes(content: bytes, name: str, *, allow_unregistered: bool, external_data: str, allow_external_links: bool, parameter_files: Sequence[str], replaceable: Sequence[str], sizes: Mapping[str, Sequence[int]], part: str, keep_names: bool) -> Model: ...
