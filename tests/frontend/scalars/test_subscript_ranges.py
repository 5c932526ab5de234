"""Subscripts that are in range by how they are computed: what is tested of them, and that the rest still is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, SubscriptError
from polytune.frontend import analyse
from polytune.frontend.expression import Checked, walk
from polytune.frontend.scop import AccessKind
from polytune.runtime.calls.arguments import signature_of


def remainder(A, index, factor):
    for k in range(len(index)):
        A[int(index[k] * factor) % len(A)] += index[k]


def remainder_of_a_number(A, index, factor):
    B = np.zeros(int(factor))
    for k in range(len(index)):
        B[int(index[k] * factor) % len(B)] += 1.0
    A[: len(B)] = B


def clipped(A, index, factor):
    for k in range(len(index)):
        A[min(max(int(index[k] * factor), 0), 7)] += 1.0


def masked(A, index, factor):
    B = np.zeros(8)
    for k in range(len(index)):
        B[int(index[k] * factor) & 7] += 1.0
    A[:8] = B


def masked_halves(A, index, factor):
    B = np.zeros(8)
    for k in range(len(index)):
        B[(int(index[k] * factor) & 15) // 2] += 1.0
    A[:8] = B


def remainder_of_another(A, index, factor):
    for k in range(len(index)):
        A[int(index[k] * factor) % len(index)] += 1.0


def from_either_end(A, index, factor):
    for k in range(len(index)):
        A[int(index[k] * factor)] += 1.0


def negative_divisor(A, index, factor):
    for k in range(len(index)):
        A[int(index[k] * factor) % -8] += 1.0


def comparisons_of(kernel: Callable[..., Any]) -> list[str]:
    """The comparisons in the tests of a kernel's subscripts."""
    arguments = np.zeros(8), np.zeros(5), 2.0
    scop = analyse(kernel, signature_of(("A", "index", "factor"), arguments))
    found = []
    for statement in scop.statements:
        for operation in statement.operations:
            for part in walk(operation):
                if isinstance(part, Checked):
                    found += [each.operator for each in walk(part.violation) if hasattr(each, "operator")]
    return [symbol for symbol in found if symbol in ("<", "<=", ">=")]


TESTED: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "a remainder of the extent": (remainder, ["<="]),
    "a remainder of a number that is the extent": (remainder_of_a_number, ["<="]),
    "a remainder of another extent": (remainder_of_another, ["<", ">="]),
    "clipped": (clipped, [">="]),
    "masked": (masked, []),
    "a mask and half of it": (masked_halves, [">="]),
    "from either end": (from_either_end, ["<", ">="]),
    "a negative divisor": (negative_divisor, ["<", ">="]),
}


@pytest.mark.parametrize("name", TESTED)
def test_only_what_may_fail_is_tested(name: str) -> None:
    kernel, wanted = TESTED[name]
    assert comparisons_of(kernel) == wanted


@pytest.mark.parametrize("name", TESTED)
@pytest.mark.parametrize("size", [8, 11])
def test_elements_are_those_of_python(name: str, size: int) -> None:
    kernel, _ = TESTED[name]
    compiled = polytune.kernel(kernel)
    for factor in (1.0, 2.75) if kernel is remainder_of_a_number else (1.0, -1.0, 2.75):
        index = np.array([0.0, 1.0, 2.5, -1.0, -2.0, 2.0])
        wanted, found = np.zeros(size), np.zeros(size)
        kernel(wanted, index, factor)
        compiled(found, index, factor)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("kernel", "size", "index"),
    [
        (clipped, 7, [7.0]),
        (remainder_of_another, 2, [2.0, 1.0, 0.0]),
        (from_either_end, 8, [8.0]),
        (from_either_end, 8, [-9.0]),
        (negative_divisor, 6, [1.0]),
    ],
)
def test_what_is_out_of_range_is_an_error(kernel: Callable[..., Any], size: int, index: list[float]) -> None:
    with pytest.raises(IndexError):
        kernel(np.zeros(size), np.array(index), 1.0)
    with pytest.raises(SubscriptError):
        polytune.kernel(kernel)(np.zeros(size), np.array(index), 1.0)


def test_an_axis_without_elements_has_no_remainder() -> None:
    """In Python the division fails, and in NumPy's arithmetic the remainder is 0, where no element is."""
    compiled = polytune.kernel(remainder)
    compiled(np.zeros(3), np.ones(2), 1.0)
    with pytest.raises(SubscriptError):
        compiled(np.zeros(0), np.ones(2), 1.0)
    compiled(np.zeros(0), np.ones(0), 1.0)


def on_a_ring(A, index, factor):
    n = len(index)
    for k in range(n):
        after = (k + 1) % n
        A[after] = index[k] * factor + index[(k - 1) % n]


def test_neighbours_on_a_ring_are_exact() -> None:
    arguments = np.zeros(8), np.zeros(5), 2.0
    scop = analyse(on_a_ring, signature_of(("A", "index", "factor"), arguments))
    assert comparisons_of(on_a_ring) == []
    written, read = (
        [access.relation for each in scop.statements for access in each.accesses if access.array == name]
        for name in ("A", "index")
    )
    assert all(relation.is_single_valued() for relation in (*written, *read))


def in_pairs(A, index, factor):
    n, m = A.shape
    return A.reshape(n // 2, 2, m).sum(axis=1) * factor + index


def test_an_odd_number_of_rows_has_no_pairs() -> None:
    compiled = polytune.kernel(in_pairs)
    np.testing.assert_array_equal(compiled(np.ones((4, 3)), np.ones(3), 2.0), np.full((2, 3), 5.0))
    with pytest.raises(ValueError, match="cannot reshape"):
        in_pairs(np.ones((5, 3)), np.ones(3), 2.0)
    with pytest.raises(ArgumentError):
        compiled(np.ones((5, 3)), np.ones(3), 2.0)
    assert compiled(np.ones((5, 0)), np.ones(0), 2.0).shape == (2, 0)


def under_a_name(A, index, factor):
    n, m = A.shape
    pairs = A.reshape(n // 2, 2, m)
    return pairs[:, 0] * factor + pairs[:, 1]


def test_what_is_only_read_in_another_shape_is_not_written_back() -> None:
    scop = analyse(under_a_name, signature_of(("A", "index", "factor"), (np.ones((4, 3)), np.zeros(1), 2.0)))
    kinds = {access.kind for each in scop.statements for access in each.accesses if access.array == "A"}
    assert kinds == {AccessKind.READ}
