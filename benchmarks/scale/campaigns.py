"""Replay campaigns on recorded spaces, with simulated workers whose times come from the recordings.

    python -m benchmarks.scale.campaigns --workers 1 4 10 --seeds 3

For each number of workers: the time until a configuration within 5 % of the optimum is known, as a share of what one
worker needs, the trials that takes, and how far from the optimum the best is after as many trials as one worker makes.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import statistics
from collections.abc import Sequence

import numpy as np

from polytune.lab.application import Application
from polytune.lab.loading import EXAMPLE, examples, load
from polytune.lab.recording import RecordedSpace
from polytune.records import dataclass
from polytune.tuner import HierarchicalTuner
from polytune.tuner.concurrent import ConcurrentSearch

GOOD = 1.05
OVERHEAD = 0.2
"""Seconds of a trial beside its runs: the task, and what compiling takes where it is not recorded."""

RUNS = 6


@dataclass(frozen=True)
class Replay:
    """A campaign that was replayed.

    Attributes:
        seconds: when something within `GOOD` of the optimum was known; None where it never was.
        trials: how many trials had been told by then.
        quality: how many times the optimum the best takes at the end.
        elapsed: when the last trial had ended.
    """

    seconds: float | None
    trials: int
    quality: float
    elapsed: float


def replay(recorded: RecordedSpace, workers: int, trials: int, seed: int) -> Replay:
    """Run a campaign of simulated workers.

    Args:
        recorded: what configurations take.
        workers: how many measure at once.
        trials: how many trials there are.
        seed: what random choices come from.
    """
    rng = np.random.default_rng(seed)
    application = Application(recorded.space, int(rng.integers(len(recorded))))
    search = ConcurrentSearch(
        HierarchicalTuner(
            application.space,
            rng=rng,
            reject=application.reject,
            repeats=1,
            numeric=lambda: "portfolio",
            may_be_exact=True,
        )
    )
    optimum, now, order = recorded.cost(recorded.best), 0.0, itertools.count()
    running: list[tuple[float, int, int]] = []  # the end, what breaks ties, and the row
    begun = told = 0
    reached: tuple[float, int] | None = None
    while True:
        while len(running) < workers and begun < trials and (wanted := search.ask()) is not None:
            row = application.row(wanted)
            assert row is not None
            cost = recorded.cost(row)
            length = OVERHEAD + (RUNS * cost if np.isfinite(cost) else 0.0)
            heapq.heappush(running, (now + length, next(order), row))
            begun += 1
        if not running:
            break
        now, _, row = heapq.heappop(running)
        told += 1
        configuration, cost = application.configuration(row), recorded.cost(row)
        if np.isfinite(cost):
            search.tell(configuration, cost)
        else:
            search.fail(configuration, "it failed")
        if reached is None and search.best is not None and search.best[1] <= GOOD * optimum:
            reached = now, told
    best = search.best
    quality = float("inf") if best is None else best[1] / optimum
    return Replay(None if reached is None else reached[0], told if reached is None else reached[1], quality, now)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each recorded space and number of workers.

    Args:
        arguments: the command line; that of the process if None.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "spaces",
        nargs="*",
        default=[f"{EXAMPLE}{each}" for each in examples()],
        help="recorded spaces; those of polytune by default",
    )
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 4, 10])
    parser.add_argument("--trials", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(arguments)
    print(f"{'space':24} {'workers':>7} {'time':>7} {'trials':>7} {'reached':>8} {'quality':>8}")
    for name in options.spaces:
        recorded = load(name)
        alone: dict[int, float] = {}
        for workers in options.workers:
            found = [replay(recorded, workers, options.trials, seed) for seed in range(options.seeds)]
            seconds = {seed: each.seconds for seed, each in enumerate(found) if each.seconds is not None}
            if workers == 1:
                alone = seconds
            shares = [seconds[seed] / alone[seed] for seed in seconds if seed in alone]
            share = f"{statistics.geometric_mean(shares):.3f}" if shares else "-"
            trials = statistics.fmean(each.trials for each in found)
            quality = statistics.geometric_mean([each.quality for each in found])
            reached = f"{len(seconds)} of {options.seeds}"
            print(f"{name:24} {workers:7} {share:>7} {trials:7.1f} {reached:>8} {quality:8.3f}", flush=True)


if __name__ == "__main__":
    main()
