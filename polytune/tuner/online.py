"""Tuning while the application runs: every call is one measurement, and most calls run the best configuration known."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import TypeVar

import numpy as np

from polytune.errors import MeasurementError, SpaceError
from polytune.tuner.amortisation import calls_until_repaid
from polytune.tuner.budget import Budget
from polytune.tuner.drift import DriftDetector
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner, Order, Reject
from polytune.tuner.ledger import Ledger, Statistics
from polytune.tuner.memory import Key, Memory, RememberedMeasurement
from polytune.tuner.persistence import Persistence, Snapshot, take_over
from polytune.tuner.searcher import is_measurement
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration, as_configuration
from polytune.tuner.spaces.space import Space

Result = TypeVar("Result")

_PATIENCE = 256  # choices after which a trial that nobody has reported is offered again
_SEEDS_AFTER_DRIFT = 8


class OnlineTuner:
    """Chooses a configuration for each call and learns from the time that the call took.

    >>> from polytune.tuner import Nominal, OnlineTuner, Space
    >>> tuner = OnlineTuner(Space([Nominal("version", ("plain", "tiled"))]))
    >>> for _ in range(10):
    ...     configuration = tuner.choose()
    ...     tuner.report(configuration, seconds=0.5 if configuration["version"] == "tiled" else 0.75)
    >>> tuner.best
    (Configuration(version='tiled'), 0.5)
    >>> tuner.statistics().saved_seconds
    1.75

    One trial is under way at a time; other calls meanwhile run the best configuration known.  Trials are paid from a
    `Budget`, and pause where they cost more than they can still save (`Amortisation`).  Once the search has
    converged, `choose` is an attribute read, and `report` watches for a machine that has become more than a quarter
    slower or a fifth faster for good: then the search starts again, from the best configurations known.  All methods
    may be called from several threads; several processes learn from each other through a store.

    Args:
        space: what to choose from.
        key: under what the store keeps the measurements; needed with `store`.
        store: keeps measurements and the state of the search between processes.  It is written from a thread of its
            own, seconds apart, and when the process ends.
        budget: how much time trials may take: a `Budget`, or what `Budget.of` reads: ``200`` calls, ``"2 s"``,
            ``"5 %"``.
        reject, refused, order, searchers, repeats: as for `HierarchicalTuner`.
        starts: configurations to try first, for example the best ones of a similar shape; what the store remembers
            of this one has precedence.
        risk: how many times longer than the best one a configuration may take, as far as that can be told before it is
            tried; 1 where nothing is known.  What may be far slower is tried once tuning has saved as much.
        seed: the search is a function of it and of the measurements.
        clock: what `run` times calls with, in seconds.
    """

    def __init__(
        self,
        space: Space,
        *,
        key: Key | tuple[str, str, str] | None = None,
        store: Memory | None = None,
        budget: Budget | int | str | None = None,
        reject: Reject | None = None,
        refused: Mapping[str, Mapping[Value, str]] | None = None,
        order: Order | None = None,
        starts: Sequence[Configuration] = (),
        searchers: Mapping[str, str] | None = None,
        repeats: int = 3,
        risk: Callable[[Configuration], float] | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ):
        if store is not None and key is None:
            raise SpaceError("a store needs a key=(kernel, shape, machine) to keep the measurements under")
        self.space = space
        self._default = space.default()
        self._risk = risk
        self._budget = Budget.of(budget)
        self._clock = clock
        self._lock = threading.Lock()
        self._ledger = Ledger()
        self._drift = DriftDetector()
        self._settled: Configuration | None = None
        self._reference = 0.0
        self._trial: Configuration | None = None
        self._choices_since_trial = 0

        def search(starts: Sequence[Configuration]) -> HierarchicalTuner:
            rng = np.random.default_rng(seed)
            return HierarchicalTuner(
                space,
                rng=rng,
                reject=reject,
                refused=refused,
                order=order,
                starts=starts,
                searchers=searchers,
                repeats=repeats,
            )

        self._new_search = search
        self._persistence: Persistence | None = None
        if store is not None and key is not None:
            self._persistence = Persistence(store, Key(*key), self._snapshot, self._take_over)
            self._search, self._ledger, converged = self._persistence.load(space, search, starts)
            if converged and self._search.best is not None:
                self._settled, self._reference = self._search.best
        else:
            self._search = search(starts)

    # ---- one call

    def choose(self, is_ready: Callable[[Configuration], bool] | None = None) -> Configuration:
        """The configuration for the next call.

        Args:
            is_ready: asked about a configuration that is to be tried, whether it can be run at once, and measured
                undisturbed.  Until it says so, the best one known is chosen, if there is one; so whoever is asked may
                begin to make the configuration ready, and is asked again at the next call.

        Raises:
            SpaceError: every configuration has failed or was rejected.
        """
        settled = self._settled
        if settled is not None:
            return settled
        with self._lock:
            return self._choose(is_ready)

    def _choose(self, is_ready: Callable[[Configuration], bool] | None) -> Configuration:
        search = self._search
        best = search.best
        if self._trial is not None:
            self._choices_since_trial += 1
            if self._choices_since_trial < _PATIENCE:
                return best[0] if best is not None else self._trial
        elif best is not None and self._objection() is not None:
            return best[0]
        configuration = self._proposal()
        if search.converged:
            self._settle()
            return self._settled or configuration
        if (
            best is not None
            and configuration == best[0]
            and (search.is_racing or (search.postponed and not search.is_asking))
        ):
            return configuration  # its turn in a race, or nothing else may be tried for now
        if is_ready is not None and best is not None and configuration != best[0] and not is_ready(configuration):
            return best[0]
        self._trial, self._choices_since_trial = configuration, 0
        return configuration

    def _proposal(self) -> Configuration:
        """What the search asks for next, without what would be too dear if it were as slow as it may be."""
        search = self._search
        if search.postponed and not self._is_too_dear(search.postponed[0]):
            search.resume()
        configuration = search.ask()
        while self._is_too_dear(configuration) and search.postpone():
            configuration = search.ask()
        return configuration

    def _is_too_dear(self, configuration: Configuration) -> bool:
        best = self._search.best
        if self._risk is None or best is None or configuration == best[0]:
            return False
        return not self._budget.bears((self._risk(configuration) - 1) * best[1], self._ledger)

    def _objection(self) -> str | None:
        """Why something other than the best may not be tried now; None where it may."""
        ledger, budget = self._ledger, self._budget
        objection = budget.objection(ledger)
        if self._search.is_racing:  # for what it has been tried for already, by near equals
            return objection
        if objection is None and ledger.trials >= budget.trials and not ledger.amortisation.allows(ledger.calls):
            return "the last trials have cost more than what they found can save on as many calls as there have been"
        return objection

    def report(
        self,
        configuration: Mapping[str, Value],
        seconds: float,
        *,
        compile_seconds: float = 0.0,
        disturbed: bool = False,
    ) -> None:
        """What a call took.

        Args:
            configuration: the one that was run, whether this tuner chose it or not.
            seconds: its run time, without compilation.
            compile_seconds: what it took to compile the configuration for this call; charged to the tuning, but for the
                default's, which a program without a tuner would have to compile as well.
            disturbed: whether something else kept the machine busy, so that the time says nothing of the configuration:
                a trial will be made again, and what the call lost is charged to the tuning.

        Raises:
            MeasurementError: a time is negative or not finite, or the configuration is not of the space.
        """
        configuration = as_configuration(configuration)
        with self._lock:
            if not is_measurement(seconds):
                raise _no_time("a call", seconds)
            if compile_seconds != 0.0 and not is_measurement(compile_seconds):
                raise _no_time("compiling", compile_seconds)
            is_default = configuration == self._default
            if is_default:
                self._default = configuration  # the object that comes next time as well: comparing it takes no time
            unavoidable = compile_seconds if is_default else 0.0
            compile_seconds -= unavoidable
            if disturbed:
                self._set_aside(configuration, seconds)
            elif self._settled is None or configuration != self._settled:
                self._learn(configuration, seconds, compile_seconds)
            elif self._drift.observe(seconds, self._reference):
                self._reopen()
            ledger = self._ledger
            ledger.calls += 1
            ledger.total_seconds += seconds
            ledger.default_compile_seconds += unavoidable
            if not is_default:
                ledger.other_calls += 1
                ledger.other_seconds += seconds
            if compile_seconds:
                ledger.compile_seconds += compile_seconds
                ledger.lost_seconds += compile_seconds

    def _learn(self, configuration: Configuration, seconds: float, compile_seconds: float) -> None:
        best, is_racing = self._search.best, self._search.is_racing
        self._search.tell(configuration, seconds)
        is_best = best is not None and configuration == best[0]
        lost = max(0.0, seconds - best[1]) if best is not None and not is_best else 0.0
        self._ledger.lost_seconds += lost
        if configuration == self._trial:
            self._end_trial(lost + compile_seconds, weighed=not is_racing)
        if not is_best:
            self._changed(configuration)
        self._compare(None if is_best else seconds)

    def _compare(self, seconds: float | None) -> None:
        """Enter what a call took beside what the default takes; None for one of the best, of which every delay is the
        machine's."""
        best, default = self._search.best, self._search.measurements.get(self._default)
        if best is not None:
            usual = best[1] if default is None else default.estimate
            self._ledger.compare(best[1] if seconds is None else seconds, usual, best[1])

    def _set_aside(self, configuration: Configuration, seconds: float) -> None:
        """Count a call that was disturbed, and learn nothing from it."""
        best = self._search.best
        if best is not None:
            self._ledger.lost_seconds += max(0.0, seconds - best[1])
            self._compare(None if configuration == best[0] else seconds)
        if configuration == self._trial:
            self._trial = None

    def _end_trial(self, lost: float, *, weighed: bool = True) -> None:
        self._trial = None
        best = self._search.best
        self._ledger.add_trial(lost, best[1] if best is not None and weighed else None)

    def fail(self, configuration: Mapping[str, Value], reason: str, *, compile_seconds: float = 0.0) -> None:
        """The configuration could not be compiled, launched or fitted: it is not chosen again.

        Args:
            configuration: what was tried.
            reason: why it failed, for people; it is kept with the measurements.
            compile_seconds: what the attempt took, charged to the tuning.
        """
        configuration = as_configuration(configuration)
        with self._lock:
            self._search.fail(configuration, reason)
            self._ledger.compile_seconds += compile_seconds
            self._ledger.lost_seconds += compile_seconds
            if configuration == self._trial:
                self._end_trial(compile_seconds)
            if configuration == self._settled:
                self._settled = None
            self._changed(configuration)

    def abandon(self, configuration: Mapping[str, Value]) -> None:
        """A call ended without a measurement, through no fault of its configuration; it may be chosen again."""
        configuration = as_configuration(configuration)
        with self._lock:
            if configuration == self._trial:
                self._trial = None

    def run(self, function: Callable[[Configuration], Result]) -> Result:
        """One tuned call: ``function(configuration)``, timed and reported; what it raises is passed on unreported."""
        configuration = self.choose()
        started = self._clock()
        try:
            result = function(configuration)
        except BaseException:
            self.abandon(configuration)
            raise
        self.report(configuration, self._clock() - started)
        return result

    # ---- settling and starting again

    def _settle(self) -> None:
        best = self._search.best
        if best is not None:
            self._settled, self._reference = best
            self._changed(best[0])

    def _reopen(self) -> None:
        """Measure again, from the best configurations known; what failed stays failed."""
        previous = self._search
        ranked = sorted(previous.measurements, key=lambda c: previous.measurements[c].estimate)
        self._search = self._new_search(ranked[:_SEEDS_AFTER_DRIFT])
        for configuration, reason in previous.failures.items():
            self._search.fail(configuration, reason)
        self._settled, self._trial = None, None
        self._ledger.reopened += 1

    def _take_over(self, records: Sequence[tuple[Configuration, RememberedMeasurement]]) -> None:
        """Learn what other processes have measured."""
        with self._lock:
            take_over(self._search, records)
            best = self._search.best
            if self._settled is not None and best is not None and best[0] != self._settled:
                self._settled, self._reference = best

    def _total_seconds(self) -> float:
        return self._ledger.total_seconds + self._ledger.compile_seconds

    def _changed(self, configuration: Configuration) -> None:
        if self._persistence is not None:
            self._persistence.note(configuration)

    def _snapshot(self, configurations: Sequence[Configuration]) -> Snapshot:
        with self._lock:
            search = self._search
            return Snapshot(
                state=search.state(),
                measured={c: search.measurements[c].estimate for c in configurations if c in search.measurements},
                failed={c: search.failures[c] for c in configurations if c in search.failures},
                ledger=deepcopy(self._ledger),
                converged=self.converged,
            )

    # ---- what is known

    @property
    def best(self) -> tuple[Configuration, float] | None:
        """The best configuration known and its estimated run time in seconds; None before the first report."""
        with self._lock:
            return self._search.best

    @property
    def budget(self) -> Budget:
        """How much time trials may take; another one holds from when it is set, on the same account."""
        return self._budget

    @budget.setter
    def budget(self, budget: Budget | int | str | None) -> None:
        self._budget = Budget.of(budget)

    def ranking(self) -> list[tuple[Configuration, float]]:
        """Every configuration measured, with its estimated run time in seconds, the fastest first."""
        with self._lock:
            measured = [
                (configuration, samples.estimate) for configuration, samples in self._search.measurements.items()
            ]
        return sorted(measured, key=lambda entry: entry[1])

    @property
    def converged(self) -> bool:
        """Whether the tuner has settled, and every call runs the best configuration."""
        return self._settled is not None

    def statistics(self) -> Statistics:
        """What tuning has done, cost and saved so far, processes that ran earlier included."""
        with self._lock:
            ledger, search = self._ledger, self._search
            default = search.measurements.get(self._default)
            default_seconds = None if default is None else default.estimate
            best_seconds = None if search.best is None else search.best[1]
            saved_seconds = ledger.saved_seconds(default_seconds)
            return Statistics(
                calls=ledger.calls,
                trials=ledger.trials,
                explored=len(search.measurements),
                failed=len(search.failures),
                total_seconds=ledger.total_seconds,
                compile_seconds=ledger.compile_seconds,
                lost_seconds=ledger.lost_seconds,
                saved_seconds=saved_seconds,
                best_seconds=best_seconds,
                default_seconds=default_seconds,
                repaid_after=calls_until_repaid(saved_seconds, default_seconds, best_seconds),
                converged=self.converged,
                reopened=ledger.reopened,
                paused=None if self.converged or search.best is None else self._objection(),
            )

    @property
    def refused(self) -> Mapping[str, Mapping[Value, str]]:
        """By parameter, the values that are never chosen, with the reason."""
        return self._search.refused

    def save(self) -> None:
        """Write everything learned to the store now; without a store, nothing."""
        if self._persistence is not None:
            self._persistence.flush()


def _no_time(what: str, seconds: object) -> MeasurementError:
    return MeasurementError(f"{what} cannot have taken {seconds!r}: a time is a finite number of seconds, from zero up")
