"""Tuning a callable in one go."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from polytune.errors import SpaceError
from polytune.records import dataclass
from polytune.tuner.budget import Budget
from polytune.tuner.hierarchy.hierarchical import HierarchicalTuner, Order, Reject
from polytune.tuner.hierarchy.methods import Search
from polytune.tuner.searcher import is_measurement
from polytune.tuner.spaces.condition import plain_value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.space import Space


@dataclass(frozen=True)
class Trial:
    """One evaluation: the configuration, and its cost or why it failed."""

    configuration: Configuration
    cost: float | None
    reason: str = ""


@dataclass(frozen=True)
class Result:
    """The result of tuning.

    Attributes:
        best: the best configuration.
        cost: its estimated cost: seconds, unless the function returned costs of its own.
        trials: every evaluation, in order.
        converged: whether the search came to its end within the budget.
        interrupted: whether it was stopped by Ctrl-C.
    """

    best: Configuration
    cost: float
    trials: tuple[Trial, ...]
    converged: bool
    interrupted: bool


def tune(
    function: Callable[[Configuration], float | None],
    space: Space,
    *,
    budget: int | str = 100,
    seed: int = 0,
    reject: Reject | None = None,
    order: Order | None = None,
    starts: Sequence[Configuration] = (),
    searchers: Search | None = None,
    repeats: int = 3,
    stop_when_converged: bool = False,
) -> Result:
    """Find the configuration under which a function costs least.

    Args:
        function: called with a configuration.  It returns the cost, not negative, or None: then its run time is the
            cost.  An exception makes the configuration infeasible, and so does a cost that is infinite, NaN, negative
            or no number; Ctrl-C ends the tuning and keeps what was found.
        space: the configurations.
        budget: how many calls to make at most; or a time such as ``"30 s"`` or ``"5 min"``, after which none begins.
        seed: makes the search reproducible.
        reject, order, starts, searchers, repeats: as for `HierarchicalTuner`; numeric parameters are searched by
            ``"portfolio"`` where `searchers` says nothing else.
        stop_when_converged: whether to leave the rest of the budget when the search has come to its end; otherwise
            the rest goes to configurations not measured yet, while there are any.

    Raises:
        SpaceError: no configuration could be run, the budget is neither a number of calls nor a time, or the function
            and the space have changed places.

    >>> from polytune.tuner import Integer, Space, tune
    >>> space = Space([Integer("tile", 1, 1024, powers_of_two=True)])
    >>> result = tune(lambda configuration: abs(configuration["tile"] - 100.0), space)
    >>> result.best, result.cost
    (Configuration(tile=128), 28.0)
    """
    if not isinstance(space, Space) or not callable(function):
        raise SpaceError(f"tune takes a function and the space of its configurations, not {function!r} and {space!r}")
    search = HierarchicalTuner(
        space,
        rng=np.random.default_rng(seed),
        reject=reject,
        order=order,
        starts=starts,
        searchers=searchers,
        repeats=repeats,
        numeric=lambda: "portfolio",
        may_be_exact=True,
    )
    calls, seconds = _limits(budget)
    end = time.perf_counter() + seconds
    trials: list[Trial] = []
    interrupted = False
    try:
        while len(trials) < calls and time.perf_counter() < end:
            configuration = search.ask()
            if search.converged and search.best is not None and (stop_when_converged or not search.is_asking):
                break  # where nothing has run yet, what is left may
            trials.append(_evaluate(function, configuration))
            if trials[-1].cost is None:
                search.fail(configuration, trials[-1].reason)
            else:
                search.tell(configuration, trials[-1].cost)
    except KeyboardInterrupt:
        interrupted = True
        if search.best is None:
            raise
    if search.best is None:
        failed = next((trial for trial in trials if trial.cost is None), None)
        why = (
            f"all {len(trials)} calls failed, the first with {failed.reason}"
            if failed
            else f"the budget is {budget}{' calls' if isinstance(budget, int) else ''}"
        )
        raise SpaceError(f"nothing could be tuned: {why}")
    best, cost = search.best
    return Result(best, cost, tuple(trials), search.converged, interrupted)


def _evaluate(function: Callable[[Configuration], float | None], configuration: Configuration) -> Trial:
    started = time.perf_counter()
    try:
        cost = plain_value(function(configuration))
    except Exception as error:
        return Trial(configuration, None, f"{type(error).__name__}: {error}")
    if cost is None:
        return Trial(configuration, time.perf_counter() - started)
    if not is_measurement(cost):
        return Trial(configuration, None, f"the cost {cost!r}, which is not a finite number from zero up")
    return Trial(configuration, float(cost))


def _limits(budget: int | str) -> tuple[float, float]:
    """The calls and the seconds that there are at most.

    Raises:
        SpaceError: the budget is something else.
    """
    limits = Budget.of(budget) if budget is not None else None
    if limits is not None and limits.seconds is not None:
        return math.inf, limits.seconds
    if limits is not None and limits.limit is not None:
        return limits.limit, math.inf
    raise SpaceError(f'{budget!r} is no budget of calls made for tuning alone: write a number of calls, or "30 s"')
