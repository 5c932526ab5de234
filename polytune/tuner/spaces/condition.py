"""Conditions on which a parameter exists: small expressions over the values of earlier parameters.

    Is("platform", "gpu") & ~Is("version", "source_order")

A condition looks at discrete parameters that come earlier in the space.  A test of a parameter that is itself
inactive is false.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from polytune.errors import SpaceError
from polytune.records import dataclass

Value = str | int | float | bool
"""The types that a parameter's value may have: exactly what JSON keeps apart and gives back unchanged."""

_ABSENT = object()


def plain_value(value: Any) -> Any:
    """The Python scalar that a NumPy scalar stands for; anything else as it is."""
    return value.item() if hasattr(value, "item") and not isinstance(value, (str, int, float)) else value


def same_value(left: Any, right: Any) -> bool:
    """Equality that keeps ``True`` apart from ``1``."""
    return left == right and isinstance(left, bool) == isinstance(right, bool)


class Condition(ABC):
    """Base of all conditions; combine them with ``&``, ``|`` and ``~``."""

    @abstractmethod
    def holds(self, values: Mapping[str, Value]) -> bool:
        """Return whether the condition is true under the values of the active parameters chosen so far."""

    @abstractmethod
    def names(self) -> frozenset[str]:
        """The parameters that the condition looks at."""

    @abstractmethod
    def tests(self) -> tuple[Is, ...]:
        """Every elementary test inside the condition."""

    @abstractmethod
    def describe(self) -> str:
        """Return what has to be the case, for people."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The condition as plain dictionaries and lists; `condition_from_json` reads it back."""

    def __and__(self, other: Condition) -> Condition:
        return Both(self, other)

    def __or__(self, other: Condition) -> Condition:
        return Either(self, other)

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError("a condition has no truth value of its own: combine conditions with &, | and ~")


@dataclass(frozen=True, init=False, repr=False)
class Is(Condition):
    """True when the parameter is active and has one of the values: ``Is("version", "tiled", "wavefront")``."""

    name: str
    values: tuple[Value, ...]

    def __init__(self, name: str, *values: Value):
        if not values:
            raise SpaceError(f"the condition on {name!r} names no value; write for example Is({name!r}, 'a', 'b')")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", tuple(plain_value(value) for value in values))

    def holds(self, values: Mapping[str, Value]) -> bool:
        return values.get(self.name, _ABSENT) in self.values

    def names(self) -> frozenset[str]:
        return frozenset((self.name,))

    def tests(self) -> tuple[Is, ...]:
        return (self,)

    def describe(self) -> str:
        listed = ", ".join(map(str, self.values))
        return f"{self.name} is {listed}" if len(self.values) == 1 else f"{self.name} is one of {listed}"

    def to_json(self) -> dict[str, Any]:
        return {"is": [self.name, list(self.values)]}

    def __repr__(self) -> str:
        return f"Is({', '.join(repr(part) for part in (self.name, *self.values))})"


@dataclass(frozen=True, repr=False)
class Both(Condition):
    """True when both conditions are."""

    left: Condition
    right: Condition

    def holds(self, values: Mapping[str, Value]) -> bool:
        return self.left.holds(values) and self.right.holds(values)

    def names(self) -> frozenset[str]:
        return self.left.names() | self.right.names()

    def tests(self) -> tuple[Is, ...]:
        return self.left.tests() + self.right.tests()

    def describe(self) -> str:
        return f"({self.left.describe()}) and ({self.right.describe()})"

    def to_json(self) -> dict[str, Any]:
        return {"and": [self.left.to_json(), self.right.to_json()]}

    def __repr__(self) -> str:
        return f"({self.left!r} & {self.right!r})"


@dataclass(frozen=True, repr=False)
class Either(Condition):
    """True when at least one of the conditions is."""

    left: Condition
    right: Condition

    def holds(self, values: Mapping[str, Value]) -> bool:
        return self.left.holds(values) or self.right.holds(values)

    def names(self) -> frozenset[str]:
        return self.left.names() | self.right.names()

    def tests(self) -> tuple[Is, ...]:
        return self.left.tests() + self.right.tests()

    def describe(self) -> str:
        return f"({self.left.describe()}) or ({self.right.describe()})"

    def to_json(self) -> dict[str, Any]:
        return {"or": [self.left.to_json(), self.right.to_json()]}

    def __repr__(self) -> str:
        return f"({self.left!r} | {self.right!r})"


@dataclass(frozen=True, repr=False)
class Not(Condition):
    """True when the condition is not."""

    condition: Condition

    def holds(self, values: Mapping[str, Value]) -> bool:
        return not self.condition.holds(values)

    def names(self) -> frozenset[str]:
        return self.condition.names()

    def tests(self) -> tuple[Is, ...]:
        return self.condition.tests()

    def describe(self) -> str:
        return f"not ({self.condition.describe()})"

    def to_json(self) -> dict[str, Any]:
        return {"not": self.condition.to_json()}

    def __repr__(self) -> str:
        return f"~{self.condition!r}"


def condition_from_json(document: Any) -> Condition:
    """The condition that `Condition.to_json` wrote.

    Raises:
        SpaceError: the document is not a condition.
    """
    match document:
        case {"is": [str(name), [*values]]}:
            return Is(name, *values)
        case {"and": [left, right]}:
            return condition_from_json(left) & condition_from_json(right)
        case {"or": [left, right]}:
            return condition_from_json(left) | condition_from_json(right)
        case {"not": inner}:
            return ~condition_from_json(inner)
    raise SpaceError(f"not a condition: {document!r}; one of is, and, or, not was expected")
