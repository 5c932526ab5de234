"""A search that is asked for several configurations at a time, which are measured side by side.

The search itself is sequential, and only ever told what has been measured.  To say what to measure beside its own
next wish, a copy of it looks ahead: it is told that what is being measured costs what is usual (the *constant liar*:
D. Ginsbourger, R. Le Riche, L. Carraro, "Kriging is well-suited to parallelize optimization", 2010), and asked on.
What comes of that is known to the search once it is measured, whether it would have asked for it or not.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from copy import deepcopy

from polytune.errors import SpaceError
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration

__all__ = ["ConcurrentSearch"]

_ANSWERS = 4096  # from what is known within one `ask`
_SHARE_TOLD = 0.25  # of what is being measured: so much may have been told since a copy began to look ahead


class ConcurrentSearch:
    """Asks for configurations while others are being measured; none is asked for twice.

    Each configuration is measured once, so carefully that one cost is enough.  Not thread-safe.

    Args:
        search: what is asked; made with ``repeats=1``.

    Attributes:
        costs: what has been told of configurations that ran.
        failures: why others did not.
        pending: what is being measured.
    """

    def __init__(self, search: HierarchicalTuner):
        self._search = search
        self._ahead: HierarchicalTuner | None = None  # the copy, which has been told a cost of all that is pending
        self._told = 0  # since it was made
        self._returned: list[Configuration] = []
        self._has_ended = False
        self.costs: dict[Configuration, float] = {}
        self.failures: dict[Configuration, str] = {}
        self.pending: dict[Configuration, None] = {}

    def ask(self) -> Configuration | None:
        """A configuration to measure now; None where nothing is worth it before something else has been told."""
        if self._returned:
            wanted: Configuration | None = self._returned.pop(0)
        else:
            wanted = self._wish(self._search, ())
            self._has_ended = wanted is None
            if wanted in self.pending:
                wanted = self._look_ahead()
            elif wanted is not None and self._ahead is not None:
                self._ahead.learn(wanted, self._usual)
        if wanted is not None:
            self.pending[wanted] = None
        return wanted

    def _look_ahead(self) -> Configuration | None:
        usual = self._usual
        if self._ahead is None or self._told > _SHARE_TOLD * len(self.pending):
            self._ahead, self._told = deepcopy(self._search), 0
            for each in self.pending:
                self._ahead.learn(each, usual)
        wanted = self._wish(self._ahead, self.pending, usual)
        if wanted is None and self._told:  # what has been told since may lead further
            self._ahead = None
            return self._look_ahead()
        if wanted is not None:
            self._ahead.learn(wanted, usual)
        return wanted

    @property
    def _usual(self) -> float:
        return statistics.median(self.costs.values()) if self.costs else 1.0

    def _wish(
        self, search: HierarchicalTuner, assumed: Iterable[Configuration], usual: float = 1.0
    ) -> Configuration | None:
        """The next configuration that a search wants to know something new of; None where it has come to its end.

        Args:
            search: it is told again what is known, where it asks for that.
            assumed: what counts as known.
            usual: the cost of these.
        """
        for _ in range(_ANSWERS):
            try:
                wanted = search.ask()
            except SpaceError:  # nothing of it can be run
                return None
            if search.converged and search.best is not None:
                return None
            if wanted in self.failures:  # since the copy was made
                search.learn(wanted, None, self.failures[wanted])
                continue
            cost = self.costs.get(wanted, usual if wanted in assumed else None)
            if cost is None:
                return wanted
            search.tell(wanted, cost)
        return None

    def tell(self, configuration: Mapping[str, Value], seconds: float) -> None:
        """Take in what a configuration costs.

        Args:
            configuration: asked for, or known from elsewhere.
            seconds: its cost.

        Raises:
            MeasurementError: the cost is not a finite number from zero up, or the configuration is not of the space.
        """
        chosen = self._settle(configuration)
        if chosen is not None:
            self._search.learn(chosen, seconds)
            self.costs[chosen] = seconds

    def fail(self, configuration: Mapping[str, Value], reason: str) -> None:
        """Take in that a configuration cannot be run; it is not asked for again.

        Args:
            configuration: asked for, or known from elsewhere.
            reason: why, for people.
        """
        chosen = self._settle(configuration)
        if chosen is not None:
            self._search.learn(chosen, None, reason)
            self.failures[chosen] = reason

    def _settle(self, configuration: Mapping[str, Value]) -> Configuration | None:
        """The configuration, of which something is known now; None where something was known before."""
        self._told, self._has_ended = self._told + 1, False
        chosen = self._search.space.configuration(**configuration)
        self.pending.pop(chosen, None)
        if chosen in self._returned:
            self._returned.remove(chosen)
        return None if chosen in self.costs or chosen in self.failures else chosen

    def withdraw(self, configuration: Configuration) -> None:
        """Take note that a measurement was lost: the configuration is the next one that is asked for."""
        if configuration in self.pending:
            del self.pending[configuration]
            self._returned.append(configuration)

    @property
    def best(self) -> tuple[Configuration, float] | None:
        """The configuration that costs least, with its cost; None before any has run."""
        return min(self.costs.items(), key=lambda each: each[1], default=None)

    @property
    def converged(self) -> bool:
        """Return whether the search had nothing to ask for when it was last asked, and nothing is being measured."""
        return not self.pending and not self._returned and self._has_ended
