"""The exceptions of Tenon."""

from __future__ import annotations

import _thread
from typing import Any, Sequence


class Error(Exception):
    """The base of all of Tenon's exceptions.

    Attributes:
      code: The name of the status, such as "INVALID_ARGUMENT".
      message: The text of the error.
      node: The node of the model, or None.
      location: "file:line:column" in the text of a model or of rules, "file:line" of an exception of Python, or None.
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


class CallbackError(Error):
    """A pass, kernel or shape function in Python raised an exception, which is the __cause__."""

    code = "ABORTED"


class InternalError(Error):
    """A failure of a device, or of Tenon itself."""

    code = "INTERNAL"


class DiagnosticWarning(UserWarning):
    """The category of Tenon's warnings about a model."""


_CLASSES = {
    cls.code: cls
    for cls in (InvalidArgument, UnsupportedOperation, NotFound, AlreadyExists, FailedPrecondition, ResourceExhausted,
                Cancelled, Unavailable, CallbackError, InternalError)
}


def from_status(code: str, message: str, diagnostics: Sequence[Any], loading: bool) -> BaseException:
    """Returns the exception for a status of C++. `loading` is true for a model that is read.

    If the status is about an exception of Python code, that becomes the cause. One that is no Exception, such as
    KeyboardInterrupt, is returned itself.
    """
    failure: tuple[str, BaseException | None] = getattr(_last, "failure", ("", None))
    text, cause = failure
    _last.failure = ("", None)
    if cause is not None and text not in message:
        cause = None
    if cause is not None and not isinstance(cause, Exception):
        return cause
    cls = _CLASSES.get(code, InternalError)
    if cause is not None and not isinstance(cause, Error):
        cls, code = CallbackError, CallbackError.code
    elif loading and cls is InvalidArgument:
        cls = InvalidModel
    elif loading and cls is NotFound:
        cls = ModelNotFound
    error = cls(message, code=code, diagnostics=diagnostics)
    error.__cause__ = cause
    if cause is not None and cls is CallbackError:
        error.location = _raised_at(cause)
    return error


def describe(error: BaseException, traceback: Any) -> tuple[str, str]:
    """Returns the code of an exception of a callback, and a text with its traceback. from_status() knows it by the text."""
    import traceback as formatting  # here, as it takes longer to import than this package

    code = error.code if isinstance(error, Error) else CallbackError.code
    summary = "".join(formatting.format_exception_only(type(error), error)).strip()
    frames = "".join(formatting.format_tb(traceback)).rstrip()
    text = f"{summary}\n{frames}" if frames else summary
    _last.failure = (text, error)
    return code, text


def _raised_at(error: BaseException) -> str | None:
    """"file:line" of the place that raised an exception."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return None if traceback is None else f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"


# The last exception of a callback in each thread, with its text.
_last = _thread._local()
