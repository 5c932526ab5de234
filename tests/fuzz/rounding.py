"""How far a program's results may be from the exact ones, whatever the order of its sums and products.

Plain Python runs with numbers that carry, beside their value v in more digits, a magnitude M and a count c.  M is what
the number would be if every term were positive, and thus no smaller than any partial sum in any order; c bounds the
roundings that any term has gone through.  To the first order, the number is then within c u M of v, with u the unit of
rounding.  Unlike a bound relative to the result it holds where terms cancel, and it does not depend on data that are
not terms of the sum.

A program in which rounding might decide anything, as a comparison of numbers that are too close, has no bounds.
"""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np

__all__ = ["Bounded", "UndecidedError", "bounded", "with_bounded_numbers"]

_ROUNDINGS = 2.0
"""The roundings of an operation: one to its own type, and one to that of the array it is stored in."""


class UndecidedError(ArithmeticError):
    """Rounding might decide what a program does, or an operation has no bound here."""


class Bounded:
    """A number with a bound on its error; see the module.

    Attributes:
        value: the number in more digits.
        magnitude: M.
        count: c.
        unit: u, the unit of rounding of the program's least precise type.
    """

    __slots__ = ("count", "magnitude", "unit", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, magnitude: Any, count: float, unit: float):
        self.value, self.magnitude, self.count, self.unit = np.longdouble(value), np.longdouble(magnitude), count, unit
        if not np.isfinite(self.value) or not np.isfinite(self.magnitude):
            raise UndecidedError("no finite number")

    @property
    def error(self) -> Any:
        """The bound, which has terms of higher order within a factor of 2; half as much would do to the first order."""
        return 2 * self.count * self.unit * self.magnitude

    def _other(self, other: Any) -> Bounded:
        if isinstance(other, Bounded):
            return other
        if isinstance(other, int | float | np.number):
            return Bounded(other, abs(np.longdouble(other)), _ROUNDINGS, self.unit)
        raise UndecidedError(f"{type(other).__name__} among numbers")

    def _made(self, value: Any, magnitude: Any, other: Bounded) -> Bounded:
        # Each term of a sum may come to be added first, and go through the roundings of all others.
        return Bounded(value, magnitude, self.count + other.count + _ROUNDINGS, self.unit)

    def __add__(self, other: Any) -> Bounded:
        other = self._other(other)
        return self._made(self.value + other.value, self.magnitude + other.magnitude, other)

    def __sub__(self, other: Any) -> Bounded:
        other = self._other(other)
        return self._made(self.value - other.value, self.magnitude + other.magnitude, other)

    def __rsub__(self, other: Any) -> Bounded:
        return self._other(other) - self

    def __mul__(self, other: Any) -> Bounded:
        other = self._other(other)
        return self._made(self.value * other.value, self.magnitude * other.magnitude, other)

    def __truediv__(self, other: Any) -> Bounded:
        other = self._other(other)
        if abs(other.value) <= 4 * other.error:
            raise UndecidedError("division by what may be 0")
        # With d within a quarter of its size of 0, |a / b - a' / b'| <= 2 (|a - a'| / |b| + |a| |b - b'| / b^2).
        twice = Bounded(other.value, other.magnitude, 2 * other.count + self.count, self.unit)
        return self._made(self.value / other.value, self.magnitude * other.magnitude / other.value**2, twice)

    def __rtruediv__(self, other: Any) -> Bounded:
        return self._other(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.magnitude, self.count, self.unit)

    def __abs__(self) -> Bounded:
        return Bounded(abs(self.value), self.magnitude, self.count, self.unit)

    def sqrt(self) -> Bounded:
        """The square root, which NumPy asks objects for."""
        if self.value <= 4 * self.error:
            raise UndecidedError("root of what may be 0")
        root = np.sqrt(self.value)
        return Bounded(root, root * self.magnitude / self.value, self.count + _ROUNDINGS, self.unit)

    def _is_less(self, other: Any) -> bool:
        other = self._other(other)
        if abs(self.value - other.value) <= 2 * (self.error + other.error):
            raise UndecidedError("comparison of what may be equal")
        return bool(self.value < other.value)

    def __lt__(self, other: Any) -> bool:
        return self._is_less(other)

    def __gt__(self, other: Any) -> bool:
        return not self._is_less(other)

    __le__, __ge__ = __lt__, __gt__

    def __eq__(self, other: object) -> bool:
        self._is_less(other)
        return False

    def __bool__(self) -> bool:
        return self != 0.0

    def _undecided(self, *others: Any) -> Any:
        raise UndecidedError("an operation without a bound")

    __int__ = __float__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _undecided


def bounded(array: np.ndarray, unit: float) -> np.ndarray:
    """Return an array's numbers with bounds, each within a rounding of what it is; arrays of integers as they are."""
    if array.dtype.kind != "f":
        return array
    numbers = np.empty(array.shape, object)
    for index in np.ndindex(array.shape):
        numbers[index] = Bounded(array[index], abs(np.longdouble(array[index])), _ROUNDINGS, unit)
    return numbers


class _Module(types.ModuleType):
    """NumPy or ``math`` for numbers with bounds."""

    def __init__(self, module: types.ModuleType):
        super().__init__(module.__name__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name in ("float32", "float64"):
            return lambda value: value if isinstance(value, Bounded) else found(value)
        if name == "sqrt":
            return lambda value: value.sqrt() if isinstance(value, Bounded) else found(value)
        if name in ("zeros", "ones", "empty", "full"):
            return _undecided
        return found


def _undecided(*arguments: Any, **keywords: Any) -> Any:
    raise UndecidedError("an array of its own")


with_bounded_numbers: dict[str, Any] = {"np": _Module(np), "math": _Module(math)}
"""The stand-ins for the names of modules in a program that runs with such numbers."""
