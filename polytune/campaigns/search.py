"""The search for a kernel and a shape on one kind of machine, which all workers of that kind measure for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from polytune.campaigns.progress import CampaignEntry
from polytune.campaigns.work import CampaignWork
from polytune.campaigns.worker import Failure, TimedRuns
from polytune.errors import CampaignError
from polytune.history import HistoryStore
from polytune.records import dataclass
from polytune.runtime.tuning.tuning_problem import TuningProblem
from polytune.tuner import Configuration, HierarchicalTuner, Search
from polytune.tuner.concurrent import ConcurrentSearch

__all__ = ["MachineSearch", "Settings"]

_MOST_DISTURBANCES = 2  # of one configuration, before its measurement is taken as it is
_COMPARED = 4  # configurations that are measured in turns at the end, beside the default


@dataclass(frozen=True)
class Settings:
    """The arguments of a campaign, as `polytune.campaign` describes them."""

    trials: int
    runs: int
    seconds: float
    timeout: float
    search: Search | None
    seed: int


@dataclass
class MachineSearch:
    """The search for a kernel and a shape on one kind of machine.

    It begins when a worker has described the problem (`begin`), asks for configurations (`ask`), and ends when those
    that are best have been compared (`to_compare`, `finish`).  What is measured goes to the history first.

    Attributes:
        work: the kernel and the shape.
        machine: the key of the machine.
        settings: the limits.
        history: where results go.
        is_described: whether the problem is known, or a worker about to describe it.
        is_compared: whether the best have been compared, or are about to be.
        waits: whether there is nothing to ask for until what is being done is done.
        is_over: whether nothing is left to do.
        measured: how many configurations this campaign has measured.
        losses: how many workers were lost with a configuration; under None, with another task of the search.
    """

    work: CampaignWork
    machine: str
    settings: Settings
    history: HistoryStore
    is_described: bool = False
    is_compared: bool = False
    waits: bool = False
    is_over: bool = False
    measured: int = 0
    losses: dict[Configuration | None, int] = field(default_factory=dict)
    _problem: TuningProblem | None = None
    _search: ConcurrentSearch | None = None
    _final: dict[Configuration, float] = field(default_factory=dict)
    _disturbances: dict[Configuration, int] = field(default_factory=dict)
    _compiled: set[tuple[str, Any]] = field(default_factory=set)  # hosts, with versions that are in their caches

    @property
    def has_begun(self) -> bool:
        """Return whether the problem is known."""
        return self._search is not None

    @property
    def is_measuring(self) -> bool:
        """Return whether something that was asked for is being measured."""
        return self._search is not None and bool(self._search.pending)

    @property
    def trials(self) -> int:
        """Return how many configurations have been measured, earlier ones among them."""
        return 0 if self._search is None else len(self._search.costs) + len(self._search.failures)

    def _begun(self) -> tuple[TuningProblem, ConcurrentSearch]:
        assert self._problem is not None and self._search is not None
        return self._problem, self._search

    def begin(self, problem: TuningProblem | Failure) -> None:
        """Begin, with what the history has.

        Raises:
            CampaignError: there is no problem to be solved.
        """
        if isinstance(problem, Failure):
            raise CampaignError(f"{self.work.title} cannot be tuned: {problem.reason}")
        space = problem.space
        self._problem = problem
        self._search = ConcurrentSearch(
            HierarchicalTuner(
                space,
                rng=np.random.default_rng(self.settings.seed),
                refused=problem.refused,
                starts=problem.starts,
                searchers=self.settings.search,
                repeats=1,
                numeric=lambda: "portfolio",
                may_be_exact=True,
            )
        )
        for record in self.history.all(*problem.key):
            if record.code != problem.code or not space.contains(record.configuration):
                continue
            if record.status == "ok" and record.median_seconds is not None:
                self._search.tell(record.configuration, record.median_seconds)
            else:
                self._search.fail(record.configuration, record.reason)

    # ---- configurations

    def ask(self) -> Configuration | None:
        """A configuration to measure now; None where the limit of trials is reached, or nothing is worth it."""
        _, search = self._begun()
        room = self.settings.trials - self.trials - len(search.pending)
        return search.ask() if room > 0 else None

    def is_compiled(self, host: str, configuration: Configuration) -> bool:
        """Return whether the version of a configuration is in the cache of a host."""
        return (host, _version(configuration)) in self._compiled

    def note_compiled(self, host: str, configuration: Configuration) -> None:
        """Take note that the version of a configuration is in the cache of a host."""
        self._compiled.add((host, _version(configuration)))

    def tell(self, configuration: Configuration, result: TimedRuns, *, disturbed: bool) -> None:
        """Take in a measurement.

        Args:
            configuration: what was measured.
            result: what was.
            disturbed: whether something else kept the machine busy: it is measured again then, some times.
        """
        problem, search = self._begun()
        times = self._disturbances.get(configuration, 0)
        if disturbed and times < _MOST_DISTURBANCES:
            self._disturbances[configuration] = times + 1
            search.withdraw(configuration)
            return
        self.measured += 1
        self._record(problem, configuration, result)
        search.tell(configuration, result.seconds)

    def _record(self, problem: TuningProblem, configuration: Configuration, result: TimedRuns) -> None:
        key, count = problem.key._replace(machine=result.machine), len(result.samples)
        self.history.record(*key, configuration, result.seconds, "ok", count=count, code=result.code)

    def fail(self, configuration: Configuration, reason: str) -> None:
        """Take in that a configuration cannot be run.

        Args:
            configuration: what was tried.
            reason: why it failed, for people.
        """
        problem, search = self._begun()
        self.measured += 1
        self.history.record(*problem.key, configuration, None, "failed", reason=reason, code=problem.code)
        search.fail(configuration, reason)

    def withdraw(self, configuration: Configuration) -> None:
        """Take note that a measurement was lost: the configuration is asked for again."""
        self._begun()[1].withdraw(configuration)

    # ---- the end

    def to_compare(self) -> Sequence[Configuration]:
        """The best configurations and the default, which are measured in turns before the search is over; none where
        that would tell nothing new."""
        problem, search = self._begun()
        ranked = sorted(search.costs, key=search.costs.__getitem__)
        default = problem.space.default()
        chosen = list(dict.fromkeys([*ranked[:_COMPARED], *([default] if default in search.costs else [])]))
        if len(chosen) < 2 or not self.measured:
            return ()
        self._final = dict.fromkeys(chosen, float("nan"))
        return chosen

    def finish(self, result: Sequence[TimedRuns] | Failure) -> None:
        """Take in the last measurement."""
        problem, _ = self._begun()
        self.is_over = True
        compared, self._final = list(self._final), {}
        if isinstance(result, Failure):
            return
        for configuration, trial in zip(compared, result, strict=True):
            self._final[configuration] = trial.seconds
            self._record(problem, configuration, trial)

    def entry(self) -> CampaignEntry:
        """The findings so far."""
        costs: Mapping[Configuration, float] = {} if self._search is None else self._search.costs
        final = {each: seconds for each, seconds in self._final.items() if seconds == seconds}
        best = min((final or costs).items(), key=lambda each: each[1], default=None)
        default = None if self._problem is None else self._problem.space.default()
        default_seconds = None if default is None else final.get(default, costs.get(default))
        return CampaignEntry(
            kernel=self.work.kernel,
            shape=dict(self.work.sizes),
            machine=self.machine,
            trials=self.trials,
            failed=0 if self._search is None else len(self._search.failures),
            best=None if best is None else best[0],
            seconds=None if best is None else best[1],
            default=None if default_seconds is None else default,
            default_seconds=default_seconds,
            finished=self.is_over,
        )


def _version(configuration: Configuration) -> tuple[Any, ...]:
    """The values on which the machine code of a configuration depends."""
    return tuple(value for name, value in configuration.items() if name == "version" or name.startswith("platform_"))
