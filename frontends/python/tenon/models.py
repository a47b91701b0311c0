"""Models: load, optimize, compile."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Sequence, Union

from . import _core, arguments
from ._core import View
from .errors import DiagnosticWarning, InvalidArgument
from .programs import Program
from .report import OptimizeReport
from .rules import Rules

if TYPE_CHECKING:
    from .extension import Extension

OnDiagnostic = Callable[["_core.Diagnostic"], None]
RuleSource = Union[Rules, str, "os.PathLike[str]"]
Progress = Callable[[str, int], None]


def load(source: Any, *, name: str | None = None, on_diagnostic: OnDiagnostic | None = None,
         allow_unregistered: bool = False, external_data: str | os.PathLike[str] | None = None,
         allow_external_links: bool = False, parameters: Iterable[str | os.PathLike[str]] = (),
         replaceable: Iterable[str] = (), sizes: Mapping[str, int | Sequence[int]] | None = None, part: str = "",
         keep_names: bool = True, extension: Extension | None = None) -> Model:
    """Reads an ONNX model, IR text or a binary module.

    Args:
      source: A path, the bytes of a model, an onnx.ModelProto, or a file object. A str is a path.
      name: What messages call a model in memory. A path has its own name.
      on_diagnostic: Receives each error, warning and remark about the model, now and later. Without it, warnings go to
        the module `warnings` and remarks are dropped.
      allow_unregistered: Accepts operations of dialects that are not registered.
      external_data: The folder of an ONNX model's external data; by default the folder of the model file.
      allow_external_links: Accepts symbolic links and files with several hard links as external data.
      parameters: Files in the format safetensors, with values in place of those that the model has.
      replaceable: Parameters that Program.replace_parameters may change: names, or patterns such as "*.weight".
      sizes: Sizes of dimensions, {"batch": 1}, or of inputs, {"ids": [1, 128]}.
      part: "FROM:TO" keeps only a part of an ONNX model.
      keep_names: Whether values of IR text keep their names.
      extension: Operations and kernels of this program.

    Raises:
      ModelNotFound: The file cannot be read.
      InvalidModel: The model is not well-formed.
      UnsupportedOperation: The model uses something that Tenon cannot represent.
      ResourceExhausted: The model is beyond a limit, or there is no memory.
      InvalidArgument: An option cannot be used with this model, such as a name beside a path.
    """
    if extension is not None and not isinstance(extension, _core.Extension):
        raise arguments.wrong("extension", extension, "a tenon.Extension")
    options: dict[str, Any] = {
        "allow_unregistered": arguments.flag("allow_unregistered", allow_unregistered),
        "external_data": arguments.path("external_data", external_data) if external_data is not None else "",
        "allow_external_links": arguments.flag("allow_external_links", allow_external_links),
        "parameter_files": arguments.paths("parameters", parameters),
        "replaceable": arguments.texts("replaceable", replaceable),
        "sizes": _sizes(sizes),
        "part": arguments.text("part", part),
        "keep_names": arguments.flag("keep_names", keep_names),
        "extension": extension,
    }
    if isinstance(source, (str, os.PathLike)):
        path = arguments.path("the path", source)
        if name is not None:
            raise InvalidArgument(f"name is {name!r} beside the path '{path}' (expected one of them: messages call a file by its "
                                  "path)")
        handle = _core.load_path(path, **options)
    else:
        content, default_name = _content(source)
        handle = _core.load_bytes(content, arguments.text("name", default_name if name is None else name), **options)
    return Model(handle, on_diagnostic)


def _sizes(sizes: Any) -> dict[str, list[int]]:
    """Sizes of dimensions and inputs as lists."""
    if sizes is None:
        return {}
    if not isinstance(sizes, Mapping):
        raise arguments.wrong("sizes", sizes, "a dict such as {'batch': 1}")
    result = {}
    for key, size in sizes.items():
        name = f"the size of '{key}'"
        many = size if isinstance(size, Iterable) and not isinstance(size, str) else [size]
        result[arguments.text("a name in sizes", key)] = [arguments.integer(name, extent) for extent in many]
    return result


def _content(source: Any) -> tuple[bytes, str]:
    """The bytes of a model in memory, and a name for it."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "<bytes>"
    if hasattr(source, "SerializeToString"):
        return source.SerializeToString(), "model.onnx"
    if hasattr(source, "read"):
        content = source.read()
        if isinstance(content, str):
            content = content.encode()
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise TypeError(f"the file object gave a {type(content).__name__} (expected bytes or str)")
        name = getattr(source, "name", None)
        return bytes(content), name if isinstance(name, str) else "<file>"
    raise TypeError(f"a model cannot be read from a {type(source).__name__} "
                    "(expected a path, bytes, an onnx.ModelProto or a file object)")


class Model:
    """A model: a module of IR. Make one with load().

    Any number of threads may use a model. Only one of them at a time may optimize it: optimize() changes a copy and then
    takes it over, so others may compile the model meanwhile.
    """

    def __init__(self, handle: Any, on_diagnostic: OnDiagnostic | None = None) -> None:
        if not isinstance(handle, _core.Model):
            raise TypeError("use tenon.load() to make a model")
        self._handle = handle
        self._on_diagnostic = on_diagnostic
        self._tell()

    def _tell(self) -> None:
        for diagnostic in self._handle.take_diagnostics():
            if self._on_diagnostic is not None:
                self._on_diagnostic(diagnostic)
            elif diagnostic.severity in ("error", "warning"):
                warnings.warn(str(diagnostic), DiagnosticWarning, stacklevel=3)

    def optimize(self, level: int | None = None, *, pipeline: str = "", rules: RuleSource | Iterable[RuleSource] = (),
                 precision: str = "fp32", disabled_rules: Iterable[str] = (), fast_math: bool = False,
                 verify_each: bool = False, threads: int = 1, explain: str = "",
                 progress: Progress | None = None, view: bool = False) -> OptimizeReport:
        """Optimizes the model and returns what was done. An error leaves the model as it was.

        Args:
          level: From 0 to 3; 2 without a pipeline.
          pipeline: Pipeline text in place of a level, such as "canonicalize,cse". "my-pass,O2" names a level in it.
          rules: Rules objects, and paths of files in text notation. They are applied after the built-in rules.
          precision: "fp32", "bf16" or "int8", for the weights of linear layers.
          disabled_rules: Names of rules, families or patterns that are not applied. A str is one name.
          fast_math: Applies rules that may overflow, or change infinities or the sign of zeros.
          verify_each: Verifies the IR after each pass.
          threads: Threads that share out the functions; 0 means one per core. The report has times for 1 only. With
            explain, progress or view one thread does everything.
          explain: RULE or RULE@NODE. The report then says where the rule fired or nearly matched.
          progress: Called as progress(pass, steps) when a pass begins. An exception ends the call and is raised.
          view: Whether the report has a picture of the model before and after, with the rules that nearly matched.

        Raises:
          InvalidArgument: An option or a rule is wrong.
          FailedPrecondition: Another call is optimizing the model.
        """
        if level is not None and arguments.text("pipeline", pipeline):
            raise InvalidArgument(f"level is {level} beside the pipeline '{pipeline}' (expected one of them; a pipeline may "
                                  f"name a level, such as '{pipeline},O2')")
        if isinstance(rules, (Rules, str, os.PathLike)):
            rules = [rules]
        elif not isinstance(rules, Iterable):
            raise arguments.wrong("rules", rules, "Rules, as tenon.rule makes them, a path, or a list of these")
        files: list[str] = []
        texts: list[tuple[str, str]] = []
        for source in rules:
            if isinstance(source, Rules):
                texts.append((source.name, source.text))
            elif isinstance(source, (str, os.PathLike)):
                files.append(arguments.path("rules", source))
            else:
                raise TypeError(f"rules cannot be read from a {type(source).__name__} (expected a Rules or a path)")
        try:
            done = self._handle.optimize(
                level=arguments.integer("level", 2 if level is None else level, 32), pipeline=arguments.text("pipeline", pipeline),
                precision=arguments.text("precision", precision), rule_files=files, rule_texts=texts,
                disabled_rules=arguments.texts("disabled_rules", disabled_rules),
                fast_math=arguments.flag("fast_math", fast_math), verify_each=arguments.flag("verify_each", verify_each),
                threads=arguments.integer("threads", threads, 32), explain=arguments.text("explain", explain),
                progress=progress, view=arguments.flag("view", view))
        finally:
            self._tell()
        return OptimizeReport(**done)

    def compile(self, *, threads: int = 0, device: str = "cpu", reference: bool = False,
                weight_cache: str | os.PathLike[str] = "", verify_weights: bool = False, memory_limit: int = 0,
                loop_limit: int = 0) -> Program:
        """Compiles the main function. The program does not need the model, which stays usable.

        Args:
          threads: Threads of one run, with the caller's; 0 means one per core.
          device: "cpu", "cuda" or "cuda:1".
          reference: Uses the reference kernels only, which are slow: they run on one thread and keep no packed weights.
          weight_cache: A folder that keeps packed weights for the next start.
          verify_weights: Checks the model's files and the kept weights again.
          memory_limit: Bytes that the program may hold at a time, without the constants; 0 means no limit.
          loop_limit: Iterations of all loops in one run; 0 means no limit.

        Raises:
          UnsupportedOperation: No kernel supports an operation. The message names it and its node.
          Unavailable: There is no such device.
          InvalidArgument: An option is wrong, or cannot be used with reference.
        """
        if arguments.text("device", device) == "cpu":
            cuda_device = -1
        elif device == "cuda":
            cuda_device = 0
        elif device.startswith("cuda:") and device[5:].isdecimal() and len(device) < 10:
            cuda_device = int(device[5:])
        else:
            raise InvalidArgument(f"there is no device '{device}' (expected cpu, cuda or cuda:N)")
        cache = arguments.path("weight_cache", weight_cache)
        if arguments.flag("reference", reference):
            if arguments.integer("threads", threads, 32) > 1:
                raise InvalidArgument(f"threads is {threads} beside reference (expected 1: reference kernels run on one thread)")
            if cache:
                raise InvalidArgument(f"weight_cache is '{cache}' beside reference (expected one of them: reference kernels pack "
                                      "no weights)")
        try:
            handle = self._handle.compile(
                threads=arguments.integer("threads", threads, 32), cuda_device=cuda_device,
                reference=reference, weight_cache=cache,
                verify_weights=arguments.flag("verify_weights", verify_weights),
                memory_bytes=arguments.integer("memory_limit", memory_limit, least=0),
                loop_trips=arguments.integer("loop_limit", loop_limit, least=0))
        finally:
            self._tell()
        return Program(handle)

    def clone(self) -> Model:
        """Returns a copy, which shares the constants."""
        return Model(self._handle.clone(), self._on_diagnostic)

    def module(self) -> _core.Module:
        """Returns a copy of the IR, which Python may change (tenon.ir). The model stays as it is."""
        return self._handle.module()

    @classmethod
    def from_module(cls, module: _core.Module, *, on_diagnostic: OnDiagnostic | None = None) -> Model:
        """Returns a model with a copy of the IR of `module`. Raises InvalidModel if that is wrong."""
        return cls(module.to_model(), on_diagnostic)

    def text(self, *, generic: bool = False, locations: bool = False, elide: bool = False) -> str:
        """Returns the IR as text. `elide` leaves out the bytes of large constants; load() cannot read that."""
        return self._handle.text(generic=generic, locations=locations, elide=elide)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file: ONNX for *.onnx, text for *.mlir, else a binary module. load() reads all.

        The file is replaced as a whole: models that were loaded from it keep what they have. Raises InvalidArgument if it
        cannot be written.
        """
        name = arguments.path("path", path)
        if name.endswith(".onnx"):
            self.export_onnx(name)
            return
        content = self.text(locations=True).encode() if name.endswith(".mlir") else self._handle.binary()
        # A file that other models are mapped from stays theirs.
        _core.write_file(name, content)

    def export_onnx(self, path: str | os.PathLike[str], *, opset: int = 0, ops: str = "standard") -> None:
        """Writes the model as ONNX. `ops` is "standard", "functions" or "onnxruntime".

        Optimize with pipeline="onnx-O2" before: other levels choose layouts that only Tenon's kernels gain from.
        """
        try:
            self._handle.export_onnx(arguments.path("path", path), opset=arguments.integer("opset", opset, 32),
                                     ops=arguments.text("ops", ops))
        finally:
            self._tell()

    def view(self, *, profile: str | os.PathLike[str] | None = None) -> View:
        """Returns a picture of the model as it is, which notebooks show. optimize(view=True) shows what passes do.

        Args:
          profile: A file that `ir-run --profile=FILE.json` has written; the picture shows its times.
        """
        return self._handle.view(None if profile is None else arguments.path("profile", profile))

    def inspect(self) -> dict[str, Any]:
        """Returns what the model has and needs, as `ir-opt --inspect=json` writes it."""
        import json  # here, as it takes longer to import than this package

        result: dict[str, Any] = json.loads(self._handle.inspect())
        return result

    def __str__(self) -> str:
        return self.text(elide=True)

    def __repr__(self) -> str:
        return f"<tenon.Model with {self.text(elide=True).count(chr(10))} lines of IR>"
