"""The loop behind ``polytune tune``: call, watch, and measure the best against the default at the end."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from polytune.cli.console import progress_text
from polytune.errors import ArgumentError
from polytune.records import dataclass
from polytune.tuner import Budget, Search

if TYPE_CHECKING:
    from polytune.kernel import Kernel
    from polytune.signature import Signature
    from polytune.tuner import Configuration, DesignStep, OnlineTrial

SHOWN = 5
"""The number of configurations that are measured once more and shown: the last ones that were the best known."""

REPETITIONS = 7
"""The number of measurements of each of them at the end: enough for a median that one disturbance does not move."""


@dataclass(frozen=True)
class TuningLimits:
    """The end of tuning: after so many calls or so many seconds, whichever is first, or once converged."""

    calls: int
    seconds: float


@dataclass(frozen=True)
class TuningOutcome:
    """The result of tuning.

    Attributes:
        ranking: the default and the best configurations found, with the median seconds of a call, the fastest first.
        default: the space's default configuration.
        calls: how many calls tuning took, and ``elapsed`` how many seconds.
        converged: whether the tuner has nothing left to try.
        experiments: the steps of designed experiments, with the nominal values that each was about.
        trials: the calls of anything but the best known, in the order of time.
    """

    ranking: tuple[tuple[Configuration, float], ...]
    default: Configuration
    calls: int
    elapsed: float
    converged: bool
    experiments: Sequence[tuple[Configuration, Sequence[DesignStep]]] = ()
    trials: Sequence[OnlineTrial] = ()

    @property
    def default_seconds(self) -> float:
        """The seconds of a call under the default configuration."""
        return next(seconds for configuration, seconds in self.ranking if configuration == self.default)

    @property
    def speedup(self) -> float:
        """Return how many times as fast as the default the best is; at least 1, for the default may be the best."""
        return self.default_seconds / self.ranking[0][1]

    def as_dict(self) -> dict[str, Any]:
        return {
            "ranking": [
                {"configuration": dict(configuration), "seconds": seconds} for configuration, seconds in self.ranking
            ],
            "default_seconds": self.default_seconds,
            "speedup": self.speedup,
            "calls": self.calls,
            "elapsed": self.elapsed,
            "converged": self.converged,
            "experiments": [
                {"about": dict(about), "steps": [step.to_json() for step in steps]} for about, steps in self.experiments
            ],
        }


def random_arguments(
    kernel: Kernel[..., Any], sizes: Mapping[str, int], seed: int, signature: Signature | None = None
) -> Arguments:
    """Arguments of the least shapes that a kernel takes with such sizes.

    Args:
        kernel: a kernel whose types of arguments are known.
        sizes: a value for every parameter that is an extent or an integer argument, by name.
        seed: what the contents follow from.
        signature: the types of the arguments; those that the kernel's source gives if None.

    Raises:
        typer.BadParameter: these are not its sizes, or one of them is negative that cannot be.
    """
    try:
        return Arguments(kernel.example_arguments(sizes, np.random.default_rng(seed), signature))
    except ArgumentError as error:
        raise typer.BadParameter(f"--size: {error}") from error


def tune_kernel(
    kernel: Kernel[..., Any],
    sizes: Mapping[str, int],
    limits: TuningLimits,
    signature: Signature | None = None,
    search: Search | None = None,
    seed: int | None = None,
) -> TuningOutcome:
    """Call ``kernel`` on random arguments of the given sizes until it is tuned or a limit is reached.

    An interrupt (Ctrl-C) ends the tuning like a limit: what was found by then is measured and returned.

    Args:
        kernel: a kernel whose types of arguments are known; it no longer compiles in the background afterwards.
        sizes: a value for every parameter that is an extent or an integer argument, by name.
        limits: when it ends, if the search has not converged before.
        signature: the types of the arguments; those that the kernel's source gives if None.
        search, seed: as for `polytune.kernel`; the kernel's own where they are not given.
    """
    if search is not None or seed is not None:
        kernel = kernel.searched(search, seed)
    kernel.background = False  # the calls have no other purpose than to try versions
    arguments = random_arguments(kernel, sizes, 0, signature)
    tuner = kernel.tuner(*arguments.values)
    tuner.budget = Budget.unlimited()
    best: dict[Configuration, None] = {}  # those that were the best known, in that order
    started = time.perf_counter()
    calls = 0
    with progress_text(f"{kernel.__name__}: compiling") as line:
        try:
            while calls < limits.calls and time.perf_counter() - started < limits.seconds and not tuner.converged:
                last = arguments.timed(kernel)
                calls += 1
                if tuner.best is not None:
                    configuration, seconds = tuner.best
                    best.pop(configuration, None)
                    best[configuration] = None
                    line.update(
                        f"{kernel.__name__}: call {calls} of {limits.calls}, this one {last * 1e3:.2f} ms,"
                        f" best {seconds * 1e3:.2f} ms"
                    )
        except KeyboardInterrupt:
            line.update(f"{kernel.__name__}: interrupted, measuring what was found")
        elapsed = time.perf_counter() - started
        trials = tuner.trials()
        tuner.save()
        if tuner.best is not None:  # also where it was remembered, and not a single call was needed
            best.setdefault(tuner.best[0])
        default = tuner.space.default()
        compared = list(dict.fromkeys([default, *list(best)[-SHOWN:]]))
        seconds_of = dict(zip(compared, _compare(kernel, arguments, compared), strict=True))
    ranking = tuple(sorted(seconds_of.items(), key=lambda pair: pair[1]))
    return TuningOutcome(ranking, default, calls, elapsed, tuner.converged, tuner.experiments(), trials)


class Arguments:
    """Arguments that are put back before each call, so that repeated updates in place neither grow nor vanish."""

    def __init__(self, values: Sequence[Any]):
        self.values = tuple(values)
        self._originals = [(value, value.copy()) for value in self.values if isinstance(value, np.ndarray)]

    def restore(self) -> None:
        for array, original in self._originals:
            array[...] = original

    def timed(self, function: Callable[..., Any], *leading: Any) -> float:
        """The seconds of one call of ``function(*leading, *values)`` on the arguments as they were at first."""
        self.restore()
        started = time.perf_counter()
        function(*leading, *self.values)
        return time.perf_counter() - started


def _compare(kernel: Kernel[..., Any], arguments: Arguments, configurations: Sequence[Configuration]) -> list[float]:
    """The median seconds of each configuration, measured in turns so that a drift of the machine meets all alike."""
    samples: list[list[float]] = [[] for _ in configurations]
    for _ in range(REPETITIONS):
        for configuration, durations in zip(configurations, samples, strict=True):
            durations.append(arguments.timed(kernel.run, configuration))
    return [statistics.median(durations) for durations in samples]
