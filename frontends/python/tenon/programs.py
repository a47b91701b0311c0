"""Programs, sessions and bindings."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Sequence

from . import _core, arguments
from ._core import CancelToken

if TYPE_CHECKING:
    from concurrent.futures import Executor


class TensorSpec(NamedTuple):
    """An input or output, as the model declares it."""

    name: str
    dtype: str
    """The element type, such as "float32"."""
    shape: tuple[int | str | None, ...]
    """The dimensions: numbers, names or expressions such as "past + 1", and None for an unknown one."""


def _spec(raw: Any) -> TensorSpec:
    return TensorSpec(raw.name, raw.dtype, tuple(int(dim) if dim.isdecimal() else None if dim == "?" else dim
                                                 for dim in raw.dims))


class Outputs(tuple):  # type: ignore[type-arg]
    """The results of a run: a tuple that also takes names, as in outputs["logits"]."""

    __slots__ = ()
    names: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return tuple.__getitem__(self, self.names.index(key))
            except ValueError:
                raise KeyError(f"there is no output {key!r} (expected one of {', '.join(self.names)})") from None
        return tuple.__getitem__(self, key)

    def asdict(self) -> dict[str, Any]:
        """Returns the results by name."""
        return dict(zip(self.names, self))


Inputs = Sequence[Any] | Mapping[str, Any]


def _split(inputs: Inputs) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs of the type {type(inputs).__name__} (expected a list, a tuple or a dict of arrays)")
    return tuple(inputs), {}


class Program:
    """A compiled model. Make one with Model.compile().

    Any number of threads may call a program at once. A call releases the interpreter's lock while it computes.
    """

    def __init__(self, handle: Any) -> None:
        if not isinstance(handle, _core.Program):
            raise TypeError("use Model.compile() to make a program")
        self._handle = handle
        self._call = handle.call
        self._inputs = tuple(map(_spec, handle.inputs()))
        self._outputs = tuple(map(_spec, handle.outputs()))
        self._results = type("Outputs", (Outputs,), {"__slots__": (), "names": tuple(s.name for s in self._outputs)})

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """The inputs, in the order of the arguments."""
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """The outputs, in the order of the results."""
        return self._outputs

    @property
    def parameters(self) -> tuple[TensorSpec, ...]:
        """The parameters that replace_parameters() may change (load(replaceable=…))."""
        return tuple(map(_spec, self._handle.parameters()))

    @property
    def notes(self) -> list[str]:
        """One line per kind of operation that runs on a slow kernel, or on the CPU in place of the device."""
        return list(self._handle.notes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program: inputs by position, by name, or both. Returns Outputs of NumPy arrays.

        Dense arrays are not copied. Results of a type that NumPy does not have are tenon.Tensor objects.

        Raises:
          TypeError: An input is missing, unknown, given twice, or no tensor.
          InvalidArgument: An input has the wrong element type or shape.
        """
        return self._results(self._call(args, kwargs))

    def run(self, inputs: Inputs, *, cancel: CancelToken | None = None, seed: int = 0, results: str = "numpy") -> Any:
        """Runs the program on a list or a dict of inputs.

        Args:
          inputs: The inputs in order, or by name.
          cancel: Ends the run early, which then raises Cancelled.
          seed: The seed of the random numbers of the run.
          results: "numpy", "torch" (PyTorch tensors that share the memory), or "tensor" (tenon.Tensor objects).
        """
        args, kwargs = _split(inputs)
        try:
            raw = self._handle.run(args, kwargs, cancel, seed, _is_numpy(results))
        except TypeError:
            _check(cancel, seed)
            raise
        return self._results(_converted(raw, results))

    async def run_async(self, inputs: Inputs, *, seed: int = 0, results: str = "numpy",
                        executor: Executor | None = None) -> Any:
        """Runs the program in a thread of `executor`, by default that of the event loop.

        If the task is cancelled, the run ends early.
        """
        import asyncio  # here, as it takes longer to import than this package

        cancel = CancelToken()
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(
            executor, functools.partial(self.run, inputs, cancel=cancel, seed=seed, results=results))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            cancel.cancel()
            # The result of a run that nobody waits for.
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise

    def session(self) -> Session:
        """Returns a session, for one thread."""
        return Session(self, self._handle.session())

    def binding(self) -> Binding:
        """Returns a binding, which keeps inputs and outputs bound from run to run."""
        return Binding(self, self._handle.binding())

    def replace_parameters(self, values: Mapping[str, Any]) -> None:
        """Replaces values of parameters, while other threads run the program. All are replaced, or none."""
        self._handle.replace_parameters(dict(values))

    def parameter(self, name: str) -> Any:
        """Returns a copy of the current value of a parameter."""
        return self._handle.parameter(name)

    def __repr__(self) -> str:
        return f"<tenon.Program ({_list(self._inputs)}) -> ({_list(self._outputs)})>"


def _list(specs: Sequence[TensorSpec]) -> str:
    return ", ".join(f"{s.name}: {s.dtype}[{', '.join('?' if d is None else str(d) for d in s.shape)}]" for s in specs)


def _check(cancel: Any, seed: Any) -> None:
    """Raises the TypeError for a wrong argument of a run. Only a run that has failed asks, as this takes time."""
    if cancel is not None and not isinstance(cancel, CancelToken):
        raise arguments.wrong("cancel", cancel, "a tenon.CancelToken") from None
    try:
        arguments.integer("seed", seed, 65, least=0)
    except (TypeError, ValueError) as error:
        raise error from None


def _is_numpy(results: str) -> bool:
    if results not in ("numpy", "torch", "tensor"):
        raise ValueError(f"there are no results of the kind {results!r} (expected numpy, torch or tensor)")
    return results == "numpy"


def _converted(raw: Any, results: str) -> Iterator[Any]:
    if results != "torch":
        return iter(raw)
    import torch.utils.dlpack

    return map(torch.utils.dlpack.from_dlpack, raw)


class Session:
    """Runs a program, one run at a time, with memory of its own. Make one with Program.session().

    A run while another thread runs the session raises FailedPrecondition.
    """

    def __init__(self, program: Program, handle: Any) -> None:
        self._program = program
        self._handle = handle

    def run(self, inputs: Inputs | Binding, *, cancel: CancelToken | None = None, seed: int = 0,
            results: str = "numpy") -> Any:
        """Runs the program as Program.run does. With a Binding it returns None: read Binding.output()."""
        try:
            if isinstance(inputs, Binding):
                self._handle.run_binding(inputs._handle, cancel, seed)
                return None
            args, kwargs = _split(inputs)
            raw = self._handle.run(args, kwargs, cancel, seed, _is_numpy(results))
        except TypeError:
            _check(cancel, seed)
            raise
        return self._program._results(_converted(raw, results))

    @property
    def stats(self) -> dict[str, int]:
        """Counters: shapes_prepared, plans_made, arena_bytes and others. Sizes are in bytes."""
        stats: dict[str, int] = self._handle.stats()
        return stats


class Binding:
    """Inputs and outputs that stay bound from run to run. Make one with Program.binding().

    Ports are named by position or by name. Use a binding from one thread at a time.
    """

    def __init__(self, program: Program, handle: Any) -> None:
        self._program = program
        self._handle = handle

    def bind_input(self, port: int | str, array: Any) -> None:
        """Every run reads this array from now on. Its elements may change between runs if it is dense and aligned."""
        self._handle.input(port, array)

    def bind_output(self, port: int | str, array: Any = None) -> None:
        """Every run writes to this array, which must be writable and dense. None: to memory of the binding."""
        self._handle.output(port, array)

    def carry(self, output: int | str, input: int | str) -> None:
        """After each run the output becomes the input, as the keys and values of a decoder do."""
        self._handle.carry(output, input)

    def output(self, port: int | str) -> Any:
        """Returns a copy of the value after the last run."""
        return self._handle.value(port)
