"""The search space graph: a space decomposed into disjoint subspaces, and the walk that finds the active ones.

After Pfaffe et al., "Efficient Hierarchical Online-Autotuning" (ICS 2019), section 3.1.1 and figure 1.  Parameters of
one kind that exist under the same condition form a node; an edge leads from where a condition looks to where it
decides.  A configuration is found by walking from the root along the edges whose conditions hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from polytune.records import dataclass
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.graph_picture import to_dot, to_svg
from polytune.tuner.spaces.node import Edge, Node
from polytune.tuner.spaces.parameters import Parameter

__all__ = ["SpaceGraph", "decompose"]


@dataclass(frozen=True)
class SpaceGraph:
    """The nodes in an order in which all edges lead forward, and the edges; nodes without a condition are roots.

    >>> from polytune.tuner import Integer, Is, Nominal, Space
    >>> graph = Space([
    ...     Nominal("platform", ("cpu", "gpu")),
    ...     Integer("threads", 1, 8, when=Is("platform", "cpu")),
    ...     Nominal("shared", (True, False), when=Is("platform", "gpu")),
    ... ]).graph()
    >>> [node.names for node in graph.nodes]
    [('platform',), ('threads',), ('shared',)]
    >>> [node.names for node in graph.active({"platform": "gpu"})]
    [('platform',), ('shared',)]
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def structural(self) -> tuple[Node, ...]:
        """The nodes whose parameters are enumerated."""
        return tuple(node for node in self.nodes if node.structural)

    def active(self, values: Mapping[str, Value]) -> tuple[Node, ...]:
        """The active subspaces under the structural values given."""
        return tuple(node for node in self.nodes if node.is_active(values))

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The number of edges on the longest way to each node."""
        ranks = [0] * len(self.nodes)
        for edge in sorted(self.edges, key=lambda edge: edge.child):
            ranks[edge.child] = max(ranks[edge.child], ranks[edge.parent] + 1)
        return tuple(ranks)

    def to_dot(self) -> str:
        """The graph in the language of Graphviz; nominal subspaces are boxes, the others are rounded."""
        return to_dot(self.nodes, self.edges)

    def to_svg(self) -> str:
        """The graph as an SVG image."""
        return to_svg(self.nodes, self.edges, self.ranks)

    def __str__(self) -> str:
        lines = []
        for node, rank in zip(self.nodes, self.ranks, strict=True):
            when = "" if node.when is None else f"  when {node.when!r}"
            kind = "choose" if node.structural else "search"
            lines.append(f"{'  ' * rank}{kind} {', '.join(node.names)}{when}")
            lines += [f"{'  ' * rank}  {parameter.name}: {parameter.describe()}" for parameter in node.parameters]
        return "\n".join(lines)


def decompose(parameters: Sequence[Parameter], structural: Iterable[Parameter]) -> SpaceGraph:
    """The graph of the parameters, greedily: each joins the first node of its kind with the same condition.

    That order is topological: whatever a condition looks at comes before the first parameter that it decides.

    Args:
        parameters: in the order of the space.
        structural: those of them that are enumerated.
    """
    enumerated = {parameter.name for parameter in structural}
    groups: dict[tuple[bool, str], list[Parameter]] = {}
    for parameter in parameters:
        # Numbers that exist together cannot be tuned apart; as one box of the picture they stand under one condition.
        key = (parameter.name in enumerated, repr(parameter.when))
        groups.setdefault(key, []).append(parameter)
    nodes = tuple(
        Node(index, tuple(members), members[0].when, is_structural)
        for index, ((is_structural, _), members) in enumerate(groups.items())
    )
    home = {name: node.index for node in nodes for name in node.names}
    edges = [
        Edge(parent, node.index, node.when)
        for node in nodes
        if node.when is not None
        for parent in sorted({home[name] for name in node.when.names()})
    ]
    return SpaceGraph(nodes, tuple(edges))
