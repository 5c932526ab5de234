"""Sizes of new arrays that are negative: refused where NumPy raises, and no elements where it has none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune


def of_the_identity(n, A):
    A += 1.0
    return np.eye(n).sum()


def of_columns(n, A):
    A += 1.0
    return np.eye(3, n)


def of_identity(n, A):
    A += 1.0
    return np.identity(n)


def of_a_space(n, A):
    A += 1.0
    return np.linspace(0.0, 1.0, n).sum()


def of_repetitions(n, A):
    A += 1.0
    return np.repeat(A, n)


def of_tiles(n, A):
    A += 1.0
    return np.tile(A, (n, 2))


def of_an_edge(n, A):
    A += 1.0
    return np.pad(A, n)


def of_the_edges(n, A):
    A += 1.0
    return np.pad(A, (n, 1), mode="edge")


def of_a_count(n, A):
    A += 1.0
    return np.bincount(np.arange(0), minlength=n)


def of_a_grid(n, A):
    A += 1.0
    x, y = np.mgrid[0:n, 0:3]
    return (x + y).sum()


def of_subscripts(n, A):
    total = 0
    for i, j in np.ndindex(n, 2):
        A[i] += j
        total += i + j
    return total


def of_a_stretched_number(n, A):
    A += 1.0
    return np.broadcast_to(A[0], (n, 2))


def of_random_numbers(n, A):
    A += 1.0
    drawn = np.random.random((2, n))
    return drawn.shape[1]


def beside_a_shape(n, A):
    A += 1.0
    return np.full((n, *A.shape), 1.5)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "function",
    [
        of_the_identity,
        of_columns,
        of_identity,
        of_a_space,
        of_repetitions,
        of_tiles,
        of_an_edge,
        of_the_edges,
        of_a_count,
        of_a_grid,
        of_subscripts,
        of_a_stretched_number,
        of_random_numbers,
        beside_a_shape,
    ],
)
def test_negative_sizes_are_refused_where_numpy_raises(function: Callable[..., Any], strict: bool) -> None:
    kernel = polytune.kernel(strict=strict)(function)
    for n in (0, 1, 3):
        A, expected = np.arange(4.0), np.arange(4.0)
        np.testing.assert_array_equal(kernel(n, A), function(n, expected), strict=False)
        np.testing.assert_array_equal(A, expected)
    for n in (-1, -3):
        with pytest.raises(ValueError, match="negative"):
            function(n, np.arange(4.0))
        A = np.arange(4.0)
        with pytest.raises(polytune.ArgumentError, match=f"is negative: {n}"):
            kernel(n, A)
        np.testing.assert_array_equal(A, np.arange(4.0))


def below_the_diagonal(n):
    return np.tri(n), np.tri(n, 2).sum(axis=0)


def places_of_a_triangle(n):
    i, j = np.triu_indices(n)
    k, m = np.tril_indices(n, 0, 3)
    return i, j, k, m


def shuffled(n):
    drawn = np.random.permutation(n)
    return np.sort(drawn)


def one_range(n):
    x, y = np.ogrid[0:n, 0:3]
    return np.mgrid[0:n].sum(), x + y, np.arange(n)


@pytest.mark.parametrize("function", [below_the_diagonal, places_of_a_triangle, shuffled, one_range])
def test_negative_sizes_are_no_elements_where_numpy_says_so(function: Callable[..., Any]) -> None:
    kernel = polytune.kernel(function)
    for n in (-3, -1, 0, 2):
        found, expected = kernel(n), function(n)
        for pair in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
            np.testing.assert_array_equal(*pair, strict=True)


def means_of_groups(A, groups, first, count: int, columns: int):
    """Centres that each step computes anew, in a shape that other arguments say than the one before it."""
    centres = first
    for _ in range(3):
        distances = np.array([[np.sum((A[i] - centres[k]) ** 2) for k in range(count)] for i in range(A.shape[0])])
        groups[:] = np.argmin(distances, axis=1)
        centres = np.array([[np.sum(A[groups == k, j]) for j in range(columns)] for k in range(count)])
    return centres


def test_arrays_made_in_a_loop_have_the_shape_of_those_before_it():
    A = np.random.default_rng(1).random((20, 3))
    kernel = polytune.kernel(means_of_groups)
    wanted, found = np.zeros(20, np.int64), np.zeros(20, np.int64)
    right = means_of_groups(A, wanted, A[:4].copy(), 4, 3)
    np.testing.assert_allclose(kernel(A, found, A[:4].copy(), 4, 3), right)
    np.testing.assert_array_equal(found, wanted)
    for count, columns in ((3, 3), (4, 2)):
        untouched = found.copy()
        with pytest.raises(polytune.errors.ArgumentError, match="another shape after an iteration"):
            kernel(A, found, A[:4].copy(), count, columns)
        np.testing.assert_array_equal(found, untouched)
