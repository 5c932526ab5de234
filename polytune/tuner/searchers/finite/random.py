"""Random search: what every other method has to beat."""

from __future__ import annotations

from polytune.tuner.searchers.finite_searcher import FiniteSearcher


class RandomSampling(FiniteSearcher):
    """Rows drawn uniformly at random, without replacement."""

    def _propose(self) -> int | None:
        return self._fresh_row()
