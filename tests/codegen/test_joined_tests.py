"""Tests of subscripts that neighbouring operations make together: that they say the same, and that nothing is
overlooked by them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.codegen.joined_tests import fewer_tests
from polytune.errors import SubscriptError
from polytune.frontend.array_expressions.affine_arithmetic import add, integer
from polytune.frontend.expression import (
    Argument,
    Binary,
    Compare,
    Constant,
    Expression,
    Extent,
    Logical,
    Unary,
)
from tests.test_control import in_every_version

INDEX, OTHER, LENGTH = Argument("i", "int64"), Argument("j", "int64"), Extent("A", 0)
LAST = 2**63 - 1


def low(offset: int, index: Expression = INDEX) -> Compare:
    return Compare("<", add(index, integer(offset)), integer(0))


def high(offset: int, index: Expression = INDEX, extent: Expression = LENGTH) -> Compare:
    return Compare(">=", add(index, integer(offset)), extent)


def value(expression: Expression, names: dict[Expression, int]) -> int:
    """The value of an expression, in which numbers wrap round as those of a processor."""
    if expression in names:
        return names[expression]
    match expression:
        case Constant(number):
            return int(number)
        case Unary("-", operand):
            found = -value(operand, names)
        case Binary(operator, left, right):
            sides = value(left, names), value(right, names)
            found = {"+": sides[0] + sides[1], "-": sides[0] - sides[1], "*": sides[0] * sides[1]}[operator]
        case Compare(operator, left, right):
            sides = value(left, names), value(right, names)
            return sides[0] < sides[1] if operator == "<" else sides[0] >= sides[1]
        case Logical("or", operands):
            return any(value(each, names) for each in operands)
        case _:
            raise AssertionError(expression)
    return (found + 2**63) % 2**64 - 2**63


def count(expression: Expression) -> int:
    return len(expression.operands) if isinstance(expression, Logical) else 1


@pytest.mark.parametrize(
    "tests, number",
    [
        ([low(0), high(0), low(1), high(1)], 2),
        ([low(-1), high(-1), low(1), high(1), low(0), high(0)], 2),
        ([low(0), high(0), high(-2)], 2),  # one that is known not to be negative
        ([low(3), high(1)], 2),
        ([high(0), high(1)], 2),  # of which none is known not to have wrapped round
        ([low(0), low(1)], 2),
        ([low(0), high(0), low(2**40), high(2**40)], 4),  # too far from one another
        ([low(0), high(0), low(0, OTHER), high(0, OTHER), low(1), high(1)], 4),
        ([low(0), high(0), low(1), high(1, extent=Extent("B", 0))], 3),
        ([low(0, Unary("-", INDEX, "int64")), high(2, Unary("-", INDEX, "int64")), high(0)], 3),
        ([Constant(False, "bool"), low(0), Constant(False, "bool")], 1),
        ([low(0), high(0, extent=Binary("+", INDEX, OTHER, "int64"))], 2),  # no extent of an array
    ],
)
def test_fewer_tests_find_all(tests: list[Compare], number: int) -> None:
    made = fewer_tests(tests)
    assert count(made) == number
    near = [*range(-4, 9), LAST, LAST - 1, LAST - 2, -LAST - 1, -LAST, 2**40, -(2**40)]
    for i, j, extent, another in product(near, (-1, 0, 3, LAST), (0, 1, 2, 5, 2**40), (0, 4)):
        names = {INDEX: i, OTHER: j, LENGTH: extent, Extent("B", 0): another}
        wanted, found = any(value(each, names) for each in tests), value(made, names)
        assert found or not wanted, names


def test_fewer_tests_find_nothing_else() -> None:
    tests = [low(-1), high(-1), low(2), high(2), low(0), high(0)]
    made = fewer_tests(tests)
    for i, extent in product(range(-6, 12), range(9)):
        names = {INDEX: i, LENGTH: extent}
        assert value(made, names) == any(value(each, names) for each in tests)


def bilinear(image, rows, columns):
    out = np.zeros(rows.shape)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            y, x = rows[i, j], columns[i, j]
            if y > 90.0:
                continue
            top, left = int(y), int(x)
            dy, dx = y - top, x - left
            upper = (1 - dx) * image[top, left] + dx * image[top, left + 1]
            lower = (1 - dx) * image[top + 1, left] + dx * image[top + 1, left + 1]
            out[i, j] = (1 - dy) * upper + dy * lower
    return out


def moved_on(A, places):
    """A subscript is written between those that are tested: they are not tested together."""
    out = np.zeros(len(places))
    for i in range(len(places)):
        if places[i] < 50:
            k = places[i]
            a = A[k] + A[k + 1]
            k = k + 2
            b = A[k] - A[k - 1]
            out[i] = a * b
    return out


def written_between(A, places):
    for i in range(len(places)):
        if places[i] < 50:
            k = places[i]
            a = A[k]
            places[i] = k + 1
            b = A[places[i]]
            A[k] = a + b


def nested(A, places):
    out = np.zeros(len(places))
    for i in range(len(places)):
        if places[i] < 50:
            k = places[i]
            a = A[places[k]]
            c = a * 2.0
            b = A[places[k + 1] + 1]
            out[i] = a - b + c
    return out


def in_a_loop(A, places):
    out = np.zeros(len(places))
    for i in range(len(places)):
        k = places[i]
        while k < 50 and out[i] < 100.0:
            a = A[k] + A[k - 1]
            b = A[k - 2] * 0.5
            out[i] += abs(a) + abs(b) + 1.0
            k += 1
            if k > 4:
                break
    return out


@pytest.mark.parametrize("least", [0, -3])
@pytest.mark.parametrize("function", [moved_on, written_between, nested, in_a_loop], ids=lambda each: each.__name__)
def test_neighbouring_operations(function: Callable[..., Any], least: int) -> None:
    for n in (0, 7, 40):
        places = np.random.default_rng(n).integers(least, 3, n)
        in_every_version(function, np.arange(8.0) / 4.0, places, strict=True)


@pytest.mark.parametrize("shape", [(5, 6), (2, 2), (9, 3)])
def test_two_dimensions(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    image = rng.integers(0, 99, shape) / 8.0
    for least in (0, -4):
        rows, columns = (rng.integers(least, 4 * (extent - 1), (6, 11)) / 4.0 for extent in shape)
        rows[2, 3] = 95.0
        in_every_version(bilinear, image, rows, columns)


@pytest.mark.parametrize(
    "wrong", [(0.0, 7.0), (7.0, 0.0), (4.0, 0.0), (0.0, 5.0), (-7.0, 0.0), (0.0, -8.0), (np.nan, 1.0)]
)
def test_what_is_out_of_range_is_found_in_every_version(wrong: tuple[float, float]) -> None:
    image, rows, columns = np.ones((5, 6)), np.zeros((4, 9)), np.zeros((4, 9))
    rows[1, 4], columns[1, 4] = wrong
    with pytest.raises(ValueError if np.isnan(wrong[0]) else IndexError):
        bilinear(image, rows, columns)
    kernel = polytune.kernel(bilinear, background=False)
    space = kernel.space(image, rows, columns)
    for version in space["version"].values:
        with pytest.raises(SubscriptError):
            kernel.run(space.configuration(version=version), image, rows, columns)


def test_code_has_one_test_for_both() -> None:
    text = polytune.kernel(products).module_text(devices=False)
    assert "if not (top < 0 or top >= image_0 - 1 or left < 0 or left >= image_1 - 1):" in text


def test_what_is_tested_before_a_loop_is_not_tested_in_it() -> None:
    text = polytune.kernel(mixed).module_text(devices=False)
    assert "if not (False)" not in text and text.count("for i_inside in range(") >= 2


def mixed(A, counts):
    for k in range(len(counts)):
        for i in range(counts[k]):
            a = A[i] * 0.5
            b = A[i + 1] * 0.25
            A[k] += a - b


def products(image, rows, out):
    for i in range(rows.shape[0]):
        top, left = int(rows[i, 0]), int(rows[i, 1])
        upper = image[top, left] + image[top, left + 1]
        lower = image[top + 1, left] + image[top + 1, left + 1]
        out[i] = upper * lower
