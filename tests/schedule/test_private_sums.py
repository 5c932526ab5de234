"""Private sums: which arrays workers may add up in copies, which sweeps they share out so, and that it is right.

Generated modules are interpreted, with every data race watched, and compared with the source.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from polytune.codegen.loops import Compute, walk_nodes
from polytune.codegen.transform import Target
from polytune.frontend.expression import Element, walk
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.fuzz.interpreted import Interpreter, RaceError

SMALL = Target(vector_bytes=16, vector_registers=16)


def row_after_row(A, x, y, t):
    for i in range(A.shape[0]):
        t[i] = 0
        for j in range(A.shape[1]):
            t[i] += A[i, j] * x[j]
        for j in range(A.shape[1]):
            y[j] += A[i, j] * t[i]


def both_products(A, x, y, t):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t[i] = t[i] - 2 * A[i, j] * x[j]
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            y[j] = A[i, j] * x[0] + y[j]


def fused_products(A, x, y, t):
    for i in range(A.shape[0]):
        t[i] = 0
        for j in range(A.shape[1]):
            y[j] = y[j] + 3 * A[i, j]
            t[i] = t[i] + A[i, j] * x[j]


def one_product_after_the_other(A, x, y, t):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t[i] += A[i, j] * x[j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] += A[i, j] * t[i]


def update_and_sum(A, x, y, t):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] + t[i] * x[j]
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            y[j] += A[i, j] * t[i]


def below_the_diagonal(A, x, y, t):
    for i in range(A.shape[0]):
        for j in range(min(i, A.shape[1])):
            y[j] -= A[i, j] * t[i]


def of_own_variables(A, x, y, t):
    for i in range(A.shape[0]):
        total = 0 * t[i]
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        for j in range(A.shape[1]):
            y[j] += A[i, j] * total


def in_steps(A, x, y, t):
    for _ in range(3):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                y[j] += A[i, j] * t[i]
        for i in range(A.shape[0]):
            t[i] = t[i] - y[0]


def of_a_scalar(A, x, y, t):
    total = 1 * t[0]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
    y[0] = total


def greatest(A, x, y, t):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] = max(y[j], A[i, j] * t[i])


def numpy_greatest(A, x, y, t):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] = np.maximum(A[i, j] * t[i], y[j])


def numpy_extremes(A, x, y, t):
    """Of the whole array, and along an axis."""
    if A.size > 0:
        x[0] = np.min(A)
        y[:] = np.max(A, axis=0)


def extremes_of_all(A, x, y, t):
    """A branch that keeps the lesser or the greater number is a minimum or a maximum."""
    low = t[0]
    high = t[0]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] < low:
                low = A[i, j]
            if high < A[i, j]:
                high = A[i, j]
            y[j] += A[i, j] * t[i]
    x[0] = low
    x[1] = high


def largest_change(A, x, y, t):
    """As in an iteration that goes on until nothing changes any more."""
    for _ in range(2):
        y[0] = 0
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] = A[i, j] - x[j]
                y[0] = max(y[0], abs(A[i, j]))


def set_between(A, x, y, t):
    """What sets the second sum to zero stands between the two products."""
    for i in range(A.shape[0]):
        t[i] = 0
        for j in range(A.shape[1]):
            t[i] += A[i, j] * x[j]
    for j in range(A.shape[1]):
        y[j] = 0
        for i in range(A.shape[0]):
            y[j] += A[i, j] * t[i]


def array_expressions(A, x, y, t):
    t[:] = A @ x
    y[:] = t @ A


def transposed_first(A, x, y, t):
    """The second product overwrites what the first one reads."""
    y[:] = t @ A
    t[:] = A @ x


def independent_products(A, x, y, t):
    s = A @ x
    y[:] = t @ A
    t[:] = s


def needed_between(A, x, y, t):
    """What stands between the two products needs the first one, and the second one needs it."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t[i] += A[i, j] * x[j]
    for i in range(A.shape[0]):
        x[0] = max(x[0], t[i])
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            y[j] += A[i, j] * x[0]


def sums_of_products(A, x, y, t):
    for step in range(3):
        x[0] = 0
        for i in range(A.shape[0]):
            t[i] = step
            for j in range(A.shape[1]):
                t[i] += A[i, j] * y[j]
            x[0] += t[i]
        for j in range(A.shape[1]):
            y[j] = (y[j] + x[0]) // 64


SHARED_OUT = [
    set_between,
    array_expressions,
    transposed_first,
    independent_products,
    needed_between,
    greatest,
    numpy_greatest,
    numpy_extremes,
    extremes_of_all,
    largest_change,
    row_after_row,
    both_products,
    fused_products,
    one_product_after_the_other,
    sums_of_products,
    update_and_sum,
    below_the_diagonal,
    of_own_variables,
    in_steps,
    of_a_scalar,
]


def every_second(A, x, y, t):
    """What lies between the elements that are updated is not to be touched."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1] // 2):
            y[2 * j] += A[i, j] * t[i]


def seen_on_the_way(A, x, y, t):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] += A[i, j] * t[i]
        t[i] = y[0]


def begun_on_the_way(A, x, y, t):
    for i in range(A.shape[0]):
        y[0] = t[i]
        for j in range(A.shape[1]):
            y[j] += A[i, j] * x[j]


def sums_and_greatest(A, x, y, t):
    """Copies for both would have to begin with two different numbers."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] = max(y[j], A[i, j] * t[i])
            y[j] += A[i, j]


def of_a_matrix(A, x, y, t):
    for i in range(x.shape[0]):
        for k in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[k, j] += x[i] * t[k]


def along_rows(A, x, y, t):
    """Every worker has rows of its own anyway."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t[i] += A[i, j] * x[j]


ALONE = [every_second, seen_on_the_way, begun_on_the_way, sums_and_greatest, of_a_matrix, along_rows]


def arguments(rows: int = 7, columns: int = 9, dtype: str = "float64") -> list[np.ndarray]:
    generator = np.random.default_rng(rows + columns)
    sizes = ((rows, columns), columns, columns, rows)
    return [generator.integers(-9, 9, size).astype(dtype) for size in sizes]


@cache
def stages_of(function: Callable, dtype: str = "float64", strict: bool = False) -> Stages:
    assert isinstance(function, FunctionType)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Stages(function, signature_of(names, arguments(dtype=dtype)), strict, target=SMALL)


def summed(stages: Stages) -> list[Any]:
    return [program for program in stages.programs if program.has_sums]


@pytest.mark.parametrize("function", SHARED_OUT)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("rows, columns", [(7, 9), (1, 1), (2, 5), (13, 4), (0, 4), (8, 8)])
def test_workers_add_up_what_the_source_does(function: Callable, dtype: str, rows: int, columns: int) -> None:
    if not rows and function in (of_a_scalar, in_steps, extremes_of_all):
        pytest.skip("reads the first row")
    if columns == 1 and function is extremes_of_all:
        pytest.skip("writes to the second column")
    initial = arguments(rows, columns, dtype)
    stages = stages_of(function, dtype)
    (program,) = summed(stages)
    interpreter = Interpreter(stages.source)
    expected = [value.copy() for value in initial]
    with np.errstate(over="ignore"):
        function(*expected)
    for seed, tile in enumerate((1, 2, 5, 64)):
        values = [value.copy() for value in initial]
        sizes = {f"tile_{member}": tile for member in range(4)}
        with np.errstate(over="ignore"):
            interpreter.run({"version": program.name, "threads": 3, **sizes}, values, seed)
        for wanted, got in zip(expected, values, strict=True):
            # Sums of small whole numbers are exact in any order.
            assert np.array_equal(wanted, got), (seed, tile)


@pytest.mark.parametrize("function", [greatest, numpy_greatest])
@pytest.mark.parametrize("first", [np.nan, -np.inf, 0.0])
def test_nan_is_the_greatest_where_it_is_in_the_source(function: Callable, first: float) -> None:
    """Python's maximum keeps what it has if that is NaN, and else leaves NaN out; NumPy's is NaN if either is."""
    stages = stages_of(function)
    (program,) = summed(stages)
    initial = arguments()
    initial[0][1:5, ::2] = np.nan
    initial[0][:, 3] = -np.inf
    initial[2][::3] = first
    initial[3][:] = 1.0
    expected = [value.copy() for value in initial]
    function(*expected)
    Interpreter(stages.source).run({"version": program.name, "threads": 3, "tile_0": 2}, initial, 1)
    np.testing.assert_array_equal(initial[2], expected[2])


@pytest.mark.parametrize("function", ALONE)
def test_what_cannot_or_need_not_be_added_up_apart_is_not(function: Callable) -> None:
    assert not summed(stages_of(function))


@pytest.mark.parametrize("function", SHARED_OUT)
def test_strict_kernels_have_no_private_sums(function: Callable) -> None:
    assert not summed(stages_of(function, strict=True))


@pytest.mark.parametrize("function", [row_after_row, both_products, one_product_after_the_other, update_and_sum])
def test_a_matrix_is_gone_through_once(function: Callable) -> None:
    """The products with a matrix and with its transpose are one region, of the version that comes first, and all loops
    over rows and columns are vectors of several rows."""
    first = stages_of(function).programs[0]
    assert first.has_sums and first.has_vectors
    (region,) = first.regions
    scalar = [node for node in walk_nodes(region.body) if isinstance(node, Compute)]
    named = [part for node in scalar for operation in node.operations for part in walk(operation)]
    assert all(part.array != "A" for part in named if isinstance(part, Element))
    assert region.shared == len(region.members) == 1
    assert [own.array for own in region.sums] == ["y"]


@pytest.mark.parametrize(
    "function, times",
    [
        (set_between, 1),
        (array_expressions, 1),
        (independent_products, 1),
        (transposed_first, 2),
        (needed_between, 2),
    ],
)
def test_what_stands_between_products_goes_before_both(function: Callable, times: int) -> None:
    """A second product of a matrix is computed with the first one, unless something that stands between needs that."""
    first = next(program for program in stages_of(function).programs if program.has_sums)
    through = [
        region for region in first.regions if any(getattr(part, "array", "") == "A" for part in walk(region.body))
    ]
    assert len(through) == times


def test_sums_of_what_products_give_are_collected() -> None:
    """In a serial loop a sum over one loop is worth copies where there is a loop of other work inside."""
    stages = stages_of(sums_of_products)
    (program, *_) = summed(stages)
    collected = {own.array for region in program.regions for own in region.sums}
    assert collected == {"x"}


def test_what_is_not_in_a_copy_is_a_race() -> None:
    """The interpreter sees that private sums are needed."""
    stages = stages_of(update_and_sum)
    (program,) = summed(stages)
    start = stages.source.index(f"run_{program.name}(")
    stop = stages.source.index("\n\n\n", start)
    body = stages.source[start:stop]
    claimed = body.index("while task")
    merged = body.index("if claimed")
    broken = body[:claimed] + body[claimed:merged].replace("(y_sums, ", "(y, ") + body[merged:]
    assert broken != body
    interpreter = Interpreter(stages.source[:start] + broken + stages.source[stop:])
    with pytest.raises(RaceError, match="y"):
        for seed in range(20):
            interpreter.run({"version": program.name, "threads": 3, "tile_0": 2}, arguments(), seed)
