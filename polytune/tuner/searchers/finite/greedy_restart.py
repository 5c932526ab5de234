"""Hill climbing that begins again elsewhere where no neighbour is better."""

from __future__ import annotations

from polytune.tuner.searchers.finite.greedy import Greedy


class GreedyWithRestart(Greedy):
    """Climb after climb, each from a random row."""

    restarts = True
