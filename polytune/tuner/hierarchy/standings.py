"""The measurements, and the configuration that is believed to be the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polytune.tuner.hierarchy.race import (
    DUEL_ROUNDS,
    FINAL_ROUNDS,
    Race,
    Samples,
    contenders,
    default_if_near,
    is_noisy,
)
from polytune.tuner.searcher import is_measurement
from polytune.tuner.spaces.configuration import Configuration

__all__ = ["Standings"]

_MAX_NOISE = 0.25
_AGREEING = 4  # measurements that were the same again, and none that was not: then costs are exact


class Standings:
    """The measurements of all configurations, and the best one.

    A configuration is believed once it has been measured `repeats` times, or, where costs may be exact, once where what
    was measured again was the same each time.  Where measurements agree, the cheapest of
    those believed is the best.  Where they are noisy, one that seems cheaper than the best takes its place only by
    winning a `Race` against it: its measurements are of another moment.  Where the best has become slower than the
    default was, the two of them race: the default stays what it is measured against for as long as anything else runs.

    Args:
        repeats: how many measurements make a configuration believed; with 1, measurements are taken for exact.
        default: the space's default.
        group_of: the group of a configuration, a version, say: the best of each takes part in the last race.
        may_be_exact: whether costs may be no measurements, so that they are the same each time.

    Attributes:
        samples: the measurements of all feasible configurations.
        best: the best configuration that is believed, or the first that was measured.
        is_in_doubt: whether something that looks better than the best waits to be believed.
        race: the race that is under way.
        is_defence: whether it is one of the best and the default alone, as the best seems the slower one.
    """

    def __init__(
        self,
        repeats: int,
        default: Configuration,
        group_of: Callable[[Configuration], int | None],
        *,
        may_be_exact: bool = False,
    ):
        self._repeats = repeats
        self._may_be_exact = may_be_exact
        self._default = default
        self._group_of = group_of
        self.samples: dict[Configuration, Samples] = {}
        self.best: Configuration | None = None
        self.is_in_doubt = False
        self.race: Race | None = None
        self.is_defence = False
        self._agreeing: int = 0  # measurements that were the same as the one before of their configuration
        self._is_exact = True  # as long as there was no other
        self._is_confirmed = False  # the best, by a race after everything else was measured

    def tell(self, configuration: Configuration, seconds: float) -> None:
        """Take in a measurement that is no part of the race."""
        samples = self.samples.get(configuration)
        if samples is None:
            samples = self.samples[configuration] = Samples()
        before = samples.estimate
        if samples:
            self._agreeing += 1
            self._is_exact &= seconds == samples.values[-1]
        samples.add(seconds)
        best = self.best
        if best is None:
            self.best = configuration
        elif configuration == best:
            if samples.estimate > before and not self._default_defends() and not self._race_decides(self._cheapest()):
                self._replace_best()
        elif (
            len(samples) >= self._needed
            and samples.estimate < self.samples[best].estimate
            and not self._race_decides(configuration)
        ):
            self.best = configuration

    def tell_race(self, configuration: Configuration, seconds: float) -> bool:
        """A measurement; False, with nothing learned, where it is no part of a race."""
        return self.race is not None and self.race.tell(configuration, seconds)

    def end_race(self) -> Mapping[Configuration, Samples]:
        """Believe what a race that is over has shown, and nothing that was known of its contenders before.

        Returns:
            What was measured of each contender; nothing where no race is over.
        """
        race = self.race
        if race is None or not race.is_over:
            return {}
        self.race, self.is_defence = None, False
        measured = {each: samples for each, samples in race.samples.items() if len(samples)}
        self.samples.update(measured)
        self.best = race.winner or self.best
        return measured

    def drop(self, configuration: Configuration) -> None:
        """Leave out a configuration that cannot be run."""
        self.samples.pop(configuration, None)
        if configuration == self.best:
            self._replace_best()
        if self.race is not None:
            self.race.drop(configuration)

    @property
    def _needed(self) -> int:
        """Return how many measurements make a configuration believed."""
        is_exact = self._may_be_exact and self._is_exact and self._agreeing >= _AGREEING
        return 1 if is_exact else self._repeats

    def is_settled(self, configuration: Configuration) -> bool:
        """Return whether enough is known of a configuration that has been measured: that it is slow, or what it
        costs."""
        samples = self.samples[configuration]
        if len(samples) >= self._needed or self.best is None:
            return len(samples) >= self._needed
        best = self.samples[self.best]
        return configuration != self.best and samples.estimate > best.estimate * (1 + min(2 * best.spread, _MAX_NOISE))

    def doubted(self) -> Configuration | None:
        """The configuration that looks best of those that are not settled, while there may be such; None afterwards."""
        if not self.is_in_doubt:
            return None
        better = [each for each in self.samples if not self.is_settled(each)]
        self.is_in_doubt = bool(better)
        return min(better, key=self._estimate, default=None)

    def reopen(self) -> None:
        """Note that there is more to measure: the best is to be confirmed once more at the end."""
        self._is_confirmed = False

    @property
    def needs_race(self) -> bool:
        """Return whether a race has to confirm the best before it is settled on."""
        return self._is_doubtful(self._rivals())

    def confirms(self) -> bool:
        """Return whether all that may be the best begins to race, once after each time that the search has come to its
        end."""
        found = self._rivals()
        self._is_confirmed = True
        return self._begins_race(found, FINAL_ROUNDS, self._default)

    def _rivals(self) -> list[Configuration]:
        """Return what may be the best, the best so far first, unless a race has confirmed that."""
        if self._is_confirmed or self.best is None:
            return []
        return contenders(self.samples, self.best, self._default, self._group_of)

    def _race_decides(self, rival: Configuration | None) -> bool:
        """Return whether a race is to tell if a configuration that seems cheaper than the best is so.

        The default takes part, unless it seems far slower: it was measured before anything else, and never since.  What
        takes the place of the default itself has to be faster by more than noise.
        """
        best = self.best
        if best is None or rival is None or rival == best:
            return False
        near = default_if_near(self.samples, best, self._default)
        return self.race is not None or self._begins_race(
            [best, rival, *near], DUEL_ROUNDS, best if best == self._default else None
        )

    def _default_defends(self) -> bool:
        """Return whether the best and the default race, as the best takes longer by now than the default did.

        The default is the favourite: it is not for it to be faster, but for the best.  A race that has begun among
        others gives way, as it may have to wait until trials are paid for; this one need not.
        """
        best, default = self.best, self._default
        if best is None or best == default or default not in self.samples:
            return False
        if self.race is not None and (self.is_defence or not self.race.is_between_rounds):
            return True
        if self.samples[best].estimate <= self.samples[default].estimate:
            return False
        self.is_defence = self._begins_race([best, default], DUEL_ROUNDS, default)
        return self.is_defence

    def _begins_race(self, found: Sequence[Configuration], rounds: int, favourite: Configuration | None = None) -> bool:
        """Let configurations race, the best first.  Return False where there is nothing to doubt."""
        if not self._is_doubtful(found):
            return False
        self.race, self.is_defence = Race(list(dict.fromkeys(found)), rounds, favourite), False
        return True

    def _is_doubtful(self, found: Sequence[Configuration]) -> bool:
        return self._repeats > 1 and len(set(found)) > 1 and is_noisy([self.samples[each] for each in found])

    def _replace_best(self) -> None:
        """Replace the best one, which has failed or become slower: the cheapest that is believed replaces it, and what
        looks better now is measured until that is believed or not; where nothing is believed, the cheapest replaces it.
        """
        self.best = self._cheapest()
        self.is_in_doubt = self.best is not None

    def _cheapest(self) -> Configuration | None:
        """The cheapest configuration of those that are believed; where none is, of all that have been measured."""
        believed = [each for each, samples in self.samples.items() if len(samples) >= self._needed]
        return min(believed or self.samples, key=self._estimate, default=None)

    def _estimate(self, configuration: Configuration) -> float:
        return self.samples[configuration].estimate

    def state(self) -> dict[str, Any]:
        """All of it, as JSON keeps it."""
        return {
            "samples": [[dict(each), list(samples.values)] for each, samples in self.samples.items()],
            "best": self.best and dict(self.best),
            "is_in_doubt": self.is_in_doubt,
            "race": self.race and self.race.state(),
            "is_defence": self.is_defence,
            "is_confirmed": self._is_confirmed,
            "exactness": [self._agreeing, self._is_exact],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned."""
        self.samples = {Configuration(values): Samples(seconds) for values, seconds in state["samples"]}
        self.best = None if state["best"] is None else Configuration(state["best"])
        self.is_in_doubt = state["is_in_doubt"]
        self.race = None if state["race"] is None else Race.restored(state["race"])
        self.is_defence = state["is_defence"]
        self._is_confirmed = state["is_confirmed"]
        agreeing, is_exact = state["exactness"]
        self._agreeing, self._is_exact = int(agreeing), bool(is_exact)

    def named(self) -> list[Configuration]:
        """The configurations that have been measured, and those that race."""
        return [*self.samples, *(() if self.race is None else self.race.samples)]

    def see_to_soundness(self) -> None:
        """See to it that a state that was restored, which may come from anywhere, can be gone on with.

        Raises:
            ValueError: it cannot.
        """
        samples, best = self.samples, self.best
        if best is None if samples else best is not None:
            raise ValueError("the state has measurements without a best one, or a best one without measurements")
        if best is not None and best not in samples:
            raise ValueError("the best of the state has not been measured")
        if not all(len(each) and all(map(is_measurement, each.values)) for each in samples.values()):
            raise ValueError("the state has costs that are none")
