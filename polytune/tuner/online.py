"""Tuning while the application runs: every call is one measurement, and most calls run the best configuration known."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import TypeVar

import numpy as np

from polytune.errors import MeasurementError, SpaceError
from polytune.forking import renew_lock_at_fork
from polytune.tuner.budget import Budget
from polytune.tuner.choosing import Choosing
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner, Order, Reject
from polytune.tuner.hierarchy.methods import Search
from polytune.tuner.hierarchy.subspace import SIMPLEX
from polytune.tuner.historical.experience import experiences, outlook
from polytune.tuner.historical.transfer import PrunedSpace
from polytune.tuner.historical.verdict import outside, with_probes
from polytune.tuner.learning import Learning
from polytune.tuner.ledger import Statistics, calls_until_repaid
from polytune.tuner.memory import Key, Memory, RememberedMeasurement
from polytune.tuner.models.analysis import DesignStep
from polytune.tuner.persistence import Persistence, Snapshot, take_over
from polytune.tuner.prospects import Prospects
from polytune.tuner.searcher import is_measurement
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration, as_configuration
from polytune.tuner.spaces.space import Space
from polytune.tuner.trials import OnlineTrial, Trials

Result = TypeVar("Result")

_LONG_PROPOSAL = 1e-3  # seconds
_LONG_CALL = 0.2  # seconds, beside which a proposal of a model, of about 20 ms, is little
_LONG_TOGETHER = 5e-3  # seconds, of calls beside which it is little what a tuner does after them, its data in no cache
_MOST_WAITING = 16  # calls, which are learned from at a time


class OnlineTuner(Choosing, Learning):
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
        code: tells the code that is tuned from other code under the same key: what was measured of that is a hint, no
            result.
        store: keeps measurements and the state of the search between processes.  It is written from a thread of its
            own, seconds apart, and when the process ends.
        budget: how much time trials may take: a `Budget`, or what `Budget.of` reads: ``200`` calls, ``"2 s"``,
            ``"5 %"``.
        reject, refused, order, searchers, repeats: as for `HierarchicalTuner`.
        starts: configurations to try first, for example the best ones of a similar shape; what the store remembers
            of this one has precedence.
        risk: how many times longer than the best one a configuration may take, as far as that can be told before it is
            tried; 1 where nothing is known.  What may be far slower is tried once tuning has saved as much.
        preparation: how many seconds a call that tries a configuration would wait before it can run: 0 where nothing is
            to be compiled or loaded, None where it has to be compiled and nobody knows how long that takes.  Without
            it, what the tuner has seen decides: whatever has run needs no compiler, and so does what differs from it in
            numbers alone; other configurations may take as long as any has taken so far, twice that to be safe.
        compilation: how many seconds it may take to compile a configuration, where `preparation` does not know.
        prediction: how many seconds a configuration is expected to take, None where nobody knows: of those that have to
            be compiled, the most promising is compiled first.
        opening: what calls run while the first configuration is compiled beside them, which `choose` is told by
            `is_ready`; they teach nothing.  Without it the first call waits.
        fewer_threads: the same with fewer threads in place of a configuration, None where there is nothing such: while
            calls are disturbed, short ones run that where it takes less time.
        written: is told of every configuration measured, with its seconds, the fastest first, each time the store has
            been written.
        seed: the search is a function of it and of the measurements.
        clock: what `run` times calls with, in seconds.

    Attributes:
        space: what is chosen from.
        key: what the store keeps the measurements under; None without one.
    """

    def __init__(
        self,
        space: Space,
        *,
        key: Key | tuple[str, str, str] | None = None,
        store: Memory | None = None,
        code: str = "",
        budget: Budget | int | str | None = None,
        reject: Reject | None = None,
        refused: Mapping[str, Mapping[Value, str]] | None = None,
        order: Order | None = None,
        starts: Sequence[Configuration] = (),
        searchers: Search | None = None,
        repeats: int = 3,
        risk: Callable[[Configuration], float] | None = None,
        preparation: Callable[[Configuration], float | None] | None = None,
        compilation: Callable[[Configuration], float] | None = None,
        prediction: Callable[[Configuration], float | None] | None = None,
        opening: Configuration | None = None,
        fewer_threads: Callable[[Configuration], Configuration | None] = lambda _: None,
        written: Callable[[Sequence[tuple[Configuration, float]]], None] | None = None,
        seed: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ):
        if store is not None and key is None:
            raise SpaceError("a store needs a key=(kernel, shape, machine) to keep the measurements under")

        default = space.default()

        def search(starts: Sequence[Configuration], pruned: PrunedSpace | None = None) -> HierarchicalTuner:
            rng = np.random.default_rng(seed)
            if pruned is not None:
                others = [each for each in (*starts, *outside(pruned, space)) if prospects.is_near(each)]
                starts = with_probes(pruned, others, default)
            return HierarchicalTuner(
                space,
                rng=rng,
                reject=reject,
                refused=refused,
                order=order,
                starts=starts,
                searchers=searchers,
                repeats=repeats,
                numeric=self._numeric_method,
                pruned=pruned,
            )

        prospects = Prospects(space, risk, preparation, compilation, prediction)
        title = "a tuner" if key is None else f"{key[0].partition(' ')[0]}({key[1]})"
        super().__init__(space, Budget.of(budget), prospects, search, opening, fewer_threads, title)
        self._clock = clock
        self._waiting: deque[tuple[Configuration, float]] = deque()  # steady calls that have not been taken in yet
        self._lock = threading.Lock()
        renew_lock_at_fork(self)
        self._hints = tuple(starts)
        self.key: Key | None = None if key is None else Key(*key)
        if store is not None and self.key is not None:
            self._persistence = Persistence(store, self.key, self._snapshot, self._take_over, code)
            if written is not None:
                self._persistence.then(lambda: written(self.ranking()))
            found = self._persistence.load(space, search, starts, refused or {})
            self._search, self._ledger, self._pruned = found.search, found.ledger, found.pruned
            self._outlook = outlook(experiences(store, self.key.machine), self.key)
            if found.converged and self._search.best is not None:
                self._settled, self._reference = self._search.best
        else:
            self._search = search(starts)
        self._prospects.measured.update(map(self._prospects.kind, self._search.measurements))
        self._judge_history()

    def _numeric_method(self) -> str:
        """Return how numeric parameters are searched: by the best method where calls take so long that its proposals do
        not count beside them, but for designed experiments, else by one whose proposals take no time."""
        return "portfolio:designs=false" if self._ledger.best_seconds >= _LONG_CALL else SIMPLEX

    # ---- one call

    def choose(self, is_ready: Callable[[Configuration], bool] | None = None) -> Configuration:
        """The configuration for the next call.

        Args:
            is_ready: asked about a configuration that is to be tried, whether it can be run at once.  Until it says so,
                others are tried, or the best one known is chosen, if there is one; so whoever is asked may begin to
                make the configuration ready, and is asked again at later calls.

        Raises:
            SpaceError: every configuration has failed or was rejected.
        """
        settled = self._settled
        if settled is not None:
            return self._stand_in or settled
        with self._lock:
            self._catch_up()
            if self._resting is not None:
                return self._resting
            started = self._clock()
            configuration = self._choose(is_ready)
            proposing = self._clock() - started
            if proposing > _LONG_PROPOSAL and self._ledger.best_seconds >= _LONG_CALL:
                # What a model takes is a cost of tuning like any other.
                self._ledger.lost_seconds += proposing
            return configuration

    def report(
        self,
        configuration: Mapping[str, Value],
        seconds: float,
        *,
        compile_seconds: float = 0.0,
        overhead: float = 0.0,
        disturbed: bool = False,
        goes_on: bool = False,
    ) -> None:
        """Take in what a call took.

        Args:
            configuration: the one that was run, whether this tuner chose it or not.
            seconds: its run time, without compilation.
            compile_seconds: what it took to compile the configuration for this call; charged to the tuning, but for the
                default's, which a program without a tuner would have to compile as well.
            overhead: by how much longer than its run it was, in seconds, as this tuner was asked: charged to the
                tuning, unless nothing could be tried.
            disturbed: whether something else kept the machine busy, so that the time says nothing of the configuration:
                a trial will be made again, and what the call lost is charged to the tuning.
            goes_on: of a disturbed trial, whether the next call makes it again without asking `choose`.

        Raises:
            MeasurementError: a time is negative or not finite, or the configuration is not of the space.
        """
        configuration = as_configuration(configuration)
        with self._lock:
            self._catch_up()
            if not is_measurement(seconds):
                raise _no_time("a call", seconds)
            if compile_seconds != 0.0 and not is_measurement(compile_seconds):
                raise _no_time("compiling", compile_seconds)
            self._take_in(configuration, seconds, compile_seconds, overhead, disturbed=disturbed, goes_on=goes_on)

    def report_steady(self, configuration: Configuration, seconds: float) -> None:
        """Report an undisturbed call of what `steady` is: as `report`, in less time.

        Of calls that are short beside what it takes to learn from them, several are taken in at a time.  While nothing
        may be tried, one call in several is learned from; the others are counted.

        Args:
            configuration: what `steady` is.
            seconds: its run time.
        """
        waiting = self._waiting
        waiting.append((configuration, seconds))
        if (
            seconds * len(waiting) >= _LONG_TOGETHER
            or len(waiting) >= _MOST_WAITING
            or self._previous is not configuration
            or self._stand_in is not None
            or self._disturbance.is_on
        ):
            with self._lock:
                self._catch_up()

    def _catch_up(self) -> None:
        """Take in the calls that have been reported as steady; the lock is held."""
        calls = [self._waiting.popleft() for _ in range(len(self._waiting))]
        while calls:
            configuration = calls[0][0]
            others = (place for place, (other, _) in enumerate(calls) if other is not configuration)
            times = [seconds for _, seconds in calls[: next(others, len(calls))]]
            taken = self._take_steady(configuration, times) if self._previous is configuration else 0
            if not taken:
                self._take_in(configuration, times[0])
            del calls[: max(1, taken)]

    def fail(self, configuration: Mapping[str, Value], reason: str, *, compile_seconds: float = 0.0) -> None:
        """Take note that a configuration could not be compiled, launched or fitted: it is not chosen again.

        Args:
            configuration: what was tried.
            reason: why it failed, for people; it is kept with the measurements.
            compile_seconds: what the attempt took, charged to the tuning.
        """
        configuration = as_configuration(configuration)
        with self._lock:
            self._catch_up()
            self._search.fail(configuration, reason)
            self._log.add(configuration, None, f"failed: {reason}")
            ledger = self._ledger
            ledger.longest_compile_seconds = max(ledger.longest_compile_seconds, compile_seconds)
            ledger.compile_seconds += compile_seconds
            ledger.lost_seconds += compile_seconds
            if configuration == self._trial:
                is_first = self._prospects.kind(configuration) not in self._prospects.measured
                self._end_trial(0.0, compile_seconds, is_first=is_first)
            if configuration == self._settled:
                self._settled = None
            self._judge_history()
            self._changed(configuration)

    def abandon(self, configuration: Mapping[str, Value]) -> None:
        """Take note that a call ended without a measurement, through no fault of its configuration; it may be chosen
        again."""
        configuration = as_configuration(configuration)
        with self._lock:
            self._catch_up()
            self._search.interrupt()
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

    # ---- the store

    def _take_over(self, records: Sequence[tuple[Configuration, RememberedMeasurement]]) -> None:
        """Learn what other processes have measured."""
        with self._lock:
            self._catch_up()
            take_over(self._search, records)
            best = self._search.best
            if self._settled is not None and best is not None and best[0] != self._settled:
                self._settled, self._reference = best
                self._drift.begin()

    def _snapshot(self, configurations: Sequence[Configuration]) -> Snapshot:
        with self._lock:
            self._catch_up()
            search = self._search
            return Snapshot(
                state=search.state(),
                measured={c: search.measurements[c].estimate for c in configurations if c in search.measurements},
                failed={c: search.failures[c] for c in configurations if c in search.failures},
                ledger=deepcopy(self._ledger),
                converged=self.converged,
                pruned=self._pruned,
            )

    # ---- what is known

    @property
    def best(self) -> tuple[Configuration, float] | None:
        """The best configuration known and its estimated run time in seconds; None before the first report."""
        with self._lock:
            return self._search.best

    @property
    def budget(self) -> Budget:
        """Return how much time trials may take; another one holds from when it is set, on the same account."""
        return self._budget

    @budget.setter
    def budget(self, budget: Budget | int | str | None) -> None:
        read = Budget.of(budget)
        with self._lock:
            self._catch_up()
            self._budget, self._resting, self._stand_in = read, None, None

    @property
    def hints(self) -> Sequence[Configuration]:
        """Return what the search was told to begin with, as it has been good elsewhere; the best first."""
        return self._hints

    def ranking(self) -> list[tuple[Configuration, float]]:
        """Every configuration measured, with its estimated run time in seconds, the fastest first."""
        with self._lock:
            self._catch_up()
            measured = [
                (configuration, samples.estimate) for configuration, samples in self._search.measurements.items()
            ]
        return sorted(measured, key=lambda entry: entry[1])

    def trials(self) -> list[OnlineTrial]:
        """Return what was tried in this process, in the order of time: the calls of anything but the best known."""
        with self._lock:
            self._catch_up()
            return Trials(self._log)

    def experiments(self) -> list[tuple[Configuration, Sequence[DesignStep]]]:
        """The steps of designed experiments, as `HierarchicalTuner.experiments` has them."""
        with self._lock:
            return self._search.experiments()

    @property
    def settled(self) -> Configuration | None:
        """The configuration that every call runs; None while the tuner has not settled."""
        return self._settled

    @property
    def steady(self) -> Configuration | None:
        """The configuration that the next call runs, whoever asks: the one that the tuner has settled on, or the best
        one known, while nothing else may be tried, or either with fewer threads while a core is busy; None where that
        has to be asked."""
        return self._stand_in or self._settled or self._resting

    @property
    def converged(self) -> bool:
        """Return whether the tuner has settled, and every call runs the best configuration."""
        return self._settled is not None

    def statistics(self) -> Statistics:
        """Return what tuning has done, cost and saved so far, processes that ran earlier included."""
        with self._lock:
            self._catch_up()
            ledger, search = self._ledger, self._search
            default = search.measurements.get(self._default)
            default_seconds = None if default is None else default.estimate
            best_seconds = None if search.best is None else search.best[1]
            saved_seconds = ledger.saved_seconds
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
                paused=self._why_paused(),
                preparing=None if self.converged else self._awaited,
                disturbed_calls=ledger.disturbed_calls,
                history=self._from_history,
            )

    @property
    def refused(self) -> Mapping[str, Mapping[Value, str]]:
        """The values of each parameter that are never chosen, with the reason."""
        return self._search.refused

    def save(self) -> None:
        """Write everything learned to the store now; without a store, nothing."""
        if self._persistence is not None:
            self._persistence.flush()


def _no_time(what: str, seconds: object) -> MeasurementError:
    return MeasurementError(f"{what} cannot have taken {seconds!r}: a time is a finite number of seconds, from zero up")
