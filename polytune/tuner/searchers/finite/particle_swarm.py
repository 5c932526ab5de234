"""Particle swarm optimisation over the levels of a finite space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polytune.errors import SearchError
from polytune.tuner.searcher import cost_from_json, cost_to_json
from polytune.tuner.searchers.finite_searcher import FiniteSearcher
from polytune.tuner.spaces.finite import FiniteSpace


class ParticleSwarm(FiniteSearcher):
    """Particles drawn to the best row that each has seen, and to the best of all (Kennedy and Eberhart, 1995).

    A particle moves in the space of level indices; its row is the valid one nearest to it.  Its velocity v becomes
    inertia v + cognitive r1 (own best - position) + social r2 (best - position), with r1 and r2 uniform in [0, 1] per
    parameter, and is limited to half of the levels.  Positions are clipped to the levels.

    Args:
        particles: how many.
        inertia, cognitive, social: the weights above; as in Kernel Tuner by default.
    """

    def __init__(
        self,
        space: FiniteSpace,
        rng: np.random.Generator,
        *,
        budget: int | None = None,
        particles: int = 20,
        inertia: float = 0.5,
        cognitive: float = 2.0,
        social: float = 1.0,
    ):
        super().__init__(space, rng, budget=budget)
        if particles < 1:
            raise SearchError(f"a swarm has at least one particle, not particles={particles}")
        self._weights = (inertia, cognitive, social)
        self._last = np.array([len(levels) - 1 for levels in space.levels], float)
        particles = min(particles, len(space))
        self._position = space.rows[rng.choice(len(space), particles, replace=False)].astype(float)
        self._velocity = (rng.random(self._position.shape) - 0.5) * self._last
        self._own_best = [(math.inf, -1)] * particles
        self._turn = 0

    def _propose(self) -> int | None:
        return self.space.nearest(self._position[self._turn])

    def _learn(self, index: int, cost: float) -> None:
        turn = self._turn
        if self._own_best[turn][1] < 0 or cost < self._own_best[turn][0]:
            self._own_best[turn] = (cost, index)
        self._turn += 1
        if self._turn == len(self._position):
            self._turn = 0
            self._move()

    def _move(self) -> None:
        inertia, cognitive, social = self._weights
        own = self.space.rows[[index for _, index in self._own_best]].astype(float)
        swarm = self.space.rows[min(self._own_best)[1]].astype(float)
        self._velocity *= inertia
        self._velocity += cognitive * self._rng.random(own.shape) * (own - self._position)
        self._velocity += social * self._rng.random(own.shape) * (swarm - self._position)
        np.clip(self._velocity, -self._last / 2, self._last / 2, out=self._velocity)
        self._position = np.clip(self._position + self._velocity, 0, self._last)

    def _rule_state(self) -> dict[str, Any]:
        return {
            "position": self._position.tolist(),
            "velocity": self._velocity.tolist(),
            "own_best": [[cost_to_json(cost), index] for cost, index in self._own_best],
            "turn": self._turn,
        }

    def _restore_rule(self, state: dict[str, Any]) -> None:
        shape = (len(state["own_best"]), len(self._last))
        self._position = np.array(state["position"], float).reshape(shape)
        self._velocity = np.array(state["velocity"], float).reshape(shape)
        self._own_best = [(cost_from_json(cost), index) for cost, index in state["own_best"]]
        self._turn = state["turn"]
