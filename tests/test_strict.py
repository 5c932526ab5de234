"""Strict mode: the bits of plain Python, where without it sums may be reassociated."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pytest

import polytune
from polybench.kernels.lu import lu
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.schedule.kernels import polybench_case


@polytune.kernel(strict=True)
def strict_sum(A):
    total = 0.0
    for i in range(len(A)):
        total += A[i]
    return total


@polytune.kernel
def free_sum(A):
    total = 0.0
    for i in range(len(A)):
        total += A[i]
    return total


@polytune.kernel(strict=True)
def products(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.fixture
def cancelling() -> np.ndarray:
    """Numbers of which every order of adding gives another sum."""
    return np.random.default_rng(1).normal(0, 1, 1001) * 10.0 ** np.random.default_rng(2).integers(-8, 9, 1001)


def test_strict_sum_has_the_bits_of_the_source(cancelling: np.ndarray) -> None:
    wanted = strict_sum.__wrapped__(cancelling)
    assert strict_sum(cancelling) == wanted
    assert free_sum.strict(cancelling) == wanted


def test_free_sum_may_differ_but_only_by_rounding(cancelling: np.ndarray) -> None:
    wanted = free_sum.__wrapped__(cancelling)
    found = free_sum(cancelling)
    assert abs(found - wanted) <= 1e-15 * np.abs(cancelling).sum() * len(cancelling)
    assert found != wanted, "sums of so many numbers are added by vectors"


def test_every_version_of_a_product_in_strict_mode() -> None:
    generator = np.random.default_rng(3)
    A, B = generator.normal(size=(7, 11)), generator.normal(size=(11, 5))
    wanted = np.ones((7, 5))
    products.__wrapped__(wanted, A, B)
    space = products.space(wanted, A, B)
    for version in [version.name for version in products.generated(wanted, A, B).module.VERSIONS]:
        sizes = {name: 3 for name in space.configuration(version=version) if name.startswith("tile_")}
        C = np.ones((7, 5))
        products.run(space.configuration(version=version, **sizes), C, A, B)
        np.testing.assert_array_equal(C, wanted, err_msg=version)


def test_only_free_code_is_allowed_to_reassociate() -> None:
    signature = signature_of(("A",), (np.ones(3),))
    assert "fastmath=" in Stages(free_sum.__wrapped__, signature).source
    strict = Stages(free_sum.__wrapped__, signature, strict=True).source
    assert "fastmath=" not in strict and "strict" in strict.splitlines()[2]


def test_free_code_still_honours_nan_and_infinity() -> None:
    """And is no mathematics: for all operations, "reassoc" would have ``(x + e) - x`` be ``e``."""
    source = Stages(free_sum.__wrapped__, signature_of(("A",), (np.ones(3),))).source
    flags = re.search(r"fastmath=(\{.*?\})", source)
    assert flags is not None
    assert ast.literal_eval(flags[1]) <= {"contract", "nsz"}


def interpolated(x, y, part, out):
    for i in range(len(out)):
        out[i] = y[i] * (1.0 - part[i]) + x[i] * part[i]


def rounding_errors(x, y, out):
    for i in range(len(out)):
        total = x[i] + y[i]
        of_y = total - x[i]
        out[i] = (x[i] - (total - of_y)) + (y[i] - of_y)


def rounded(x, out):
    for i in range(len(out)):
        out[i] = (x[i] + 6755399441055744.0) - 6755399441055744.0


def differences_added(x, y, out):
    for i in range(len(out)):
        difference = y[i] - x[i]
        out[i] = x[i]
        out[i] += difference


def compensated(x, out):
    error = 0.0
    for i in range(len(x)):
        before = out[0]
        addend = x[i] - error
        out[0] += addend
        error = (out[0] - before) - addend


def moving_average(x, out):
    part = 0.25
    for i in range(len(out)):
        out[i] = part * x[i] + (1.0 - part) * out[i]


_MIXED = np.random.default_rng(5).random(67) * 10.0 ** np.random.default_rng(6).integers(-12, 13, 67)

ARITHMETIC = {
    "the end of an interpolation": (interpolated, (np.ones(67), np.full(67, 1e20), np.ones(67), np.zeros(67))),
    "an interpolation to infinity": (interpolated, (np.ones(67), np.full(67, np.inf), np.full(67, 0.5), np.zeros(67))),
    "what rounding takes away": (rounding_errors, (_MIXED, _MIXED[::-1].copy(), np.zeros(67))),
    "a number that rounds": (rounded, (_MIXED[_MIXED < 1e9], np.zeros((_MIXED < 1e9).sum()))),
    "the sum of a difference": (differences_added, (_MIXED, _MIXED[::-1].copy(), np.zeros(67))),
    "a compensated sum": (compensated, (_MIXED, np.zeros(1))),
    "an infinite average": (moving_average, (np.full(67, np.inf), np.ones(67))),
}


@pytest.mark.parametrize(("function", "arguments"), ARITHMETIC.values(), ids=ARITHMETIC)
def test_free_code_takes_no_expression_for_another(function: Any, arguments: tuple[np.ndarray, ...]) -> None:
    """Sums may be in another order, but arithmetic is that of floats, not of real numbers."""
    *given, out = arguments
    wanted = out.copy()
    function(*given, wanted)
    kernel = polytune.kernel(function)
    for version in [version.name for version in kernel.generated(*arguments).module.VERSIONS]:
        found = out.copy()
        kernel.run(kernel.space(*arguments).configuration(version=version), *given, found)
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=0, err_msg=version)


def test_only_free_sums_get_a_schedule_that_reassociates() -> None:
    """In LU decomposition the order of each element's updates is all that the one schedule has beyond the others."""
    case = polybench_case("lu")
    signature = signature_of(tuple(case.arguments()), tuple(case.arguments().values()))
    found = [
        {candidate.name for candidate in Stages(lu.__wrapped__, signature, strict).candidates}
        for strict in (False, True)
    ]
    assert found[0] - found[1] == {"reassociated"} and "tiled" in found[1]


def decimal_ranges(x):
    step = 0.7
    return x * np.arange(0.1, 2.0, 0.3), np.arange(0, 3 * step, step / 3), np.arange(-1.0, 1.0 + 1e-9, 0.1)


def test_ranges_of_floats_are_those_of_numpy_to_the_bit() -> None:
    """Their second element is the sum of start and step, the others are products of the difference of these."""
    for got, expected in zip(polytune.kernel(decimal_ranges, strict=True)(2.5), decimal_ranges(2.5), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)
