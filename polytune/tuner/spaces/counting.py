"""All values that parameters may have together, and their number, without listing what nothing ties together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.constraint import Constraint
from polytune.tuner.spaces.parameters import Parameter, distinguished, is_active

Walk = Callable[..., Iterator[dict[str, Value]]]


def _levels(parameter: Parameter) -> Iterable[Value]:
    return parameter.levels  # type: ignore[union-attr]  # only discrete spaces are counted


def count(parameters: Sequence[Parameter], constraints: Sequence[Constraint], walk: Walk) -> int:
    """The exact number of configurations.

    Parameters that no condition and no constraint ties together are counted apart.  Of those tied together, the ones
    that conditions look at are listed, as far as conditions can tell their values apart.  Under each of their
    combinations the active parameters fall into groups that share a constraint; a group is listed, a parameter alone
    counts its values, and the counts are multiplied.

    Args:
        parameters: the space's parameters, all discrete.
        constraints: the space's constraints.
        walk: ``walk(parameters, candidates, chosen)``, the space's depth-first walk.
    """
    ties = [constraint.names for constraint in constraints]
    ties += [parameter.when.names() | {parameter.name} for parameter in parameters if parameter.when is not None]
    tied = _groups(parameters, ties)
    return math.prod(_count_tied(group, constraints, walk) for group in tied)


def _count_tied(parameters: Sequence[Parameter], constraints: Sequence[Constraint], walk: Walk) -> int:
    conditions = [parameter.when for parameter in parameters if parameter.when is not None]
    looked_at = {name for condition in conditions for name in condition.names()}
    constrained = {name for constraint in constraints for name in constraint.names}
    deciding = [parameter for parameter in parameters if parameter.name in looked_at]
    others = [parameter for parameter in parameters if parameter.name not in looked_at]
    # Of a parameter that no constraint looks at, one value stands for all that conditions do not tell apart.
    counts = {p.name: distinguished(p, conditions) for p in deciding if p.name not in constrained}
    known: dict[tuple[Any, ...], int] = {}

    def listed(parameter: Parameter) -> Iterable[Value]:
        return counts.get(parameter.name) or _levels(parameter)

    def number(chosen: Mapping[str, Value]) -> int:
        """Count the configurations that have the chosen values."""
        active = [parameter for parameter in others if is_active(parameter, chosen)]
        present = chosen.keys() | {parameter.name for parameter in active}
        applying = [constraint for constraint in constraints if constraint.names <= present]
        groups = _groups(active, [constraint.names for constraint in applying])
        sizes = [_group_size(group, applying, chosen, walk, known) for group in groups]
        alike = [counts[name][value] for name, value in chosen.items() if name in counts]
        return math.prod(sizes) * math.prod(alike)

    return sum(map(number, walk(deciding, listed)))


def _group_size(
    group: list[Parameter],
    constraints: Sequence[Constraint],
    chosen: Mapping[str, Value],
    walk: Walk,
    known: dict[tuple[Any, ...], int],
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


def _groups(parameters: Sequence[Parameter], ties: Iterable[frozenset[str]]) -> list[list[Parameter]]:
    """The parameters, those that some tie names together in one group, in their order."""
    position = {parameter.name: index for index, parameter in enumerate(parameters)}
    groups: list[list[Parameter]] = [[parameter] for parameter in parameters]
    for names in ties:
        touched = [group for group in groups if any(parameter.name in names for parameter in group)]
        if len(touched) > 1:
            merged = [parameter for group in touched for parameter in group]
            groups = [group for group in groups if group not in touched]
            groups.append(sorted(merged, key=lambda parameter: position[parameter.name]))
    return groups


def assignments(
    parameters: Sequence[Parameter],
    constraints: Sequence[Constraint],
    candidates: Callable[[Parameter], Iterable[Value]],
    chosen: Mapping[str, Value],
) -> Iterator[dict[str, Value]]:
    """Depth-first over the parameters that are active, on top of the values already chosen.

    A constraint is tested as soon as the last of its parameters has its value; one that names a parameter which is
    neither chosen nor listed is left out.

    Args:
        parameters: in an order in which every condition looks at chosen or earlier ones.
        constraints: of the space.
        candidates: the values of a parameter that are tried.
        chosen: values of other parameters; they are part of what is yielded.
    """
    position = {parameter.name: index for index, parameter in enumerate(parameters)}
    known = position.keys() | chosen.keys()
    checks: list[list[Constraint]] = [[] for _ in parameters]
    for constraint in constraints:
        listed = [position[name] for name in constraint.names if name in position]
        if listed and constraint.names <= known:
            checks[max(listed)].append(constraint)

    def extend(index: int, values: dict[str, Value]) -> Iterator[dict[str, Value]]:
        if index == len(parameters):
            yield dict(values)
            return
        parameter = parameters[index]
        if not is_active(parameter, values):
            yield from extend(index + 1, values)
            return
        for value in candidates(parameter):
            values[parameter.name] = value
            if all(c.holds(values) for c in checks[index] if c.names <= values.keys()):
                yield from extend(index + 1, values)
        values.pop(parameter.name, None)

    return extend(0, dict(chosen))
