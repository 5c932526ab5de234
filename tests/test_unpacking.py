"""Several targets of one assignment: all values are read before the first target is written, views as views."""

# ruff: noqa: B905

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.test_control import in_every_version


def before_it_changes(A, B):
    A[0, 0], x = 5.0, A * 2.0
    B[:] = x


def into_an_array(A, B):
    A[0, 0], B[:] = B[0, 0] + 1, A * 2


def whole_arrays(A, B):
    A[:], B[:] = B + 1, A + 1


def a_number_first(A, B):
    x, A[0, 0] = A[0, 0], 3.0
    B[1, 1] = x


def elements_of_rows(A, B):
    r, s = A[0], A[1]
    r[0], s[0] = s[0], r[0]


def subscripts_in_turn(A, B):
    A[0][1], A[0][2] = A[0][2], A[0][1]


def rows(A, B):
    A[0], A[1] = A[1], A[0]


def computed_rows(A, B):
    A[0], A[1] = A[1] * 1.0, A[0] * 1.0


def a_part_and_its_array(A, B):
    r = A[:, 1:]
    r[0, 0], A[0, 2] = A[0, 2], A[0, 1]


def tuples_in_tuples(A, B):
    r = A[::2]
    (r[0, 0], r[1, 0]), A[0, 1] = (r[1, 0], r[0, 0]), r[0, 0]


def parts_in_turn(A, B):
    A[0], B[0], A[1] = A[1], A[0], B[0]


def rows_in_a_loop(A, B):
    for i in range(2):
        r = A[i]
        q = A[i + 1]
        r[1], q[2], r[0] = q[2], r[1], r[1] + q[2]


def rows_of_two_arrays(A, B):
    for r, q in zip(A, B):
        r[:], q[:] = q, r


def copies_of_rows(A, B):
    for r, q in zip(A, B):
        r[:], q[:] = q.copy(), r.copy()


def a_transpose(A, B):
    v = A.T
    v[0, 1], A[0, 1] = A[0, 1], v[0, 1]


def by_hand(A, B):
    t = A[0, 0]
    A[0, 0] = A[1, 1]
    A[1, 1] = t
    r = A[2]
    t = r[0]
    r[0] = r[1]
    r[1] = t


def a_sum(A, B):
    r = A[2]
    t = r[0] + r[1]
    r[0], r[1] = t, t + r[0]


def updated_before(A, B):
    v = A[0]
    v[0] += 1.0
    x, v[1] = v[0], v[1] * 2
    v[0] = 7.0
    B[0, 0] = x


def one_row_by_two_names(A, B):
    x = A[0]
    y = x
    A[0, 1], y[0] = y[0], x[1]


def reversed_row(A, B):
    x = A[0]
    y = x[::-1]
    y[0], x[0] = x[0], y[0]


def shifted(A, B):
    for i in range(3):
        A[i, 0], A[i, 1:] = A[i, 1], A[i, :-1] * 2.0


def swapped(row, i, j):
    row[i], row[j] = row[j], row[i]


def in_a_helper(A, B):
    for i in range(3):
        swapped(A[i], 0, 2)
        swapped(B[:, i], i, 0)


KERNELS = (
    before_it_changes,
    into_an_array,
    whole_arrays,
    a_number_first,
    elements_of_rows,
    subscripts_in_turn,
    rows,
    computed_rows,
    a_part_and_its_array,
    tuples_in_tuples,
    parts_in_turn,
    rows_in_a_loop,
    rows_of_two_arrays,
    copies_of_rows,
    a_transpose,
    by_hand,
    a_sum,
    updated_before,
    one_row_by_two_names,
    reversed_row,
    shifted,
    in_a_helper,
)


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_values_are_read_before_targets_are_written(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    in_every_version(function, rng.random((3, 3)), rng.random((3, 3)))
