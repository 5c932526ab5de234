"""Which statements are steps of a reduction."""

from __future__ import annotations

import numpy as np
import pytest

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
        A[0] = np.maximum(A[0], B[i])


def forgetful(A, B, s):
    for i in range(1, len(B)):
        A[0] = max(B[i], A[0])
        A[0] = min(s, A[0], B[i])


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
