"""The arms of a node of the search space graph, in the order in which they are tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.configuration import Configuration
from polytune.tuner.spaces.node import Node
from polytune.tuner.spaces.space import Space

__all__ = ["Arm", "Arms", "Order"]

Arm = dict[str, Value]
"""The values that a node adds to those chosen before it."""

Order = Callable[[Configuration], float]
"""A prior on structural combinations: those with smaller values are tried earlier."""

_MAX_ARMS = 1024


class Arms:
    """Lists the arms of nodes.

    Args:
        space, rng, refused, order, starts: as for `HierarchicalTuner`.
    """

    def __init__(
        self,
        space: Space,
        rng: np.random.Generator,
        refused: Mapping[str, Mapping[Value, str]],
        order: Order | None,
        starts: Sequence[Configuration],
    ):
        self._space = space
        self._rng = rng
        self._refused = refused
        self._order = order
        self._starts = (*starts, space.default())

    def start(self, chosen: Arm) -> Configuration | None:
        """The configuration from which the numeric search under these values starts."""
        for start in self._starts:
            if all(start.get(name) == value for name, value in chosen.items()):
                return start
        return self._space.completion(chosen)

    def of(self, node: Node, chosen: Arm) -> list[Arm]:
        """The arms of a node: those of the starts and of the default first, then by the prior."""
        sizes: list[int] = [len(parameter.levels) for parameter in node.parameters]  # type: ignore[union-attr]
        if math.prod(sizes) <= _MAX_ARMS:
            whole = self._space.combinations(node.parameters, chosen, self._refused)
            arms = self._sorted(node, chosen, [{name: values[name] for name in node.names} for values in whole])
        else:  # too many to list: a sample, in the order in which it is drawn, stands for all
            arms = list(islice(self._drawn(node, chosen), _MAX_ARMS))
            arms = arms if self._order is None else self._sorted(node, chosen, arms)
        listed = {tuple(arm.items()): arm for arm in arms}
        first = {key: listed[key] for key in self._keys_of_starts(node, chosen) if key in listed}
        return list({**first, **listed}.values())

    def _sorted(self, node: Node, chosen: Arm, arms: list[Arm]) -> list[Arm]:
        """The arms by the prior, those that can be completed; without one, by how many values are not the default."""
        if self._order is None:
            default = {parameter.name: parameter.default for parameter in node.parameters}
            return sorted(arms, key=lambda arm: sum(default[name] != value for name, value in arm.items()))
        completed = [(self._space.completion({**chosen, **arm}), arm) for arm in arms]
        ranked = [(self._order(configuration), arm) for configuration, arm in completed if configuration is not None]
        return [arm for _, arm in sorted(ranked, key=lambda entry: entry[0])]

    def _keys_of_starts(self, node: Node, chosen: Arm) -> list[Any]:
        """The values that the starts beyond the values chosen have at a node."""
        return [
            tuple((name, start.get(name)) for name in node.names)
            for start in self._starts
            if all(start.get(name) == value for name, value in chosen.items())
        ]

    def _drawn(self, node: Node, chosen: Arm) -> Iterator[Arm]:
        """Random arms of a node, those of the starts first; some may be there twice."""
        starts = [dict(key) for key in self._keys_of_starts(node, chosen)]
        for number in range(len(starts) + 4 * _MAX_ARMS):
            drawn = starts[number] if number < len(starts) else {p.name: p.sample(self._rng) for p in node.parameters}
            refused = any(value in self._refused.get(name, ()) for name, value in drawn.items())
            if not refused and self._space.satisfies_constraints({**chosen, **drawn}):
                yield drawn
