"""Quotients in sums: reciprocals of what stays the same, and the quotient itself wherever its bits may be seen."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.frontend.analyse import analyse
from polytune.frontend.expression import Binary, Constant, Element, walk
from polytune.signature import ArrayType, ScalarType, Signature

VECTOR, SCALAR = ArrayType("float64", 1), ScalarType("float64")


def mean_added(x, out, d):
    for i in range(x.shape[0]):
        out[0] += x[i] / x.shape[0]


def squares_added(x, out, d):
    for i in range(x.shape[0]):
        z = (x[i] - 1.0) / d
        out[0] += -0.5 * z * z


def stored(x, out, d):
    for i in range(x.shape[0]):
        out[i] = x[i] / d


def stored_and_added(x, out, d):
    for i in range(x.shape[0]):
        z = x[i] / d
        out[0] += z
        out[i] = z


def counted(x, out, d):
    for i in range(x.shape[0]):
        if x[i] / d == 1.0:
            out[0] += 1.0


def of_a_function(x, out, d):
    for i in range(x.shape[0]):
        out[0] += np.floor(x[i] / d)


def returned(x, out, d):
    z = 0.0
    for i in range(x.shape[0]):
        z = x[i] / d
        out[0] += z
    return z


def by_elements(x, out, d):
    for i in range(x.shape[0]):
        out[0] += x[i] / x[0]


def divisions(function, *, strict: bool = False) -> list[Binary]:
    """The divisions of a kernel, but for reciprocals."""
    scop = analyse(function, Signature((("x", VECTOR), ("out", VECTOR), ("d", SCALAR))), strict=strict)
    found = [node for each in scop.statements for operation in each.operations for node in walk(operation)]
    return [
        node
        for node in found
        if isinstance(node, Binary) and node.operator == "/" and any(isinstance(part, Element) for part in walk(node))
    ]


@pytest.mark.parametrize("function", [mean_added, squares_added])
def test_what_only_goes_into_a_sum_is_a_product(function):
    assert not divisions(function)
    assert divisions(function, strict=True)


@pytest.mark.parametrize("function", [stored, stored_and_added, counted, of_a_function, returned, by_elements])
def test_what_may_be_seen_is_a_quotient(function):
    assert divisions(function)


def test_a_whole_quotient_is_whole():
    """49 * (1 / 49) is not 1."""
    out = np.zeros(2)
    polytune.kernel(of_a_function)(np.array([49.0, 98.0]), out, 49.0)
    assert out[0] == 3.0


def added(x, out, d):
    for i in range(x.shape[0]):
        out[i] += x[i] / d


DIVISORS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 3.0, -7.0, "least", "denormal", "tiny", "huge", "largest")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("divisor", DIVISORS, ids=str)
def test_products_are_finite_where_quotients_are(dtype, divisor):
    limits = np.finfo(dtype)
    named = {
        "least": limits.smallest_subnormal,
        "denormal": limits.tiny / 3,
        "tiny": limits.tiny,
        "huge": limits.max / 3,
        "largest": limits.max,
    }
    d = dtype(named.get(divisor, divisor))
    scales = [limits.smallest_subnormal, limits.tiny, 1e-20, 1.0, 1e20, limits.max]
    x = np.array([0.0, *scales, *(-each for each in scales), np.inf, np.nan], dtype)
    out = np.zeros_like(x)
    polytune.kernel(added)(x, out, d)
    with np.errstate(all="ignore"):
        wanted = x / d
        units = np.spacing(np.minimum(np.abs(wanted), limits.max / 2))
    assert np.array_equal(np.isfinite(out), np.isfinite(wanted))
    finite = np.isfinite(wanted)
    assert np.array_equal(out[~finite], wanted[~finite], equal_nan=True)
    assert np.all(np.abs(out[finite] - wanted[finite]) <= 4 * units[finite])


def test_a_quotient_by_a_number_stays():
    """Compilers multiply by its reciprocal where that is exact."""

    def by_a_constant(x, out, d):
        for i in range(x.shape[0]):
            out[0] += x[i] / 3.0

    assert [each.right for each in divisions(by_a_constant)] == [Constant(3.0, "float64")]
