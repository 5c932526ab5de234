"""The forms of a kernel in turns, each in a process of its own: what their calls take, and whether they agree."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.first_result import ROOT, users_environment
from benchmarks.npbench.folder import BenchKernel
from benchmarks.npbench.run_form import BUILDS

FRAMEWORKS = ("numpy", "polytune", "numba", "pythran", "dace", "jax")
"""The frameworks that are compared, by the names of the modules that they are."""

BASELINE = ("numpy", "numba")
"""The frameworks of which the better one is what polytune is compared with."""


@dataclass(frozen=True)
class FormRun:
    """The fate of one form of a kernel.

    Attributes:
        form: its name, as ``numba_np``.
        first: the seconds of the first call, what is compiled in it included; NaN where there was none.
        late: those of a late call.
        problem: why there is no result, or how it differs from NumPy's; "" where it does not.
        refused: whether the source or the arguments were refused, which is no failure.
    """

    form: str
    first: float = math.nan
    late: float = math.nan
    problem: str = ""
    refused: bool = False

    @property
    def counts(self) -> bool:
        """Return whether its times may be compared."""
        return not self.problem


@dataclass
class KernelComparison:
    """The runs of a kernel, by framework."""

    name: str
    runs: dict[str, list[FormRun]] = field(default_factory=dict)

    def best(self, framework: str) -> FormRun | None:
        """The right form of a framework with the least late call; None where there is none."""
        counted = [run for run in self.runs.get(framework, ()) if run.counts]
        return min(counted, key=lambda run: run.late) if counted else None

    @property
    def ratio(self) -> float:
        """Polytune's speed in a late call over the best of NumPy and Numba; NaN where one is missing."""
        ours = self.best("polytune")
        others = [run.late for framework in BASELINE if (run := self.best(framework)) is not None]
        return min(others) / ours.late if ours is not None and others else math.nan

    def ratio_to(self, framework: str) -> float:
        """The same against one framework."""
        ours, other = self.best("polytune"), self.best(framework)
        return other.late / ours.late if ours is not None and other is not None else math.nan

    @property
    def failures(self) -> list[str]:
        """The error of polytune, if any."""
        runs = self.runs.get("polytune", ())
        return [f"{self.name}: {run.problem}" for run in runs if run.problem and not run.refused]

    def to_json(self) -> dict[str, Any]:
        """All runs, and the ratio."""
        runs = {framework: [vars(run) for run in runs] for framework, runs in self.runs.items()}
        return {"kernel": self.name, "ratio": self.ratio, "runs": runs}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> KernelComparison:
        """The comparison that `to_json` wrote; what is not finite is null there."""

        def run_of(said: Mapping[str, Any]) -> FormRun:
            return FormRun(**{name: math.nan if value is None else value for name, value in said.items()})

        return cls(document["kernel"], {each: [*map(run_of, runs)] for each, runs in document["runs"].items()})


def installed(frameworks: Sequence[str]) -> list[str]:
    """Those of the frameworks that can be imported."""
    return [name for name in frameworks if importlib.util.find_spec(name) is not None]


def compare(
    root: Path,
    kernel: BenchKernel,
    frameworks: Sequence[str],
    size: str,
    seconds: float,
    limit: float,
    report: Callable[[str], None] = lambda _: None,
    builds: Path | None = None,
) -> KernelComparison:
    """Run every form of a kernel in a process of its own with empty caches, and hold its results against NumPy's.

    Args:
        root: the checkout.
        kernel: the kernel.
        frameworks: which of ``FRAMEWORKS``; NumPy is run in any case.
        size: the name of a size.
        seconds: how long calls go on after the first one.
        limit: seconds after which a process is ended.
        report: is told what is being done.
        builds: where Numba, Pythran and DaCe find what they have compiled before; None for empty caches.
    """
    found = KernelComparison(kernel.name)
    with tempfile.TemporaryDirectory(prefix="polytune-npbench-") as folder:
        wanted: list[np.ndarray] | None = None
        for framework in ("numpy", *(name for name in frameworks if name != "numpy")):
            forms = ("polytune",) if framework == "polytune" else kernel.forms(framework)
            found.runs[framework] = []
            for form in forms:
                report(f"{kernel.name}, {form}")
                file = Path(folder, f"{form}.npz")
                run = _run(root, kernel, form, size, seconds, limit, file, builds)
                if run.counts:
                    try:
                        results = _results(file)
                    except (OSError, ValueError) as error:  # as objects, which are not read from files
                        found.runs[framework].append(FormRun(form, problem=f"results that cannot be read: {error}"))
                        continue
                    if framework == "numpy":
                        wanted = results
                    problem = "NumPy has no result" if wanted is None else difference(results, wanted, kernel.tolerance)
                    run = FormRun(form, run.first, run.late, problem)
                found.runs[framework].append(run)
    return found


def _run(
    root: Path,
    kernel: BenchKernel,
    form: str,
    size: str,
    seconds: float,
    limit: float,
    file: Path,
    builds: Path | None,
) -> FormRun:
    """One process."""
    with tempfile.TemporaryDirectory(prefix="polytune-npbench-cache-") as cache:
        environment = {
            **users_environment(),
            "POLYTUNE_CACHE_DIR": cache,
            "NUMBA_CACHE_DIR": str(Path(cache, "numba")),
            "DACE_default_build_folder": str(Path(cache, "dace")),
        }
        if builds is not None:
            environment |= {
                BUILDS: str(builds),
                "NUMBA_CACHE_DIR": str(builds / "numba"),
                "DACE_default_build_folder": str(builds / "dace"),
                "DACE_compiler_use_cache": "1",
            }
        module = "benchmarks.npbench.run_form"
        command = [sys.executable, "-m", module, str(root), kernel.name, form, size, str(seconds), str(file)]
        output, errors, code = ended_within(limit, command, environment)
    if code is None:
        return FormRun(form, problem=f"no result in {limit:g} s")
    if code != 0:
        said = errors.strip().splitlines()
        return FormRun(form, problem=said[-1] if said else f"exit code {code}")
    told = json.loads(output.splitlines()[-1])
    if "refused" in told:
        return FormRun(form, problem=told["refused"], refused=True)
    return FormRun(form, told["first"], told["late"])


def ended_within(limit: float, command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str, int | None]:
    """Run a command in the project's folder, and end it with all processes that it has started when its time is over.

    What it has started may hold its output open, for which nothing waits then.

    Args:
        limit: the seconds that it may take.
        command: its words.
        environment: its environment variables.

    Returns:
        Its output, its errors, and its exit code; None where it was ended.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, stdout=output, stderr=errors, env=environment, cwd=ROOT, start_new_session=True
        )
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        output.seek(0)
        errors.seek(0)
        return output.read(), errors.read(), code


def _results(file: Path) -> list[np.ndarray]:
    with np.load(file) as kept:
        return [kept[name] for name in sorted(kept.files, key=lambda name: int(name.removeprefix("arr_")))]


def difference(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray], tolerance: float) -> str:
    """The difference of results from those that are right, where it is more than a part of their norm; else ""."""
    if len(found) < len(wanted):
        return f"{len(found)} results, not {len(wanted)}"
    for number, (ours, right) in enumerate(zip(found, wanted, strict=False)):
        if ours.shape != right.shape:
            return f"result {number} has the shape {ours.shape}, not {right.shape}"
        is_finite = np.isfinite(right)
        if not np.array_equal(is_finite, np.isfinite(ours)):
            return f"result {number} is infinite or NaN in other places"
        # Integers that are unsigned have no distances.
        kind = complex if np.iscomplexobj(right) else float
        a, b = ours[is_finite].astype(kind), right[is_finite].astype(kind)
        distance, norm = float(np.linalg.norm(a - b)), float(np.linalg.norm(b))
        if distance > tolerance * (norm or 1.0):
            return f"result {number} differs by {distance / (norm or 1.0):.2g} of its norm"
    return ""
