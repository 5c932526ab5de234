"""Loops in the form that they mostly have: they compute what plain Python does, find what is out of range, and are
written where compilers make vectors of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import SubscriptError
from polytune.runtime.calls.arguments import signature_of
from tests.test_control import in_every_version, kernel_of


def looked_up(table, x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            k = int(x[i, j])
            part = x[i, j] - k
            out[i, j] = (1.0 - part) * table[k] + part * table[k + 1]


def left_alone(table, x, out):
    """Elements that no iteration writes stay as they are."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] < 4.0:
                k = int(x[i, j])
                if table[k] > 1.0:
                    out[i, j] = table[k] * x[i, j]


def chained(table, x, out):
    """Where a subscript is looked up, too."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            k = int(table[int(x[i, j])])
            out[i, j] = table[k] + x[i, j]


def added_up(table, x, out):
    for i in range(x.shape[0]):
        total = 0.5
        for j in range(x.shape[1]):
            total += table[int(x[i, j])]
        out[i, 0] = total


def beside(table, x, out):
    """A loop whose variables nothing else needs, and one that shares its own with what follows."""
    for i in range(x.shape[0]):
        last = -1.0
        for j in range(x.shape[1]):
            k = int(x[i, j])
            last = table[k]
            out[i, j] = last
        out[i, 0] = out[i, 0] + last


def in_place(table, x, out):
    """An iteration reads what another has written: the loop cannot run again."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = out[i, j] + table[int(x[i, j])]


def backwards(table, x, out):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, out.shape[1] - 1 - j] = table[int(x[i, j])]


def running(table, x, out):
    """Each iteration needs the one before."""
    for i in range(x.shape[0]):
        level = 0.0
        for j in range(x.shape[1]):
            level = 0.5 * level + table[int(x[i, j])]
            out[i, j] = level


USUAL = [looked_up, left_alone, chained, added_up]
OTHERS = [beside, in_place, backwards, running]


def places(shape: tuple[int, int], least: int, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(4).integers(4 * least, 20, shape).astype(dtype) / dtype(4)


TABLE = np.array([0.0, 2.0, 1.0, 3.0, 0.5, 2.0, 1.0])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("least", [0, -1, -5])
@pytest.mark.parametrize("shape", [(4, 37), (3, 1), (0, 5), (5, 0)])
@pytest.mark.parametrize("function", [*USUAL, *OTHERS], ids=lambda each: each.__name__)
def test_results(function: Callable[..., Any], shape: tuple[int, int], least: int, strict: bool) -> None:
    if shape == (5, 0) and function in (added_up, beside):
        return  # they write to the first column
    in_every_version(function, TABLE, places(shape, least), np.full(shape, 7.0), strict=strict)


@pytest.mark.parametrize("function", [looked_up, added_up], ids=lambda each: each.__name__)
def test_single_precision(function: Callable[..., Any]) -> None:
    in_every_version(function, TABLE.astype(np.float32), places((4, 37), -1, np.float32), np.zeros((4, 37), np.float32))


@pytest.mark.parametrize("wrong", [7.0, -8.0, 1e300, np.nan, np.inf])
@pytest.mark.parametrize("function", [looked_up, chained, added_up], ids=lambda each: each.__name__)
def test_what_is_out_of_range_is_found(function: Callable[..., Any], wrong: float) -> None:
    x, out = places((5, 37), 0), np.zeros((5, 37))
    x[3, 30] = wrong
    kernel = polytune.kernel(function, background=False)
    space = kernel.space(TABLE, x, out)
    for version in space["version"].values:
        with pytest.raises(SubscriptError, match="'table'"):
            kernel.run(space.configuration(version=version), TABLE, x, out)


def test_rows_before_and_after_are_right() -> None:
    x, out, wanted = places((6, 37), 0), np.zeros((6, 37)), np.zeros((6, 37))
    x[2, 5] = -3.0
    looked_up(TABLE, x, wanted)
    polytune.kernel(looked_up, background=False)(TABLE, x, out)
    np.testing.assert_allclose(out, wanted)


def is_usual_first(function: Callable[..., Any], *, strict: bool = False) -> bool:
    arguments = TABLE, places((2, 3), 0), np.zeros((2, 3))
    signature = signature_of(("table", "x", "out"), arguments)
    return "outside = outside + 1" in kernel_of(function, strict).module_text(signature, devices=False)


@pytest.mark.parametrize("function", USUAL, ids=lambda each: each.__name__)
def test_loops_are_in_their_usual_form_first(function: Callable[..., Any]) -> None:
    assert is_usual_first(function)
    assert is_usual_first(function, strict=True) == (function is not added_up)


@pytest.mark.parametrize("function", OTHERS, ids=lambda each: each.__name__)
def test_loops_that_cannot_run_again_or_are_no_vectors_are_left_as_they_are(function: Callable[..., Any]) -> None:
    assert not is_usual_first(function)
