"""The kinds of tunable parameters, by scale of measurement.

Nominal values have no order; ordinal ones have an order but no distance; integer and ratio ones have both.  The
difference decides which search may handle a parameter: a simplex has no meaning on nominal values (Pfaffe et al.,
"Efficient hierarchical online-autotuning", ICS 2019, section 2.1).
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from polytune.errors import SpaceError
from polytune.records import dataclass
from polytune.tuner.spaces.condition import Condition, Value, condition_from_json, plain_value, same_value


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise SpaceError(f"a parameter's name must be a Python identifier, not {name!r}")


@dataclass(frozen=True)
class _Listed:
    """The common part of parameters with an explicit list of values.

    Attributes:
        name: a Python identifier, unique in its space.
        values: the values, distinct: strings, integers, floats or booleans.
        default: the value to start from; the first one where it is not given.
        when: the condition under which the parameter exists; always where it is not given.
    """

    name: str
    values: tuple[Value, ...]
    default: Value = None  # type: ignore[assignment]
    when: Condition | None = None

    nominal: ClassVar[bool]
    kind: ClassVar[str]
    discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_name(self.name)
        if isinstance(self.values, (str, set, frozenset)) or not isinstance(self.values, Iterable):
            raise SpaceError(
                f"parameter {self.name!r}: the values must be listed in an order, as ('a', 'b') or range(4), not given "
                f"as {self.values!r}"
            )
        values = tuple(plain_value(value) for value in self.values)
        object.__setattr__(self, "values", values)
        if not values:
            raise SpaceError(f"parameter {self.name!r} has no values")
        for value in values:
            if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
                raise SpaceError(
                    f"parameter {self.name!r}: {value!r} cannot be a value; strings, integers, finite floats and "
                    "booleans can"
                )
        if len(set(values)) < len(values):
            raise SpaceError(f"parameter {self.name!r} lists a value twice (note that True == 1): {values}")
        default = values[0] if self.default is None else plain_value(self.default)
        object.__setattr__(self, "default", default)
        if not self.accepts(default):
            raise SpaceError(f"parameter {self.name!r}: the default {default!r} is not among its values {values}")

    @property
    def levels(self) -> Sequence[Value]:
        """All values, in order."""
        return self.values

    def accepts(self, value: Any) -> bool:
        """Return whether `value` is one of the parameter's values."""
        return any(same_value(value, level) for level in self.values)

    def sample(self, rng: np.random.Generator) -> Value:
        """One value, uniformly at random."""
        return self.values[int(rng.integers(len(self.values)))]

    def describe(self) -> str:
        """Return what values there are, for people."""
        return "one of " + ", ".join(repr(value) for value in self.values)

    def to_json(self) -> dict[str, Any]:
        """The parameter as plain dictionaries and lists; `parameter_from_json` reads it back."""
        return _document(self, values=list(self.values))


@dataclass(frozen=True)
class Nominal(_Listed):
    """A choice without order or distance: a version of the code, a platform, a flag."""

    nominal: ClassVar[bool] = True
    kind: ClassVar[str] = "nominal"


@dataclass(frozen=True)
class Ordinal(_Listed):
    """A choice with an order: its values are listed from one end to the other, neighbours being alike."""

    nominal: ClassVar[bool] = False
    kind: ClassVar[str] = "ordinal"


@dataclass(frozen=True)
class Integer:
    """Whole numbers from `low` to `high`, both included: a tile size, a number of threads.

    Attributes:
        name: a Python identifier, unique in its space.
        low, high: the bounds.
        step: the distance of neighbouring values; `high` is a value only if it is whole steps above `low`.
        powers_of_two: only the powers of two within the bounds.
        logarithmic: search by ratio instead of by difference: 4 is as far from 8 as 400 from 800.
        default: the value to start from; the (geometric, where the range is logarithmic) middle where not given.
        when: the condition under which the parameter exists; always where it is not given.
    """

    name: str
    low: int
    high: int
    step: int = 1
    powers_of_two: bool = False
    logarithmic: bool = False
    default: int = None  # type: ignore[assignment]
    when: Condition | None = None

    nominal: ClassVar[bool] = False
    kind: ClassVar[str] = "integer"
    discrete: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_name(self.name)
        for field in ("low", "high", "step", "default"):
            value = plain_value(getattr(self, field))
            object.__setattr__(self, field, value)
            if field == "default" and value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool):
                raise SpaceError(f"parameter {self.name!r}: {field} must be a whole number, not {value!r}")
        if self.step < 1:
            raise SpaceError(f"parameter {self.name!r}: the step must be at least 1, not {self.step}")
        if self.powers_of_two and (self.low < 1 or self.step != 1):
            raise SpaceError(f"parameter {self.name!r}: powers of two need low >= 1 and no step")
        if self.logarithmic and self.low < 1:
            raise SpaceError(f"parameter {self.name!r}: a logarithmic range needs low >= 1, not {self.low}")
        if not self.levels:
            what = "power of two" if self.powers_of_two else "whole number"
            raise SpaceError(f"parameter {self.name!r} is empty: there is no {what} from {self.low} to {self.high}")
        if self.default is None:
            object.__setattr__(self, "default", self._middle())
        if not self.accepts(self.default):
            raise SpaceError(f"parameter {self.name!r}: the default {self.default!r} is not {self.describe()}")

    @cached_property
    def levels(self) -> Sequence[int]:
        """All values, ascending."""
        if self.powers_of_two:
            first, last = (self.low - 1).bit_length(), self.high.bit_length() if self.high > 0 else 0
            return tuple(1 << exponent for exponent in range(first, last))
        return range(self.low, self.high + 1, self.step)

    def _middle(self) -> int:
        if self.logarithmic:
            centre = math.isqrt(self.levels[0] * self.levels[-1])
            return self.levels[bisect.bisect_right(self.levels, centre) - 1]
        return self.levels[len(self.levels) // 2]

    def accepts(self, value: Any) -> bool:
        """Return whether `value` is one of the parameter's values."""
        return isinstance(value, int) and not isinstance(value, bool) and value in self.levels

    def sample(self, rng: np.random.Generator) -> int:
        """One value, uniformly at random among the values."""
        return self.levels[int(rng.integers(len(self.levels)))]

    def describe(self) -> str:
        """Return what values there are, for people."""
        what = "a power of two" if self.powers_of_two else "a whole number"
        stepping = f" in steps of {self.step}" if self.step != 1 else ""
        return f"{what} from {self.low} to {self.high}{stepping}"

    def to_json(self) -> dict[str, Any]:
        """The parameter as plain dictionaries and lists; `parameter_from_json` reads it back."""
        bounds = {"low": self.low, "high": self.high, "step": self.step}
        return _document(self, **bounds, powers_of_two=self.powers_of_two, logarithmic=self.logarithmic)


@dataclass(frozen=True)
class Ratio:
    """Real numbers from `low` to `high`, both included: the share of the work that goes to one device.

    Attributes:
        name: a Python identifier, unique in its space.
        low, high: the bounds.
        logarithmic: search by ratio instead of by difference; needs ``low > 0``.
        default: the value to start from; the (geometric) middle where it is not given.
        when: the condition under which the parameter exists; always where it is not given.
    """

    name: str
    low: float
    high: float
    logarithmic: bool = False
    default: float = None  # type: ignore[assignment]
    when: Condition | None = None

    nominal: ClassVar[bool] = False
    kind: ClassVar[str] = "ratio"
    discrete: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        for field in ("low", "high", "default"):
            value = plain_value(getattr(self, field))
            if field == "default" and value is None:
                continue
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
                raise SpaceError(f"parameter {self.name!r}: {field} must be a finite number, not {value!r}")
            object.__setattr__(self, field, float(value))
        if not self.low < self.high:
            raise SpaceError(f"parameter {self.name!r} is empty: low {self.low} is not below high {self.high}")
        if self.logarithmic and self.low <= 0:
            raise SpaceError(f"parameter {self.name!r}: a logarithmic range needs low > 0, not {self.low}")
        if self.default is None:
            object.__setattr__(self, "default", self.between(0.5))
        if not self.accepts(self.default):
            raise SpaceError(f"parameter {self.name!r}: the default {self.default!r} is not {self.describe()}")

    def between(self, share: float) -> float:
        """The value at `share` (0 to 1) of the way from low to high, within the bounds whatever the rounding."""
        if self.logarithmic:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + share * (self.high - self.low)
        within: float = min(max(value, self.low), self.high)
        return within

    def grid(self, levels: int) -> tuple[float, ...]:
        """`levels` values, evenly spaced from low to high."""
        return tuple(self.between(step / (levels - 1)) for step in range(levels)) if levels > 1 else (self.default,)

    def accepts(self, value: Any) -> bool:
        """Return whether `value` is a number within the bounds."""
        return isinstance(value, (int, float)) and not isinstance(value, bool) and self.low <= value <= self.high

    def sample(self, rng: np.random.Generator) -> float:
        """One value, uniformly at random (uniform in the logarithm where the range is logarithmic)."""
        return self.between(float(rng.random()))

    def describe(self) -> str:
        """Return what values there are, for people."""
        return f"a number from {self.low} to {self.high}"

    def to_json(self) -> dict[str, Any]:
        """The parameter as plain dictionaries and lists; `parameter_from_json` reads it back."""
        return _document(self, low=self.low, high=self.high, logarithmic=self.logarithmic)


Parameter = Nominal | Ordinal | Integer | Ratio

_KINDS: dict[str, Any] = {kind.kind: kind for kind in (Nominal, Ordinal, Integer, Ratio)}


def is_active(parameter: Parameter, values: Mapping[str, Value]) -> bool:
    """Return whether the parameter exists under the values of the earlier ones."""
    return parameter.when is None or parameter.when.holds(values)


def distinguished(parameter: Parameter, conditions: Iterable[Condition]) -> dict[Value, int]:
    """The levels of a discrete parameter as far as conditions can tell them apart, and how many each stands for.

    Every level that some condition tests for stands for itself, and the first of the others for all of them.
    """
    levels: Sequence[Value] = parameter.levels  # type: ignore[union-attr]
    named = dict.fromkeys(
        value
        for condition in conditions
        for test in condition.tests()
        if test.name == parameter.name
        for value in test.values
        if parameter.accepts(value)
    )
    found = dict.fromkeys(named, 1)
    if len(levels) > len(named):
        found[next(level for level in levels if level not in named)] = len(levels) - len(named)
    return found


def _document(parameter: Any, **fields: Any) -> dict[str, Any]:
    document = {"kind": parameter.kind, "name": parameter.name, **fields, "default": parameter.default}
    if parameter.when is not None:
        document["when"] = parameter.when.to_json()
    return document


def parameter_from_json(document: Mapping[str, Any]) -> Parameter:
    """The parameter that ``to_json`` wrote.

    Raises:
        SpaceError: the document is not a parameter.
    """
    fields = dict(document)
    kind = fields.pop("kind", None)
    if kind not in _KINDS:
        raise SpaceError(f"not a parameter: kind {kind!r} is unknown; the kinds are {', '.join(_KINDS)}")
    if "when" in fields:
        fields["when"] = condition_from_json(fields["when"])
    try:
        parameter: Parameter = _KINDS[kind](**fields)
        return parameter
    except TypeError as error:
        raise SpaceError(f"not a parameter: {dict(document)!r}: {error}") from None
