"""Calls that are not tuned: the configuration that runs, and what runs where that cannot be compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from polytune.errors import CompilationError
from polytune.runtime.calls.invocation import Invocation, Outcome
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.partitioned.space import VERSION as PARTITIONED
from polytune.tuner import Configuration, OnlineTuner, Space

__all__ = ["BorrowedChoice", "FixedChoice", "WaitingChoice", "best_known", "run_first"]


_WORTH_A_TUNER = 0.1
"""Seconds that calls have taken when they are worth a tuner of their own: some ten times what one takes to make."""


class FixedChoice:
    """Stands in for a tuner where calls are not tuned: says what they run, and learns nothing from them.

    Args:
        configuration: what has run.
        tuner: what knows which configuration is the best, where that is what calls are to run.
    """

    def __init__(self, configuration: Configuration, tuner: OnlineTuner | None = None):
        self._configuration, self._tuner = configuration, tuner

    @property
    def steady(self) -> Configuration | None:
        """The configuration that the next call runs; None where that is not known."""
        best = None if self._tuner is None else self._tuner.best
        return self._configuration if best is None else best[0]

    def report(self, configuration: Configuration, seconds: float, *, disturbed: bool = False) -> None:
        """Leave a call out of account.

        Args:
            configuration: what it ran.
            seconds: how long that took.
            disturbed: whether something else kept the machine busy.
        """

    def report_steady(self, configuration: Configuration, seconds: float) -> None:
        """Leave a call out of account, which ran a configuration for some seconds."""


class WaitingChoice(FixedChoice):
    """Stands in for a tuner while a kernel's versions are made beside the application: calls run what has run until a
    core is to be left to those.

    Args:
        configuration: what has run.
        leaves_core: whether that leaves a core to what makes the versions.
        is_overdue: whether one is to be left.
    """

    def __init__(self, configuration: Configuration, leaves_core: bool, is_overdue: Callable[[], bool]):
        super().__init__(configuration)
        self._leaves_core, self._is_overdue = leaves_core, is_overdue

    @property
    def steady(self) -> Configuration | None:
        """The configuration that the next call runs; None once that is to be another one."""
        return self._configuration if self._leaves_core or not self._is_overdue() else None


class BorrowedChoice:
    """Stands in for the tuner of a class of calls, until they have taken some time: they run what is best for another
    class.

    Args:
        lender: the tuner of the other class.
    """

    def __init__(self, lender: OnlineTuner):
        self._lender = lender
        self._seconds = 0.0

    @property
    def steady(self) -> Configuration | None:
        """The configuration that the next call runs; None once calls are worth a tuner of their own."""
        best = self._lender.best if self._seconds < _WORTH_A_TUNER else None
        return None if best is None or best[0]["version"] == PARTITIONED else best[0]

    def report(self, configuration: Configuration, seconds: float, *, disturbed: bool = False) -> None:
        """Count a call.

        Args:
            configuration: what it ran.
            seconds: how long that took.
            disturbed: whether something else kept the machine busy.
        """
        self._seconds += seconds

    def report_steady(self, configuration: Configuration, seconds: float) -> None:
        """Count a call, which ran a configuration for some seconds."""
        self._seconds += seconds

    def end(self) -> None:
        """Lend no more."""
        self._seconds = _WORTH_A_TUNER


def best_known(tuner: OnlineTuner, is_given: bool) -> Iterator[Configuration]:
    """Return what to run by all that is known, the best first.

    Args:
        tuner: what knows.
        is_given: whether a file has told it what to begin with.
    """
    best = tuner.best
    if best is not None:
        yield best[0]
    elif is_given:
        yield tuner.hints[0]


def run_first(
    generated: GeneratedKernel, space: Space, invocation: Invocation, wanted: Iterable[Configuration]
) -> tuple[Configuration, Outcome]:
    """Run a call once, in the first configuration that can be compiled: of those wanted, then of all versions.  Return
    that configuration, and what became of the call.

    Args:
        generated: the kernel.
        space: what there is for the call.
        invocation: the call.
        wanted: the configurations to begin with.

    Raises:
        CompilationError: none can be compiled; nothing has been written.
    """
    failure: CompilationError | None = None
    tried: set[Configuration] = set()
    for configuration in _in_order(generated, space, wanted):
        if configuration in tried or not space.contains(configuration):
            continue
        tried.add(configuration)
        try:
            return configuration, generated.run(configuration, invocation)
        except CompilationError as error:
            failure = error
    raise failure or CompilationError(f"no version of {generated.module.NAME} can be compiled")


def _in_order(generated: GeneratedKernel, space: Space, wanted: Iterable[Configuration]) -> Iterator[Configuration]:
    """Return what may be run, each made when it is asked for: nearly always the first one can be run."""
    yield from wanted
    yield space.default()
    yield from generated.first_choices.starts
