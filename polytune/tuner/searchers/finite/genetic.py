"""A genetic algorithm, with the rules of Kernel Tuner 0.2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.spaces.finite import FiniteSpace

_SELECTION = (1.0, 2.5)  # parameters of the beta distribution
_DRAWS = 100


class Genetic(FiniteSearcher):
    """Generations of rows, each bred from the better ones of the last (van Werkhoven, FGCS 2019, section 4).

    Parents are selected by rank, at a share of the sorted generation that is drawn from the distribution Beta(1, 2.5);
    two of them are cut at one point and give two children; each gene of a child is drawn anew with a probability.
    The children replace the whole generation.

    A child that is not valid is bred again; after 100 attempts the nearest valid row takes its place.

    Args:
        population: the rows of a generation.
        mutation: the probability with which a gene is drawn anew.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        population: int = 20,
        mutation: float = 0.1,
    ):
        super().__init__(space, rng, budget=budget)
        if population < 2 or not 0 <= mutation <= 1:
            raise SearchError(
                f"a genetic search needs population >= 2 and mutation from 0 to 1, not {population} and {mutation}"
            )
        self._mutation = mutation
        self._size = min(population, max(len(space), 2))
        self._generation = self._first_generation()
        self._told = 0  # how many of the generation, from its start, have been answered

    def _first_generation(self) -> list[int]:
        if self._size >= len(self.space):
            return [index % len(self.space) for index in range(self._size)]
        return [int(row) for row in self._rng.choice(len(self.space), self._size, replace=False)]

    def _propose(self) -> int | None:
        return self._generation[self._told]

    def _learn(self, index: int, cost: float) -> None:
        self._told += 1
        if self._told == len(self._generation):
            self._generation = self._breed()
            self._told = 0

    def _breed(self) -> list[int]:
        ranked = sorted(self._generation, key=lambda index: self.costs.get(index, math.inf))
        children: list[int] = []
        while len(children) < self._size:
            children.extend(self._children(ranked))
        return children[: self._size]

    def _children(self, ranked: list[int]) -> list[int]:
        """Two valid children of two parents."""
        rows = self.space.rows
        for _ in range(_DRAWS):
            one, other = (rows[ranked[place]] for place in self._two_places(len(ranked)))
            cut = int(self._rng.integers(len(one) + 1))
            pair = [np.concatenate([one[:cut], other[cut:]]), np.concatenate([other[:cut], one[cut:]])]
            mutated = [self._mutate(row) for row in pair]
            valid = [index for index in map(self.space.index_of, mutated) if index is not None]
            if valid:
                return valid
        return [self.space.nearest(row) for row in mutated]

    def _two_places(self, count: int) -> tuple[int, int]:
        """Two different places in a ranking of `count` rows, the first ones more often."""
        one, other = (int(share * count) for share in self._rng.beta(*_SELECTION, 2))
        while other == one:
            other = int(self._rng.beta(*_SELECTION) * count)
        return one, other

    def _mutate(self, row: np.ndarray) -> list[int]:
        mutated: list[int] = row.tolist()
        for column in np.flatnonzero(self._rng.random(len(mutated)) < self._mutation).tolist():
            mutated[column] = int(self._rng.integers(len(self.space.levels[column])))
        return mutated

    def _rule_state(self) -> dict[str, Any]:
        return {"generation": self._generation[:], "told": self._told}

    def _restore_rule(self, state: dict[str, Any]) -> None:
        self._generation, self._told = list(state["generation"]), state["told"]
