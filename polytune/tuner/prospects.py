"""The cost that a trial may have, as far as that can be told before it is made, and whether the budget bears it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

from polytune.tuner.budget import Budget, seconds_text
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner
from polytune.tuner.ledger import TRIALS_REMEMBERED, Ledger
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.parameters import Nominal
from polytune.tuner.spaces.space import Space

__all__ = ["Kind", "Prospects", "expected_improvement"]

Kind = tuple[Value | None, ...]
"""The values that a configuration shares with all those that need no other code."""

_LONGER_COMPILATION = 2.0  # times the longest so far
_SHORTEST_COMPILATION = 0.5  # seconds; what has been shorter so far was loaded rather than compiled
_LOADING = 0.05  # seconds, of machine code that is there
_FEWEST_CALLS = 300  # that are expected to come, of a program that has made fewer
_DISTURBANCE = 0.5  # of a compilation beside the program: by how much longer its calls are meanwhile
_CALLS_BETWEEN_QUESTIONS = 32
_FIRST_LOSS = 2.0  # calls, of other numbers, while few have been tried: half the threads, a row for a tile
_NEAR = 3.0  # times the first choice
_DOUBT = 0.4  # standard deviation of the logarithm of how many times longer than predicted something takes
_DOUBT_OF_SCALE = 0.3  # of the logarithm by which the best one takes longer or shorter than predicted, beside that
_LEAST_IMPROVEMENT = 0.001  # so that in the end, everything is tried
_ROUND_DOUBT = 1.5  # times what a round of a race loses as far as is known


class Prospects:
    """Expects what a trial may lose.

    Args:
        space: what is tuned.
        risk, preparation, compilation, prediction: as for `OnlineTuner`.

    Attributes:
        run: the kinds that have been run in this process: they need no compiler any more.
        measured: the kinds of which something is known.
    """

    def __init__(
        self,
        space: Space,
        risk: Callable[[Configuration], float] | None,
        preparation: Callable[[Configuration], float | None] | None,
        compilation: Callable[[Configuration], float] | None,
        prediction: Callable[[Configuration], float | None] | None = None,
    ):
        self._nominal = [parameter.name for parameter in space.parameters if isinstance(parameter, Nominal)]
        self._risk = risk
        self._preparation = preparation
        self._compilation = compilation
        self._prediction = prediction
        self._asked: tuple[Configuration | None, int, float | None] = None, 0, None
        self.run: set[Kind] = set()
        self.measured: set[Kind] = set()

    def kind(self, configuration: Configuration) -> Kind:
        """Return what a configuration shares with all those that need no other code."""
        return tuple(configuration.get(name) for name in self._nominal)

    def is_near(self, configuration: Configuration) -> bool:
        """Return whether a configuration is not expected to take far longer than the first choice."""
        return self._risk is None or self._risk(configuration) <= _NEAR

    def needs_compiler(self, configuration: Configuration, ledger: Ledger) -> bool:
        """Return whether a configuration has to be compiled before it can be run, or may have to be."""
        compiles = self.preparation(configuration, ledger)[1]
        if self._compilation is None or self._preparation is not None:
            return compiles
        return self.kind(configuration) not in self.run

    def preparation(self, configuration: Configuration, ledger: Ledger) -> tuple[float, bool]:
        """Return how many seconds it may take until a configuration can be run, and whether it has to be compiled for
        that."""
        if self.kind(configuration) in self.run:
            return 0.0, False
        longest = ledger.longest_compile_seconds
        if self._preparation is not None:
            known = self._known_preparation(configuration, ledger)
            if known is not None:
                return known, False
            longest = max(longest, _SHORTEST_COMPILATION)
        return longest, longest > 0

    def _known_preparation(self, configuration: Configuration, ledger: Ledger) -> float | None:
        """Return what `preparation` says of a configuration, asked now and then: it may look at files."""
        assert self._preparation is not None
        asked, calls, known = self._asked
        if asked != configuration or ledger.calls >= calls + _CALLS_BETWEEN_QUESTIONS:
            known = self._preparation(configuration)
            self._asked = configuration, ledger.calls, known
        return known

    def disturbance(self, configuration: Configuration, ledger: Ledger) -> float:
        """Return by how many seconds all calls may be longer while a configuration is compiled beside them."""
        if self._compilation is None:
            return _DISTURBANCE * self.preparation(configuration, ledger)[0]
        return _DISTURBANCE * self._compilation(configuration)

    def promise(
        self, configuration: Configuration, best: tuple[Configuration, float], ledger: Ledger
    ) -> tuple[bool, float]:
        """Return whether a configuration that has to be compiled is expected to pay, and how much it promises: of the
        greatest of these, the compiler's time is spent first.

        As many calls are expected to come as there have been.  If what they save is more than what the compiler costs
        beside them, it promises what is left of that, in seconds; otherwise what they save of each second that it
        costs, so that what saves nothing comes last, however quick it is to compile.  What nothing is predicted of is
        taken to be as fast as the best.

        Args:
            configuration: what may be tried.
            best: the best one known, with its run time in seconds.
            ledger: the calls so far.
        """
        expected = self._expected(configuration, best)
        saved = max(_FEWEST_CALLS, ledger.calls) * best[1] * (1 - expected)
        cost = self.disturbance(configuration, ledger)
        if saved > cost:
            return True, saved - cost
        if saved > 0:
            return False, saved / cost
        return False, saved - cost

    def objection_to_compiling(
        self, configuration: Configuration, best: tuple[Configuration, float], ledger: Ledger
    ) -> str | None:
        """Return why a configuration is not worth a compiler beside the program yet, for people; None where it is: it
        may save more in as many calls as are expected than compiling makes calls longer.

        What it may save is the expected improvement on the best one: the prediction is wrong by a factor whose
        logarithm is normally distributed, so that what is expected to be as fast may save an eighth, and what is
        expected to be slower something too.  Where the best one takes many times longer than predicted, or a small part
        of it, as where few elements fulfil a condition, less is known of the others too.

        Args:
            configuration: what may be tried.
            best: the best one known, with its run time in seconds.
            ledger: the calls so far.
        """
        improvement = expected_improvement(self._expected(configuration, best), self._doubt(best))
        improvement = max(improvement, _LEAST_IMPROVEMENT)
        cost, calls = self.disturbance(configuration, ledger), max(_FEWEST_CALLS, ledger.calls)
        if calls * best[1] * improvement >= cost:
            return None
        return (
            f"to compile what is tried next may make calls {seconds_text(cost)} longer, and it may save that in "
            f"{math.ceil(cost / (best[1] * improvement))} calls, of which there have been {ledger.calls}"
        )

    def _expected(self, configuration: Configuration, best: tuple[Configuration, float]) -> float:
        """Return how many times longer than the best one a configuration is expected to take; 1 where nothing is
        predicted of it."""
        if self._prediction is not None:
            own, known = self._prediction(configuration), self._prediction(best[0])
            if own is not None and known:
                return own / known
        return 1.0

    def _doubt(self, best: tuple[Configuration, float]) -> float:
        """Return the standard deviation of the logarithm of how many times longer than predicted something takes, by
        how the best one does."""
        known = None if self._prediction is None else self._prediction(best[0])
        if not known or best[1] <= 0:
            return _DOUBT
        return math.hypot(_DOUBT, _DOUBT_OF_SCALE * math.log(best[1] / known))

    def loss(
        self,
        configuration: Configuration,
        search: HierarchicalTuner,
        ledger: Ledger,
        budget: Budget,
        *,
        is_beside: bool = False,
        awaited: Configuration | None = None,
    ) -> float:
        """Return how many seconds it may lose to try what the search has proposed; 0 where the budget does not ask.

        Args:
            configuration: the proposal.
            search, ledger, budget: what is known, and what it may cost.
            is_beside: whether it would be compiled beside the program.
            awaited: what is being compiled already.
        """
        if not budget.reserves or search.best is None:
            return 0.0
        measured, best = search.measurements, search.best[1]
        if search.is_racing:  # a round is made as a whole
            return _ROUND_DOUBT * sum(max(0.0, measured[each].estimate - best) for each in search.turns)
        kind = self.kind(configuration)
        if configuration in measured:
            loss = max(0.0, measured[configuration].estimate - best)
        elif kind in self.measured:
            loss = _worst(ledger.losses, _FIRST_LOSS * best)
        else:
            risk = 0.0 if self._risk is None else self._risk(configuration) - 1
            loss = max(_worst(ledger.first_losses, best), risk * best)
        preparation, compiles = self.preparation(configuration, ledger)
        if not compiles:
            return loss + preparation
        if not is_beside:
            return loss + _LONGER_COMPILATION * preparation
        begun = awaited is not None and self.kind(awaited) == kind
        # What has been begun already has disturbed the calls since, and that is on the account.
        disturbing = 0.0 if begun else _LONGER_COMPILATION * _DISTURBANCE * preparation
        return loss + disturbing + min(preparation, _LOADING)

    def is_too_dear(
        self, configuration: Configuration, search: HierarchicalTuner, ledger: Ledger, budget: Budget
    ) -> bool:
        """Return whether a configuration is left for later: the budget would not bear it if it were as slow as it may
        be.

        Args:
            configuration: what the search has proposed.
            search: what was measured so far.
            ledger: what tuning has cost so far.
            budget: what it may cost.
        """
        best = search.best
        if best is None or configuration == best[0]:
            return False
        if budget.seconds is not None:  # what is left of it will not become more: something cheaper may be tried
            return budget.objection(ledger, self.loss(configuration, search, ledger, budget)) is not None
        if self._risk is None:
            return False
        loss = (self._risk(configuration) - 1) * best[1]
        if budget.reserves and loss > max(ledger.first_losses, default=best[1]):
            return budget.objection(ledger, loss) is not None
        return not budget.bears(loss, ledger)

    @staticmethod
    def objection(
        search: HierarchicalTuner, ledger: Ledger, budget: Budget, expected: float = 0.0, wait: float = 0.0
    ) -> str | None:
        """Return why something other than the best may not be tried now; None where it may.

        Args:
            search, ledger, budget: what is known, and what it may cost.
            expected: the seconds that it may lose.
            wait: the seconds for which a call may wait before it is run.
        """
        if search.is_defending or search.is_in_round:
            # By all that is known the default takes no longer than what is run; and what has begun is paid for.
            return None
        if search.is_racing:  # of what it has been tried for already, by near equals
            best = search.best
            trials = sum(each != best[0] for each in search.turns) if best is not None else 0
            return budget.objection(ledger, expected, trials, wait)
        objection = budget.objection(ledger, expected, wait=wait)
        if objection is None and ledger.trials >= budget.trials and not ledger.amortisation.allows(ledger.calls):
            return "the last trials have cost more than what they found can save on as many calls as there have been"
        return objection


def expected_improvement(expected: float, doubt: float = _DOUBT) -> float:
    """Return what share of the best one's time a configuration is expected to save, of which a model says how many
    times longer it takes; what turns out to take longer saves nothing.

    Args:
        expected: so many times.
        doubt: the standard deviation of the logarithm of the factor by which it is wrong.
    """
    if expected <= 0:
        return 1.0
    # Of a factor with the median `expected`: the mean of max(0, 1 - factor).
    distance = -math.log(expected) / doubt
    part = NormalDist().cdf(distance)
    return part - expected * math.exp(doubt**2 / 2) * NormalDist().cdf(distance - doubt)


def _worst(losses: Sequence[float], least: float) -> float:
    """Return what a trial may lose, by what the last ones have; while there are few, no less than `least`."""
    return max(losses) if len(losses) >= TRIALS_REMEMBERED else max([*losses, least])
