"""``round(x, n)``: of Python's numbers to the last bit, of NumPy's as NumPy does it."""

from __future__ import annotations

import random

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from tests.test_control import in_every_version
from tests.test_results import compared, kernel_of, same


def of_python(x: float):
    return round(x, 0), round(x, 1), round(x, 2), round(x, 3), round(x, ndigits=7), round(x, 15), round(x, 22)


@pytest.mark.parametrize("strict", [False, True])
def test_numbers_of_python_are_rounded_as_they_are_written(strict: bool) -> None:
    kernel = kernel_of(of_python, strict)
    choose = random.Random(7)
    values = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 2.675, 1.005, 0.285, 1e300, -1e22, 5e-324]
    values += [0.125, 0.375, 1e15 + 0.25, 0.045]
    values += [float("nan"), float("inf"), float("-inf")]
    values += [k / 8 for k in range(-9, 9)] + [k / 1000 + 0.0005 for k in range(-20, 20)]
    values += [choose.uniform(-1, 1) * 10.0 ** choose.randint(-8, 20) for _ in range(300)]
    values += [float(f"{choose.randint(0, 10**6)}.{choose.randint(0, 999)}5") for _ in range(300)]
    values += [choose.randint(2**51, 2**53) / 10.0 ** choose.randint(1, 8) for _ in range(300)]
    for value in values:
        for mine, wanted in zip(kernel(value), of_python(value), strict=True):
            assert float(mine).hex() == wanted.hex(), value


def of_both(A, quantities, rates):
    total = 0.0
    taxes = np.zeros(len(rates))
    for k, rate in enumerate(rates):
        for price, quantity in zip(A, quantities, strict=False):
            line = round(price * quantity, 2)
            taxes[k] += round(line * rate, 1)
            total += float(line)
            if round(quantity, 2) > 3 and round(float(price) / 7, 3) > 0.5:
                total += 1.0
    return round(total, 2), taxes, round(A[0], 1) if len(A) else 0.0, round(1.25, 1), round(len(A), 2)


@pytest.mark.parametrize("strict", [False, True])
def test_numbers_in_loops(strict: bool) -> None:
    for n in (0, 1, 5):
        prices = np.arange(n) * 1.115 + 0.625
        for A in (prices, prices.astype(np.float32)):
            in_every_version(of_both, A, np.arange(n) + 2, np.array([0.07, 0.185]), strict=strict)
            compared(of_both, A, np.arange(n) + 2, np.array([0.07, 0.185]))


def test_decimals_that_are_not_known() -> None:
    def to_decimals(x, n):
        return round(x, n)

    def hundreds(x):
        return round(x, -2)

    def in_two(x):
        return round(x, 2)

    with pytest.raises(UnsupportedSourceError, match=r"only known while the kernel runs[\s\S]*as in round"):
        polytune.kernel(to_decimals)(1.5, 2)
    with pytest.raises(UnsupportedSourceError, match=r"to -2[\s\S]*from 0 to 22"):
        polytune.kernel(hundreds)(1.5)
    same(polytune.kernel(in_two)(1.125), 1.12)
