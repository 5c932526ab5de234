"""The arithmetic that validation computes in: exact where order may change, and different where anything else does."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from tests.validation import field
from tests.validation.field import PRIME

NUMBERS = [field.random_element(random.Random(seed)) for seed in range(20)]


def test_prime() -> None:
    assert all(pow(base, PRIME - 1, PRIME) == 1 for base in NUMBERS)


@pytest.mark.parametrize(("number", "meant"), [(0.1, (1, 10)), (-0.375, (-3, 8)), (1 / 9, (1, 9)), (3.0, (3, 1))])
def test_fraction_that_a_float_was_rounded_from(number: float, meant: tuple[int, int]) -> None:
    assert field.fraction_of(number) == Fraction(*meant)


@pytest.mark.parametrize("power", [2, 4, 8, 16])
@pytest.mark.parametrize("base", [1 / 9, 0.3, 0.7, 0.2])
def test_power_that_was_multiplied_out_in_floats(base: float, power: int) -> None:
    assert field.fraction_of(base**power) == field.simple_fraction(base) ** power  # type: ignore[operator]


def test_float_without_a_simple_fraction() -> None:
    assert field.fraction_of(math.pi) is None
    assert field.constant(math.pi, "float64") * 2**48 % PRIME == int(math.pi * 2**48)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_sums_and_products_in_any_order(dtype: str) -> None:
    add, multiply = (field.binary(name, dtype, strict=False) for name in "+*")
    a, b, c, *_ = NUMBERS
    assert add(a, add(b, c)) == add(add(c, a), b)
    assert multiply(a, add(b, c)) == add(multiply(c, a), multiply(a, b))
    assert field.divide(multiply(a, b), b) == a


def test_strict_sums_of_floats_keep_their_order() -> None:
    add = field.binary("+", "float64", strict=True)
    a, b, c, *_ = NUMBERS
    assert add(a, b) == add(b, a)
    assert add(a, add(b, c)) != add(add(a, b), c)
    whole = field.binary("+", "int32", strict=True)
    assert whole(a, whole(b, c)) == whole(whole(a, b), c)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_powers_are_products(dtype: str) -> None:
    a, *_ = NUMBERS
    power = [field.power(exponent, dtype, strict=False)(a) for exponent in range(4)]
    assert power == [1, a, field.multiply(a, a), field.multiply(field.multiply(a, a), a)]
    assert field.power(-2, dtype, strict=False)(a) == field.divide(field.divide(1, a), a)


def test_strict_powers_of_floats_are_uninterpreted() -> None:
    a, b, *_ = NUMBERS
    square, cube = (field.power(exponent, "float64", strict=True) for exponent in (2, 3))
    assert len({square(a), square(b), cube(a), field.multiply(a, a)}) == 4
    assert field.power(2, "int32", strict=True)(a) == field.multiply(a, a)


def test_extremes_are_a_lattice() -> None:
    a, b, c, *_ = NUMBERS
    for name in ("min", "max"):
        choose = field.binary(name, "float64", strict=True)
        assert choose(a, choose(b, c)) == choose(choose(c, a), b) and choose(a, a) == a
        assert all(choose(number, field.neutral(name)) == number for number in NUMBERS)
    assert field.binary("min", "int64", strict=False)(PRIME - 3, 2) == PRIME - 3  # -3 and 2


def test_uninterpreted_functions_tell_their_operands_apart() -> None:
    a, b, *_ = NUMBERS
    power, remainder = (field.binary(name, "float64", strict=False) for name in ("**", "%"))
    assert len({power(a, b), power(b, a), remainder(a, b), remainder(b, a)}) == 4


def test_comparisons_order_small_integers() -> None:
    less = field.compare("<")
    assert less(PRIME - 1, 0) and less(0, 1) and not less(1, PRIME - 1)
