"""Loops that are refused, and what to write instead."""

# ruff: noqa: B007
# mypy: ignore-errors

from __future__ import annotations

import numpy as np

from tests.frontend.refused.cases import mended, refused
from tests.frontend.values import VECTOR, matrix, vector


@refused("the loop bound x is no integer", "x")
def floating_point_bound(A, x: float):
    for i in range(x):
        A[i] += 1.0


@mended(floating_point_bound, lambda: (vector(), 3.0), "an int in place of a float argument", is_error=True,
        call=lambda kernel, A, x: kernel(A, int(x)))  # fmt: skip
def integer_bound(A, x: int):
    for i in range(x):
        A[i] += 1.0


@refused("a loop over np.ndindex(A.shape)", "np.ndindex(A.shape)")
def subscripts_as_one(A):
    for place in np.ndindex(A.shape):
        if A[place] > 0.75:
            break
        A[place] += 1.0


@mended(subscripts_as_one, lambda: (matrix(),), "or write the loops")
def subscripts_with_names(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > 0.75:
                return
            A[i, j] += 1.0


@refused("the step 0 of a loop", "0")
def step_zero(A):
    for i in range(0, 10, 0):
        A[i] = 1.0


@mended(step_zero, lambda: (vector(9),), "use an integer that is not zero", is_error=True)
def step_one(A):
    for i in range(0, 9, 1):
        A[i] = 1.0


@refused("the step x of a loop", "x")
def fractional_step(A, x: float):
    for i in range(0, 10, x):
        A[i] = 1.0


@mended(fractional_step, lambda: (np.arange(12.0), 3.0), "or int(x)", is_error=True)
def whole_step(A, x):
    for i in range(0, 10, int(x)):
        A[i] = 1.0


@refused("a range without one to three plain arguments", "range()")
def empty_range(A):
    for i in range():
        A[i] = 1.0


@mended(empty_range, VECTOR, "write range(start, stop, step)", is_error=True)
def full_range(A):
    for i in range(0, len(A), 1):
        A[i] = 1.0


def a_table():
    return (1.0, 2.0, 3.0)


@refused("break or continue in a loop over a tuple", "for x in table:")
def break_in_a_loop_over_a_tuple(A):
    table = a_table()
    for x in table:
        if A[0] > x:
            break
        A[0] += x


@mended(
    break_in_a_loop_over_a_tuple,
    VECTOR,
    "loop over range(len(...)) of an array with these values",
    lambda kernel, A: kernel(A, np.array(a_table())),
)
def break_in_a_loop_over_an_array(A, table):
    for k in range(len(table)):
        if A[0] > table[k]:
            break
        A[0] += table[k]


@refused("2 values in each iteration and one target", "x")
def one_name_for_pairs(A):
    for x in enumerate(A):
        A[0] += 1.0


@mended(one_name_for_pairs, VECTOR, "name as many variables as there are values: for i, x in enumerate(A)")
def two_names_for_pairs(A):
    for i, x in enumerate(A):
        A[0] += 1.0


@refused("a loop over n", "n")
def loop_over_a_number(A, n: int):
    for x in n:
        A[0] += x


@mended(loop_over_a_number, lambda: (vector(), 3), "loop over a range", is_error=True)
def loop_over_its_range(A, n):
    for x in range(n):
        A[0] += x


@refused("an array in another shape gets a name", "A.ravel()")
def elements_of_what_changes(A):
    total = 0.0
    for x in A.ravel():
        total += x
        A[-1, -1] = 100.0
    return total


@mended(elements_of_what_changes, lambda: (matrix(),), "to change the array, assign to it in its own shape")
def elements_by_subscripts(A):
    total = 0.0
    for i, j in np.ndindex(A.shape):
        total += A[i, j]
        A[-1, -1] = 100.0
    return total
