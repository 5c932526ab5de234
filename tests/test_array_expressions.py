"""Array expressions compiled: what calls compute, and what they are checked for."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from tests.frontend import array_programs
from tests.frontend.array_programs import Program
from tests.frontend.test_array_expressions import values

COMPILED = (
    array_programs.five_points,
    array_programs.backwards,
    array_programs.rows_by_name,
    array_programs.carried,
    array_programs.functions,
    array_programs.masks,
    array_programs.statistics,
    array_programs.layers,
    array_programs.scaled_product,
    array_programs.stacks,
    array_programs.convolved,
)
PROGRAMS = [program for program in array_programs.PROGRAMS if program.kernel in COMPILED]


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True], ids=["reassociated", "strict"])
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.kernel.__name__ for program in PROGRAMS])
def test_calls_compute_what_numpy_computes(program: Program, strict: bool) -> None:
    kernel = polytune.kernel(program.kernel, strict=strict)
    for size in (1, 5, 33):
        if size < program.least:
            continue
        arguments = tuple(values(shape, "float64", "C", seed) for seed, shape in enumerate(program.shapes(size)))
        expected, found = copy.deepcopy(arguments), copy.deepcopy(arguments)
        program.kernel(*expected)
        kernel(*found)
        for wanted, array in zip(expected, found, strict=True):
            np.testing.assert_allclose(array, wanted, rtol=1e-9, atol=1e-12)


@polytune.kernel
def added(A, B):
    A[0, 0] = -1.0
    A[1:] += B[:-1]


def test_shapes_that_do_not_fit_are_refused_before_anything_is_written() -> None:
    A, B = np.zeros((4, 3)), np.ones((5, 3))
    with pytest.raises(ArgumentError) as caught:
        added(A, B)
    assert not A.any()
    text = str(caught.value)
    assert "(3, 3)" in text and "(4, 3)" in text and "A[1:] += B[:-1]" in text
    added(A, B[:4])
    assert A[0, 0] == -1.0 and (A[1:] == 1.0).all()


def test_an_extent_of_one_is_not_stretched_where_the_source_does_not_show_it() -> None:
    A = np.zeros((4, 3))
    with pytest.raises(ArgumentError, match="an extent of 1 is stretched only where the source shows it"):
        added(A, np.ones((4, 1)))
    assert not A.any()


@polytune.kernel
def cut(A, B, count):
    A[:count] = B[:count]


def test_bounds_of_slices_are_those_of_python_or_refused() -> None:
    for count in (0, 3, 5, 9):
        A, B = np.zeros(5), np.arange(5.0)
        cut(A, B, count)
        expected = np.zeros(5)
        expected[:count] = B[:count]
        np.testing.assert_array_equal(A, expected)
    with pytest.raises(ArgumentError, match="the bound count of a slice is negative: -2"):
        cut(np.zeros(5), np.arange(5.0), -2)


@polytune.kernel
def greatest(A, B):
    B[0] = np.max(A)


def test_an_extremum_of_nothing_is_refused() -> None:
    with pytest.raises(ArgumentError, match="which is empty"):
        greatest(np.zeros(0), np.zeros(1))


def test_results_of_kernels_that_only_reduce() -> None:
    @polytune.kernel
    def total(A: Any) -> float:
        return np.sum(A * A) + A.size

    assert total(np.arange(4.0)) == 18.0
