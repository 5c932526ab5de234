"""Scans of linear recurrences: which loops have them, and that they compute what the loops say, up to rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polytune
from polytune.codegen.transform import Target
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.fuzz.interpreted import Interpreter

SMALL = Target(vector_bytes=32, vector_registers=16)
"""Four lanes of eight bytes."""


def smoothed(x, a):
    for j in range(1, x.shape[0]):
        x[j] = 0.25 * x[j - 1] + 0.75 * a[j]


def running_sum(x, a):
    for j in range(1, x.shape[0]):
        x[j] = a[j] + x[j - 1]


def alternating(x, a):
    for j in range(1, x.shape[0]):
        x[j] = -(x[j - 1] - a[j] * a[j - 1])


def in_place(x, a):
    for j in range(1, x.shape[0] - 1):
        x[j] = (x[j - 1] - x[j] + a[j] - 2.0 * x[j + 1]) / 4.0 + x[j - 1] * 0.5


def with_constants(x, a):
    for j in range(1, x.shape[0]):
        x[j] = abs(a[0]) - x[j - 1] / 3.0 + a[j] / a[0]


def of_choices(x, a):
    for j in range(1, x.shape[0]):
        x[j] = 0.5 * x[j - 1] + (a[j] if a[j] > 1.0 else a[j - 1] * 2.0) - min(a[j], 0.75)


def rows(A, B):
    for i in range(1, A.shape[0]):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = (A[i - 1, j - 1] + A[i - 1, j + 1] + A[i, j - 1] + A[i, j] + A[i, j + 1] + B[i, j]) / 6.0


def below_the_diagonal(A, B):
    for i in range(A.shape[0]):
        for j in range(1, i):
            A[i, j] = B[i, j] - 0.5 * A[i, j - 1]


def columns(A, B):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0.5 * A[i - 1, j] + B[i, j]


LINES = [smoothed, running_sum, alternating, in_place, with_constants, of_choices]
PLANES = [rows, below_the_diagonal]


def arguments_of(function: Callable, size: int, dtype: str = "float64") -> list[np.ndarray]:
    generator = np.random.default_rng(size)
    shape = (size,) if function in LINES else (size, size + 3)
    return [(generator.random(shape) + 0.5).astype(dtype) for _ in range(2)]


def stages_of(function: Callable, arguments: list, *, strict: bool = False) -> Stages:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Stages(function, signature_of(names, tuple(arguments)), strict, target=SMALL)  # type: ignore[arg-type]


def scanned(stages: Stages) -> list[str]:
    return [program.name for program in stages.programs if program.name.endswith("_scanned")]


@pytest.mark.parametrize("function", LINES + PLANES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_length_is_right(function: Callable, dtype: str) -> None:
    stages = stages_of(function, arguments_of(function, 4, dtype))
    versions = scanned(stages)
    assert versions
    interpreter = Interpreter(stages.source)
    for size in (*range(1, 14), 21):
        initial = arguments_of(function, size, dtype)
        expected = [value.astype("float64") for value in initial]
        function(*expected)
        for version in versions:
            values = [value.copy() for value in initial]
            tiles = {f"tile_{member}": 5 for member in range(3)}
            interpreter.run({"version": version, "threads": 2, **tiles}, values, seed=size)
            np.testing.assert_allclose(values[0], expected[0], rtol=1e-4 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("function", [smoothed, running_sum, in_place])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_stays_behind_its_place(function: Callable, bad: float) -> None:
    stages = stages_of(function, arguments_of(function, 4))
    interpreter = Interpreter(stages.source)
    for place in range(11):
        initial = arguments_of(function, 11)
        initial[place % 2][place] = bad
        expected = [value.copy() for value in initial]
        with np.errstate(invalid="ignore"):
            function(*expected)
            for version in scanned(stages):
                values = [value.copy() for value in initial]
                interpreter.run({"version": version, "threads": 1}, values, seed=0)
                np.testing.assert_allclose(values[0], expected[0], rtol=1e-12)


@pytest.mark.parametrize("function", LINES + PLANES)
def test_compiled(function: Callable) -> None:
    kernel = polytune.kernel(function)
    for size in (1, 2, 8, 9, 16, 37):
        for convert in (np.asarray, np.asfortranarray, lambda value: np.flip(value.copy()), in_steps, misaligned):
            initial = [convert(value) for value in arguments_of(function, size)]
            expected = [value.copy() for value in initial]
            function(*expected)
            space = kernel.space(*initial)
            names = [name for name in space["version"].values if name.endswith("_scanned")]
            assert names or convert is not np.asarray
            for name in names:
                values = [convert(value) for value in arguments_of(function, size)]
                kernel.run(space.configuration(version=name), *values)
                np.testing.assert_allclose(values[0], expected[0], rtol=1e-12)


def in_steps(array: np.ndarray) -> np.ndarray:
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]))
    wide[..., ::2] = array
    return wide[..., ::2]


def misaligned(array: np.ndarray) -> np.ndarray:
    room = np.zeros(array.nbytes + 1, np.uint8)[1:]
    room[:] = np.frombuffer(array.tobytes(), np.uint8)
    return room.view(array.dtype).reshape(array.shape)


def test_arrays_in_fortran_order_have_scans_along_columns() -> None:
    arguments = [np.asfortranarray(value) for value in arguments_of(columns, 9)]
    stages = stages_of(columns, arguments)
    expected = [value.copy() for value in arguments]
    columns(*expected)
    (name, *_) = scanned(stages)
    Interpreter(stages.source).run({"version": name, "threads": 2, "tile_0": 4, "tile_1": 7}, arguments, seed=0)
    np.testing.assert_allclose(arguments[0], expected[0], rtol=1e-12)
    assert not scanned(stages_of(columns, arguments_of(columns, 9)))


def test_strict_kernels_have_none() -> None:
    assert not scanned(stages_of(smoothed, arguments_of(smoothed, 4), strict=True))


def growing(x, a):
    for j in range(1, x.shape[0]):
        x[j] = 1.5 * x[j - 1] + a[j]


def vanishing(x, a):
    for j in range(1, x.shape[0]):
        x[j] = 1e-100 * x[j - 1] + a[j]


def second_order(x, a):
    for j in range(2, x.shape[0]):
        x[j] = 0.5 * x[j - 1] + 0.25 * x[j - 2] + a[j]


def with_a_factor_of_its_own(x, a):
    for j in range(1, x.shape[0]):
        x[j] = x[j - 1] * a[j] + 1.0


def of_squares(x, a):
    for j in range(1, x.shape[0]):
        x[j] = x[j - 1] * x[j - 1] + a[j]


def of_a_minimum(x, a):
    for j in range(1, x.shape[0]):
        x[j] = min(x[j - 1], a[j]) + a[j]


def with_an_element_that_it_writes(x, a):
    for j in range(1, x.shape[0]):
        x[j] = 0.5 * x[j - 1] + x[3]


def backwards(x, a):
    for j in range(x.shape[0] - 2, -1, -1):
        x[j] = 0.5 * x[j + 1] + a[j]


def every_other(x, a):
    for j in range(1, x.shape[0] // 2):
        x[2 * j] = 0.5 * x[2 * j - 1] + a[j]


def two_statements(x, a):
    for j in range(1, x.shape[0]):
        x[j] = 0.5 * x[j - 1] + a[j]
        a[j] = x[j] + a[j - 1]


NONE = [
    growing,
    vanishing,
    second_order,
    with_a_factor_of_its_own,
    of_squares,
    of_a_minimum,
    with_an_element_that_it_writes,
    backwards,
    every_other,
    two_statements,
]


@pytest.mark.parametrize("function", NONE)
def test_other_loops_have_none(function: Callable) -> None:
    assert not scanned(stages_of(function, [np.ones(9), np.ones(9)]))


def test_whole_numbers_have_none() -> None:
    assert not scanned(stages_of(running_sum, [np.ones(9, np.int64), np.ones(9, np.int64)]))
