"""The state of an online tuner between two calls."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from polytune.tuner.budget import Budget, seconds_text
from polytune.tuner.disturbance import Disturbance, DriftDetector, FewerThreads
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner
from polytune.tuner.ledger import Ledger
from polytune.tuner.persistence import Persistence
from polytune.tuner.prospects import Prospects
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space
from polytune.tuner.trials import TrialLog

__all__ = ["OnlineState"]

_SEEDS_AFTER_DRIFT = 8


class OnlineState:
    """The search, the account, and what is under way; `Choosing` and `Learning` work on it under the tuner's lock.

    Args:
        space: what to choose from.
        budget: what trials may cost.
        prospects: what they are expected to cost.
        new_search: begins a search from configurations that are known to be good.
        opening: what calls run while the first choice is compiled beside them.
        fewer_threads: the same with fewer threads in place of a configuration; None where there is nothing such.
        title: what is tuned, for people.
    """

    def __init__(
        self,
        space: Space,
        budget: Budget,
        prospects: Prospects,
        new_search: Callable[[Sequence[Configuration]], HierarchicalTuner],
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
        self._drift = DriftDetector()
        self._disturbance = Disturbance()
        self._fewer_threads = FewerThreads(fewer_threads)
        self._stand_in: Configuration | None = None  # for what calls would run, while a core is busy
        self._persistence: Persistence | None = None
        self._settled: Configuration | None = None  # what every call runs
        self._reference = 0.0  # what that took when it was settled on
        self._resting: Configuration | None = None  # what the next calls run, as nothing may be tried for now
        self._rests_for: Configuration | None = None  # the best, which that is but for its threads
        self._calls_of_rest = 0  # how many of them are left
        self._rests_disturbed = False  # whether something disturbs calls meanwhile
        self._trial: Configuration | None = None  # that is under way
        self._choices_since_trial = 0
        self._previous: Configuration | None = None  # what the last call ran
        self._is_after_trial = False  # whether that was another one than the best
        self._awaited: Configuration | None = None  # to be tried as soon as it is ready
        self._refused_for_now = ""  # why what was proposed last is not tried

    def _instead_of(self, configuration: Configuration) -> Configuration:
        """Return what the next call runs in the place of a configuration, as something keeps a core busy."""
        chosen = self._fewer_threads.instead_of(configuration)
        self._stand_in = None if chosen is configuration else chosen
        return chosen

    def _settle(self) -> None:
        best = self._search.best
        if best is not None:
            self._settled, self._reference = best
            self._log.tell(logging.INFO, "settled on", best[0], seconds_text(best[1]))
            self._changed(best[0])

    def _reopen(self) -> None:
        """Measure again, from the best configurations known; what failed stays failed."""
        if self._settled is not None:
            self._log.tell(logging.INFO, "searches again after", self._settled, "calls of it take longer than they did")
        previous = self._search
        ranked = sorted(previous.measurements, key=lambda c: previous.measurements[c].estimate)
        # What runs goes on first: while nothing else may be tried, it is what has won against the default.
        first = [] if self._settled is None else [self._settled]
        seeds = dict.fromkeys([*first, self._default, *ranked[:_SEEDS_AFTER_DRIFT]])
        self._search = self._new_search([each for each in seeds if each not in previous.failures])
        for configuration, reason in previous.failures.items():
            self._search.fail(configuration, reason)
        self._settled, self._trial = None, None
        self._ledger.reopened += 1

    def _changed(self, configuration: Configuration) -> None:
        if self._persistence is not None:
            self._persistence.note(configuration)
