"""How far the checks of a folder are."""

from __future__ import annotations

import os
import sys
import threading

from .results import ModelResult
from .results import shown as escaped


class Bar:
    """A bar on standard error. Threads may call it at the same time.

    Args:
      total: The number of models.
      shown: Whether it is drawn; by default on a terminal only.
    """

    def __init__(self, total: int, shown: bool | None = None) -> None:
        self._total, self._done = total, 0
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._lock = threading.Lock()

    def begins(self, model: str, check: str) -> None:
        """A check of a model begins."""
        self._draw(f"{model}: {check}")

    def ends(self, model: ModelResult) -> None:
        """All checks of a model are done."""
        with self._lock:
            self._done += 1
        self._draw(model.model)

    def clear(self) -> None:
        """Makes room for other text."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _draw(self, text: str) -> None:
        if not self._shown:
            return
        with self._lock:
            full = 20 * self._done // max(1, self._total)
            line = f"[{'#' * full}{'.' * (20 - full)}] {self._done}/{self._total} {escaped(text)}"
            print(f"\r\033[K{line[:_width()]}", end="", file=sys.stderr, flush=True)


def _width() -> int:
    """The columns of the terminal, or of a usual one: notebooks have none."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):
        columns = 0
    return max(10, (columns or 80) - 1)
