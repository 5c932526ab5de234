"""Uses of what the calls of a kernel have taught: tune in one go, freeze, keep in files.

Such a file has the best configurations of a kernel, to be kept with a program or given to another machine.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from polytune.environment import TUNING
from polytune.errors import HistoryError, PolytuneError
from polytune.files import replace_text
from polytune.runtime.calls.settled import SettledCalls
from polytune.runtime.tuning.tuning_mode import current_mode, mode_of_block, tuning
from polytune.runtime.tuning.tuning_runs import Copies, ProgressLine, Tuned, tune_for
from polytune.signature import Signature
from polytune.tracebacks import shows_frames_of_callers
from polytune.tuner import Budget, OnlineTrial, OnlineTuner
from polytune.tuner.trials import trials_html

__all__ = ["Case", "TunableKernel"]

_LOGGER = logging.getLogger(__name__)


class Case(NamedTuple):
    """The common key of calls that are tuned together.

    Attributes:
        signature: the types of the arguments.
        parameters: the sizes, and whatever else the module computes of the arguments.
        places: the arrays that are kept on devices, and on which.
        threads: how many threads a call may have.
    """

    signature: Signature
    parameters: tuple[int, ...]
    threads: int
    places: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.parameters))
        places = "".join(f"; {array} on {device}" for array, device in self.places)
        return f"({self.signature}), sizes {sizes or 'none'}{places}, up to {self.threads} threads"


class TrialsByCase(dict[Case, list[OnlineTrial]]):
    """Trials by what the calls have in common, which notebooks show as a table for each."""

    def _repr_html_(self) -> str:
        return "".join(trials_html(trials, str(case)) for case, trials in self.items())


class TunableKernel(ABC):
    """A kernel with tuners, of which `CallableKernel` makes one for each class of calls.

    Attributes:
        background: whether versions that are to be tried are compiled in the background.
    """

    __name__: str
    background: bool
    _budget: Budget
    _lock: threading.RLock
    _tuners: dict[Case, OnlineTuner]
    _is_frozen: bool
    _in_one_go_now: list[OnlineTuner]
    """The tuners of calls of `tune` that are under way."""
    _kept: tuple[bool, bool]
    """The values of ``background`` and ``_is_frozen`` once none is under way."""
    _settled: Mapping[str, SettledCalls]
    """Settled calls, by the mode of the calls."""
    _loaded: dict[tuple[str, str], Mapping[str, Any]]
    """The best configurations by files, by the kernel and the sizes."""
    _given: set[Case]
    """The classes of calls of which a file has said what is best."""

    @abstractmethod
    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel once."""

    @abstractmethod
    def tuner(self, *arguments: Any, **keywords: Any) -> OnlineTuner:
        """The tuner of calls with such arguments."""

    @abstractmethod
    def _bind(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The values of the parameters, in their order."""

    @property
    def tuners(self) -> dict[Case, OnlineTuner]:
        """The tuners so far, by what the calls have in common."""
        with self._lock:
            return dict(self._tuners)

    @shows_frames_of_callers
    def tune(
        self, *arguments: object, seconds: float = 10.0, progress: bool | None = None, **keywords: object
    ) -> Tuned:
        """Tune for calls with such arguments in one go, whatever that costs; what is found is remembered.

        The kernel runs on copies of the arrays: the arguments are not changed.  An interrupt (Ctrl-C) ends it, and
        what was found until then is kept.  Several threads may tune at the same time; while one does, calls by others
        compile nothing in the background, and are tuned where the kernel is frozen.

        Args:
            arguments, keywords: those of a call.
            seconds: how long; it ends sooner where the search has converged.
            progress: whether to show a line that says how far it is; None where there is a terminal or a notebook.

        Raises:
            ArgumentError: the arguments do not fit.
            PolytuneError: the time is no number of seconds.
        """
        if not isinstance(seconds, Real) or isinstance(seconds, bool) or not seconds > 0:
            raise PolytuneError(f"tune takes a number of seconds above zero, not {seconds!r}")
        copies = Copies(self._bind(arguments, keywords))
        tuner = self.tuner(*copies.values)
        line = ProgressLine(progress)
        _LOGGER.info("%s: is tuned for up to %g s", self.__name__, seconds)
        try:
            with tuning("on"), self._in_one_go(tuner):
                calls = tune_for(
                    self.__name__, lambda: self(*copies.values), tuner, float(seconds), line, prepare=copies.restore
                )
        finally:
            tuner.save()
        told, best = tuner.statistics(), tuner.best
        if best is None:
            raise PolytuneError(f"{self.__name__}: not one call was measured in {seconds:g} s; give it more time")
        found = Tuned(best[0], best[1], told.default_seconds, told.explored, calls, told.converged)
        _LOGGER.info("%s: %s", self.__name__, found)
        line.end(f"{self.__name__}: {found}")
        return found

    @contextmanager
    def _in_one_go(self, tuner: OnlineTuner) -> Iterator[None]:
        """Have calls try whatever they like, and wait for it, until this and all others that do so have ended.

        Args:
            tuner: that of the calls.
        """
        with self._lock:
            if not self._in_one_go_now:
                self._kept = self.background, self._is_frozen
            self._in_one_go_now.append(tuner)
            self.background, self._is_frozen = False, False  # the calls have no other purpose than to try
            tuner.budget = Budget.unlimited()
        try:
            yield
        finally:
            with self._lock:
                self._in_one_go_now.remove(tuner)
                if tuner not in self._in_one_go_now:
                    tuner.budget = self._budget
                if not self._in_one_go_now:
                    self.background, self._is_frozen = self._kept

    def freeze(self, frozen: bool = True) -> None:
        """Have calls run the best configuration that is known, and try nothing; with False, tune again.

        What ``polytune.tuning`` says for a block holds where the kernel is not frozen.  While another thread is in
        `tune`, it begins to hold at the end of that.
        """
        with self._lock:
            if self._in_one_go_now:
                self._kept = self._kept[0], bool(frozen)
            else:
                self._is_frozen = bool(frozen)

    def untried(self) -> list[str]:
        """Return why calls try nothing, a line where the kernel or the process says so, for people."""
        if self._is_frozen:
            return ["nothing is tried or learned: the kernel is frozen, until freeze(False)"]
        mode = current_mode()
        if mode == "on":
            return []
        where = f'a block of polytune.tuning("{mode}")' if mode_of_block() else f"{TUNING.name}={mode}"
        runs = "the best that is known" if mode == "frozen" else "the first choice"
        return [f"nothing is tried or learned: {where} has calls run {runs}"]

    @shows_frames_of_callers
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the best configurations of all calls so far to a file, which `load` reads.

        Raises:
            HistoryError: it cannot be written.
        """
        entries = []
        for tuner in self.tuners.values():
            if tuner.best is not None and tuner.key is not None:
                entries.append(TunedEntry(*tuner.key, dict(tuner.best[0]), tuner.best[1]))
        write_tuned(path, entries)

    @shows_frames_of_callers
    def load(self, path: str | os.PathLike[str]) -> int:
        """Begin with the configurations in a file that `save` has written, here or on another machine.

        Calls of these sizes try them first, and run them where nothing is tuned (`freeze`, ``polytune.tuning``).

        Returns:
            For how many sizes of this kernel, or of another of its name, the file has one.

        Raises:
            HistoryError: the file cannot be read.
        """
        entries = [each for each in read_tuned(path) if each.kernel.partition(" ")[0] == self.__name__]
        with self._lock:
            self._loaded = {(each.kernel, each.shape): each.configuration for each in entries}
            tuners = [self._tuners.pop(case) for case in list(self._tuners)]
            self._given.clear()
            self._unsettle()
        for tuner in tuners:
            tuner.save()
        return len(entries)

    def _unsettle(self) -> None:
        """Have the next calls go the long way."""
        for settled in self._settled.values():
            settled.clear()

    def trials(self) -> dict[Case, list[OnlineTrial]]:
        """Return what calls of this process have tried other than the best known, in the order of time, by what the
        calls have in common."""
        return TrialsByCase({case: tuner.trials() for case, tuner in self.tuners.items()})


_FORMAT = 1


class TunedEntry(NamedTuple):
    """The best configuration for calls of one size.

    Attributes:
        kernel: the kernel's name, with what tells its meaning from that of others.
        shape: the sizes.
        machine: where it was measured.
        configuration: the best known.
        seconds: what it took there.
    """

    kernel: str
    shape: str
    machine: str
    configuration: Mapping[str, Any]
    seconds: float


def write_tuned(path: str | os.PathLike[str], entries: Iterable[TunedEntry]) -> None:
    """Write a file, in one step.

    Raises:
        HistoryError: it cannot be written.
    """
    file = Path(path)
    document = {"polytune_tuned": _FORMAT, "entries": [each._asdict() for each in entries]}
    try:
        replace_text(file, json.dumps(document, indent=1, default=dict) + "\n")
    except OSError as error:
        raise HistoryError(f"{file} cannot be written: {error.strerror or error}") from error


def read_tuned(path: str | os.PathLike[str]) -> list[TunedEntry]:
    """Read a file that `write_tuned` wrote.

    Raises:
        HistoryError: it cannot be read, or is something else.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise HistoryError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise HistoryError(f"{path} is no file of tuned configurations: {error}") from error
    if not isinstance(document, dict) or "polytune_tuned" not in document:
        raise HistoryError(f"{path} is no file of tuned configurations: kernel.save writes them")
    if document["polytune_tuned"] != _FORMAT:
        raise HistoryError(f"{path} was written by a newer polytune, format {document['polytune_tuned']!r}")
    try:
        entries = [TunedEntry(**each) for each in document["entries"]]
    except (KeyError, TypeError) as error:
        raise HistoryError(f"{path} is no file of tuned configurations: an entry lacks something ({error})") from error
    for each in entries:
        names = (each.kernel, each.shape, each.machine)
        if not all(isinstance(name, str) for name in names) or not isinstance(each.configuration, dict):
            raise HistoryError(f"{path} is no file of tuned configurations: {each!r} is no entry")
    return entries
