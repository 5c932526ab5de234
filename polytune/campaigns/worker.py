"""The tasks of workers: import a kernel, compile a version, measure a configuration.

Everything goes in and out as plain values and small classes that are pickled, and no error leaves but as a text.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import platform
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from polytune.campaigns.work import CampaignWork
from polytune.errors import CacheWarning, CampaignError, PolytuneError
from polytune.records import dataclass
from polytune.version import __version__

if TYPE_CHECKING:
    from polytune.kernel import Kernel
    from polytune.runtime.tuning.tuning_problem import TuningProblem

__all__ = ["Failure", "TimedRuns", "about", "compare", "compile_version", "describe", "is_worker", "measure"]

_PROBES = 200
_PROBE_SIZE = 1 << 15
_is_worker = False


@dataclass(frozen=True)
class Failure:
    """The reason why something could not be done, which another worker could not do either."""

    reason: str


@dataclass(frozen=True)
class TimedRuns:
    """A measurement.

    Attributes:
        machine: the key of the machine that it was made on, as the history has it.
        code: what tells the generated code from others.
        samples: the seconds of each run.
        probe: the seconds of a fixed piece of work beside it: more than usual where something else ran.
    """

    machine: str
    code: str
    samples: tuple[float, ...]
    probe: float

    @property
    def seconds(self) -> float:
        """Return the median."""
        return statistics.median(self.samples)


def about(threads: int | None) -> tuple[str, str, str]:
    """The versions of polytune and Python of a worker, and the key of its machine.

    Args:
        threads: how many threads a call may have; None for as many as the process may have.
    """
    from polytune.history.machine import machine_key
    from polytune.runtime.teams.threads import current_threads

    warnings.simplefilter("ignore", CacheWarning)  # nobody reads them here
    with _limited(threads):
        return __version__, platform.python_version(), machine_key(current_threads())


def is_worker() -> bool:
    """Return whether this process imports kernels for a campaign, so that it must not begin one."""
    return _is_worker


def describe(work: CampaignWork, threads: int | None) -> TuningProblem | Failure:
    """The choices that there are for a kernel and a shape, on this machine.

    Args:
        work: the kernel and the shape.
        threads: how many threads a call may have; None for as many as the process may have.
    """
    try:
        with _prepared(work, threads) as (kernel, arguments):
            problem = kernel.problem(*arguments)
    except Exception as error:
        return Failure(_reason(error))
    return problem


def compile_version(work: CampaignWork, threads: int | None, configuration: Mapping[str, Any]) -> float | Failure:
    """Have the machine code of a configuration in the cache.  Return the seconds that took.

    Args:
        work: the kernel and the shape.
        threads: as for `describe`.
        configuration: a member of the space.
    """
    started = time.perf_counter()
    try:
        with _prepared(work, threads) as (kernel, arguments):
            functions = kernel.generated(*arguments).functions
            for function, team in functions.needed_by(configuration):
                functions.compile_function(function, team)
    except Exception as error:
        return Failure(_reason(error))
    return time.perf_counter() - started


def measure(
    work: CampaignWork, threads: int | None, configuration: Mapping[str, Any], runs: int, seconds: float
) -> TimedRuns | Failure:
    """Measure one configuration: some runs, after one that does not count where it is not long.

    Args:
        work: the kernel and the shape.
        threads: as for `describe`.
        configuration: a member of the space.
        runs: how many runs count.
        seconds: after how many no other run begins.
    """
    found = compare(work, threads, [configuration], runs, seconds)
    return found if isinstance(found, Failure) else found[0]


def compare(
    work: CampaignWork, threads: int | None, configurations: Sequence[Mapping[str, Any]], runs: int, seconds: float
) -> list[TimedRuns] | Failure:
    """Measure configurations in turns, so that what changes on the machine meanwhile changes all alike.

    Args:
        work: the kernel and the shape.
        threads: as for `describe`.
        configurations: members of the space.
        runs: how many runs of each count, beside a first one that does not where there are others.
        seconds: after how many no other round begins.
    """
    try:
        with _prepared(work, threads) as (kernel, arguments):
            problem, generated = kernel.problem(*arguments), kernel.generated(*arguments)
            for configuration in configurations:
                problem.space.validate(configuration)
            originals = [(value, value.copy()) for value in arguments if isinstance(value, np.ndarray)]
            probe = _probe()
            samples: list[list[float]] = []
            started = time.perf_counter()
            try:
                while len(samples) <= runs and (not samples or time.perf_counter() - started < seconds):
                    samples.append([])
                    for configuration in configurations:
                        for array, original in originals:
                            array[...] = original
                        outcome = generated.run(configuration, generated.prepare(arguments, {}))
                        if outcome.failure is not None:
                            return Failure(outcome.failure)
                        samples[-1].append(outcome.seconds)
            finally:
                for array, original in originals:
                    array[...] = original
            probe = max(probe, _probe())
    except Exception as error:
        return Failure(_reason(error))
    return [
        TimedRuns(problem.key.machine, problem.code, tuple(each), probe)
        for each in zip(*(samples[1:] or samples), strict=True)
    ]


def _probe() -> float:
    """The seconds of a fixed piece of work, some milliseconds: as long as what runs beside it takes the core away."""
    values = np.arange(_PROBE_SIZE, dtype=np.float64)
    started = time.perf_counter()
    for _ in range(_PROBES):
        np.sqrt(values).sum()
    return time.perf_counter() - started


def _reason(error: Exception) -> str:
    if isinstance(error, PolytuneError):
        return str(error)
    return f"{type(error).__name__}: {error}"


@contextmanager
def _prepared(work: CampaignWork, threads: int | None) -> Iterator[tuple[Kernel[..., Any], tuple[Any, ...]]]:
    """The kernel, with so many threads for calls of this thread, and arguments of the shape with random contents."""
    with _limited(threads):
        yield _arguments(work)


@contextmanager
def _limited(threads: int | None) -> Iterator[None]:
    """Leave calls of this thread so many threads: afterwards it may be somebody else's again."""
    from polytune.runtime.teams.threads import current_threads, maximum_threads

    if threads is None or threads >= maximum_threads():
        yield
        return
    import numba

    before = current_threads()
    numba.set_num_threads(threads)
    try:
        yield
    finally:
        numba.set_num_threads(before)


@functools.lru_cache(maxsize=2)  # arrays may be large
def _arguments(work: CampaignWork) -> tuple[Kernel[..., Any], tuple[Any, ...]]:
    from polytune.cli.signature import complete_signature

    kernel = _kernel(work)
    kernel.background = False  # nothing runs beside a measurement
    signature = complete_signature(kernel.__wrapped__, work.types) if work.types else None
    return kernel, kernel.example_arguments(dict(work.sizes), np.random.default_rng(0), signature)


def _kernel(work: CampaignWork) -> Kernel[..., Any]:
    from polytune.kernel import Kernel

    found = getattr(_module(work.file, work.text), work.kernel, None)
    if not isinstance(found, Kernel):
        raise CampaignError(f"{work.file} has no kernel {work.kernel!r} on this worker")
    return found


@functools.cache
def _module(file: str, text: str) -> ModuleType:
    """The module with a text: the file itself where it is here and says the same, else a copy in a temporary folder.

    Raises:
        CampaignError: it cannot be imported.
    """
    global _is_worker
    path = Path(file)
    try:
        is_here = path.read_text(encoding="utf-8") == text
    except (OSError, ValueError):
        is_here = False
    if not is_here:
        path = Path(tempfile.mkdtemp(prefix="polytune-campaign-")) / Path(file).name
        path.write_text(text, encoding="utf-8")
    package, root = "", path.parent
    while (root / "__init__.py").is_file():
        package, root = f"{root.name}.{package}".rstrip("."), root.parent
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    before, _is_worker = _is_worker, True
    try:
        if package:
            return importlib.import_module(f"{package}.{path.stem}")
        name = f"polytune_campaign.{path.stem}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        specification = importlib.util.spec_from_file_location(name, path)
        assert specification is not None and specification.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise CampaignError(f"{file} cannot be imported by a worker: {type(error).__name__}: {error}") from error
    finally:
        _is_worker = before
    return module
