"""When tuning has paid for itself.

Tuning costs the time of the configurations it evaluates; then every call takes the time of the best one found, where
without tuning it would take that of a typical configuration.  On a recorded space a typical one is the median: what
somebody has who does not tune.  A call for which a configuration fails is served by the typical one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from polytune.lab.run import Run


def time_per_call(runs: Iterable[Run], untuned: float, calls: np.ndarray) -> np.ndarray:
    """The mean time of a call, tuning included, after so many calls, divided by that without tuning.

    The first calls are the evaluations themselves, as in online tuning.

    Args:
        runs: the repeats of a search; at least one.
        untuned: the slowdown of the configuration that would be used without tuning.
        calls: (n,) ascending numbers of calls, each at least 1.

    Returns:
        (n,) the mean over the runs; below 1 where tuning has paid.  Runs that found nothing that runs are left out;
        NaN if all of them are.
    """
    each = []
    for run in runs:
        if not math.isfinite(run.slowdown):
            continue
        spent = np.concatenate([[0.0], np.cumsum(_costs(run, untuned))])
        tuning = np.minimum(calls, run.evaluations)
        each.append((spent[tuning] + (calls - tuning) * run.slowdown) / (calls * untuned))
    return np.mean(each, axis=0) if each else np.full(len(calls), math.nan)


def calls_to_pay(run: Run, untuned: float) -> float:
    """From which call on the total time, tuning included, stays below that without tuning; infinite if never.

    Args:
        run: what was evaluated, one evaluation a call.
        untuned: the slowdown of the configuration that would be used without tuning.
    """
    if not run.slowdown < untuned:
        return math.inf
    saved = np.cumsum(untuned - _costs(run, untuned))
    if saved[-1] <= 0:
        return run.evaluations + math.floor(-saved[-1] / (untuned - run.slowdown)) + 1
    behind = np.flatnonzero(saved <= 0)
    return int(behind[-1]) + 2 if behind.size else 1


def _costs(run: Run, untuned: float) -> np.ndarray:
    """What the call of each evaluation takes."""
    return np.array([slowdown if math.isfinite(slowdown) else untuned for slowdown in run.slowdowns])
