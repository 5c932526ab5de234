"""How far a program's results may be from the exact ones, whatever the order of its sums and products.

Plain Python runs with numbers that carry, beside their value v in more digits, a magnitude M and a count c.  M is what
the number would be if every term were positive, and thus no smaller than any partial sum in any order; c bounds the
roundings that any term has gone through.  To the first order, the number is then within c u M of v, with u the unit of
rounding.  Unlike a bound relative to the result it holds where terms cancel, and it does not depend on data that are
not terms of the sum.

A number whose terms are all multiples of some power of two, its quantum, and whose M is small enough beside that for
the digits of the type, is exact in any order: it has no error at all.  That the order of the program itself happens to
round nothing says nothing of others.

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

_OF_ZERO = 1024
"""The quantum of 0, which is a multiple of every power of two."""

_LEAST = -120
"""The least quantum: single precision has no exponents far below."""


class UndecidedError(ArithmeticError):
    """Rounding might decide what a program does, or an operation has no bound here."""


class Bounded:
    """A number with a bound on its error; see the module.

    Attributes:
        value: the number in more digits.
        magnitude: M.
        count: c.
        unit: u, the unit of rounding of the program's least precise type.
        quantum: the exponent of the quantum where the number is exact in any order, else None.
    """

    __slots__ = ("count", "magnitude", "quantum", "unit", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, magnitude: Any, count: float, unit: float, quantum: int | None = None):
        self.value, self.magnitude, self.count, self.unit = np.longdouble(value), np.longdouble(magnitude), count, unit
        if not np.isfinite(self.value) or not np.isfinite(self.magnitude):
            raise UndecidedError("no finite number")
        if quantum is not None and not self.magnitude:
            quantum = _OF_ZERO
        elif quantum is not None and (quantum < _LEAST or self.magnitude * unit >= np.ldexp(np.longdouble(1), quantum)):
            quantum = None
        self.quantum = quantum

    @property
    def error(self) -> Any:
        """The bound, which has terms of higher order within a factor of 2; half as much would do to the first order."""
        return 0.0 if self.quantum is not None else 2 * self.count * self.unit * self.magnitude

    def _other(self, other: Any) -> Bounded:
        if isinstance(other, Bounded):
            return other
        if isinstance(other, int | float | np.number):
            return Bounded(other, abs(np.longdouble(other)), _ROUNDINGS, self.unit, _quantum(float(other)))
        raise UndecidedError(f"{type(other).__name__} among numbers")

    def _made(self, value: Any, magnitude: Any, other: Bounded, quantum: int | None = None) -> Bounded:
        # Each term of a sum may come to be added first, and go through the roundings of all others.
        return Bounded(value, magnitude, self.count + other.count + _ROUNDINGS, self.unit, quantum)

    def _least_quantum(self, other: Bounded) -> int | None:
        return None if self.quantum is None or other.quantum is None else min(self.quantum, other.quantum)

    def __add__(self, other: Any) -> Bounded:
        other = self._other(other)
        return self._made(self.value + other.value, self.magnitude + other.magnitude, other, self._least_quantum(other))

    def __sub__(self, other: Any) -> Bounded:
        other = self._other(other)
        return self._made(self.value - other.value, self.magnitude + other.magnitude, other, self._least_quantum(other))

    def __rsub__(self, other: Any) -> Bounded:
        return self._other(other) - self

    def __mul__(self, other: Any) -> Bounded:
        other = self._other(other)
        # Digits of factors add up, so that a product of fewer factors has no more than the whole.
        quantum = None if self.quantum is None or other.quantum is None else self.quantum + other.quantum
        return self._made(self.value * other.value, self.magnitude * other.magnitude, other, quantum)

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
        return Bounded(-self.value, self.magnitude, self.count, self.unit, self.quantum)

    def __abs__(self) -> Bounded:
        return Bounded(abs(self.value), self.magnitude, self.count, self.unit, self.quantum)

    def sqrt(self) -> Bounded:
        """The square root, which NumPy asks objects for."""
        if self.value <= 4 * self.error:
            raise UndecidedError("root of what may be 0")
        root = np.sqrt(self.value)
        return Bounded(root, root * self.magnitude / self.value, self.count + _ROUNDINGS, self.unit)

    def _difference(self, other: Any) -> Any:
        """The difference, where its sign is the same in any order."""
        other = self._other(other)
        difference, error = self.value - other.value, self.error + other.error
        if error and abs(difference) <= 2 * error:
            raise UndecidedError("comparison of what may be equal")
        return difference

    def __lt__(self, other: Any) -> bool:
        return bool(self._difference(other) < 0)

    def __gt__(self, other: Any) -> bool:
        return bool(self._difference(other) > 0)

    def __le__(self, other: Any) -> bool:
        return bool(self._difference(other) <= 0)

    def __ge__(self, other: Any) -> bool:
        return bool(self._difference(other) >= 0)

    def __eq__(self, other: object) -> bool:
        return bool(self._difference(other) == 0)

    def __bool__(self) -> bool:
        return self != 0.0

    def _undecided(self, *others: Any) -> Any:
        raise UndecidedError("an operation without a bound")

    __int__ = __float__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _undecided


def _quantum(value: float) -> int:
    """The exponent of the largest power of two that a finite number is a multiple of; a large one for 0."""
    significand, denominator = value.as_integer_ratio()
    if not significand:
        return _OF_ZERO
    return (significand & -significand).bit_length() - denominator.bit_length()


def bounded(array: np.ndarray, unit: float) -> np.ndarray:
    """Return an array's numbers with bounds: exact, as they are; arrays of integers as they are."""
    if array.dtype.kind != "f":
        return array
    numbers = np.empty(array.shape, object)
    for index in np.ndindex(array.shape):
        value = float(array[index])
        quantum = _quantum(value) if np.isfinite(value) else None
        numbers[index] = Bounded(value, abs(value), _ROUNDINGS, unit, quantum)
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
