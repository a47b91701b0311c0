"""The exceptions of Tenon."""

from __future__ import annotations

from typing import Any, Sequence


class Error(Exception):
    """The base of all of Tenon's exceptions.

    Attributes:
      code: The name of the status, such as "INVALID_ARGUMENT".
      message: The text of the error.
      node: The node of the model, or None.
      location: "file:line:column" in the text of a model or of rules, or None.
      diagnostics: The errors, warnings and remarks of the call, as Diagnostic objects.
    """

    code = "UNKNOWN"

    def __init__(self, message: str = "", *, code: str | None = None, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.diagnostics = list(diagnostics)
        self.node: str | None = None
        self.location: str | None = None
        for diagnostic in self.diagnostics:
            if diagnostic.severity != "error":
                continue
            self.node = diagnostic.node or None
            if diagnostic.file and diagnostic.line:
                self.location = f"{diagnostic.file}:{diagnostic.line}:{diagnostic.column}"
            break
        if self.location is None:
            self.location = _place(message)


def _place(message: str) -> str | None:
    """"file:line:column" if `message` begins so."""
    place = message.partition(": ")[0]
    parts = place.rsplit(":", 2)
    return place if len(parts) == 3 and parts[1].isdecimal() and parts[2].isdecimal() else None


class InvalidArgument(Error, ValueError):
    """A wrong option, tensor, rule or name."""

    code = "INVALID_ARGUMENT"


class InvalidModel(InvalidArgument):
    """A model, or text of IR, that is not well-formed."""


class UnsupportedOperation(Error, NotImplementedError):
    """The model uses something that Tenon does not have. The message names the operation and its node."""

    code = "UNIMPLEMENTED"


class NotFound(Error, LookupError):
    """A name of an input, an output or a parameter that does not exist."""

    code = "NOT_FOUND"


class ModelNotFound(NotFound, FileNotFoundError):
    """A file of a model that cannot be read."""


class AlreadyExists(Error):
    """A name that is in use."""

    code = "ALREADY_EXISTS"


class FailedPrecondition(Error, RuntimeError):
    """A call at the wrong time: an input is not bound, a session is running, a handle is stale."""

    code = "FAILED_PRECONDITION"


class ResourceExhausted(Error, MemoryError):
    """Out of memory, or beyond a limit."""

    code = "RESOURCE_EXHAUSTED"


class Cancelled(Error):
    """A run that a CancelToken has ended."""

    code = "CANCELLED"


class Unavailable(Error):
    """No such device, or no plugin for it."""

    code = "UNAVAILABLE"


class InternalError(Error):
    """A failure of a device, or of Tenon itself."""

    code = "INTERNAL"


class DiagnosticWarning(UserWarning):
    """The category of Tenon's warnings about a model."""


_CLASSES = {
    cls.code: cls
    for cls in (InvalidArgument, UnsupportedOperation, NotFound, AlreadyExists, FailedPrecondition, ResourceExhausted,
                Cancelled, Unavailable, InternalError)
}


def from_status(code: str, message: str, diagnostics: Sequence[Any], loading: bool) -> Error:
    """Returns the exception for a status of C++. `loading` is true for a model that is read."""
    cls = _CLASSES.get(code, InternalError)
    if loading and cls is InvalidArgument:
        cls = InvalidModel
    elif loading and cls is NotFound:
        cls = ModelNotFound
    return cls(message, code=code, diagnostics=diagnostics)
