"""All values that some parameters may have together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.constraint import Constraint
from polytune.tuner.spaces.parameters import Parameter, is_active

__all__ = ["assignments"]


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
