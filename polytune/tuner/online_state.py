"""The state of an online tuner between two calls."""

from __future__ import annotations

import logging
from collections.abc import Callable

from polytune.tuner.budget import Budget, seconds_text
from polytune.tuner.disturbance import Disturbance, DriftDetector, FewerThreads
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner
from polytune.tuner.historical.experience import Outlook
from polytune.tuner.historical.pruning import THRESHOLD
from polytune.tuner.historical.transfer import PrunedSpace
from polytune.tuner.historical.verdict import judge
from polytune.tuner.ledger import Ledger
from polytune.tuner.persistence import NewSearch, Persistence
from polytune.tuner.prospects import Prospects
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space
from polytune.tuner.trials import TrialLog

__all__ = ["OnlineState"]

_SEEDS_AFTER_DRIFT = 8
_TRIALS = 24  # as many calls a search of the whole space is taken to lose, where nobody knows


class OnlineState:
    """The search, the account, and what is under way; `Choosing` and `Learning` work on it under the tuner's lock.

    Args:
        space: what to choose from.
        budget: what trials may cost.
        prospects: what they are expected to cost.
        new_search: begins a search from configurations that are known to be good, of a part of the space or all of it.
        opening: what calls run while the first choice is compiled beside them.
        fewer_threads: the same with fewer threads in place of a configuration; None where there is nothing such.
        title: what is tuned, for people.
    """

    def __init__(
        self,
        space: Space,
        budget: Budget,
        prospects: Prospects,
        new_search: NewSearch,
        opening: Configuration | None,
        fewer_threads: Callable[[Configuration], Configuration | None],
        title: str,
    ):
        self.space = space
        self._budget = budget
        self._prospects = prospects
        self._new_search = new_search
        self._default = space.default()
        self._opening = opening  # None once the first choice was ready
        self._search: HierarchicalTuner
        self._ledger = Ledger()
        self._log = TrialLog(title)
        self._hints: tuple[Configuration, ...] = ()
        self._drift = DriftDetector()
        self._disturbance = Disturbance()
        self._fewer_threads = FewerThreads(fewer_threads)
        self._stand_in: Configuration | None = None  # for what calls would run, while a core is busy
        self._persistence: Persistence | None = None
        self._settled: Configuration | None = None  # what every call runs
        self._reference = 0.0  # what that took when it was settled on
        self._resting: Configuration | None = None  # what the next calls run, as nothing may be tried for now
        self._rests_for: Configuration | None = None  # the best, which that is but for its threads
        self._overhead = 0.0  # what a call that asks takes longer than one that does not, in seconds
        self._calls_of_rest = 0  # how many of them are left
        self._rests_disturbed = False  # whether something disturbs calls meanwhile
        self._trial: Configuration | None = None  # that is under way
        self._choices_since_trial = 0
        self._previous: Configuration | None = None  # what the last call ran
        self._is_after_trial = False  # whether that was another one than the best
        self._awaited: Configuration | None = None  # to be tried as soon as it is ready
        self._refused_for_now = ""  # why what was proposed last is not tried
        self._pruned: PrunedSpace | None = None  # the part of the space that is searched; None for all of it
        self._searched = ""  # why the search of that part has come to its end
        self._left = ""  # why it was left
        self._outlook: Outlook | None = None  # what tuning has gained and cost in other cases

    def _instead_of(self, configuration: Configuration) -> Configuration:
        """Return what the next call runs in the place of a configuration, as something keeps a core busy."""
        chosen = self._fewer_threads.instead_of(configuration)
        self._stand_in = None if chosen is configuration else chosen
        return chosen

    def _settle(self) -> None:
        best = self._search.best
        if best is not None:
            self._settled, self._reference = best
            self._drift.begin()
            self._log.tell(logging.INFO, "settled on", best[0], seconds_text(best[1]))
            self._changed(best[0])

    def _drifted(self) -> None:
        """Race again where what has been settled on takes longer than it did in the race; search again where it takes
        longer, or less time, than its calls did."""
        if not self._drift.is_in_doubt:
            self._reopen()
            return
        if self._settled is not None:
            self._log.tell(logging.INFO, "races again with", self._settled, "calls of it take longer than then")
        self._settled = self._trial = None
        self._search.confirm_again()

    def _reopen(self) -> None:
        """Measure again, from the best configurations known; what failed stays failed."""
        if self._settled is not None:
            self._log.tell(logging.INFO, "searches again after", self._settled, "calls of it take longer than they did")
        previous = self._search
        ranked = sorted(previous.measurements, key=lambda c: previous.measurements[c].estimate)
        # What runs goes on first: while nothing else may be tried, it is what has won against the default.
        first = [] if self._settled is None else [self._settled]
        seeds = dict.fromkeys([*first, self._default, *ranked[:_SEEDS_AFTER_DRIFT]])
        self._search = self._new_search([each for each in seeds if each not in previous.failures], None)
        for configuration, reason in previous.failures.items():
            self._search.fail(configuration, reason)
        self._settled, self._trial, self._pruned = None, None, None
        self._ledger.reopened += 1

    def _judge_history(self) -> None:
        """Leave the part of the space in which history has the search begin, where it has turned out to be wrong; note
        where it has been searched enough."""
        search, pruned = self._search, self._pruned
        if pruned is None or self._searched or search.is_asking:
            return
        verdict = judge(pruned, search.measurements, search.failures, self._default)
        if verdict is not None:
            self._end_pruned(verdict.why, is_wrong=verdict.is_wrong)

    def _end_pruned(self, why: str, *, is_wrong: bool) -> None:
        """Go on in the whole space, at once where the part searched is wrong or the budget asks for no more than that,
        and else when that may pay."""
        if is_wrong or not self._budget.weighs:
            self._leave_pruned(why)
        else:
            self._searched = why

    def _leave_pruned(self, why: str) -> None:
        """Search the whole space, with all that has been measured so far."""
        previous = self._search
        self._search = search = self._new_search(self._hints, None)
        ranked = sorted(previous.measurements.items(), key=lambda entry: entry[1].estimate)
        for configuration, samples in ranked:
            search.remember(configuration, samples.estimate, len(samples))
        for configuration, reason in previous.failures.items():
            search.fail(configuration, reason)
        self._pruned, self._searched, self._left, self._trial, self._resting = None, "", why, None, None
        if search.best is not None:
            self._log.tell(logging.INFO, "searches the whole space after", search.best[0], why)

    def _waits_for_history(self) -> str | None:
        """Return why nothing may be tried by what history says that it gains; None where something may be."""
        calls = self._ledger.calls
        if self._searched and calls < self._whole_space_after:
            return f"{self._searched}; the whole space is searched after {self._whole_space_after} calls"
        is_started = self._ledger.trials > 0 or self._default not in self._search.measurements
        if not self._budget.weighs or self._outlook is None or is_started:
            return None
        return self._outlook.objection(calls)

    @property
    def _whole_space_after(self) -> int:
        """Return after how many calls it may pay to search the whole space: what it can gain is taken for half of that
        by which something that performs well may be slower than the best."""
        cost = _TRIALS if self._outlook is None else max(self._outlook.cost, 1.0)
        return round(cost / ((1 - THRESHOLD) / 2))

    @property
    def _from_history(self) -> str:
        """Return what the search owes to measurements elsewhere, for people."""
        pruned = self._pruned
        if pruned is not None:
            candidates = (
                "1 configuration" if len(pruned.candidates) == 1 else f"{len(pruned.candidates)} configurations"
            )
            return f"it begins with {candidates}, by {pruned.sources}"
        return f"what it began with, by measurements elsewhere, was left: {self._left}" if self._left else ""

    def _changed(self, configuration: Configuration) -> None:
        if self._persistence is not None:
            self._persistence.note(configuration)
