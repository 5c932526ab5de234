"""Random search spaces, and the plain definition of what belongs to them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from polytune.errors import SpaceError
from polytune.tuner import Constraint, Integer, Is, Nominal, Ordinal, Space


@st.composite
def tests(draw: st.DrawFn, earlier: list) -> Any:
    """One elementary test, perhaps negated."""
    watched = draw(st.sampled_from(earlier))
    values = draw(st.lists(st.sampled_from(list(watched.levels)), min_size=1, max_size=2, unique=True))
    return ~Is(watched.name, *values) if draw(st.booleans()) else Is(watched.name, *values)


@st.composite
def conditions(draw: st.DrawFn, earlier: list) -> Any:
    """None, or a condition on earlier parameters."""
    if not earlier or draw(st.booleans()):
        return None
    condition = draw(tests(earlier))
    for _ in range(draw(st.integers(0, 2))):
        other = draw(tests(earlier))
        condition = condition & other if draw(st.booleans()) else condition | other
    return condition


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Discrete spaces of up to five parameters, some conditional, with up to two constraints."""
    parameters: list = []
    for index in range(draw(st.integers(1, 5))):
        name = f"p{index}"
        when = draw(conditions(parameters))
        kind = draw(st.sampled_from(["nominal", "ordinal", "integer", "power"]))
        if kind == "nominal":
            parameters.append(Nominal(name, draw(st.sampled_from([("a", "b"), (True, False), (1, 2, 4)])), when=when))
        elif kind == "ordinal":
            parameters.append(Ordinal(name, (1, 3, 7), when=when))
        elif kind == "integer":
            parameters.append(Integer(name, 1, draw(st.integers(1, 4)), default=1, when=when))
        else:
            parameters.append(Integer(name, 1, 8, powers_of_two=True, default=1, when=when))
    numbers = [p.name for p in parameters if not isinstance(p, Nominal)]
    constraints = []
    if len(numbers) >= 2:
        for _ in range(draw(st.integers(0, 2))):
            left, right = draw(st.sampled_from(list(itertools.combinations(numbers, 2))))
            bound = draw(st.integers(2, 9))
            constraints.append(Constraint(f"{left} + {right} <= {bound}"))
    try:
        return Space(parameters, constraints)
    except SpaceError as error:  # a condition that holds nowhere
        assume("never be active" not in str(error))
        raise


def brute_force(space: Space) -> Iterator[dict[str, Any]]:
    """Every member of the space, from the definition: all assignments of a value or of absence, filtered."""
    absent = object()
    for choice in itertools.product(*([absent, *parameter.levels] for parameter in space.parameters)):
        values = {p.name: v for p, v in zip(space.parameters, choice, strict=True) if v is not absent}
        follows = all((p.when is None or p.when.holds(values)) == (p.name in values) for p in space.parameters)
        if follows and all(c.holds(values) for c in space.constraints if c.names <= values.keys()):
            yield values
