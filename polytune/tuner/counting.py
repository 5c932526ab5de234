"""How many configurations a discrete space has, without listing what nothing ties together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from polytune.tuner.condition import Value
from polytune.tuner.constraint import Constraint
from polytune.tuner.parameters import Parameter, is_active

Walk = Callable[..., Iterator[dict[str, Value]]]


def _levels(parameter: Parameter) -> Iterable[Value]:
    return parameter.levels  # type: ignore[union-attr]  # only discrete spaces are counted


def count(parameters: Sequence[Parameter], constraints: Sequence[Constraint], walk: Walk) -> int:
    """The exact number of configurations.

    The parameters that conditions look at are listed.  Under each of their combinations the active parameters fall
    into groups that share a constraint; a group is listed, a parameter alone counts its values, and the counts are
    multiplied.

    Args:
        parameters: the space's parameters, all discrete.
        constraints: the space's constraints.
        walk: ``walk(parameters, candidates, chosen)``, the space's depth-first walk.
    """
    looked_at = {name for parameter in parameters if parameter.when is not None for name in parameter.when.names()}
    deciding = [parameter for parameter in parameters if parameter.name in looked_at]
    others = [parameter for parameter in parameters if parameter.name not in looked_at]
    known: dict[tuple, int] = {}

    total = 0
    for chosen in walk(deciding, _levels):
        active = [parameter for parameter in others if is_active(parameter, chosen)]
        present = chosen.keys() | {parameter.name for parameter in active}
        applying = [constraint for constraint in constraints if constraint.names <= present]
        sizes = [_group_size(group, applying, chosen, walk, known) for group in _groups(active, applying)]
        total += math.prod(sizes)
    return total


def _group_size(
    group: list[Parameter],
    constraints: Sequence[Constraint],
    chosen: Mapping[str, Value],
    walk: Walk,
    known: dict[tuple, int],
) -> int:
    names = {parameter.name for parameter in group}
    tied = [constraint for constraint in constraints if constraint.names & names]
    if not tied:
        sizes = [len(parameter.levels) for parameter in group]  # type: ignore[union-attr]
        return math.prod(sizes)
    outside = frozenset().union(*(constraint.names for constraint in tied)) - names
    key = (tuple(sorted(names)), tuple((name, chosen[name]) for name in sorted(outside)))
    if key not in known:
        known[key] = sum(1 for _ in walk(group, _levels, chosen))
    return known[key]


def _groups(active: Sequence[Parameter], constraints: Sequence[Constraint]) -> list[list[Parameter]]:
    """The active parameters, those that share a constraint together."""
    groups: list[list[Parameter]] = [[parameter] for parameter in active]
    for constraint in constraints:
        touched = [group for group in groups if any(parameter.name in constraint.names for parameter in group)]
        if len(touched) > 1:
            merged = [parameter for group in touched for parameter in group]
            groups = [group for group in groups if group not in touched] + [merged]
    return groups
