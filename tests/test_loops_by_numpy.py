"""Loops that NumPy runs as a whole inside of kernels: what they share with what is around them, errors, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError

CONSTANT = np.array([1.0, 2.0])


@polytune.kernel
def changed_under_other_names(A, B, steps: int):
    row = A[1, ::2]
    for _ in range(steps):
        part = row[1:].reshape(-1)
        part *= 2.0
        B = B[:-1] + part[0]
        head, last = A[0], len(B)
        head[-1] += B.sum() + last
    for i in range(A.shape[0]):
        A[i, 0] += 1.0


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda A: np.repeat(A, 2, 1)[:, ::2]])
def test_views_show_what_they_show_in_numpy(layout: Any) -> None:
    wanted, other = layout(np.arange(18.0).reshape(3, 6)), np.arange(5.0)
    other.flags.writeable = False  # as nothing changes it
    found = wanted.copy(order="K")
    changed_under_other_names.__wrapped__(wanted, other, 3)
    changed_under_other_names(found, other, 3)
    np.testing.assert_array_equal(found, wanted)


@polytune.kernel
def argument_changed_by_the_name_that_it_gets(X, steps: int):
    A = X * 2.0
    for _ in range(steps):
        A[0] += X[1]
        A, X = X, A


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_an_argument_is_changed_under_the_name_that_it_gets(steps: int) -> None:
    found, expected = np.arange(6.0), np.arange(6.0)
    argument_changed_by_the_name_that_it_gets(found, steps)
    argument_changed_by_the_name_that_it_gets.__wrapped__(expected, steps)
    assert np.array_equal(found, expected)


@polytune.kernel
def without_the_last(A, out, steps: int):
    out[:] = 1.0
    for step in range(steps):
        out[step] = A[len(A) - 1]
        A = A[A[len(A) - 1] > A]
    out[0] = 5.0


def test_an_error_ends_the_kernel_where_it_is() -> None:
    A = np.arange(3.0)
    wanted, found = np.zeros(9), np.zeros(9)
    for _ in range(2):
        for function, out in ((without_the_last.__wrapped__, wanted), (without_the_last, found)):
            with pytest.raises(IndexError, match="out of bounds"):
                function(A, out, 5)
        np.testing.assert_array_equal(found, wanted)
    without_the_last(A, found, 3)
    np.testing.assert_array_equal(found, [5.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


def halves_exchanged(y, k: int):
    rows, columns = np.mgrid[0:2, 0 : 2**k]
    for i in range(k):
        shown = np.reshape(y, (2**i, 2, 2 ** (k - 1 - i)))
        shown[:, 0] += shown[:, 1] * rows[1, 0]
        y[1:] -= y[:-1]
        turned = np.transpose(shown, (1, 0, 2)).copy()
        turned[0] += (rows + columns)[:, : 2**i].sum()
        y[:] = np.reshape(turned, y.shape)
    y += 1.0


def coordinates_changed(y, k: int):
    rows, _ = np.mgrid[0:2, 0 : 2**k]
    for i in range(k):
        shown = np.reshape(y, (2**i, 2, 2 ** (k - 1 - i)))
        rows += 1
        shown += rows.sum()


@pytest.mark.parametrize("function", [halves_exchanged, coordinates_changed])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_views_in_shapes_that_differ_show_what_is_changed(function: Callable[..., Any], k: int) -> None:
    found, wanted = np.arange(2.0**k), np.arange(2.0**k)
    function(wanted, k)
    polytune.kernel(background=False)(function)(found, k)
    np.testing.assert_array_equal(found, wanted)


def half(A):
    return A[::2]


def read_after(A):
    x = A + 1.0
    for _ in range(2):
        x = x[x > 1.5]
    return x.sum()


def counted_after(A):
    count = 0
    for _ in range(2):
        A = A[A.min() < A]
        count += len(A)
    return count


def read_by_the_next_iteration_around(A, out):
    x = A + 1.0
    for i in range(len(out)):
        out[i] = x[0]
        for _ in range(2):
            x = x[x > 1.5]


def of_another_function(A, out):
    for i in range(len(out)):
        A = half(A)
        out[i] = A[0]


def of_a_constant(A, out):
    for _ in range(len(out)):
        A = A[A.min() < A]
        CONSTANT[0] = A[0]


def with_a_loop_inside(A, out):
    for i in range(len(out)):
        A = A[A.min() < A]
        for j in range(len(A)):
            out[i] += A[j]


def of_random_numbers(A, out):
    for i in range(len(out)):
        A = A[A.min() < A]
        out[i] = A[0] + np.random.random()


@pytest.mark.parametrize(
    "function",
    [
        read_after,
        counted_after,
        read_by_the_next_iteration_around,
        of_another_function,
        of_a_constant,
        with_a_loop_inside,
        of_random_numbers,
    ],
)
def test_what_numpy_cannot_run_beside_the_rest_is_refused(function: Callable[..., Any]) -> None:
    arguments = [np.arange(6.0), np.zeros(2)][: function.__code__.co_argcount]
    with pytest.raises(UnsupportedSourceError) as caught:
        polytune.kernel(function)(*arguments)
    message = str(caught.value)
    assert "is another one after an iteration of the loop" in message or "CONSTANT" in message
