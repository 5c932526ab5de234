"""Hierarchical search: every node of the search space graph is searched on its own, by a walk from the root.

After Pfaffe et al., "Efficient Hierarchical Online-Autotuning" (ICS 2019), section 3.1, with what an application
needs besides: what has been measured is never measured again but to settle noise, and nothing that failed is
proposed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polytune.errors import MeasurementError, SpaceError
from polytune.tuner.hierarchy.agenda import Agenda, Proposal
from polytune.tuner.hierarchy.arms import Order
from polytune.tuner.hierarchy.feasibility import Feasibility, Reject
from polytune.tuner.hierarchy.methods import Search
from polytune.tuner.hierarchy.race import Samples
from polytune.tuner.hierarchy.standings import Standings
from polytune.tuner.hierarchy.subspace import SIMPLEX, restored_point
from polytune.tuner.hierarchy.walk import Walk
from polytune.tuner.historical.transfer import PrunedSpace
from polytune.tuner.models.analysis import DesignStep
from polytune.tuner.searcher import generator_to_json, is_measurement
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration, as_configuration
from polytune.tuner.spaces.space import Space

__all__ = ["HierarchicalTuner", "Order", "Reject"]

_FREE_PROPOSALS = 256  # answered from what is known within one `ask`, so that asking stays quick


class HierarchicalTuner:
    """Finds the configuration with the least cost by ask and tell.

    Each ask is to be answered by `tell` with a measurement or by `fail`.  The first configurations asked for are the
    `starts` and the default.  Then the graph of the space is walked from its root: a node of nominal parameters
    tries each of its arms once, with everything beyond at its defaults, and then mostly the best; so every version is
    seen before any is looked at more closely.  At the end of each walk the numeric parameters are searched, with a
    state for each combination of nominal values.  A configuration that looks better than the best, or as good
    within the noise, is asked for again until it has `repeats` measurements: only then is it believed.  Where
    measurements are noisy, it takes the place of the best only by winning a `Race` against it, and before the search
    has converged all that may be the best race once more, the default among them.  Not thread-safe.

    Once `converged`, asking goes on with random configurations that have not been measured, and searches around any
    that turns out to be better; when nothing is left, with the best one.

    Args:
        space: what to search.
        rng: where random choices come from; the search is a function of it and of what is told.
        reject: rules that save measurements; a rejected configuration is never asked for.
        refused: by parameter, values that are never asked for, with the reason; arms with them do not exist.
        order: a prior on the structural combinations, each given with what is beyond at its defaults; without one,
            those that differ least from the default come first.  The default itself is always first.
        starts: configurations known to be good, the best first: they are measured first, and searched from.
        searchers: the search methods, each a name, a name with settings as in ``"genetic:population=30"``, a `Method`
            or a subclass of `FiniteSearcher`: under ``"nominal"`` for all nodes of nominal parameters, under
            ``"numeric"`` for all others, or under the name of a parameter for the node that it is in.  All of
            `polytune.tuner.searchers.SEARCHES` can search any node; without a name it is ``"epsilon_greedy"`` for
            nominal and ``"nelder_mead"`` for numeric ones.  A method alone is that of all nodes, but for these two,
            each of which alone is that of its own nodes.
        repeats: how many measurements make a configuration believed.
        promise: arms of the root that are slower than `promise` times the best are not searched; further down the
            factor is smaller, its square root at the second level and so on, as ever finer choices matter less.
        memory: how many numeric searches are kept at once; beyond, the one not used for the longest time is dropped,
            and begun again from what has been measured if it is ever needed.
        may_be_exact: whether costs may be the same each time; if they are, one measurement makes a configuration
            believed.
        numeric: says, whenever a search of numeric parameters begins, which method it has where `searchers` names none.
        pruned: the part of the space that walks go through; the starts may be anywhere.

    Raises:
        SpaceError: `searchers` names something that the space does not have.
        SearchError: a search method is unknown, or needs performance counters.
    """

    def __init__(
        self,
        space: Space,
        *,
        rng: np.random.Generator,
        reject: Reject | None = None,
        refused: Mapping[str, Mapping[Value, str]] | None = None,
        order: Order | None = None,
        starts: Sequence[Configuration] = (),
        searchers: Search | None = None,
        repeats: int = 3,
        promise: float = 2.0,
        memory: int = 1024,
        numeric: Callable[[], str] = lambda: SIMPLEX,
        may_be_exact: bool = False,
        pruned: PrunedSpace | None = None,
    ):
        self.space = space
        self._rng = rng
        self._feasibility = Feasibility(space, refused or {}, reject)
        self._repeats = repeats
        not_walked = self.refused if pruned is None else self._feasibility.refused_with(pruned.left_out)
        fixed = () if pruned is None else pruned.fixed
        self._walk = Walk(space, rng, not_walked, order, starts, searchers, promise, memory, numeric, fixed)
        self._standings = Standings(repeats, space.default(), self._walk.first_arm, may_be_exact=may_be_exact)
        kept = () if pruned is None else pruned.candidates
        self._agenda = Agenda(space, rng, self._walk, self._standings, self._feasibility, starts, kept, repeats)
        self._pending: Proposal | None = None

    # ---- asking

    def ask(self) -> Configuration:
        """The configuration to measure next; the same one until it is settled by `tell` or `fail`.

        Raises:
            SpaceError: no configuration is feasible.
        """
        for _ in range(_FREE_PROPOSALS):
            if self._pending is None and not self.is_racing:
                self._pending = self._agenda.next()
            if self._standings.race is not None:
                return self._standings.race.ask()
            if self._pending is None:
                break
            if self._pending.again or not self._is_settled(self._pending.configuration):
                return self._pending.configuration
            self._conclude(self._pending)
        if self._standings.best is None:
            raise SpaceError(self._feasibility.why_nothing_is_left())
        return self._standings.best

    def _is_settled(self, configuration: Configuration) -> bool:
        """Return whether enough is known of the configuration: that it is infeasible, that it is slow, or what it
        costs."""
        if configuration not in self.measurements or configuration in self._feasibility.infeasible:
            return self._feasibility.rules_out(configuration)
        return self._standings.is_settled(configuration)

    # ---- telling

    def tell(self, configuration: Mapping[str, Value], seconds: float) -> None:
        """Take in one measurement of a configuration, asked for or not.

        Raises:
            MeasurementError: the cost is not a finite number from zero up, or the configuration is not of the space.
        """
        if not is_measurement(seconds):
            raise MeasurementError(
                f"{seconds!r} is no measurement of {configuration!r}: it must be a finite number of seconds, not "
                "negative; call fail() for a configuration that did not run"
            )
        configuration = as_configuration(configuration)
        if self._standings.tell_race(configuration, float(seconds)):
            self._end_race()
            return
        pending = self._pending
        is_pending = pending is not None and pending.configuration == configuration
        if not is_pending:
            self._see_to_membership(configuration, "was measured")
        self._standings.tell(configuration, float(seconds))
        if pending is not None and is_pending and (pending.again or self._is_settled(configuration)):
            self._conclude(pending)

    def learn(self, configuration: Mapping[str, Value], seconds: float | None, reason: str = "") -> None:
        """Take in what is known of a configuration, asked for or not, and have the searches know it as well.

        Args:
            configuration: a member of the space.
            seconds: its cost; None where it cannot be run.
            reason: why it cannot.

        Raises:
            MeasurementError: as for `tell`.
        """
        configuration = as_configuration(configuration)
        is_pending = self._pending is not None and self._pending.configuration == configuration
        if seconds is None:
            self.fail(configuration, reason)
        else:
            self.tell(configuration, seconds)
        if not is_pending:
            self._walk.take_in(configuration, math.inf if seconds is None else float(seconds))

    def _see_to_membership(self, configuration: Configuration, what: str) -> None:
        if configuration in self.measurements or configuration in self._feasibility.infeasible:
            return
        try:
            self.space.validate(configuration)
        except SpaceError as error:
            raise MeasurementError(
                f"{configuration!r} {what}, but it is not a configuration of the space: {error}"
            ) from None

    def _end_race(self) -> None:
        """Tell the searchers what a race has shown that is over."""
        for contender, samples in self._standings.end_race().items():
            self._walk.learn(contender, samples.estimate)

    def fail(self, configuration: Mapping[str, Value], reason: str) -> None:
        """Take note that a configuration cannot be run: it is never asked for again.

        Args:
            configuration: what was tried.
            reason: why it failed, for people.

        Raises:
            MeasurementError: the configuration is not of the space.
        """
        configuration = as_configuration(configuration)
        if self._pending is None or self._pending.configuration != configuration:
            self._see_to_membership(configuration, "failed")
        self._feasibility.fail(configuration, reason)
        self._standings.drop(configuration)
        self._end_race()
        if self._pending is not None and self._pending.configuration == configuration:
            self._conclude(self._pending)

    def remember(self, configuration: Configuration, seconds: float, count: int) -> None:
        """Take in a cost known from earlier, the median of `count` measurements; it will not be measured without need.

        Args:
            configuration: a member of the space.
            seconds: its cost.
            count: how many measurements the cost is the median of; it counts as that many, but as no more than a
                decision needs.

        Raises:
            MeasurementError: as for `tell`.
        """
        for _ in range(min(max(count, 1), self._repeats)):
            self.tell(configuration, seconds)

    def _conclude(self, proposal: Proposal) -> None:
        """Tell the searchers what is now known of a proposal."""
        self._pending = None
        configuration = proposal.configuration
        samples = self.measurements.get(configuration)
        cost = math.inf if samples is None or configuration in self._feasibility.infeasible else samples.estimate
        if proposal.path is not None:
            self._walk.tell(proposal.path, proposal.point, cost, failed=configuration in self.failures)
        elif configuration == self._standings.best:
            self._walk.search_around(configuration, cost)
        elif cost < math.inf:
            self._walk.learn(configuration, cost)

    def postpone(self) -> bool:
        """Set aside what was asked for last, and everything else of its first arm, until `resume`.

        Returns:
            False, with nothing set aside, where something is known of that arm already.
        """
        pending = self._pending
        if pending is None or self.is_racing or not self._agenda.postpone(pending.configuration):
            return False
        self._pending = None
        return True

    def confirm_again(self) -> None:
        """Have all that may be the best race once more, though the search has converged."""
        self._standings.reopen()

    def resume(self, configuration: Configuration) -> None:
        """Ask next for something that was set aside."""
        self._agenda.resume(configuration)

    # ---- what is known

    @property
    def best(self) -> tuple[Configuration, float] | None:
        """The best configuration that is believed, with its estimated cost; None before the first measurement."""
        best = self._standings.best
        return None if best is None else (best, self._standings.samples[best].estimate)

    @property
    def converged(self) -> bool:
        """Return whether every arm worth trying has been tried and every promising one searched to its end."""
        return (
            self._walk.converged
            and self._agenda.is_done
            and not self._standings.is_in_doubt
            and not self.is_racing
            and (self._pending is None or (self._pending.path is None and not self._pending.again))
            and not self._standings.needs_race
        )

    @property
    def is_asking(self) -> bool:
        """Return whether a proposal waits for its measurement."""
        return self._pending is not None or self.is_racing

    @property
    def is_racing(self) -> bool:
        """Return whether contenders are measured in turns, the best among them."""
        return self._standings.race is not None

    @property
    def is_defending(self) -> bool:
        """Return whether the best has become slower than the default was, and the two of them race."""
        return self.is_racing and self._standings.is_defence

    @property
    def is_in_round(self) -> bool:
        """Return whether a round of a race has begun, which a break would make worthless."""
        race = self._standings.race
        return race is not None and not race.is_between_rounds

    @property
    def turns(self) -> Sequence[Configuration]:
        """Return what is run in a round of the race, call by call; nothing without a race."""
        race = self._standings.race
        return () if race is None else race.turns

    def interrupt(self) -> None:
        """Take note that what was asked for is not run, or not undisturbed: a round of a race that has begun is made
        again."""
        if self._standings.race is not None:
            self._standings.race.interrupt()

    @property
    def postponed(self) -> Sequence[Configuration]:
        """Return what has been set aside, the first of each arm."""
        return self._agenda.postponed

    @property
    def measurements(self) -> Mapping[Configuration, Samples]:
        """Every feasible configuration measured so far."""
        return self._standings.samples

    @property
    def failures(self) -> Mapping[Configuration, str]:
        """Every configuration that failed, with the reason."""
        return self._feasibility.failures

    def experiments(self) -> list[tuple[Configuration, Sequence[DesignStep]]]:
        """The steps of designed experiments (``"dlmt"``) since this search was made or restored, with their analyses of
        variance, and the nominal values that each was about."""
        return self._walk.experiments()

    @property
    def refused(self) -> Mapping[str, Mapping[Value, str]]:
        """The values of each parameter that are never asked for, with the reason."""
        return self._feasibility.refused

    def state(self) -> dict[str, Any]:
        """The whole search as JSON keeps it; `restore` on a tuner over the same space continues exactly from there."""
        pending = self._pending
        return {
            "space": self.space.fingerprint,
            "searchers": self._walk.methods.state(),
            "walk": self._walk.state(),
            **self._agenda.state(),
            "standings": self._standings.state(),
            **self._feasibility.state(),
            "pending": pending
            and [dict(pending.configuration), pending.path and pending.path.is_new, pending.point, pending.again],
            "rng": generator_to_json(self._rng),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state that `state` returned, of a tuner over the same space with the same settings.

        Raises:
            ValueError: the state is of another space or of other search methods, or other values were refused then, so
                that the searches had other arms.
        """
        if state.get("space") != self.space.fingerprint:
            raise SpaceError("the state is not one of a search of this space")
        if state.get("searchers", {}) != self._walk.methods.state():
            raise SpaceError("the state is one of other search methods")
        self._feasibility.restore(state)
        self._walk.restore(state["walk"])
        self._agenda.restore(state)
        self._standings.restore(state["standings"])
        self._pending = None
        if state["pending"] is not None:
            values, is_new, point, again = state["pending"]
            if is_new is not None and not isinstance(is_new, bool):
                raise ValueError("the state has a proposal of which nobody can tell where it is from")
            configuration = Configuration(values)
            path = None if is_new is None else self._walk.path_to(configuration)
            path = path and replace(path, is_new=bool(is_new))
            self._pending = Proposal(configuration, path, None if point is None else restored_point(point), again)
        self._rng.bit_generator.state = state["rng"]
        self._see_to_soundness()

    def _see_to_soundness(self) -> None:
        """See to it that a state that was restored, which may come from anywhere, can be gone on with.

        Raises:
            ValueError: it cannot.
        """
        named = (*self._standings.named(), *self._feasibility.infeasible, *self._agenda.named())
        if not all(map(self.space.contains, named)):
            raise ValueError("the state names configurations that the space does not have")
        self._standings.see_to_soundness()
        if self._pending is not None:
            self.ask()  # what is pending is asked for again anyway
