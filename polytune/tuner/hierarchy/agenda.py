"""The agenda of the hierarchical search: of all that there is to ask for, what is next.

When the search has come to its end, it draws from the configurations that remain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from polytune.records import dataclass
from polytune.tuner.hierarchy.feasibility import Feasibility
from polytune.tuner.hierarchy.race import Samples
from polytune.tuner.hierarchy.standings import Standings
from polytune.tuner.hierarchy.walk import Path, Walk
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space

__all__ = ["Agenda", "Proposal"]


@dataclass(frozen=True)
class Proposal:
    """The configuration that is being measured, and who asked: the search at the end of a path, or, with no path,
    nobody.

    Attributes:
        configuration: what is measured.
        path: the way to the search that asked.
        point: the configuration as that search has it.
        again: whether it is measured although what is known seems enough.
    """

    configuration: Configuration
    path: Path | None = None
    point: Any = None
    again: bool = False


class Agenda:
    """The proposals of a search, the most urgent first: what is in doubt, the starts, what the walk comes to, what was
    left after a single measurement, and then what is not known.

    Args:
        space: what is searched.
        rng: where random choices come from.
        walk: through the graph of the space.
        standings: what is believed of what has been measured.
        feasibility: what cannot be run.
        starts: what is measured first.
        kept: those starts of which others than the first of an arm are measured although the arm has been set aside.
        repeats: how many measurements make a configuration believed.
    """

    def __init__(
        self,
        space: Space,
        rng: np.random.Generator,
        walk: Walk,
        standings: Standings,
        feasibility: Feasibility,
        starts: Sequence[Configuration],
        kept: Collection[Configuration],
        repeats: int,
    ):
        self._space, self._rng = space, rng
        self._walk, self._standings, self._feasibility = walk, standings, feasibility
        self._starts = list(dict.fromkeys((*starts, space.default())))
        self._kept = frozenset(kept)
        self._repeats = repeats
        self._postponed: list[Configuration] = []
        self._waiting: list[Configuration] = []  # kept starts, until what was set aside of their arms is ready
        self._second_looks: list[Configuration] | None = None  # None: not needed yet
        self._remaining = Remaining(space, rng)

    def next(self) -> Proposal | None:
        """Return what is to be measured next; None where contenders are to race first, or nothing is left."""
        standings = self._standings
        doubted = standings.doubted()
        if doubted is not None:
            return Proposal(doubted)
        while self._starts:
            start = self._starts.pop(0)
            if not any(self._walk.is_same_arm(start, configuration) for configuration in self._postponed):
                return Proposal(start)
            if start in self._kept:
                self._waiting.append(start)
        path = self._walk.path()
        if path is not None:
            standings.reopen()
            point = path.subspace.ask()
            return Proposal(path.subspace.configuration(point), path, point)
        if self._second_looks is None:
            self._second_looks = dismissed(
                standings.samples, standings.best, self._walk.first_arm, self._space.default(), self._repeats
            )
        if self._second_looks:
            return Proposal(self._second_looks.pop(0), again=True)
        if self._postponed or standings.confirms():
            return None
        configuration = self._remaining.next(self._is_unknown)
        return None if configuration is None else Proposal(configuration)

    def _is_unknown(self, configuration: Configuration) -> bool:
        return configuration not in self._standings.samples and configuration not in self._feasibility.infeasible

    def postpone(self, configuration: Configuration) -> bool:
        """Set a configuration aside, and everything else of its first arm, until `resume`.

        Returns:
            False, with nothing set aside, where something is known of that arm already.
        """
        if not self._walk.hold(configuration):
            return False
        self._postponed.append(configuration)
        return True

    def resume(self, configuration: Configuration) -> None:
        """Propose next something that was set aside."""
        self._postponed.remove(configuration)
        self._walk.release(configuration)
        alike = [start for start in self._waiting if self._walk.is_same_arm(start, configuration)]
        self._waiting = [start for start in self._waiting if start not in alike]
        self._starts = [configuration, *alike, *self._starts]

    @property
    def postponed(self) -> Sequence[Configuration]:
        """Return what has been set aside, the first of each arm."""
        return self._postponed

    @property
    def is_done(self) -> bool:
        """Return whether nothing is left but what the walk comes to, and what is not known."""
        return not self._starts and not self._postponed and self._second_looks is not None and not self._second_looks

    def named(self) -> Sequence[Configuration]:
        """Return every configuration that is to be proposed."""
        return (*self._starts, *self._postponed, *(self._second_looks or ()))

    def state(self) -> dict[str, Any]:
        """The agenda as JSON keeps it."""
        return {
            "starts": [dict(start) for start in (*self._waiting, *self._starts)],
            "postponed": [dict(configuration) for configuration in self._postponed],
            "second_looks": self._second_looks and [dict(configuration) for configuration in self._second_looks],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `state` returned."""
        self._starts = [Configuration(values) for values in state["starts"]]
        self._postponed = [Configuration(values) for values in state["postponed"]]
        looks = state["second_looks"]
        self._second_looks = None if looks is None else [Configuration(values) for values in looks]
        self._remaining = Remaining(self._space, self._rng)


_RANDOM_DRAWS = 20
_INTERRUPTION = 32.0  # times longer than undisturbed, a single measurement is not put down to an interruption any more


def dismissed(
    samples: Mapping[Configuration, Samples],
    best: Configuration | None,
    group_of: Callable[[Configuration], int | None],
    default: Configuration,
    repeats: int,
) -> list[Configuration]:
    """The configurations that were measured of groups that were left after a single measurement: that may have been
    interrupted.

    The default more often: it was measured first of all, while everything was cold, and what is settled on must not be
    slower.

    Args:
        samples: what has been measured.
        best: the best configuration.
        group_of: the group of a configuration: a version, say.
        default: the space's default.
        repeats: how many measurements make a configuration believed.
    """
    if best is None:
        return []
    cheapest: dict[int | None, Configuration] = {}
    for configuration, measured in samples.items():
        group = group_of(configuration)
        if group not in cheapest or measured.estimate < samples[cheapest[group]].estimate:
            cheapest[group] = configuration
    limit = _INTERRUPTION * samples[best].estimate
    left = [c for c in cheapest.values() if c != best and len(samples[c]) == 1 and samples[c].estimate <= limit]
    missing = repeats - len(samples[default]) if default in samples and default != best else 0
    return [*(each for each in left if each != default), *[default] * missing]


class Remaining:
    """Gives configurations that nothing is known of.

    Args:
        space: whose.
        rng: where random choices come from.
    """

    def __init__(self, space: Space, rng: np.random.Generator):
        self._space = space
        self._rng = rng
        self._rest: Iterator[Configuration] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Remaining:
        """A copy that goes through what is left from its beginning, which costs time alone."""
        return Remaining(self._space, deepcopy(self._rng, memo))

    def next(self, is_unknown: Callable[[Configuration], bool]) -> Configuration | None:
        """A random one; the next one in order where draws no longer find any; None where none is left."""
        for _ in range(_RANDOM_DRAWS):
            configuration = self._space.sample(self._rng)
            if is_unknown(configuration):
                return configuration
        if not self._space.is_discrete:
            return None
        if self._rest is None:
            self._rest = self._space.enumerate()
        return next(filter(is_unknown, self._rest), None)
