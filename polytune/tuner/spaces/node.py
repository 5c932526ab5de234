"""The parts of a search space graph: its nodes, which are subspaces, and its edges, which are conditions."""

from __future__ import annotations

from collections.abc import Mapping

from polytune.records import dataclass
from polytune.tuner.spaces.condition import Condition, Value
from polytune.tuner.spaces.parameters import Parameter

__all__ = ["Edge", "Node"]


@dataclass(frozen=True)
class Node:
    """A subspace: parameters that are active together, under one condition.

    Attributes:
        index: its position in the graph; every edge leads from a smaller to a larger one.
        parameters: in the order of the space.
        when: the condition; None where the subspace is always active.
        structural: whether its parameters are enumerated (nominal, or looked at by a condition); the others of a node
            are searched by distance.
    """

    index: int
    parameters: tuple[Parameter, ...]
    when: Condition | None
    structural: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    def is_active(self, values: Mapping[str, Value]) -> bool:
        """Return whether the subspace exists under the values of earlier ones."""
        return self.when is None or self.when.holds(values)


@dataclass(frozen=True)
class Edge:
    """The condition of the node `child` looks at parameters of the node `parent`."""

    parent: int
    child: int
    condition: Condition
