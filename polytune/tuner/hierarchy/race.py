"""A race: configurations that may all be the best are measured anew, in turns, until it is clear which one is."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from polytune.tuner.spaces.configuration import Configuration

__all__ = ["DUEL_ROUNDS", "FINAL_ROUNDS", "Race", "contenders", "default_if_near", "is_noisy"]

WINDOW = 15
"""The number of measurements that are kept; older ones give way, so that an estimate follows a machine that changes
slowly."""


class Samples:
    """The last measurements of one configuration.

    The estimate is the lower median: of two the smaller, since what disturbs a measurement nearly always lengthens
    it; of three or more, no single outlier, however large or small, can decide it.
    """

    __slots__ = ("_values", "estimate")

    def __init__(self, values: Iterable[float] = ()):
        self._values = deque(values, maxlen=WINDOW)
        self.estimate = self._median()

    def add(self, seconds: float) -> None:
        """Take in one more measurement."""
        self._values.append(seconds)
        self.estimate = self._median()

    def _median(self) -> float:
        ordered = sorted(self._values)
        return ordered[(len(ordered) - 1) // 2] if ordered else float("inf")

    @property
    def spread(self) -> float:
        """The median distance of the measurements from the estimate, as a share of the estimate."""
        if self.estimate <= 0 or len(self._values) < 2:
            return 0.0
        distances = sorted(abs(value - self.estimate) for value in self._values)
        return distances[len(distances) // 2] / self.estimate

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> tuple[float, ...]:
        """The measurements kept, oldest first."""
        return tuple(self._values)


FINAL_ROUNDS = 8
"""Rounds of the race at the end of a search."""

DUEL_ROUNDS = 2
"""Rounds of the race in which the best configuration is displaced by another, or is not."""

_MOST = 6  # contenders
_FAR = 1.25  # times the best: further off, a configuration other than the default does not take part
_FAR_FOR_DEFAULT = 4.0  # it may have been measured while the program was starting
_LEAST_ROUNDS = 3  # before the favourite leaves: something else may have kept the machine busy for all of its turn
_CALLS = 3  # of a turn, of which the first does not count
_DOUBT = 4.0  # times the spread over the square root of the measurements: a difference that noise can make


class Race:
    """Measures contenders in turns and drops the slower ones as soon as the noise allows.

    Measurements made at different moments do not compare: a machine is slower while something else runs on it.  And of
    many configurations that were measured a few times each, the one that looks best is mostly the one that was
    luckiest.  So what was known before does not count here, and every round meets all contenders alike.  A turn is
    three calls, of which the first does not count: it finds the caches, and perhaps busy threads, as the contender
    before has left them.

    After each round those leave whose median is above the smallest by more than noise can explain: four times the
    spread (see `Samples.spread`) divided by the square root of the number of measurements, about two standard errors
    of the difference of two medians.

    At the end of a search the default is the favourite: of several that noise does not tell apart, the one with the
    smallest median was the luckiest.  It wins unless the smallest median is more than a standard error below its own
    (the one-standard-error rule of Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984), and
    does not leave before the third round.

    A round is measured without a break or not at all: what was measured before a break says nothing of what is measured
    after it, so `interrupt` forgets a round that has begun.  Between rounds the machine may become slower or faster:
    what a round has measured is divided by how much longer its contenders took in it than before, in the middle.  So
    only differences within rounds count, and what has left the race keeps its distance to the others.

    Args:
        contenders: at least one, all different; the winner is the first of equals.
        rounds: how many there are at most.
        favourite: the contender that wins where it may be the fastest; None where all are alike.
    """

    def __init__(self, contenders: Sequence[Configuration], rounds: int, favourite: Configuration | None = None):
        self._samples = {configuration: Samples() for configuration in contenders}
        self._running = list(contenders)
        self._rounds = rounds
        self._favourite = favourite
        self._round = self._turn = self._calls = 0
        self._is_paused = False
        self._now: dict[Configuration, list[float]] = {}  # of this round
        self._slowdown = 1.0  # of the machine in the last round, since the first

    def ask(self) -> Configuration:
        """The contender to run next."""
        self._is_paused = False
        return self._running[self._turn]

    def tell(self, configuration: Configuration, seconds: float) -> bool:
        """Take in what a call took; return False, with nothing learned, where it was another's turn, or nobody has
        asked for one since the race was interrupted."""
        if self.is_over or self._is_paused or configuration != self._running[self._turn]:
            return False
        if self._calls:
            self._now.setdefault(configuration, []).append(seconds)
        self._calls += 1
        if self._calls < _CALLS:
            return True
        self._turn, self._calls = self._turn + 1, 0
        if self._turn == len(self._running):
            self._end_round()
        return True

    def interrupt(self) -> None:
        """Note that something else is run for now: the round that is under way begins anew when the race goes on."""
        self._is_paused = True
        self._now.clear()
        self._turn = self._calls = 0

    @property
    def is_between_rounds(self) -> bool:
        """Return whether nothing has been measured yet in this round."""
        return self._turn == self._calls == 0

    @property
    def turns(self) -> Sequence[Configuration]:
        """Return who is measured in a round, once for each of the calls that it gets."""
        return [each for each in self._running for _ in range(_CALLS)]

    def _end_round(self) -> None:
        self._round, self._turn = self._round + 1, 0
        self._take_in_round()
        # The order is turned by one, so that it is not always the same one that begins.
        self._running = [*self._running[1:], self._running[0]]
        fastest = self._samples[min(self._running, key=self._estimate)]
        staying = self._favourite if self._round < _LEAST_ROUNDS else None
        self._running = [
            each for each in self._running if each == staying or _may_be_as_fast(self._samples[each], fastest, _DOUBT)
        ]

    def _take_in_round(self) -> None:
        """Add what this round has measured, as it would have been measured in the first one."""
        ratios = [
            math.log(min(values) / self._samples[each].estimate)
            for each, values in self._now.items()
            if len(self._samples[each]) and self._samples[each].estimate > 0 and min(values) > 0
        ]
        self._slowdown = math.exp(median(ratios)) if ratios else 1.0
        for each, values in self._now.items():
            for seconds in values:
                self._samples[each].add(seconds / self._slowdown)
        self._now.clear()

    def drop(self, configuration: Configuration) -> None:
        """Leave out a contender that has failed."""
        self._samples.pop(configuration, None)
        self._now.pop(configuration, None)
        if configuration not in self._running:
            return
        position = self._running.index(configuration)
        if position == self._turn:
            self._calls = 0
        self._running.remove(configuration)
        self._turn -= position < self._turn
        if self._running and self._turn == len(self._running):
            self._end_round()

    @property
    def is_over(self) -> bool:
        """Return whether one contender at most is left, or the rounds are over."""
        return len(self._running) < 2 or self._round == self._rounds

    @property
    def winner(self) -> Configuration | None:
        """The one of those still in the race that has the smallest median, or the favourite if it may be as fast;
        before any was measured, the first; None where all have failed."""
        fastest = min((each for each in self._samples if each in self._running), key=self._estimate, default=None)
        favourite = self._favourite
        if fastest is None or favourite is None or favourite not in self._running or not self._samples[favourite]:
            return fastest
        may_be = _may_be_as_fast(self._samples[favourite], self._samples[fastest], _DOUBT / 2)
        return favourite if may_be else fastest

    def _estimate(self, configuration: Configuration) -> float:
        return self._samples[configuration].estimate

    @property
    def samples(self) -> Mapping[Configuration, Samples]:
        """Return what was measured of the contenders, of those that have left too, but for those that have failed: as
        it would have been measured in the last round."""
        if self._slowdown == 1.0:
            return self._samples
        return {
            each: Samples(seconds * self._slowdown for seconds in samples.values)
            for each, samples in self._samples.items()
        }

    def state(self) -> dict[str, Any]:
        """The race as JSON keeps it."""
        return {
            "samples": [[dict(each), list(samples.values)] for each, samples in self._samples.items()],
            "running": [dict(each) for each in self._running],
            "rounds": self._rounds,
            "favourite": self._favourite and dict(self._favourite),
            "at": [self._round, self._turn, self._calls],
            "now": [[dict(each), values] for each, values in self._now.items()],
            "slowdown": self._slowdown,
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Race:
        """The race that `state` wrote."""
        favourite = state.get("favourite")
        contenders = [Configuration(values) for values, _ in state["samples"]]
        race = cls(contenders, state["rounds"], favourite and Configuration(favourite))
        race._samples = {Configuration(values): Samples(seconds) for values, seconds in state["samples"]}
        race._running = [Configuration(values) for values in state["running"]]
        race._round, race._turn, race._calls = state["at"]
        race._now = {Configuration(values): seconds for values, seconds in state["now"]}
        race._slowdown = state["slowdown"]
        return race


def _may_be_as_fast(samples: Samples, fastest: Samples, doubt: float) -> bool:
    """Return whether noise can explain by how much a median is above the smallest one."""
    allowed = doubt / math.sqrt(len(fastest)) * (samples.spread + fastest.spread) / 2
    return samples.estimate <= fastest.estimate * (1 + allowed)


def is_noisy(samples: Sequence[Samples]) -> bool:
    """Return whether measurements of one configuration have differed; where none have, there is nothing to doubt."""
    return any(each.spread > 0 for each in samples)


def contenders(
    samples: Mapping[Configuration, Samples],
    best: Configuration,
    default: Configuration,
    group_of: Callable[[Configuration], int | None],
) -> list[Configuration]:
    """Return what may be the best of all that has been measured, the best so far first.

    After it the default, then the cheapest of each group, so that groups compare, and then the cheapest of all; but
    nothing that seems far off.

    Args:
        samples: what has been measured.
        best: the best configuration so far.
        default: the space's default.
        group_of: the group of a configuration: a version, say.
    """
    limit = _FAR * samples[best].estimate
    near = sorted(
        (each for each in samples if samples[each].estimate <= limit), key=lambda each: samples[each].estimate
    )
    groups: dict[int | None, Configuration] = {}
    for each in near:
        groups.setdefault(group_of(each), each)
    found = (best, *default_if_near(samples, best, default), *groups.values(), *near)
    return list(dict.fromkeys(found))[:_MOST]


def default_if_near(
    samples: Mapping[Configuration, Samples], best: Configuration, default: Configuration
) -> tuple[Configuration, ...]:
    """The default, unless it was never measured, or is far slower than the best by more than one measurement.

    It was measured first of all, perhaps while the program was still starting or something else was running, and
    nothing that is slower than it may be settled on.

    Args:
        samples: what was measured so far.
        best: the fastest configuration by its samples.
        default: the configuration that a program begins with.
    """
    if default not in samples:
        return ()
    is_far = len(samples[default]) > 1 and samples[default].estimate > _FAR_FOR_DEFAULT * samples[best].estimate
    return () if is_far else (default,)
