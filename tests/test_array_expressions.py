"""Array expressions compiled: what calls compute, and what they are checked for."""

from __future__ import annotations

import copy
import importlib
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from polytune.frontend.lowering.lower import Lowered, lower
from polytune.frontend.syntax.source import Source
from polytune.signature import Signature
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


@polytune.kernel
def stretched(A, B, C):
    A[:] = B * C
    A += np.mean(C, axis=0)


@pytest.mark.parametrize(
    "shapes",
    [
        ((4, 3), (4, 1)),
        ((4, 1), (4, 3)),
        ((4, 3), (4, 3)),
        ((1, 3), (4, 1)),
        ((4, 1), (1, 3)),
        ((4, 3), (1, 1)),
        ((1, 1), (1, 1)),
        ((1, 3), (1, 1)),
        ((0, 3), (1, 3)),
    ],
    ids=str,
)
def test_extents_of_one_of_arguments_are_stretched(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    B, C = (np.random.default_rng(1).random(shape) for shape in shapes)
    expected = B * C + np.mean(C, axis=0)
    A = np.zeros(np.broadcast_shapes(*shapes))
    for _ in range(2):
        stretched(A, B, C)
        np.testing.assert_allclose(A, expected)


def test_stretched_extents_are_found_again_in_the_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    A, B, C = np.zeros((4, 3)), np.ones((4, 3)), np.ones((4, 1))
    stretched(A, B, C)
    again = polytune.kernel(stretched.__wrapped__)
    monkeypatch.setattr(
        "polytune.frontend.lowering.stretching.deciding_extents", lambda *_, **__: pytest.fail("analysed again")
    )
    again(A, B, C)
    assert (A == 2.0).all()


FACTOR = 2.0


@pytest.mark.parametrize("strict", [False, True])
def test_a_function_is_lowered_once_for_both_questions(monkeypatch: pytest.MonkeyPatch, strict: bool) -> None:
    signatures = []

    def counted(source: Source, signature: Signature, **options: Any) -> Lowered:
        signatures.append(signature)
        return lower(source, signature, **options)

    for module in ("analyse", "lowering.stretching"):
        monkeypatch.setattr(importlib.import_module(f"polytune.frontend.{module}"), "lower", counted)

    @polytune.kernel(strict=strict)
    def scaled_and_stretched(A, B, C):
        A[:] = FACTOR * (B + C)

    shapes = (3, 1), (1, 1)
    for number, shape in enumerate(shapes):
        A, B, C = np.zeros((4, 3)), np.ones((4, 3)), np.ones(shape if number else (4, 1))
        scaled_and_stretched(A, B, C)
        assert (A == 4.0).all()
    assert len(signatures) == len(set(signatures))
    # What is from outside may have changed since: nothing of it is taken from before.
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    scaled_and_stretched(A, B, C)
    assert (A == 6.0).all()


def test_an_extent_of_one_is_not_stretched_where_it_is_assigned_to_or_computed() -> None:
    A = np.zeros((4, 1))
    with pytest.raises(ArgumentError, match="do not fit"):
        added(A, np.ones((4, 3)))
    assert not A.any()
    with pytest.raises(ArgumentError, match="an extent of 1 is stretched where it is one of an array that is passed"):
        added(np.zeros((4, 3)), np.ones((2, 3)))  # B[:-1] has one row


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
