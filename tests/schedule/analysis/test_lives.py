"""Variables and local arrays whose values have no meaning in the next iteration, although data decide what is written
to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.every_version import check_versions, stages_of


def escape_times(c, out, most):
    """The variable of a loop that ends early is read after it."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            x = 0.0
            for k in range(most):  # noqa: B007
                x = x * x + c[i, j]
                if x > 2.0:
                    break
            out[i, j] = k


def kept_variable(c, out, most):
    """A variable keeps its value where the loop that assigns it has no iterations."""
    k = 7
    for i in range(out.shape[0]):
        for k in range(i - 2, most):  # noqa: B007
            if c[i, 0] > 0.5:
                break
        out[i, 0] = k


def sorted_windows(x, out):
    """Insertion by a loop over data into an array that each iteration makes anew."""
    for i in range(out.shape[0]):
        window = np.empty(5)
        for k in range(5):
            j = k
            while j > 0 and window[j - 1] > x[i + k]:
                window[j] = window[j - 1]
                j -= 1
            window[j] = x[i + k]
        out[i] = window[2]


def of_the_iteration_before(x, out):
    """The array of the iteration before is read under another name."""
    kept = np.zeros(3)
    for i in range(out.shape[0]):
        new = np.empty(3)
        j = 0
        while j < 3:
            new[j] = x[i] * j
            j += 1
        out[i] = kept[2] + new[1]
        if x[i] > 0.5:
            kept = new


def of_loops_inside(x, out):
    """An array is made anew in each iteration of the outer loop, and goes on changing in the inner one."""
    for i in range(out.shape[0]):
        row = np.empty(4)
        for j in range(out.shape[1]):
            if j == 0:
                k = 0
                while k < 4:
                    row[k] = x[i] * k
                    k += 1
            out[i, j] = row[j % 4]
            row[j % 4] += 1.0


def made_outside(x, out):
    """What an iteration leaves in an array that is made before all of them, the next one finds."""
    last = np.empty(2)
    last[0] = 0.0
    for i in range(out.shape[0]):
        j = 0
        while j < 1 and x[i] > 0.5:
            last[j] = x[i]
            j += 1
        out[i] = last[0]


X = np.array([0.5, 0.75, 0.25, 0.875, 0.125, 0.625, 1.0, 0.0, 0.375])
CASES: dict[str, tuple[Callable, tuple[Any, ...], bool | None]] = {
    "loop variable": (escape_times, (np.outer(X[:3], X[:4]) + 0.2, np.zeros((3, 4)), 6), True),
    "kept loop variable": (kept_variable, (X.reshape(9, 1), np.zeros((9, 1)), 4), False),
    "window": (sorted_windows, (X, np.zeros(5)), True),
    "the iteration before": (of_the_iteration_before, (X, np.zeros(9)), None),
    "loops inside": (of_loops_inside, (X, np.zeros((9, 6))), True),
    "made outside": (made_outside, (X, np.zeros(9)), False),
}
"""Functions, arguments, and whether iterations of the outermost loop are independent; None where others may be."""


@pytest.mark.parametrize("name", CASES)
def test_versions_compute_what_python_does(name: str) -> None:
    function, arguments, _ = CASES[name]
    check_versions(function, stages_of(function, arguments), arguments)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2] is not None])
def test_iterations_that_share_no_values_are_independent(name: str) -> None:
    function, arguments, is_parallel = CASES[name]
    names = [program.name for program in stages_of(function, arguments).programs]
    assert ("parallel" in names) == is_parallel
