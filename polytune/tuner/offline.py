"""Tuning a callable in one go."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polytune.errors import SpaceError
from polytune.tuner.configuration import Configuration
from polytune.tuner.hierarchical import HierarchicalTuner, Order, Reject
from polytune.tuner.space import Space


@dataclass(frozen=True)
class Trial:
    """One evaluation: the configuration, and its cost or why it failed."""

    configuration: Configuration
    cost: float | None
    reason: str = ""


@dataclass(frozen=True)
class Result:
    """What tuning found.

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
    budget: int = 100,
    seed: int = 0,
    reject: Reject | None = None,
    order: Order | None = None,
    starts: Sequence[Configuration] = (),
    searchers: Mapping[str, str] | None = None,
    repeats: int = 3,
    stop_when_converged: bool = True,
) -> Result:
    """Find the configuration under which a function costs least.

    Args:
        function: called with a configuration.  It returns the cost, not negative, or None: then its run time is the
            cost.  An exception makes the configuration infeasible; Ctrl-C ends the tuning and keeps what was found.
        space: the configurations.
        budget: how many calls to make at most.
        seed: makes the search reproducible.
        reject, order, starts, searchers, repeats: as for `HierarchicalTuner`.
        stop_when_converged: whether to leave the rest of the budget when the search has come to its end; otherwise
            the rest goes to configurations not measured yet.

    Raises:
        SpaceError: no configuration could be run.

    >>> from polytune.tuner import Integer, Space, tune
    >>> space = Space([Integer("tile", 1, 1024, powers_of_two=True)])
    >>> result = tune(lambda configuration: abs(configuration["tile"] - 100.0), space)
    >>> result.best, result.cost
    (Configuration(tile=128), 28.0)
    """
    search = HierarchicalTuner(
        space,
        rng=np.random.default_rng(seed),
        reject=reject,
        order=order,
        starts=starts,
        searchers=searchers,
        repeats=repeats,
    )
    trials: list[Trial] = []
    interrupted = False
    try:
        while len(trials) < budget:
            configuration = search.ask()
            if search.converged and stop_when_converged:
                break
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
            else f"the budget is {budget} calls"
        )
        raise SpaceError(f"nothing could be tuned: {why}")
    best, cost = search.best
    return Result(best, cost, tuple(trials), search.converged, interrupted)


def _evaluate(function: Callable[[Configuration], float | None], configuration: Configuration) -> Trial:
    started = time.perf_counter()
    try:
        cost = function(configuration)
    except Exception as error:
        return Trial(configuration, None, f"{type(error).__name__}: {error}")
    return Trial(configuration, time.perf_counter() - started if cost is None else float(cost))
