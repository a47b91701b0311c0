"""Runs the jobs of models in processes of their own, several at a time, with limits."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Sequence

from .config import Settings
from .models import FoundModel
from .results import CheckResult, ModelResult, check_from_dict

OnCheck = Callable[[str, str], None]
"""Called with the model and the check that begins. Several threads call it."""


@dataclasses.dataclass
class Job:
    """The checks of one model."""

    model: FoundModel
    """The model."""
    settings: Settings
    """Its settings."""
    folder: str
    """The folder of the models, as it was given."""
    rule_texts: Sequence[tuple[str, str]] = ()
    """Rules that are in no file: their names, and texts."""

    def fields(self, checks: Sequence[str]) -> dict[str, Any]:
        """The job for the process."""
        shown = os.path.relpath(self.model.path)
        return {"name": self.model.name, "path": str(self.model.path.resolve()),
                "shown": str(self.model.path) if shown.startswith("..") else shown, "folder": self.folder,
                "data": str(self.model.data) if self.model.data is not None else "", "checks": list(checks),
                "settings": dataclasses.asdict(self.settings), "rule_texts": [list(text) for text in self.rule_texts]}


class Pool:
    """Processes that run at a time. stop() ends all, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, jobs: Sequence[Job], processes: int, on_check: OnCheck,
            on_model: Callable[[ModelResult], None]) -> list[ModelResult]:
        """Runs all jobs. The results are in the order of the jobs; `on_model` is called in the order in which they end."""
        with concurrent.futures.ThreadPoolExecutor(max(1, processes)) as threads:
            futures = [threads.submit(self.run_one, job, on_check) for job in jobs]
            try:
                for future in concurrent.futures.as_completed(futures):
                    on_model(future.result())
            except BaseException:
                self.stop()
                for future in futures:
                    future.cancel()
                raise
            return [future.result() for future in futures]

    def stop(self) -> None:
        """Ends all processes."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill(process)

    def run_one(self, job: Job, on_check: OnCheck) -> ModelResult:
        """Runs the checks of one model. After a crash, a new process makes the checks that are left."""
        settings = job.settings
        result = ModelResult(job.model.name, os.path.relpath(job.model.path, job.folder))
        result.tolerances = {dtype: (pair.atol, pair.rtol) for dtype, pair in settings.all_tolerances().items()}
        if settings.skip:
            result.checks = [CheckResult(check, "skipped", settings.skip) for check in settings.checks]
            return result
        end = time.monotonic() + settings.time_limit
        left = list(settings.checks)
        while left:
            done, broken = self._run_process(job, left, end, on_check)
            result.checks += done
            left = left[len(done):]
            if broken is None and left:
                broken = CheckResult(left[0], "error", "the process ended before its check did")
            if broken is None:
                break
            result.checks.append(broken)
            left = left[1:]
            if time.monotonic() >= end:
                result.checks += [CheckResult(check, "skipped", "the time limit is used up") for check in left]
                break
        return result

    def _run_process(self, job: Job, checks: Sequence[str], end: float,
                     on_check: OnCheck) -> tuple[list[CheckResult], CheckResult | None]:
        """The checks that ended, and the one during which the process did not go on."""
        reader, writer = os.pipe()
        with tempfile.TemporaryFile() as errors, open(reader, "rb", buffering=0) as results:
            try:
                # -P: files of the working directory are no modules.
                process = subprocess.Popen([sys.executable, "-P", "-m", "tenon.testing.worker", str(writer)],
                                           stdin=subprocess.PIPE, stdout=errors, stderr=errors, pass_fds=[writer],
                                           start_new_session=True, env=_environment())
            finally:
                os.close(writer)
            with self._lock:
                self._running.add(process)
                if self._stopped:
                    _kill(process)
            try:
                assert process.stdin is not None
                try:
                    process.stdin.write(json.dumps(job.fields(checks)).encode())
                    process.stdin.close()
                except BrokenPipeError:
                    pass
                done, begun, in_time = _read_results(results, end, lambda check: on_check(job.model.name, check))
                if not in_time:
                    _kill(process)
                status = process.wait()
            finally:
                _kill(process)
                process.wait()
                with self._lock:
                    self._running.discard(process)
            if not in_time:
                limit = f"beyond the time limit of {job.settings.time_limit:g} s"
                return done, CheckResult(begun or checks[0], "error", limit)
            if status == 0:
                return done, None
            return done, CheckResult(begun or checks[len(done)], "error", _why(status, errors, job.settings))


def _environment() -> dict[str, str]:
    """That of this process, in which `import tenon` finds the same package."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _read_results(stream: Any, end: float, on_check: Callable[[str], None]) -> tuple[list[CheckResult], str, bool]:
    """The checks that ended, the one that has begun and not ended, and whether the stream ended in time."""
    done: list[CheckResult] = []
    begun, buffer = "", b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            wait = end - time.monotonic()
            if wait <= 0 or not selector.select(wait):
                return done, begun, False
            piece = stream.read(1 << 16)
            if not piece:
                return done, begun, True
            buffer += piece
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "begin" in message:
                    begun = message["begin"]
                    on_check(begun)
                else:
                    done.append(check_from_dict(message["done"]))
                    begun = ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and those that it has started. Nothing happens if it has ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def _why(status: int, errors: Any, settings: Settings) -> str:
    """Why a process ended, with the last lines that it wrote."""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    out_of_memory = any("bad_alloc" in line or "MemoryError" in line for line in lines[-20:])
    if out_of_memory and settings.memory_limit:
        return f"beyond the memory limit of {settings.memory_limit} bytes"
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        why = f"the process crashed with {name}"
    else:
        why = f"the process ended with status {status}"
    shown = [line for line in lines if not line.startswith("  File ")]
    return why + (": " + " | ".join(shown[:1] + shown[-2:] if len(shown) > 3 else shown) if shown else "")
