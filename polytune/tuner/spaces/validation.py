"""The checks of what a space is built from, each refusal a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from polytune.errors import SpaceError
from polytune.tuner.spaces.condition import Condition, Value
from polytune.tuner.spaces.constraint import Constraint
from polytune.tuner.spaces.parameters import Integer, Nominal, Ordinal, Parameter, Ratio, distinguished, is_active


def check_kinds(parameters: Sequence[Any], constraints: Sequence[Any]) -> None:
    """See to it that everything is a parameter, a condition or a constraint.

    Raises:
        SpaceError: something is not.
    """
    for parameter in parameters:
        if not isinstance(parameter, (Nominal, Ordinal, Integer, Ratio)):
            raise SpaceError(f"{parameter!r} is no parameter; Nominal, Ordinal, Integer and Ratio make some")
        if not isinstance(parameter.when, (Condition, type(None))):
            raise SpaceError(
                f"parameter {parameter.name!r}: {parameter.when!r} is no condition; Is('name', value), &, | and ~ make "
                "some"
            )
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise SpaceError(f"{constraint!r} is no constraint; write Constraint('a * b <= 64')")


def check_names(parameters: Sequence[Parameter]) -> None:
    """See to it that no two parameters share a name.

    Raises:
        SpaceError: two do.
    """
    seen: set[str] = set()
    for parameter in parameters:
        if parameter.name in seen:
            raise SpaceError(f"two parameters are named {parameter.name!r}")
        seen.add(parameter.name)


def check_conditions(parameters: Sequence[Parameter]) -> None:
    """See to it that every condition looks at earlier discrete parameters, at values that these have, and can hold.

    Raises:
        SpaceError: one does not.
    """
    by_name = {parameter.name: parameter for parameter in parameters}
    earlier: dict[str, Parameter] = {}
    for parameter in parameters:
        condition = parameter.when
        if condition is not None:
            for test in condition.tests():
                where = f"the condition of parameter {parameter.name!r}"
                if test.name not in by_name:
                    raise SpaceError(f"{where} looks at {test.name!r}, which is not a parameter of the space")
                if test.name not in earlier:
                    raise SpaceError(f"{where} looks at {test.name!r}, which does not come before it")
                watched = earlier[test.name]
                if not watched.discrete:
                    raise SpaceError(
                        f"{where} looks at {test.name!r}, a real number; only discrete values can be tested"
                    )
                for value in test.values:
                    if not watched.accepts(value):
                        raise SpaceError(
                            f"{where} tests {test.name!r} for {value!r}, which is not {watched.describe()}"
                        )
            if not any(condition.holds(values) for values in _choices(condition, earlier)):
                raise SpaceError(f"parameter {parameter.name!r} can never be active: {condition!r} holds nowhere")
        earlier[parameter.name] = parameter


def _choices(condition: Condition, earlier: dict[str, Parameter]) -> Iterator[dict[str, Value]]:
    """Values of the named parameters and of those these depend on: all that conditions can tell apart."""
    needed = set(condition.names())
    for parameter in reversed(earlier.values()):
        if parameter.name in needed and parameter.when is not None:
            needed |= parameter.when.names()
    involved = [parameter for parameter in earlier.values() if parameter.name in needed]
    conditions = [condition, *(parameter.when for parameter in involved if parameter.when is not None)]
    levels = {parameter.name: distinguished(parameter, conditions) for parameter in involved}

    def extend(index: int, values: dict[str, Value]) -> Iterator[dict[str, Value]]:
        if index == len(involved):
            yield values
        elif not is_active(involved[index], values):
            yield from extend(index + 1, values)
        else:
            for value in levels[involved[index].name]:
                yield from extend(index + 1, {**values, involved[index].name: value})

    return extend(0, {})


def check_constraints(parameters: Sequence[Parameter], constraints: Sequence[Constraint]) -> None:
    """See to it that every constraint looks at known parameters.

    Raises:
        SpaceError: one does not.
    """
    names = {parameter.name for parameter in parameters}
    for constraint in constraints:
        unknown = sorted(constraint.names - names)
        if unknown:
            raise SpaceError(
                f"the constraint {constraint} looks at {unknown[0]!r}, which is not a parameter of the space"
            )
