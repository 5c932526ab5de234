"""Arrays that only pass values on: which are left out, and that results are NumPy's whether they are or not."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.frontend import analyse
from polytune.frontend.scop import ArrayRole
from polytune.runtime.calls.arguments import signature_of
from tests.frontend.test_array_expressions import modelled


def square(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, n)) - 0.5


def vector(n: int) -> np.ndarray:
    return np.random.default_rng(n + 1).random(n) - 0.5


def rows_of_four(n: int) -> np.ndarray:
    return np.random.default_rng(n + 2).random((n, 4)) - 0.5


def chain(A, B):
    t = A + B
    u = np.maximum(t, 0)
    return np.sqrt(u) * 2.0


def selection(A, B):
    mask = np.logical_and(np.abs(B) < 0.25, B != 0)
    chosen = A[mask]
    return chosen.sum()


def selections_in_a_loop(A, B, R):
    for i in range(len(R)):
        mask = np.logical_and(np.abs(B) < 0.1 * i, B != 0)
        chosen = A[mask]
        R[i] = chosen.sum() + (chosen * chosen).sum()


def of_a_number_of_the_loop(A, R):
    for i in range(len(R)):
        x = R[i]
        t = A * x
        R[i] = np.sum(t)


def under_a_condition(A, R):
    for i in range(len(R)):
        t = A[i] + 1.0
        if i > 1:
            R[i] = np.sum(t)


def narrower(A, R):
    t = (A * 3.7).astype(np.float32)
    R[:] = t + 1.0


def truth(A, R):
    t = A > 0
    R[:] = t * 2.0


def corners(A, B):
    low = np.maximum(A[:, None, :2], B[None, :, :2])
    high = np.minimum(A[:, None, 2:], B[None, :, 2:])
    extent = np.maximum(high - low, 0.0)
    common = extent[:, :, 0] * extent[:, :, 1]
    return common / (1.0 + common)


def constant_columns(A, R):
    t = np.sqrt(A + 1.0)
    R[:] = t[:, 3] - t[:, 0] * t[:, 1]


def a_part(A, R):
    t = np.exp(A)
    R[1:-1] = t[1:-1]


def a_part_of_rows(A, R):
    t = A[:, 1:] * A[:, :-1]
    R[1:, 0] = t[1:, -1]


def cheap_in_one_statement(A, R):
    t = np.maximum(A, 0.1) + A
    R[:] = t * t + t * t * t


def a_row_of_columns(A, R):
    t = A.T.copy()
    R[:] = t[0]


def in_a_loop_of_one(A, R):
    t = A[:, None] * 2.0
    R[:] = (t + np.zeros((len(A), 1)))[:, 0]


PASSED_ON: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]] = {
    "a chain": (chain, ("vector", "vector"), ("t", "u")),
    "a chain in two dimensions": (chain, ("square", "square"), ("t", "u")),
    "a selection": (selection, ("vector", "vector"), ("mask", "mask_1", "selected")),
    "selections in a loop": (selections_in_a_loop, ("vector", "vector", "vector"), ("mask", "selected")),
    "a number of the loop": (of_a_number_of_the_loop, ("vector", "vector"), ("t",)),
    "a reader under a condition": (under_a_condition, ("square", "vector"), ("t",)),
    "a narrower type": (narrower, ("vector", "vector"), ("t",)),
    "truth values": (truth, ("vector", "vector"), ("t",)),
    "short axes": (corners, ("rows_of_four", "rows_of_four"), ("low", "high", "extent", "common")),
    "columns": (constant_columns, ("rows_of_four", "vector"), ("t",)),
    "a part": (a_part, ("vector", "vector"), ("t",)),
    "a part of rows": (a_part_of_rows, ("rows_of_four", "rows_of_four"), ("t",)),
    "cheap and in one statement": (cheap_in_one_statement, ("vector", "vector"), ("t",)),
    "a row of a copy in another order": (a_row_of_columns, ("square", "vector"), ("copy",)),
    "a loop of one iteration": (in_a_loop_of_one, ("vector", "vector"), ("t",)),
}


def operand_changed(A, R):
    t = A + 1.0
    A[:] = 0.0
    R[:] = t * 2.0


def operand_changed_by_the_reader(A, R):
    t = A[::-1] + 1.0
    A[:] = t * 2.0


def number_changed(A, R):
    x = R[0]
    t = A + x
    x = 5.0
    R[:] = t + x


def read_elsewhere(A, R):
    t = A + 1.0
    R[:] = t[::-1]


def read_beside(A, R):
    t = A * A
    R[1:-1] = t[2:] - t[:-2]


def read_an_element(A, R):
    t = A * A
    R[:] = t[0]


def read_again_and_again(A, R):
    t = np.exp(A)
    for i in range(len(R)):
        R[i] = np.sum(t) + i


def read_in_the_next_iteration(A, R):
    t = A + 1.0
    for i in range(len(R)):
        R[i] = t[i]
        t = A * (1.0 * i)


def returned(A, R):
    t = A + 1.0
    R[:] = t
    return t


def changed_itself(A, R):
    t = A + 1.0
    t[0] = 7.0
    R[:] = t


def selected_and_changed(A, R):
    mask = A > 0
    chosen = A[mask]
    A[:] = 1.0
    R[0] = chosen.sum()


def mask_changed(A, R):
    mask = A > 0
    chosen = A[mask]
    mask[:] = True
    R[0] = chosen.sum()
    R[1] = np.sum(mask)


def expensive_twice(A, R):
    t = np.exp(A)
    R[:] = t + 1.0
    A[:] = t + 2.0


def sorted_by_the_library(A, R):
    t = A * 2.0
    R[:] = np.sort(t)


def copied_columns(A, R):
    t = A.T.copy()
    for i in range(len(R)):
        R[i] = np.sum(t) + i


def diagonal(A, R):
    t = A * 2.0
    for i in range(len(R)):
        R[i] = t[i, i]


def column_for_each_row(A, R):
    t = A * A
    for i in range(len(R)):
        for j in range(4):
            R[i] += t[i, 0] * j


def boundaries(A, R):
    t = np.exp(A)
    R[:] = t
    R[0] = t[len(R) - 1]


def part_of_changed(A, R):
    t = A + 1.0
    A[1:] = 0.0
    R[1:-1] = t[1:-1]


def part_changed_by_the_reader(A, R):
    t = A * 2.0
    A[1:] = t[:-1]


def changed_by_another_name(A, R):
    row = A[0]
    t = A[0] + 1.0
    row[:] = 0.0
    R[:3] = t[:3]


def changed_between_readings(A, R):
    t = A + 1.0
    R[:] = t[:, 0]
    A[:, 1] = R
    R[:] += t[:, 1]


KEPT: dict[str, tuple[Callable[..., Any], tuple[str, ...], str]] = {
    "an operand is changed between": (operand_changed, ("vector", "vector"), "t"),
    "an operand is changed by the reader": (operand_changed_by_the_reader, ("vector", "vector"), "t"),
    "a number is changed between": (number_changed, ("vector", "vector"), "t"),
    "read backwards": (read_elsewhere, ("vector", "vector"), "t"),
    "read beside": (read_beside, ("vector", "vector"), "t"),
    "one element is read": (read_an_element, ("vector", "vector"), "t"),
    "read again and again": (read_again_and_again, ("vector", "vector"), "t"),
    "read in the next iteration": (read_in_the_next_iteration, ("vector", "vector"), ""),
    "returned": (returned, ("vector", "vector"), "t"),
    "changed itself": (changed_itself, ("vector", "vector"), "t"),
    "what is selected from changes": (selected_and_changed, ("vector", "vector"), "selected"),
    "a mask changes": (mask_changed, ("vector", "vector"), "mask_1"),
    "a function at two places": (expensive_twice, ("vector", "vector"), "t"),
    "the library reads it": (sorted_by_the_library, ("vector", "vector"), "t"),
    "a copy in another order": (copied_columns, ("square", "vector"), "copy"),
    "a diagonal": (diagonal, ("square", "vector"), "t"),
    "a column again for each row": (column_for_each_row, ("rows_of_four", "vector"), "t"),
    "an end is read again": (boundaries, ("vector", "vector"), "t"),
    "what a part is computed from is changed": (part_of_changed, ("vector", "vector"), "t"),
    "a part is written to what it comes from": (part_changed_by_the_reader, ("vector", "vector"), "t"),
    "changed by another name": (changed_by_another_name, ("square", "vector"), "t"),
    "changed between two readings": (changed_between_readings, ("rows_of_four", "vector"), "t"),
}

MAKE = {"square": square, "vector": vector, "rows_of_four": rows_of_four}


def local_arrays(kernel: Callable[..., Any], arguments: list[Any]) -> set[str]:
    names = tuple(inspect.signature(kernel).parameters)
    scop = analyse(kernel, signature_of(names, arguments))
    return {array.name for array in scop.arrays if array.role in (ArrayRole.LOCAL, ArrayRole.RESULT) and array.shape}


def check(kernel: Callable[..., Any], arguments: list[Any], *, strict: bool) -> None:
    expected = copy.deepcopy(arguments)
    wanted, found = kernel(*expected), modelled(kernel, tuple(arguments), strict=strict)
    for right, own in zip((*expected, wanted), (*arguments, found), strict=True):
        if right is not None:
            np.testing.assert_allclose(own, right, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("case", PASSED_ON.values(), ids=PASSED_ON)
@pytest.mark.parametrize("strict", [False, True], ids=["not strict", "strict"])
def test_values_are_passed_on(case: tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]], strict: bool) -> None:
    kernel, kinds, gone = case
    for size in (1, 4, 7):
        arguments = [MAKE[kind](size) + place for place, kind in enumerate(kinds)]
        assert not local_arrays(kernel, arguments) & set(gone)
        if kernel is not selection or size > 1:
            check(kernel, arguments, strict=strict)


@pytest.mark.parametrize("case", KEPT.values(), ids=KEPT)
def test_what_is_not_only_passed_on_stays(case: tuple[Callable[..., Any], tuple[str, ...], str]) -> None:
    kernel, kinds, stays = case
    for size in (4, 7):
        arguments = [MAKE[kind](size) for kind in kinds]
        assert not stays or stays in local_arrays(kernel, arguments)
        check(kernel, arguments, strict=False)


def test_an_array_that_is_passed_on_is_as_large_as_it_was() -> None:
    """A reader that goes further than the array is told so, though what it is computed from is larger."""

    def beyond(A, R, n):
        t = A[1:4] + 1.0
        for i in range(n):
            R[i] = t[i]

    scop = analyse(beyond, signature_of(("A", "R", "n"), (vector(9), vector(9), 5)))
    assert "t" in {array.name for array in scop.arrays}


def test_copies_of_arguments_that_do_not_lie_in_one_piece_stay() -> None:
    def copied(A, R):
        t = A.copy()
        for i in range(len(R)):
            R[i] = np.sum(t) + i

    assert "copy" in local_arrays(copied, [vector(8)[::2], vector(4)])
    assert "copy" not in local_arrays(copied, [vector(8), vector(4)])


def beyond_a_slice(A, R):
    t = A[:, 1:3] * 2.0
    R[:] = t[:, 2]


def operand_beyond_its_array(A, R):
    t = A[:, 4] + R
    R[:0] = t[:0]


def columns_that_are_missing(A, R):
    t = A + 1.0
    R[:] = t[:, 0] + t[:, 4]


@pytest.mark.parametrize("kernel", [beyond_a_slice, operand_beyond_its_array, columns_that_are_missing])
def test_what_is_outside_stays_an_error(kernel: Callable[..., Any]) -> None:
    arguments = [rows_of_four(5), vector(5)]
    with pytest.raises(IndexError):
        kernel(*copy.deepcopy(arguments))
    before = copy.deepcopy(arguments)
    with pytest.raises(polytune.ArgumentError, match="past the end of axis 1"):
        polytune.kernel(kernel)(*arguments)
    np.testing.assert_equal(arguments, before)


@pytest.mark.parametrize("shape", [(0, 4), (1, 4), (3, 4), (3, 0), (3, 1), (3, 5)])
def test_short_axes_of_all_lengths(shape: tuple[int, int]) -> None:
    """Where NumPy raises an error, so does the kernel, and else both return the same."""
    arguments = np.random.default_rng(3).random(shape), np.random.default_rng(4).random((2, shape[1]))
    compiled = polytune.kernel(corners)
    try:
        expected = corners(*arguments)
    except (IndexError, ValueError):
        with pytest.raises(polytune.ArgumentError):
            compiled(*arguments)
    else:
        np.testing.assert_allclose(compiled(*arguments), expected, rtol=1e-12)
