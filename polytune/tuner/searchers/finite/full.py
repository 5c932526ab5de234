"""Exhaustive search."""

from __future__ import annotations

from typing import Any

from polytune.tuner.searchers.finite_searcher import FiniteSearcher


class Full(FiniteSearcher):
    """Every row, in lexicographic order."""

    _next = 0

    def _propose(self) -> int | None:
        while self._next in self._costs:  # told without having been asked for
            self._next += 1
        return self._next

    def _learn(self, index: int, cost: float) -> None:
        self._next = index + 1

    def _rule_state(self) -> dict[str, Any]:
        return {"next": self._next}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._next = state["next"]
