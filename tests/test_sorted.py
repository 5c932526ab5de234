"""Python's ``sorted`` in kernels: lists in order, and elements of these."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from tests.frontend.values import matrix, vector
from tests.test_growing_lists import assert_same


def elements(x):
    return sorted(x)[0], sorted(x)[-1], sorted(x, reverse=True)[1], np.mean(sorted(x)[1:-1]), len(sorted(x))


def median_of_three(x):
    for i in range(1, len(x) - 1):
        x[i] = sorted([x[i - 1], x[i], x[i + 1]])[1]
    return x


def unpacked(x):
    least, middle, greatest = sorted((x[0], x[1], x[2]))
    return least, middle, greatest


def loops(x):
    total = 0.0
    for v in sorted(x, reverse=True):
        total = 0.5 * total + v
    for k, v in enumerate(sorted(x[x > 0])):
        total += k * v
    return total


def lists(x):
    out = []
    for v in x:
        if v > -0.5:
            out.append(v)
    least = sorted(out)
    out = sorted(out, reverse=True)
    out.append(least[0])
    return out, least, sorted(x)


def array_of_a_list(x):
    return np.array(sorted(x)), np.sum(sorted(x)[:2]), np.array([sorted(x)[k] for k in range(3)])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", [elements, median_of_three, unpacked, loops, lists, array_of_a_list])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_sorted_is_pythons(function, strict: bool, dtype: str) -> None:
    kernel = polytune.kernel(function, strict=strict)
    for size in (9, 4, 33):
        x = (8 * vector(size)).astype(dtype)
        assert_same(kernel(x.copy()), function(x.copy()))
        x = np.repeat(x, 2)[::-2]
        assert_same(kernel(x.copy()), function(x.copy()))


def test_zeros_keep_their_order() -> None:
    def in_order(x):
        return np.array(sorted(x)), np.array(sorted(x, reverse=True))

    x = np.array([0.0, -0.0, 1.0, -0.0, 0.0, -np.inf])
    for found, right in zip(polytune.kernel(in_order)(x), in_order(x), strict=True):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(right))
        np.testing.assert_array_equal(found, right)


def operand(x):
    return sorted(x) * 2


def by_a_key(x):
    return np.array(sorted(x, key=abs))


def rows(x):
    return len(sorted(x))


@pytest.mark.parametrize(
    ("function", "argument", "what"),
    [
        (operand, vector(4), r"the list that sorted\(...\) makes"),
        (by_a_key, vector(4), r"sorted\(...\) by a key"),
        (rows, matrix(3, 2), "sorted"),
    ],
)
def test_other_uses_are_refused(function, argument, what: str) -> None:
    with pytest.raises(UnsupportedSourceError, match=what):
        polytune.kernel(function)(argument)
