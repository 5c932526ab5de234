"""Arithmetic for random interpretation: numbers are elements of the field of integers modulo a prime.

Where two programs compute the same sums, products and quotients in whatever order and grouping, they compute the same
element of the field, without any rounding; where they do not, they differ for all but a few of the possible inputs
(Gulwani and Necula, "Discovering affine equalities using random interpretation", POPL 2003; the lemma of Schwartz and
Zippel).  What is no operation of a field is an uninterpreted function, a hash of its operands; minima and maxima are
those of the integers closest to zero that stand for the elements, so that they are associative, commutative and
idempotent.  A strict kernel's sums, products and quotients of floats are uninterpreted too, since they may not be
regrouped.
"""

from __future__ import annotations

import math
import operator
import random
import zlib
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

PRIME = 2**61 - 1
"""The number of elements of the field."""

GREATEST = PRIME // 2
"""The stand-in for positive infinity; its negative is that for negative infinity."""

SIMPLE = 2**30
"""The greatest product of numerator and denominator of a fraction that a float is taken for."""

Function = Callable[..., Any]

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def centred(element: int) -> int:
    """The integer closest to zero that stands for an element."""
    return element if element <= GREATEST else element - PRIME


def compare(relation: str) -> Callable[[int, int], bool]:
    """A comparison of elements, by the integers closest to zero."""
    test = _COMPARISONS[relation]
    return lambda left, right: test(centred(left), centred(right))


def compare_integers(relation: str) -> Callable[[int, int], bool]:
    """A comparison of index expressions."""
    return _COMPARISONS[relation]


def random_element(numbers: random.Random) -> int:
    """An element that is neither zero nor one."""
    return numbers.randrange(2, PRIME)


def hashed(*parts: int) -> int:
    """An element that depends on all parts and on their order."""
    return hash(parts) % PRIME


@cache
def tag(name: str) -> int:
    """A number for the name of a function."""
    return zlib.crc32(name.encode())


def inverse(element: int) -> int:
    """The element whose product with a given one is one; of zero a number of no meaning."""
    return pow(element, -1, PRIME) if element else tag("the inverse of zero")


def constant(value: float, dtype: str) -> Any:
    """A constant of a program: a bool as it is, a number as an element."""
    if dtype == "bool":
        return bool(value)
    if isinstance(value, int):
        return value % PRIME
    if math.isnan(value):
        return tag("not a number")
    if math.isinf(value):
        return GREATEST if value > 0 else PRIME - GREATEST
    found = fraction_of(float(value)) or Fraction(value)
    return found.numerator * inverse(found.denominator % PRIME) % PRIME


@cache
def fraction_of(value: float) -> Fraction | None:
    """The fraction that a float was rounded from: a simple one, or a power of a simple one; None where that is unknown.

    Passes multiply out constants of the source, in floats: the fourth power of what 1 / 9 is rounded to is to be
    1 / 6561.
    """
    for exponent in (1, 2, 4, 8, 16, 32):
        if exponent > 1 and value < 0:
            break
        base = simple_fraction(value ** (1 / exponent))
        if base is not None:
            return base**exponent
    return None


def simple_fraction(value: float) -> Fraction | None:
    """The simplest fraction that a float can be the rounded value of; None where there is no simple one."""
    exact = Fraction(value)
    if exact == 0:
        return exact
    rest, before, last = abs(exact), (0, 1), (1, 0)
    while True:
        whole = rest.numerator // rest.denominator
        before, last = last, (whole * last[0] + before[0], whole * last[1] + before[1])
        if last[0] * last[1] > SIMPLE:
            return None
        if last[0] and abs(Fraction(*last) - abs(exact)) * 2**50 <= abs(exact):
            return Fraction(*last) * (1 if exact > 0 else -1)
        if rest == whole:
            return None
        rest = 1 / (rest - whole)


def add(left: int, right: int) -> int:
    """The sum."""
    return (left + right) % PRIME


def subtract(left: int, right: int) -> int:
    """The difference."""
    return (left - right) % PRIME


def multiply(left: int, right: int) -> int:
    """The product."""
    return left * right % PRIME


def divide(left: int, right: int) -> int:
    """The quotient."""
    return left * inverse(right) % PRIME


def negate(element: int) -> int:
    """The negative."""
    return -element % PRIME


def least(left: int, right: int) -> int:
    """The lesser one of two elements."""
    return left if centred(left) <= centred(right) else right


def greatest(left: int, right: int) -> int:
    """The greater one of two elements."""
    return right if centred(left) <= centred(right) else left


_FIELD: dict[str, Function] = {"+": add, "-": subtract, "*": multiply, "/": divide}


def binary(name: str, dtype: str, strict: bool) -> Function:
    """An operation on two elements.

    Args:
        name: as in ``polytune.frontend.expression``.
        dtype: the type of the result.
        strict: whether operations on floats may not be regrouped.
    """
    if name in ("min", "max"):
        return least if name == "min" else greatest
    if name in _FIELD and not (strict and dtype.startswith("float")):
        return _FIELD[name]
    kind = tag(f"{name} {dtype}")
    if name in ("+", "*"):
        return lambda left, right: hash((kind, left, right) if left < right else (kind, right, left)) % PRIME
    return lambda left, right: hash((kind, left, right)) % PRIME


def power(exponent: int, dtype: str, strict: bool) -> Function:
    """A power of an element with a constant exponent: a product, or the inverse of one where that is negative.

    Args:
        exponent: the exponent.
        dtype: the type of the result.
        strict: whether products of floats may not be regrouped.
    """
    if strict and dtype.startswith("float"):
        kind = tag(f"power {exponent} {dtype}")
        return lambda base: hashed(kind, base)
    if exponent < 0:
        return lambda base: inverse(pow(base, -exponent, PRIME))
    return lambda base: pow(base, exponent, PRIME)


def neutral(name: str) -> int:
    """The element that changes no result of a reduction."""
    return {"+": 0, "*": 1, "min": GREATEST, "max": PRIME - GREATEST}[name]
