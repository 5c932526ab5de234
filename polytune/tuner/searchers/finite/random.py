"""Random search: what every other method has to beat."""

from __future__ import annotations

from typing import Any

from polytune.tuner.searchers.finite_searcher import FiniteSearcher


class RandomSampling(FiniteSearcher):
    """Rows drawn uniformly at random, without replacement."""

    def _propose(self) -> int | None:
        return self._fresh_row()

    def _learn(self, index: int, cost: float) -> None:
        pass

    def _rule_state(self) -> dict[str, Any]:
        return {}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        pass
