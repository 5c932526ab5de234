"""Programs under two compilers, in turns: what each of their calls took."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.applications.case import Case
from benchmarks.first_result import ROOT, ChildError, users_environment
from benchmarks.timing import Sample

COMPILERS = ("polytune", "numba")

TOLERANCE = {"float32": 2e-3, "float64": 1e-7, "complex64": 2e-3, "complex128": 1e-7}
"""The difference that results may have, as a part of the largest one: both compilers add up in orders of their own."""


@dataclass(frozen=True)
class Ran:
    """One process: seconds from its start to the first result, of the first call, of all calls, of a call after 300 and
    of the last ones; how many configurations it has tried, and how many times longer than the best of them the first
    choice takes."""

    start: float
    first: float
    all: float
    late: float
    last: float
    tried: int | None
    first_choice: float | None


@dataclass
class Comparison:
    """The runs of one kernel.

    Attributes:
        name: the kernel.
        program: by compiler, processes that call it as often as its case says, with nothing cached.
        warm: of polytune, a process after each of these, with what it has left on the disk.
        tuned: by compiler, processes that go on for a time; empty where none were asked for.
        wrong: what is wrong with polytune's results; "" where they agree with Numba's.
    """

    name: str
    program: dict[str, list[Ran]] = field(default_factory=lambda: {compiler: [] for compiler in COMPILERS})
    warm: list[Ran] = field(default_factory=list)
    tuned: dict[str, list[Ran]] = field(default_factory=lambda: {compiler: [] for compiler in COMPILERS})
    wrong: str = ""

    def ratio(self, kind: str, figure: str) -> float:
        """Polytune's median of a figure over Numba's; NaN where one of them was not measured."""
        runs: dict[str, list[Ran]] = getattr(self, kind)
        ours, theirs = ([getattr(run, figure) for run in runs[compiler]] for compiler in COMPILERS)
        return Sample(tuple(ours)).median / Sample(tuple(theirs)).median if ours and theirs else math.nan

    def to_json(self) -> dict[str, Any]:
        """All runs."""
        kinds = {
            kind: {compiler: [vars(run) for run in runs] for compiler, runs in getattr(self, kind).items()}
            for kind in ("program", "tuned")
        }
        return {"kernel": self.name, "wrong": self.wrong, "warm": [vars(run) for run in self.warm], **kinds}


def compare(
    case: Case,
    repeats: int,
    seconds: float,
    report: Callable[[str], None] = lambda _: None,
    calls: int | None = None,
    *,
    fastmath: bool = False,
) -> Comparison:
    """Run the programs of a case in turns, each process with an empty cache of its own.

    Args:
        case: the kernel with its data.
        repeats: how many processes of each kind.
        seconds: how long tuned processes go on; none are run where that is 0.
        report: is told what is being done.
        calls: how often a program calls the kernel; by default as its case says.
        fastmath: whether polytune has the flags that Numba has.

    Raises:
        ChildError: a process failed.
    """
    found = Comparison(case.name)
    count = case.calls if calls is None else calls
    words = {"polytune": "polytune-fastmath" if fastmath else "polytune", "numba": "numba"}
    for repeat in range(1, repeats + 1):
        results: dict[str, list[np.ndarray]] = {}
        for compiler in COMPILERS:
            report(f"{case.name}, {compiler}, {repeat} of {repeats}")
            with tempfile.TemporaryDirectory(prefix="polytune-benchmark-") as cache:
                ran, results[compiler] = _run(case, words[compiler], count, 0.0, cache)
                found.program[compiler].append(ran)
                if compiler == "polytune":
                    found.warm.append(_run(case, words[compiler], min(count, 2), 0.0, cache)[0])
        found.wrong = found.wrong or _difference(results)
        for compiler in COMPILERS if seconds else ():
            report(f"{case.name}, {compiler} for {seconds:g} s, {repeat} of {repeats}")
            with tempfile.TemporaryDirectory(prefix="polytune-benchmark-") as cache:
                found.tuned[compiler].append(_run(case, words[compiler], count, seconds, cache)[0])
    return found


def _run(case: Case, compiler: str, calls: int, seconds: float, cache: str) -> tuple[Ran, list[np.ndarray]]:
    """One process, and the arrays as it leaves them."""
    environment = {**users_environment(), "POLYTUNE_CACHE_DIR": cache, "NUMBA_CACHE_DIR": str(Path(cache, "numba"))}
    file = str(Path(cache, "result.npz"))
    module = "benchmarks.applications.program_of_calls"
    command = [sys.executable, "-m", module, case.name, compiler, str(calls), str(seconds), file]
    with tempfile.TemporaryFile("w+") as errors:
        begin = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, cwd=ROOT
        ) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            start = time.perf_counter() - begin
            rest = process.stdout.read()
        if process.returncode != 0:
            errors.seek(0)
            raise ChildError(f"{case.name} under {compiler}: {errors.read().strip()}")
    figures = json.loads(rest)
    times = start, json.loads(first)["first"], figures["all"], figures["late"], figures["last"]
    ran = Ran(*times, figures.get("tried"), figures.get("first_choice"))
    with np.load(file) as kept:
        return ran, [kept[name] for name in sorted(kept.files)]


def _difference(results: dict[str, list[np.ndarray]]) -> str:
    """The place where the results of the compilers differ by more than rounding explains; "" where they do not."""
    for number, (ours, theirs) in enumerate(zip(results["polytune"], results["numba"], strict=True)):
        if ours.shape != theirs.shape:
            return f"array {number} has the shape {ours.shape}, not {theirs.shape}"
        tolerance = TOLERANCE.get(str(ours.dtype), 0.0)
        finite = theirs[np.isfinite(theirs)]
        size = float(np.max(np.abs(finite), initial=0.0)) if tolerance else 0.0
        if not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance * size, equal_nan=True):
            difference = np.subtract(ours, theirs, dtype=np.result_type(ours, theirs, np.float64))
            return f"array {number} differs by {float(np.max(np.abs(difference))):.3g}"
    return ""


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of the values that are numbers; NaN of none."""
    logarithms = [math.log(value) for value in values if not math.isnan(value)]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan
