"""Hierarchical search: one searcher chooses the structural values, each combination keeps a numeric search of its own.

After Pfaffe et al., "Efficient Hierarchical Online-Autotuning" (ICS 2019), section 3.1, with what an application
needs besides: what has been measured is never measured again but to settle noise, and nothing that failed is
proposed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from polytune.errors import MeasurementError, SpaceError
from polytune.tuner.configuration import Configuration
from polytune.tuner.samples import Samples
from polytune.tuner.searchers import EpsilonGreedy
from polytune.tuner.space import Space
from polytune.tuner.subspace import Subspace

Reject = Callable[[Configuration], str | None]
"""Says why a configuration is not worth measuring, or None."""

Order = Callable[[Configuration], float]
"""A prior on structural combinations: those with smaller values are tried earlier."""

_MAX_ARMS = 4096
_MAX_NOISE = 0.25
_FREE_PROPOSALS = 256  # answered from what is known within one `ask`, so that asking stays quick
_RANDOM_DRAWS = 20


@dataclass(frozen=True)
class _Proposal:
    """What is being measured, and who asked: a numeric search of an arm, or, with no point, a random draw."""

    configuration: Configuration
    arm: int | None
    point: tuple[float, ...] | None


class HierarchicalTuner:
    """Finds the configuration with the least cost by ask and tell.

    Each ask is to be answered by `tell` with a measurement or by `fail`.  The first configuration asked for is the
    default (or the first of `starts`); then every structural combination is tried once, and the promising ones are
    searched numerically, the best first.  A configuration that looks better than the best, or as good within the
    noise, is asked for again until it has `repeats` measurements: only then is it believed.  Not thread-safe.

    Once `converged`, asking goes on with random configurations that have not been measured, and searches around any
    that turns out to be better; when nothing is left, with the best one.

    Args:
        space: what to search.
        rng: where random choices come from; the search is a function of it and of what is told.
        reject: rules that save measurements; a rejected configuration is never asked for.
        order: a prior on the structural combinations, each given with its numeric values at their defaults; without
            one, those that differ least from the default come first.  The default itself is always first.
        starts: configurations known to be good, the best first: their structural combinations are tried first, and
            searched from there.
        repeats: how many measurements make a configuration believed.
        promise: structural combinations slower than `promise` times the best are not searched.
    """

    def __init__(
        self,
        space: Space,
        *,
        rng: np.random.Generator,
        reject: Reject | None = None,
        order: Order | None = None,
        starts: Sequence[Configuration] = (),
        repeats: int = 3,
        promise: float = 2.0,
    ):
        self.space = space
        self._rng = rng
        self._reject = reject
        self._repeats = repeats
        self._arms = _arms(space, rng, order, starts)
        self._arm_of = {space.structural_values(start): arm for arm, start in enumerate(self._arms)}
        self._top = EpsilonGreedy(len(self._arms), rng, promise=promise)
        self._subspaces: dict[int, Subspace] = {}
        self._samples: dict[Configuration, Samples] = {}
        self._infeasible: dict[Configuration, str] = {}
        self._failures: dict[Configuration, str] = {}
        self._best: Configuration | None = None
        self._best_is_in_doubt = False
        self._pending: _Proposal | None = None
        self._rest: Iterator[Configuration] | None = None

    # ---- asking

    def ask(self) -> Configuration:
        """The configuration to measure next; the same one until it is settled by `tell` or `fail`.

        Raises:
            SpaceError: no configuration is feasible.
        """
        for _ in range(_FREE_PROPOSALS):
            if self._pending is None:
                self._pending = self._propose()
                if self._pending is None:
                    break
            if not self._is_settled(self._pending.configuration):
                return self._pending.configuration
            self._conclude(self._pending)
        if self._best is None:
            raise SpaceError(self._why_nothing_is_left())
        return self._best

    def _propose(self) -> _Proposal | None:
        if self._best_is_in_doubt:
            better = [c for c in self._samples if not self._is_settled(c)]
            if better:
                return _Proposal(min(better, key=lambda c: self._samples[c].estimate), None, None)
            self._best_is_in_doubt = False
        if not self._top.converged:
            arm = self._top.ask()
            subspace = self._subspaces.get(arm)
            if subspace is None:
                subspace = self._subspaces[arm] = Subspace(self.space, self._arms[arm])
            point = subspace.searcher.ask()
            return _Proposal(subspace.configuration(point), arm, point)
        configuration = self._unmeasured()
        return None if configuration is None else _Proposal(configuration, None, None)

    def _unmeasured(self) -> Configuration | None:
        """A random configuration that nothing is known of; the next one in order where draws no longer find any."""
        for _ in range(_RANDOM_DRAWS):
            configuration = self.space.sample(self._rng)
            if self._is_unknown(configuration):
                return configuration
        if not self.space.is_discrete:
            return None
        if self._rest is None:
            self._rest = self.space.enumerate()
        return next(filter(self._is_unknown, self._rest), None)

    def _is_unknown(self, configuration: Configuration) -> bool:
        return configuration not in self._samples and configuration not in self._infeasible

    def _is_settled(self, configuration: Configuration) -> bool:
        """Whether enough is known of the configuration: that it is infeasible, that it is slow, or what it costs."""
        if configuration in self._infeasible:
            return True
        samples = self._samples.get(configuration)
        if samples is None:
            reason = self._why_not(configuration)
            if reason is not None:
                self._infeasible[configuration] = reason
            return reason is not None
        if len(samples) >= self._repeats or self._best is None:
            return len(samples) >= self._repeats
        best = self._samples[self._best]
        return configuration != self._best and samples.estimate > best.estimate * (1 + min(2 * best.spread, _MAX_NOISE))

    def _why_not(self, configuration: Configuration) -> str | None:
        if not self.space.satisfies_constraints(configuration):
            return "it breaks a constraint of the space"
        return self._reject(configuration) if self._reject is not None else None

    # ---- telling

    def tell(self, configuration: Configuration, seconds: float) -> None:
        """One measurement of a configuration, asked for or not.

        Raises:
            MeasurementError: the cost is not a finite number from zero up, or the configuration is not of the space.
        """
        if not (isinstance(seconds, (int, float)) and 0 <= seconds < math.inf):
            raise MeasurementError(
                f"{seconds!r} is no measurement of {configuration!r}: it must be a finite number of seconds, not "
                "negative; call fail() for a configuration that did not run"
            )
        samples = self._samples.get(configuration)
        pending = self._pending
        is_pending = pending is not None and pending.configuration == configuration
        if samples is None:
            if not is_pending and not self.space.contains(configuration):
                raise MeasurementError(f"{configuration!r} was measured, but it is not a configuration of the space")
            samples = self._samples[configuration] = Samples()
        before = samples.estimate
        samples.add(float(seconds))
        self._update_best(configuration, has_risen=samples.estimate > before)
        if pending is not None and is_pending and self._is_settled(configuration):
            self._conclude(pending)

    def fail(self, configuration: Configuration, reason: str) -> None:
        """The configuration cannot be run: it is never asked for again.

        Args:
            configuration: what was tried.
            reason: why it failed, for people.
        """
        self._infeasible[configuration] = reason
        self._failures[configuration] = reason
        self._samples.pop(configuration, None)
        if configuration == self._best:
            self._replace_best()
        if self._pending is not None and self._pending.configuration == configuration:
            self._conclude(self._pending)

    def remember(self, configuration: Configuration, seconds: float, count: int) -> None:
        """A cost known from earlier, the median of `count` measurements; it will not be measured without need.

        Raises:
            MeasurementError: as for `tell`.
        """
        for _ in range(min(max(count, 1), self._repeats)):
            self.tell(configuration, seconds)

    def _update_best(self, configuration: Configuration, *, has_risen: bool) -> None:
        if configuration == self._best:
            if has_risen:
                self._replace_best()
        elif self._best is None or (
            len(self._samples[configuration]) >= self._repeats
            and self._samples[configuration].estimate < self._samples[self._best].estimate
        ):
            self._best = configuration

    def _replace_best(self) -> None:
        """The best one failed or became slower: the cheapest that is believed replaces it, and what looks better now
        is measured until that is believed or not; where nothing is believed, the cheapest replaces it.
        """
        believed = [c for c, samples in self._samples.items() if len(samples) >= self._repeats]
        best = min(believed or self._samples, key=lambda c: self._samples[c].estimate, default=None)
        self._best, self._best_is_in_doubt = best, best is not None

    def _conclude(self, proposal: _Proposal) -> None:
        """Tell the searchers what is now known of a proposal."""
        self._pending = None
        samples = self._samples.get(proposal.configuration)
        cost = math.inf if samples is None or proposal.configuration in self._infeasible else samples.estimate
        if proposal.arm is not None and proposal.point is not None:
            self._subspaces[proposal.arm].searcher.tell(proposal.point, cost)
            self._top.tell(proposal.arm, cost)
            if self._subspaces[proposal.arm].searcher.converged:
                self._top.close(proposal.arm)
        elif proposal.configuration == self._best:
            self._search_around(proposal.configuration, cost)

    def _search_around(self, configuration: Configuration, cost: float) -> None:
        """A random draw has become the best: start a numeric search from it."""
        arm = self._arm_of.get(self.space.structural_values(configuration))
        if arm is not None:
            self._subspaces[arm] = Subspace(self.space, configuration)
            self._top.tell(arm, cost)
            self._top.reopen(arm)

    def _why_nothing_is_left(self) -> str:
        reasons = list(self._infeasible.items())
        if not reasons:
            return "the space has no configuration that could be measured"
        configuration, reason = reasons[-1]
        return (
            f"no configuration is feasible: all {len(reasons)} tried failed or were rejected, the last, "
            f"{configuration!r}, because {reason}"
        )

    # ---- what is known

    @property
    def best(self) -> tuple[Configuration, float] | None:
        """The best configuration that is believed, with its estimated cost; None before the first measurement."""
        return None if self._best is None else (self._best, self._samples[self._best].estimate)

    @property
    def converged(self) -> bool:
        """Whether every structural combination has been tried and every promising one searched to its end."""
        return (
            self._top.converged and not self._best_is_in_doubt and (self._pending is None or self._pending.arm is None)
        )

    @property
    def measurements(self) -> Mapping[Configuration, Samples]:
        """Every feasible configuration measured so far."""
        return self._samples

    @property
    def failures(self) -> Mapping[Configuration, str]:
        """Every configuration that failed, with the reason."""
        return self._failures

    def state(self) -> dict[str, Any]:
        """The whole search as JSON keeps it; `restore` on a tuner over the same space continues exactly from there."""
        pending = self._pending
        return {
            "arms": [dict(arm) for arm in self._arms],
            "top": self._top.state(),
            "subspaces": [[arm, subspace.state()] for arm, subspace in self._subspaces.items()],
            "samples": [[dict(c), list(samples.values)] for c, samples in self._samples.items()],
            "infeasible": [[dict(c), reason, c in self._failures] for c, reason in self._infeasible.items()],
            "best": self._best and dict(self._best),
            "best_is_in_doubt": self._best_is_in_doubt,
            "pending": pending and [dict(pending.configuration), pending.arm, pending.point],
            "rng": self._rng.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state that `state` returned, of a tuner over the same space."""
        self._arms = [Configuration(values) for values in state["arms"]]
        self._arm_of = {self.space.structural_values(start): arm for arm, start in enumerate(self._arms)}
        self._top.restore(state["top"])
        self._subspaces = {}
        for arm, entry in state["subspaces"]:
            self._subspaces[arm] = Subspace(self.space, Configuration(entry["start"]))
            self._subspaces[arm].searcher.restore(entry["search"])
        self._samples = {Configuration(values): Samples(seconds) for values, seconds in state["samples"]}
        self._infeasible = {Configuration(values): reason for values, reason, _ in state["infeasible"]}
        self._failures = {Configuration(values): reason for values, reason, failed in state["infeasible"] if failed}
        self._best = None if state["best"] is None else Configuration(state["best"])
        self._best_is_in_doubt = state["best_is_in_doubt"]
        self._pending = None
        if state["pending"] is not None:
            values, arm, point = state["pending"]
            self._pending = _Proposal(Configuration(values), arm, None if point is None else tuple(point))
        self._rng.bit_generator.state = state["rng"]
        self._rest = None


def _arms(
    space: Space, rng: np.random.Generator, order: Order | None, starts: Sequence[Configuration]
) -> list[Configuration]:
    """The structural combinations in the order in which they are tried, each with the numeric values to start from."""
    default = space.default()

    def distance(configuration: Configuration) -> float:
        return sum(default.get(name) != value for name, value in space.structural_values(configuration))

    arms = list(islice(space.enumerate_nominal(), _MAX_ARMS + 1))
    if len(arms) > _MAX_ARMS:  # too many to list: a sample, in the order in which it is drawn, stands for all
        arms = [space.sample(rng) for _ in range(_MAX_ARMS)]
        arms = arms if order is None else sorted(arms, key=order)
    else:
        arms.sort(key=order or distance)
    first: dict[tuple, Configuration] = {}
    for configuration in (*starts, default, *arms):
        first.setdefault(space.structural_values(configuration), configuration)
    return list(first.values())
