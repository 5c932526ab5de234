"""The steps that searches need on full and on pruned spaces, by running them (section 4.3)."""

from __future__ import annotations

import math
import statistics
import zlib

import numpy as np

from polytune.lab.historical.portions import THRESHOLD, steps_to_find, well_performing
from polytune.lab.historical.pruning import Pruning, kept_rows, pruned
from polytune.lab.recording import RecordedSpace
from polytune.lab.searchers import SEARCHES
from polytune.records import dataclass

__all__ = ["Convergence", "convergence"]

_PLANNED = 0.9
"""The probability with which a random search of the full space comes to its end in the steps that searches plan for."""


@dataclass(frozen=True)
class Convergence:
    """The steps of a search until a configuration performs well, beside the best of the full space.

    Attributes:
        search: its name.
        full, pruned: (repeats,) the steps on the full and on the pruned space; infinite where nothing there performs
            well.
    """

    search: str
    full: tuple[float, ...]
    pruned: tuple[float, ...]

    @property
    def full_mean(self) -> float:
        """Return the mean number of steps on the full space."""
        return statistics.fmean(self.full)

    @property
    def pruned_mean(self) -> float:
        """Return the mean number of steps on the pruned space."""
        return statistics.fmean(self.pruned)

    @property
    def gain(self) -> float:
        """Return how many times as many steps the full space takes; 0 where the pruned one does not get there."""
        return 0.0 if math.isinf(self.pruned_mean) else self.full_mean / self.pruned_mean


def convergence(
    recorded: RecordedSpace,
    pruning: Pruning,
    search: str = "random",
    repeats: int = 200,
    *,
    threshold: float = THRESHOLD,
    seed: int = 0,
) -> Convergence:
    """Run a search on a space and on what a pruning leaves of it, until a configuration performs well.

    Args:
        recorded: the space.
        pruning: what is not searched, chosen elsewhere.
        search: its name, one of `polytune.lab.searchers.SEARCHES`, with settings or without.
        repeats: how many runs there are on each.
        threshold: from when on a configuration performs well, beside the best of the full space.
        seed: what all random choices come from.

    Raises:
        SearchError: there is no such search.
    """
    good = well_performing(recorded, threshold)
    planned = min(steps_to_find(float(good.mean()), _PLANNED), len(recorded))
    kept = kept_rows(recorded, pruning)
    full = _steps(recorded, good, search, repeats, planned, seed)
    if not (kept & good).any():
        return Convergence(search, full, (math.inf,) * repeats)
    left = _steps(pruned(recorded, pruning), good[kept], search, repeats, planned, seed)
    return Convergence(search, full, left)


def _steps(
    recorded: RecordedSpace, good: np.ndarray, name: str, repeats: int, planned: int, seed: int
) -> tuple[float, ...]:
    found = []
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), repeat])
        search = SEARCHES.make(name, recorded.space, rng, budget=min(planned, len(recorded)))
        steps = 0
        while True:
            row = search.ask()
            steps += 1
            if good[row]:
                break
            search.tell(row, recorded.cost(row))
        found.append(float(steps))
    return tuple(found)
