"""Operations, kernels and rules that a program in Python adds to Tenon."""

from __future__ import annotations

import os
from typing import Any, Callable, NamedTuple, Sequence

from . import _core, arguments
from .declarations import op_file
from .errors import InvalidArgument, NotFound
from .insertion import InsertionPoint

Kernel = Callable[..., Any]
Shape = Callable[..., Any]
Decomposition = Callable[..., Any]


class TensorType(NamedTuple):
    """An element type and a shape, as shape functions get and return them."""

    dtype: str
    """The element type as in text: "f32", "i64", "i1"."""
    shape: tuple[int | str | None, ...] | None
    """Numbers, expressions of symbols such as "B + 1", and None where nothing is known. None: any rank."""


class DeclaredOp:
    """An operation of an Extension. A call makes it, as tenon.ops does: gated(x, gate, alpha=2.0)."""

    def __init__(self, extension: Extension, name: str) -> None:
        self._extension = extension
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Makes the operation at the insertion point, or a value of a rule, as the functions of tenon.ops do."""
        from .ops._declare import call

        return call(self.name, (), args, kwargs)

    def kernel(self, function: Kernel) -> Kernel:
        """Runs the operation with a function of NumPy arrays. It also folds constants and checks rules.

        The function gets an array for each operand (None for an absent one, a list for `each xs`), and the attributes by
        name. It returns an array of the result's type and shape, or a tuple of them.
        """
        self._extension.kernel(self.name, function, name=f"ref.{self.name}", priority=0)
        return function

    def decomposition(self, function: Decomposition) -> Decomposition:
        """Says what the operation is made of, for the pass Extension.decompose().

        The function gets the operands as values and the attributes by name. It makes operations, and returns the value or
        values that take the place of the results.
        """
        self._extension._decompositions[self.name] = function
        return function

    def matches(self, op: object) -> bool:
        """Whether `op` is this operation."""
        return isinstance(op, _core.Operation) and op.is_alive and op.name == self.name

    def __repr__(self) -> str:
        return f"<tenon.ops.{self.name} of an extension>"


class Extension(_core.Extension):
    """Operations and kernels of a program, for tenon.load(…, extension=…) and tenon.ir.Module(extension=…).

        extension = tenon.Extension()
        gated = extension.op("my.gated(x: float, gate: float) {alpha: f32 = 1} -> elementwise")

        @gated.kernel
        def run_gated(x, gate, *, alpha):
            return x / (1 + numpy.exp(-alpha * gate))

    A model has what its extension had when the model was loaded.
    """

    def __init__(self) -> None:
        super().__init__()
        self._decompositions: dict[str, Decomposition] = {}

    def op(self, declaration: str, *, shape: Shape | None = None, results: Sequence[str] = ("out",)) -> DeclaredOp:
        """Declares an operation.

        Args:
          declaration: Name, operands, attributes and result, in the notation of rules: docs/guide/declare-operations.md.
          shape: A function that gets a TensorType for each operand (None for an absent one, a list for `each xs`) and the
            attributes by name. It returns the TensorType of the result, or a list of them. The declaration then ends
            before `->`.
          results: With `shape`, the names of the results.

        Raises:
          InvalidArgument: The declaration is wrong; the message has the place in it.
          AlreadyExists: There is such an operation.
        """
        text = arguments.text("the declaration", declaration)
        name = text.partition("(")[0].strip()
        if shape is not None:
            if not callable(shape):
                raise TypeError(f"{name}: shape is a {type(shape).__name__} (expected a function)")
            if not results:
                raise InvalidArgument(f"{name}: there is no result (expected at least one name)")
        return DeclaredOp(self, self.declare(text, f"<{name}>", list(results), shape))

    def load_ops(self, path: str | os.PathLike[str]) -> None:
        """Declares the operations of a file: YAML, JSON, or rules in text (*.drr). See docs/guide/declare-operations.md.

        A YAML file needs PyYAML.

        Raises:
          NotFound: The file cannot be read.
          InvalidArgument: The file is wrong; the message has the place in it.
          AlreadyExists: There is another operation of a name.
        """
        name, json = op_file(arguments.path("path", path))
        if json:
            self.load_text(name, json)
        else:
            self.load_file(name)

    def declared(self, name: str) -> DeclaredOp:
        """Returns an operation that load_ops() or op() has declared. Raises NotFound if there is none."""
        if not self.has_op(arguments.text("the name", name)):
            raise NotFound(f"there is no operation '{name}' (expected one that the extension declares)")
        return DeclaredOp(self, name)

    def kernel(self, op: str, function: Kernel, *, name: str = "", priority: int = 100) -> None:
        """Runs the operation `op`, which may be one of Tenon's, with a function of NumPy arrays.

        Args:
          op: The operation. Its attributes are numbers, texts and lists of them.
          function: See DeclaredOp.kernel.
          name: A name that no other kernel has; by default "python." and the operation.
          priority: Of the kernels of an operation, that with the highest priority runs.
        """
        if not callable(function):
            raise TypeError(f"{op}: the kernel is a {type(function).__name__} (expected a function)")
        self.add_kernel(op, name or f"python.{op}", priority, function)

    def decompose(self, root: _core.Operation) -> int:
        """Replaces operations by their decompositions, and returns how many there were. A pass can call it:

            @tenon.register_pass("decompose")
            def decompose(module, context):
                context.count("decomposed", extension.decompose(module))
        """
        count = 0
        for op in root.walk():
            if not op.is_alive or op.name not in self._decompositions:
                continue
            function = self._decompositions[op.name]
            with InsertionPoint(op):
                values = function(*op.operand_groups, **op.properties)
            op.replace_with([values] if isinstance(values, _core.Value) else values)
            count += 1
        return count
