"""Nelder-Mead simplex search, turned inside out: it asks for one point at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from polytune.errors import MeasurementError, SearchError
from polytune.tuner.searcher import cost_from_json, cost_to_json, is_number

Coordinates = tuple[float, ...]

_REFLECTION, _EXPANSION, _CONTRACTION, _SHRINKAGE = 1.0, 2.0, 0.5, 0.5
_GAIN = 1e-3  # less than this share of the cost is no progress
_PATIENCE = 6  # points for each vertex, in which there must be some


class NelderMead:
    """Minimises over an unbounded real space with the coefficients of Nelder and Mead (1965), 1, 2, 1/2, 1/2.

    Costs are only ever compared, so an infinite one, for an infeasible point, acts as the limit of a non-stationary
    penalty that grows with every iteration: the simplex shrinks towards the feasible points, and among infeasible
    ones towards the oldest.

    A simplex that has become smaller than `tolerance` along every axis has converged; in coordinates where one unit
    is one level, its vertices are then neighbours.  Because a simplex can collapse early, the search starts again
    from the best point with steps of one `tolerance`, in the positive and in the negative directions by turns, until
    both have improved nothing: on a discrete space the result is then no worse than its neighbours on each axis.

    Along an axis on which the cost does not depend, a simplex need not become small, while it follows another axis in
    ever smaller steps: one that has gained less than a thousandth of the cost for long counts as converged too.

    Args:
        start: the first vertex; its length is the dimension, which may be zero.
        steps: how far each other vertex of the first simplex lies from the start, one along each axis; not zero.
        tolerance: the size of a converged simplex.
        restarts: whether to start again from the best point; otherwise the size alone ends the search.

    Raises:
        SearchError: the tolerance is below zero.
    """

    def __init__(
        self, start: Sequence[float], steps: Sequence[float], *, tolerance: float = 1.0, restarts: bool = True
    ):
        if not tolerance >= 0:
            raise SearchError(f"the search 'nelder_mead' needs a tolerance of 0 or more, not {tolerance}")
        self._tolerance = tolerance
        self._restarts = restarts
        self._dimension = len(start)
        self._vertices: list[Coordinates] = []
        self._costs: list[float] = []
        self._best: tuple[Coordinates, float] | None = None
        self._converged = False
        self._fruitless = 0  # restarts in a row that have improved nothing
        self._cost_at_restart = math.inf
        self._expected = math.inf  # the cost when there was progress for the last time
        self._idle = 0  # points told since
        self._direction = 1.0
        self._queue = _simplex(tuple(map(float, start)), steps)
        self._phase = "initial"
        self._reflected: tuple[Coordinates, float] | None = None

    def ask(self) -> Coordinates:
        """The next point; once converged, the best one, or where all were infeasible the one that counts as such."""
        if self._converged:
            return self._vertices[0] if self._best is None else self._best[0]
        return self._queue[0]

    def tell(self, point: Coordinates, cost: float) -> None:
        """Learn the cost of the point last asked for.

        Raises:
            MeasurementError: the cost is not a number, or the point is not the one asked for.
        """
        if not is_number(cost):
            raise MeasurementError(f"a cost must be a number, or infinite for an infeasible point; it is {cost!r}")
        if tuple(point) != self.ask():
            raise MeasurementError(f"the point {tuple(point)} was not asked for; {self.ask()} was")
        if self._converged:
            return
        if cost < math.inf and (self._best is None or cost < self._best[1]):
            self._best = (tuple(point), cost)
        self._idle += 1
        if _is_progress(cost, self._expected):
            self._expected, self._idle = cost, 0
        vertex = self._queue.pop(0)
        getattr(self, f"_after_{self._phase}")(vertex, cost)

    # ---- the steps of the method: each takes the point just measured and plans the next one

    def _after_initial(self, vertex: Coordinates, cost: float) -> None:
        self._vertices.append(vertex)
        self._costs.append(cost)
        if not self._queue:
            self._iterate()

    def _after_reflect(self, vertex: Coordinates, cost: float) -> None:
        self._reflected = (vertex, cost)
        if cost < self._costs[0]:
            self._plan("expand", _REFLECTION * _EXPANSION)
        elif cost < self._costs[-2]:
            self._replace_worst(vertex, cost)
        elif cost < self._costs[-1]:
            self._plan("contract_outside", _REFLECTION * _CONTRACTION)
        else:
            self._plan("contract_inside", -_CONTRACTION)

    def _after_expand(self, vertex: Coordinates, cost: float) -> None:
        assert self._reflected is not None
        if cost < self._reflected[1]:
            self._replace_worst(vertex, cost)
        else:
            self._replace_worst(*self._reflected)

    def _after_contract_outside(self, vertex: Coordinates, cost: float) -> None:
        assert self._reflected is not None
        if cost <= self._reflected[1]:
            self._replace_worst(vertex, cost)
        else:
            self._shrink()

    def _after_contract_inside(self, vertex: Coordinates, cost: float) -> None:
        if cost < self._costs[-1]:
            self._replace_worst(vertex, cost)
        else:
            self._shrink()

    def _plan(self, phase: str, factor: float) -> None:
        """Ask next for the worst vertex, moved through the centre of the others by `factor` times its distance."""
        *others, worst = self._vertices
        centre = [sum(axis) / self._dimension for axis in zip(*others, strict=True)]
        self._queue = [tuple((1 + factor) * c - factor * w for c, w in zip(centre, worst, strict=True))]
        self._phase = phase

    def _replace_worst(self, vertex: Coordinates, cost: float) -> None:
        self._vertices[-1], self._costs[-1] = vertex, cost
        self._iterate()

    def _shrink(self) -> None:
        first = self._vertices[0]
        self._queue = [
            tuple(f + _SHRINKAGE * (v - f) for f, v in zip(first, vertex, strict=True)) for vertex in self._vertices[1:]
        ]
        self._vertices, self._costs = [first], [self._costs[0]]
        self._phase = "initial"

    def _iterate(self) -> None:
        """Sort the simplex, then either reflect its worst vertex or, where it has become small, end or start again."""
        order = sorted(range(len(self._costs)), key=self._costs.__getitem__)  # stable: equal costs stay in order
        self._vertices = [self._vertices[index] for index in order]
        self._costs = [self._costs[index] for index in order]
        if self._size() < self._tolerance or (self._restarts and self._idle > _PATIENCE * (self._dimension + 1)):
            self._restart()
        else:
            self._plan("reflect", _REFLECTION)

    def _size(self) -> float:
        first = self._vertices[0]
        distances = (abs(v - f) for vertex in self._vertices[1:] for v, f in zip(vertex, first, strict=True))
        return max(distances, default=0.0)

    def _restart(self) -> None:
        cost = self._costs[0]
        self._fruitless = 0 if _is_progress(cost, self._cost_at_restart) else self._fruitless + 1
        self._idle = 0
        # The simplex that ends first counts as an improvement over nothing; two restarts have to follow in vain.
        if not self._restarts or self._dimension == 0 or self._fruitless == 2 or cost == math.inf:
            self._converged = True
            return
        self._cost_at_restart = cost
        steps = [self._direction * self._tolerance] * self._dimension
        self._direction = -self._direction
        self._queue = _simplex(self._vertices[0], steps)[1:]
        self._vertices, self._costs = [self._vertices[0]], [cost]
        self._phase = "initial"

    @property
    def best(self) -> tuple[Coordinates, float] | None:
        """The cheapest feasible point, with its cost."""
        return self._best

    @property
    def converged(self) -> bool:
        """Return whether the last simplex has converged and no restart is left."""
        return self._converged

    def state(self) -> dict[str, Any]:
        """The simplex and the step that it is in."""
        reflected = self._reflected
        return {
            "vertices": [list(vertex) for vertex in self._vertices],
            "costs": [cost_to_json(cost) for cost in self._costs],
            "queue": [list(point) for point in self._queue],
            "phase": self._phase,
            "reflected": reflected and [list(reflected[0]), cost_to_json(reflected[1])],
            "best": self._best and [list(self._best[0]), self._best[1]],
            "converged": self._converged,
            "fruitless": self._fruitless,
            "cost_at_restart": cost_to_json(self._cost_at_restart),
            "expected": cost_to_json(self._expected),
            "idle": self._idle,
            "direction": self._direction,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state of a search with the same settings."""
        self._vertices = [tuple(vertex) for vertex in state["vertices"]]
        self._costs = [cost_from_json(cost) for cost in state["costs"]]
        self._queue = [tuple(point) for point in state["queue"]]
        self._phase = state["phase"]
        reflected, best = state["reflected"], state["best"]
        self._reflected = reflected and (tuple(reflected[0]), cost_from_json(reflected[1]))
        self._best = best and (tuple(best[0]), best[1])
        self._converged = state["converged"]
        self._fruitless = state["fruitless"]
        self._cost_at_restart = cost_from_json(state["cost_at_restart"])
        self._expected, self._idle = cost_from_json(state["expected"]), state["idle"]
        self._direction = state["direction"]
        self._dimension = len(self._vertices[0]) if self._vertices else len(self._queue[0])


def _is_progress(cost: float, previous: float) -> bool:
    return cost < (1 - _GAIN) * previous


def _simplex(start: Coordinates, steps: Sequence[float]) -> list[Coordinates]:
    """The start and, for each axis, the start moved by that axis's step."""
    moved = [(*start[:axis], start[axis] + step, *start[axis + 1 :]) for axis, step in enumerate(steps)]
    return [start, *moved]
