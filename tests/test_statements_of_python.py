"""Prints, imports, questions about types and functions of integers in kernels: what Python makes of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError


def printing(A, n, name="step"):
    total = 0.0
    for i in range(n):
        total += A[i]
        if total > 1.0:
            print(name, i, f"sum {total:.3f} of {A.shape[0]!r}, {name!r:>8}", A[:2], sep=" | ", end=".\n")
        A[i] *= 2.0
    print(total, n, A[0] > 0.1, A[1], 3, None, True, 2 * A.shape[0])
    print()
    return total


def helper(x):
    print("helper", x)
    return 2.0 * x


def printing_in_functions(A, n):
    for i in range(n):
        A[i] += helper(A[i]) if A[i] > 0.6 else helper(1.0)
    return A


@pytest.mark.parametrize("function", [printing, printing_in_functions], ids=lambda each: each.__name__)
@pytest.mark.parametrize("n", [0, 1, 4])
def test_prints_are_pythons(function, n, capsys):
    kernel = polytune.kernel(function)
    for _ in range(3):
        first, second = np.array([0.5, 0.75, 0.8, 0.9]), np.array([0.5, 0.75, 0.8, 0.9])
        function(first, n)
        wanted = capsys.readouterr().out
        kernel(second, n)
        assert capsys.readouterr().out == wanted
        np.testing.assert_array_equal(second, first)


def test_every_version_prints_in_order(capsys):
    A = np.array([0.5, 0.75, 0.8, 0.9])
    printing(A.copy(), 4)
    wanted = capsys.readouterr().out
    kernel = polytune.kernel(printing)
    space = kernel.space(A, 4)
    for version in kernel.generated(A, 4).module.VERSIONS:
        kernel.run(space.configuration(version=version.name), A.copy(), 4)
        assert capsys.readouterr().out == wanted


def printing_to_a_file(A):
    print(A[0], file=None)


def printing_a_tuple(A):
    print((A[0], 1))


@pytest.mark.parametrize("function", [printing_to_a_file, printing_a_tuple], ids=lambda each: each.__name__)
def test_other_prints_are_refused(function):
    with pytest.raises(UnsupportedSourceError, match="in a call of print"):
        polytune.kernel(function)(np.ones(3))


def by_type(x, k=None):
    if isinstance(k, (int, float)) and isinstance(x, np.ndarray):
        return x.sum() * k
    if isinstance(x, float):
        return x + 1.0
    if isinstance(x, np.floating):
        return x + 2.0
    if isinstance(x, tuple):
        return x[0] + x[1]
    return x.sum() if not isinstance(k, str) else x.max()


@pytest.mark.parametrize(
    "arguments",
    [
        (np.ones(3),),
        (np.ones(3), 2),
        (np.ones(3), 2.5),
        (np.ones(3), True),
        (np.ones(3), "max"),
        (1.5,),
        (np.float32(1.5),),
        (np.float64(1.5),),
        ((1.0, 2.0),),
    ],
    ids=repr,
)
def test_types_are_known(arguments):
    assert polytune.kernel(by_type)(*arguments) == by_type(*arguments)


def integers(a, b):
    return math.gcd(a, b), math.lcm(a, b), math.isclose(a / 3, b / 3), math.isclose(a * 0.1 + b * 0.1, 0.1 * (a + b))


@pytest.mark.parametrize("a", [0, 1, -12, 18, 2**40])
@pytest.mark.parametrize("b", [0, 7, 18, -6])
def test_functions_of_integers(a, b):
    assert polytune.kernel(integers)(a, b) == integers(a, b)


def close(a, b):
    return math.isclose(a, b), math.isclose(a, b, rel_tol=0.1), math.isclose(a, b, abs_tol=2.0, rel_tol=0.0)


@pytest.mark.parametrize("a", [0.0, 1.0, 1.0 + 1e-10, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("b", [1.0, 1.05, 2.9, np.inf, np.nan])
def test_close_numbers(a, b):
    assert polytune.kernel(close)(a, b) == close(a, b)


def importing(A):
    import math as m
    import random

    import numpy
    from numpy.linalg import norm

    B = numpy.zeros(A.shape[0])
    for i in range(A.shape[0]):
        B[i] = m.sin(A[i])
    random.seed(3)
    return norm(B) + random.random()


def test_imports_mean_what_they_mean_outside():
    A = np.arange(5.0)
    kernel = polytune.kernel(importing, strict=True)
    assert kernel(A) == pytest.approx(importing(A), rel=1e-14)


def paired(x, y):
    total = 0.0
    for i, (a, b) in enumerate(zip(x, y[1:], strict=True)):
        total += (i + 1) * a * b
    return total


@pytest.mark.parametrize("strict", [False, True])
def test_strict_pairs_have_as_many_elements(strict: bool) -> None:
    x, y = np.arange(4.0), np.arange(5.0)
    assert polytune.kernel(strict=strict)(paired)(x, y) == paired(x, y)
    with pytest.raises(ArgumentError, match=r"zip\(x, y\[1:\], strict=True\) of different lengths"):
        polytune.kernel(paired)(x, y[1:])
