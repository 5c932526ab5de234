"""Which statements are steps of a reduction."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.frontend.scop import Statement
from tests.frontend import programs
from tests.frontend.helpers import analysed


def sums(A, B, s):
    for i in range(1, len(B)):
        A[0] += B[i]
        A[0] -= B[i]
        A[0] = A[0] + B[i] * 2.0
        A[0] = B[i] + A[0]
        A[0] = B[i] + A[0] - s


def others(A, B, s):
    for i in range(1, len(B)):
        A[0] *= B[i]
        A[0] = min(A[0], B[i])
        A[0] = max(A[0], B[i])
        A[0] = max(A[0], B[i], s)
        A[0] = s * B[i] * A[0]


def none(A, B, s):
    for i in range(1, len(B)):
        A[0] = B[i] - A[0]
        A[0] /= B[i]
        A[0] = A[0] + A[0]
        A[0] += A[0] * B[i]
        A[i] += A[i - 1] * A[2 * i - i]
        A[0] = A[0] * s + B[i]
        A[0] = abs(A[0])
        A[i] = B[i] + s
        A[0] = np.fmax(A[0], B[i])


def forgetful(A, B, s):
    for i in range(1, len(B)):
        A[0] = max(B[i], A[0])
        A[0] = min(s, A[0], B[i])


def of_numpy(A, B, s):
    for i in range(1, len(B)):
        A[0] = np.maximum(A[0], B[i])
        A[0] = np.minimum(s, np.minimum(B[i], A[0]))
        A[0] = np.minimum(np.maximum(B[i], A[0]), s)
        A[0] = np.maximum(A[0], A[0] * s)


def operators(statements: tuple[Statement, ...]) -> list[str | None]:
    return [statement.reduction.operator if statement.reduction else None for statement in statements]


def test_sums() -> None:
    assert operators(analysed(sums).statements) == ["+"] * 5


def test_products_and_extrema() -> None:
    assert operators(analysed(others).statements) == ["*", "min", "max", "max", "*"]


def test_what_is_kept_comes_first_in_extrema_of_floating_point_numbers() -> None:
    """``max(NaN, x)`` is NaN in Python and ``max(e, NaN)`` is e, so the result is another one in another order."""
    assert operators(analysed(forgetful).statements) == [None, None]
    whole = analysed(forgetful, A="int64[:]", B="int64[:]", s="int64")
    assert operators(whole.statements) == ["max", "min"]


def test_numpy_functions_that_pass_on_nan_are_reductions_in_any_order_of_operands() -> None:
    assert operators(analysed(of_numpy).statements) == ["maximum", "minimum", None, None]


@pytest.mark.parametrize("position", range(9))
def test_no_reduction(position: int) -> None:
    assert analysed(none).statements[position].reduction is None


def test_a_sum_rounded_to_another_type_at_every_step_is_no_reduction() -> None:
    statements = analysed(sums, A="float32[::1]", B="float64[::1]").statements
    assert operators(statements) == [None] * 5


def test_other_elements_of_the_same_array_may_be_read() -> None:
    assert operators(analysed(programs.lu).statements) == ["+", None, "+"]


def prefix(A):
    for i in range(1, len(A)):
        A[0] += A[i]
        A[i] += A[i - 1]
        A[2] += A[i]


def test_the_target_must_not_be_read_twice_by_one_instance() -> None:
    assert operators(analysed(prefix).statements) == ["+", "+", None]


def test_a_reduction_names_its_two_references() -> None:
    statement = analysed(programs.gemm).statements[1]
    assert statement.reduction is not None
    by_reference = {access.reference: access for access in statement.accesses}
    read, write = by_reference[statement.reduction.read], by_reference[statement.reduction.write]
    assert (read.array, read.is_write, write.array, write.is_write) == ("C", False, "C", True)
    assert read.relation.is_equal(write.relation)


def counted(P, Q):
    for i in range(len(Q)):
        P[0] += Q[i]
        P[1] += 1


def test_sums_of_integers() -> None:
    assert operators(analysed(counted, P="int32[::1]", Q="int32[::1]").statements) == ["+", "+"]


def guarded(x, y):
    up, down, count, share = 0.0, -0.0, 0, 1.0
    for i in range(x.shape[0]):
        d = x[i]
        if d > 0.0:
            up += d
        if x[i] < 0.0:
            down -= x[i] * 2.0
        if d != d:
            count += 1
        if y[i] > 0.5 and d == d:
            share = share * y[i]
        if not y[i] > 0.5:
            count -= 3
    return up, down, count, share


@pytest.mark.parametrize("strict", [False, True])
def test_a_sum_under_a_condition_is_an_accumulation(strict):
    """Bit for bit as Python, with zeros of both signs, infinities and NaN."""
    scop = analysed(guarded, x="float64[:]", y="float64[:]")
    updates = [each for each in scop.statements if each.reduction is not None]
    assert len(updates) == 5 and not any(each.is_opaque for each in updates)
    kernel = polytune.Kernel(guarded, strict=True)
    rng = np.random.default_rng(0)
    for special in ([], [-0.0, 0.0], [np.nan], [np.inf, -0.0], [np.inf, -np.inf]):
        x = np.array([*special, *rng.integers(-3, 4, 9)]) if special != [-0.0, 0.0] else np.full(5, -0.0)
        y = rng.random(x.shape[0])
        got, wanted = kernel(x, y), guarded(x, y)
        np.testing.assert_array_equal(np.array(got).view(np.int64), np.array(wanted).view(np.int64))


def unsafe(x, n, index):
    total, other = 0.0, 0
    for i in range(x.shape[0]):
        if i + n < x.shape[0] and x[i] > 0.0:
            total += x[i + n]
        if n != 0 and x[i] > 0.0:
            other += 7 // n
        if x[i] > 0.5:
            total += index[i] / x[i]
    return total, other


def test_what_a_condition_guards_is_not_computed_without_it():
    """An element that there may not be, and a division by zero."""
    kernel = polytune.Kernel(unsafe)
    x, index = np.random.default_rng(0).random(12), np.arange(12.0)
    for n in (0, 1, 5, 20):
        np.testing.assert_allclose(kernel(x, n, index), unsafe(x, n, index), rtol=1e-13)
