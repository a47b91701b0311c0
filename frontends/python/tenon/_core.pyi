"""The C++ side of the package tenon; use the package."""

from collections.abc import Mapping, Sequence
import os
from typing import Any, NoReturn


version: str = '0.2.0'

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

    @property
    def read_only(self) -> bool:
        """Whether it shares the memory of a read-only array."""

    def tobytes(self) -> bytes:
        """Returns a copy of the bytes: row-major, as they lie in memory."""

    def __dlpack__(self, *, stream: object = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> object:
        """Returns a capsule of DLPack that shares the memory, or a copy of it."""

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

class View:
    """
    A picture of a program, or of a program before and after passes, as it was when view() was called. Notebooks show it.
    """

    def html(self) -> str:
        """
        Returns a page that needs no other file, with groups that open and close.
        """

    def svg(self) -> str:
        """
        Returns a picture with all groups open. Raises InvalidArgument for more than 2000 operations.
        """

    def dot(self) -> str:
        """Returns text for Graphviz. Raises InvalidArgument as svg does."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to *.html, *.svg or *.dot."""

    def __repr__(self) -> str: ...

class Extension:
    """See tenon.Extension."""

    def __init__(self) -> None: ...

    def declare(self, text: str, file: str, results: Sequence[str], shape: object | None) -> str: ...

    def load_file(self, path: str) -> None: ...

    def load_text(self, name: str, json: str) -> None: ...

    def has_op(self, op: str) -> bool: ...

    def add_kernel(self, op: str, name: str, priority: int, function: object) -> None: ...

class Model:
    """A model; see tenon.Model."""

    def compile(self, *, threads: int, cuda_device: int, reference: bool, weight_cache: str, verify_weights: bool, memory_bytes: int, loop_trips: int) -> Program: ...

    def clone(self) -> Model: ...

    def text(self, *, generic: bool, locations: bool, elide: bool) -> str: ...

    def binary(self) -> bytes: ...

    def export_onnx(self, path: str, *, opset: int, ops: str) -> None: ...

    def inspect(self) -> str: ...

    def view(self, profile: object | None) -> View: ...

    def take_diagnostics(self) -> list[Diagnostic]: ...

    def optimize(self, *, level: int, pipeline: str, precision: str, rule_files: Sequence[str], rule_texts: Sequence[tuple[str, str]], disabled_rules: Sequence[str], fast_math: bool, verify_each: bool, threads: int, explain: str, progress: object | None, view: bool) -> dict: ...

    def module(self) -> Module: ...

def write_file(path: str, content: bytes) -> None: ...

def load_path(path: str, *, allow_unregistered: bool, external_data: str, allow_external_links: bool, parameter_files: Sequence[str], replaceable: Sequence[str], sizes: Mapping[str, Sequence[int]], part: str, keep_names: bool, extension: Extension | None) -> Model: ...

def load_bytes(content: bytes, name: str, *, allow_unregistered: bool, external_data: str, allow_external_links: bool, parameter_files: Sequence[str], replaceable: Sequence[str], sizes: Mapping[str, Sequence[int]], part: str, keep_names: bool, extension: Extension | None) -> Model: ...

class Type:
    """The type of a value."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def dtype(self) -> str | None:
        """The element type in text, such as 'f32'; None if it is no tensor."""

    @property
    def shape(self) -> tuple[int | str | None, ...] | None:
        """
        The dimensions: numbers, expressions and None; None if it is no ranked tensor.
        """

class Attribute:
    """An attribute of an operation."""

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def kind(self) -> str:
        """The kind: 'integer', 'float', 'string', 'elements' and others."""

    @property
    def value(self) -> object:
        """
        The value in Python; a NumPy copy for elements, text for unknown kinds.
        """

class Operation:
    """An operation of a module."""

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    @property
    def is_alive(self) -> bool:
        """False once it is erased, or a pass has changed the module."""

    @property
    def name(self) -> str:
        """The name with its dialect, such as 'ten.add'."""

    @property
    def node(self) -> str:
        """The node of the model that it comes from; may be empty."""

    @property
    def location(self) -> str:
        """The location, as in text."""

    @property
    def operands(self) -> list[Value | None]:
        """The operands of all groups, in order."""

    @property
    def results(self) -> list[Value]:
        """The results."""

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The attributes by name: a copy. set_attribute() changes one."""

    @property
    def regions(self) -> list[Region]:
        """The regions."""

    @property
    def block(self) -> Block | None:
        """The block; None for the module, and for the operation of a pass."""

    @property
    def parent(self) -> Operation | None:
        """The operation around it."""

    @property
    def next(self) -> Operation | None:
        """The operation behind it in its block."""

    @property
    def module(self) -> Module:
        """
        The module, which makes types and attributes. In a pass it has the operation of the pass.
        """

    @property
    def operand_groups(self) -> list[Value | None | list[Value]]:
        """
        The operands by group of the definition: a Value, None for an absent one, or a list for any number.
        """

    @property
    def properties(self) -> dict[str, Any]:
        """
        The attributes of the definition as plain values, with defaults; None for absent ones.
        """

    def __getattr__(self, name: str, /) -> Any:
        """Returns the operand, attribute, result or region of this name."""

    def walk(self) -> list[Operation]:
        """Returns this operation and all in it, outer ones first."""

    def set_attribute(self, name: str, value: object) -> None:
        """
        Sets an attribute, from an Attribute or a plain value. None removes it, or restores its default.
        """

    def set_operand(self, index: int, value: Value) -> None:
        """Makes an operand refer to another value."""

    def erase(self) -> None:
        """Erases the operation, whose results must have no uses."""

    def replace_with(self, values: Sequence[Value]) -> None:
        """
        Gives the uses of the results to `values`, one for each, and erases the operation.
        """

    def move_before(self, other: Operation) -> None:
        """Moves the operation before another one of its region."""

    def move_after(self, other: Operation) -> None:
        """Moves the operation behind another one of its region."""

    def insert_before(self, name: str, operands: Sequence[Value] = [], attributes: dict = {}, result_types: object | None = None, *, regions: int = 0, node: str = '') -> Operation:
        """Makes an operation before this one. See Block.append."""

    def insert_after(self, name: str, operands: Sequence[Value] = [], attributes: dict = {}, result_types: object | None = None, *, regions: int = 0, node: str = '') -> Operation:
        """Makes an operation behind this one. See Block.append."""

class Block:
    """A list of operations, with arguments."""

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    @property
    def operations(self) -> list[Operation]:
        """The operations, in order."""

    @property
    def arguments(self) -> list[Value]:
        """The arguments."""

    @property
    def parent(self) -> Operation | None:
        """The operation around it."""

    def append(self, name: str, operands: Sequence[Value] = [], attributes: dict = {}, result_types: object | None = None, *, regions: int = 0, node: str = '') -> Operation:
        """
        Makes an operation at the end of the block. Without `result_types` the shape function of the operation tells them. `node` is the name of a node of the model.
        """

    def build(self, name: str, args: tuple, kwargs: dict, result_types: object | None, node: str, before: Operation | None) -> object:
        """Makes an operation; see tenon.ops."""

class Region:
    """A list of blocks, which belongs to an operation."""

    @property
    def blocks(self) -> list[Block]:
        """The blocks; the first is the entry."""

    @property
    def parent(self) -> Operation:
        """The operation."""

    def add_block(self, argument_types: Sequence[Type] = []) -> Block:
        """Appends a block with these arguments."""

class Value:
    """A result of an operation, or an argument of a block."""

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

    @property
    def type(self) -> Type:
        """The type."""

    @property
    def name(self) -> str:
        """The name in text, without '%'; may be empty."""

    @name.setter
    def name(self, arg: str, /) -> None: ...

    @property
    def owner(self) -> Operation | Block:
        """The operation of a result, or the block of an argument."""

    @property
    def index(self) -> int:
        """The position among the results or arguments."""

    @property
    def users(self) -> list[Operation]:
        """The operations that use the value."""

    def replace_uses(self, other: Value) -> None:
        """Gives all uses to another value."""

class Module:
    """
    A module that Python changes: a copy of that of a model. Use it from one thread at a time. Handles to its operations never dangle: those that are gone raise FailedPrecondition.
    """

    def __init__(self, extension: Extension | None = None) -> None:
        """Makes a module without operations. See tenon.ir.function."""

    @property
    def operation(self) -> Operation:
        """The operation builtin.module."""

    def walk(self) -> list[Operation]:
        """Returns all operations, outer ones first."""

    def text(self, *, generic: bool = False, locations: bool = False, elide: bool = False) -> str:
        """Returns the text; `elide` leaves out large constants."""

    def __str__(self) -> str: ...

    def verify(self) -> None:
        """Raises InvalidModel, with diagnostics, for IR that is wrong."""

    def run_pipeline(self, pipeline: str) -> tuple[bool, str]: ...

    def run(self, pipeline: str) -> None:
        """
        Runs passes, such as 'canonicalize,cse'. Handles to operations are gone afterward. An error changes nothing.
        """

    def type(self, text: str) -> Type:
        """Reads a type, such as 'tensor<2x?xf32>'."""

    def attribute(self, text: str) -> Attribute:
        """Reads an attribute, such as 'array<i64: 1, 2>'."""

    def elements(self, array: object) -> Attribute:
        """Returns an array as the contents of a constant."""

    def view(self, profile: str | os.PathLike[str] | None = None) -> View:
        """
        Returns a picture of the module as it is, which notebooks show. `profile` is a file that `ir-run --profile=FILE.json` has written; its times are shown.
        """

    def to_model(self) -> Model: ...

class PassContext:
    """
    The services for a pass in Python while it runs; see tenon.register_pass.
    """

    def count(self, name: str, n: int = 1) -> None:
        """Adds to a counter of the pass."""

    def warning(self, message: str, op: Operation | None = None) -> None:
        """Emits a warning about an operation."""

    def remark(self, message: str, op: Operation | None = None) -> None:
        """Emits a remark about an operation."""

    def error(self, message: str, op: Operation | None = None) -> NoReturn:
        """
        Ends the pass with an error about an operation: raises InvalidArgument.
        """

    def run(self, pipeline: str) -> bool:
        """
        Runs a pipeline on the operation of the pass, and returns whether it changed it. Handles are gone afterward.
        """

def check_pass(spec: object) -> None: ...

def rule_names(text: str, name: str, extension: Extension | None) -> list[str]: ...

def check_rules(text: str, name: str, matches: int, seed: int, extension: Extension | None) -> list[tuple[str, str, list[str]]]: ...

def testing_load(path: str, *, plugins: Sequence[str], op_files: Sequence[tuple[str, str]], external_data: str) -> Model: ...

def testing_sample_cases(model: Model, *, sizes: Mapping[str, int]) -> list: ...

def testing_read_cases(model: Model, program: Program, folder: str) -> list: ...

def testing_compare(program: Program, actual: list, expected: list, *, tolerances: Mapping[str, tuple[float, float]]) -> list: ...

def testing_first_difference(path: str, *, plugins: Sequence[str], op_files: Sequence[tuple[str, str]], inputs: Sequence[Tensor], elsewhere: object, tolerances: Mapping[str, tuple[float, float]]) -> object: ...

def testing_bisect(model: Model, *, optimize: dict, reference: bool, inputs: Sequence[Sequence[Tensor]], expected: Sequence[Sequence[Tensor]], tolerances: Mapping[str, tuple[float, float]], reduce: bool) -> dict: ...

def testing_check_passes(model: Model, *, optimize: dict, reference: bool, inputs: Sequence[Sequence[Tensor]], tolerances: Mapping[str, tuple[float, float]]) -> dict: ...

def testing_check_steps(model: Model, *, optimize: dict, reference: bool, tolerances: Mapping[str, tuple[float, float]], programs_per_rule: int) -> dict: ...

def testing_check_kernels(model: Model, *, tolerances: Mapping[str, tuple[float, float]]) -> dict: ...
