"""The time that a user waits for the first result of a kernel, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.timing import Sample

ROOT = Path(__file__).parents[1]


class ChildError(Exception):
    """A process that was to be measured has failed; the message is its own."""


@dataclass(frozen=True)
class FirstResult:
    """Seconds to the first result.

    Attributes:
        process: from the start of the interpreter to the result, data included.
        imports: of the kernel's module, with polytune and all that it imports.
        first_call: of the kernel: analysis and compilation, or loading what is kept on disk, and the run itself.
    """

    process: Sample
    imports: Sample
    first_call: Sample


def users_environment() -> dict[str, str]:
    """This process's environment without what holds back libraries, and what users' programs do not have: modules are
    compiled to bytecode once, when they are installed or first imported."""
    return {name: value for name, value in os.environ.items() if name not in _HELD_BACK}


_HELD_BACK = ("OPENBLAS_CORETYPE", "PYTHONDONTWRITEBYTECODE")


def first_results(repeats: int, report: Callable[[str], None] = lambda _: None) -> tuple[FirstResult, FirstResult]:
    """The first result with nothing cached, and with what one process before has left on the disk.

    Each repetition begins with an empty cache directory of its own.  A first repetition is not counted: after it, what
    is imported is compiled to bytecode and in the system's file cache.

    Raises:
        ChildError: a process failed or its result was wrong.
    """
    cold: list[dict[str, Any]] = []
    warm: list[dict[str, Any]] = []
    for repetition in range(repeats + 1):
        with tempfile.TemporaryDirectory(prefix="polytune-benchmark-") as cache:
            report(f"nothing cached, {repetition} of {repeats}")
            first = timed_child("benchmarks.gemm_call", cache)
            report(f"warm cache, {repetition} of {repeats}")
            second = timed_child("benchmarks.gemm_call", cache)
        if repetition > 0:
            cold.append(first)
            warm.append(second)
    return _collect(cold), _collect(warm)


def timed_child(module: str, cache: str, *arguments: str) -> dict[str, Any]:
    """Run ``python -m module`` with the cache directory ``cache``: the object that it prints as its first line, and
    as ``process`` the seconds from its start to that line.

    Raises:
        ChildError: it ended with another exit code than 0.
    """
    # Numba keeps what it compiles of installed packages beside their source: the next process would find it there.
    environment = {**users_environment(), "POLYTUNE_CACHE_DIR": cache, "NUMBA_CACHE_DIR": str(Path(cache, "numba"))}
    with tempfile.TemporaryFile("w+") as errors:
        begin = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            cwd=ROOT,
        ) as child:
            assert child.stdout is not None
            line = child.stdout.readline()
            seconds = time.perf_counter() - begin
        if child.returncode:
            errors.seek(0)
            said = errors.read().strip().splitlines()
            raise ChildError(f"{module} ended with exit code {child.returncode}: {said[-1] if said else 'no message'}")
    return {"process": seconds, **json.loads(line)}


def _collect(measured: list[dict[str, Any]]) -> FirstResult:
    def sample(name: str) -> Sample:
        return Sample(tuple(entry[name] for entry in measured))

    return FirstResult(sample("process"), sample("imports"), sample("first_call"))
