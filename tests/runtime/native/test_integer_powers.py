"""Powers to integers that compilers do not know, one at a time and several, against C's library and exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from polytune.runtime.native.translation import address_of
from polytune.runtime.teams.entries import caller
from tests.runtime.native.bodies import function_of

FAST = {"reassoc", "contract", "nsz"}
LARGEST = 64


def powers(bases: np.ndarray, exponents: np.ndarray, body: str, fastmath: set[str] | bool = FAST) -> np.ndarray:
    """What a loop over bases and exponents makes of them."""
    function = function_of(f"for k in range(n):\n    {body}", fastmath=fastmath)
    found, unused = bases.copy(), np.zeros(1)
    integers = exponents.astype(np.int64)
    addresses = [each.ctypes.data for each in (found, integers, unused, unused, unused)]
    words = np.array([*addresses, len(found), 0], np.int64)
    caller(address_of(function), 1)(words.ctypes.data)
    return found


VECTORS = "a[k] = a[k] ** np.float64(i[k])"
ONE_BY_ONE = "x = x * 0.0 + a[k] ** np.float64(i[k])\n    a[k] = x"  # each waits for the one before


@pytest.mark.parametrize("body", [VECTORS, ONE_BY_ONE], ids=["vectors", "one by one"])
@pytest.mark.parametrize("largest", [0, 1, 2, 23, LARGEST, LARGEST + 1, 300])
def test_they_are_as_exact_as_so_many_products(body: str, largest: int) -> None:
    rng = np.random.default_rng(largest)
    bases = rng.uniform(0.5, 1.5, 203) * rng.choice([-1.0, 1.0], 203)
    exponents = rng.integers(-largest, largest + 1, 203)
    found = powers(bases, exponents, body)
    for base, exponent, got in zip(bases, exponents, found, strict=True):
        exact = Fraction(float(base)) ** int(exponent)
        bound = min(abs(int(exponent)), LARGEST) + 2
        assert abs(Fraction(float(got)) / exact - 1) <= Fraction(bound, 2**53), (base, exponent)


def test_special_numbers_have_the_powers_that_the_library_gives() -> None:
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -2.0, 1e300, 1e-300]
    exponents = [0, 1, -1, 2, -2, 3, -3, 63, 64, 65, -65, 66, 1001, 2**52, 2**53 + 2, 2**62, -(2**63), 2**63 - 1]
    pairs = [(base, exponent) for base in special for exponent in exponents]
    bases, powers_wanted = np.array([base for base, _ in pairs]), np.array([exponent for _, exponent in pairs])
    with np.errstate(all="ignore"):
        wanted = bases ** powers_wanted.astype(float)
    for count in (len(bases), 1):  # several at a time, and one
        for first in range(0, len(bases), count):
            part = slice(first, first + count)
            found = powers(bases[part], powers_wanted[part], VECTORS)
            np.testing.assert_allclose(found, wanted[part], rtol=1e-14)


def test_lanes_do_not_depend_on_their_neighbours() -> None:
    """Large exponents, which are the library's, beside small ones."""
    rng = np.random.default_rng(3)
    bases, exponents = rng.uniform(0.9, 1.1, 160), rng.integers(-LARGEST, LARGEST + 1, 160)
    alone = powers(bases, exponents, VECTORS)
    mixed = exponents.copy()
    mixed[::5] = 700
    found = powers(bases, mixed, VECTORS)
    kept = np.arange(160) % 5 != 0
    np.testing.assert_array_equal(found[kept], alone[kept])
    np.testing.assert_allclose(found[::5], bases[::5] ** 700.0, rtol=1e-14)


def test_strict_powers_are_the_library_s() -> None:
    rng = np.random.default_rng(4)
    bases, exponents = rng.uniform(0.5, 1.5, 77), rng.integers(-70, 71, 77)
    found = powers(bases, exponents, "a[k] = library_pow(a[k], np.float64(i[k]))", fastmath=False)
    assert found.tolist() == [math.pow(base, exponent) for base, exponent in zip(bases, exponents, strict=True)]
