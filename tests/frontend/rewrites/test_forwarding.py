"""Arrays that only pass values on: which are left out, and that results are NumPy's whether they are or not."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polytune.frontend import analyse
from polytune.frontend.scop import ArrayRole
from polytune.runtime.calls.arguments import signature_of
from tests.frontend.test_array_expressions import modelled


def square(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, n)) - 0.5


def vector(n: int) -> np.ndarray:
    return np.random.default_rng(n + 1).random(n) - 0.5


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


PASSED_ON: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]] = {
    "a chain": (chain, ("vector", "vector"), ("t", "u")),
    "a chain in two dimensions": (chain, ("square", "square"), ("t", "u")),
    "a selection": (selection, ("vector", "vector"), ("mask", "mask_1", "selected")),
    "selections in a loop": (selections_in_a_loop, ("vector", "vector", "vector"), ("mask", "selected")),
    "a number of the loop": (of_a_number_of_the_loop, ("vector", "vector"), ("t",)),
    "a reader under a condition": (under_a_condition, ("square", "vector"), ("t",)),
    "a narrower type": (narrower, ("vector", "vector"), ("t",)),
    "truth values": (truth, ("vector", "vector"), ("t",)),
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
    R[:] = t[1]


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
}

MAKE = {"square": square, "vector": vector}


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
