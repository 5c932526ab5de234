"""Vectors whose lanes lie apart: which loops have them, and that every version computes what the source says.

Small registers make small problems have whole vectors; generated code is interpreted, and compared with the source.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polytune
from polytune.codegen.vectors.expressions import Apart
from polytune.codegen.vectors.lane_access import apart_of, is_near, pays
from polytune.frontend.expression import Assign, Binary, Constant, Element, Iterator
from tests.every_version import SMALL, check_versions, stages_of


def mirrored_product(C, A, B):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, m - 1 - j]


def into_mirrored(C, A, B):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            for k in range(A.shape[1]):
                C[i, m - 1 - j] -= A[i, k] * B[k, j]


def every_second(C, x, w):
    n, m = C.shape
    for i in range(n):
        for j in range(m):
            for a in range(w.shape[0]):
                for b in range(w.shape[1]):
                    C[i, j] += x[2 * i + a, 2 * j + b] * w[a, b]


def correlated(y, x, w):
    """Sums along k, of which one factor goes backwards."""
    for i in range(len(y)):
        for k in range(len(w)):
            y[i] += x[i, k] * w[len(w) - 1 - k]


def rows_of_both(C, A, B):
    """In order, sums cannot be lanes; of B each lane lies in a row of its own."""
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k]


def own_sums(C, A, B):
    """The same with a variable of each point's own."""
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            t = 0.0
            for k in range(A.shape[1]):
                t += A[i, k] * B[k, 3 * j]
            C[i, C.shape[1] - 1 - j] = t


def mirrored_steps(path, hops):
    """Rows of loops that are cut, and go backwards."""
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, n - 1 - j] = min(path[i, n - 1 - j], path[i, k] + path[k, n - 1 - j] + hops[i, n - 1 - j])


def rows_times_vector(y, A, x):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] += A[i, j] * x[j]


CASES: dict[Callable, tuple[bool, str, Callable]] = {
    mirrored_product: (False, "load_apart(B, {lanes}, (", lambda n: [(n, n + 1), (n, 5), (5, n + 1)]),
    into_mirrored: (False, "store_apart(C, (", lambda n: [(n, n + 1), (n, 5), (5, n + 1)]),
    every_second: (False, "load_apart(x, {lanes}, (", lambda n: [(n, n), (2 * n + 2, 2 * n + 2), (3, 3)]),
    correlated: (False, "load_apart(w, {lanes}, (", lambda n: [(n,), (n, 7), (7,)]),
    rows_of_both: (True, "load_apart(B, {lanes}, (", lambda n: [(n, n + 1), (n, 5), (n + 1, 5)]),
    own_sums: (False, "load_apart(B, {lanes}, (", lambda n: [(n, n + 1), (n, 5), (5, 3 * n + 3)]),
    mirrored_steps: (True, "load_apart(path, {lanes}, (", lambda n: [(n, n), (n, n)]),
}
OF_ANY = tuple(function for function in CASES if function is not own_sums)
"""Those without a variable that is a float64."""


def whole_numbers(generator: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    return generator.integers(-9, 10, shape).astype(dtype)


@pytest.mark.parametrize(
    "function, dtype", [*((each, "float64") for each in CASES), *((each, "int32") for each in OF_ANY)]
)
def test_every_version_is_right(function: Callable, dtype: str) -> None:
    strict, text, shapes = CASES[function]
    generator = np.random.default_rng(0)
    stages = stages_of(function, [whole_numbers(generator, dtype, shape) for shape in shapes(2)], strict=strict)
    assert text.format(lanes=SMALL.lanes(dtype)) in stages.source
    for size in (0, 1, 2, 5, 9):
        check_versions(function, stages, [whole_numbers(generator, dtype, shape) for shape in shapes(size)])


def test_what_is_no_number_stays_where_it_is() -> None:
    generator = np.random.default_rng(1)
    initial = [generator.normal(size=shape) for shape in CASES[rows_of_both][2](9)]
    initial[2][3, 2] = np.nan
    initial[1][4, 1] = np.inf
    check_versions(rows_of_both, stages_of(rows_of_both, initial, strict=True), initial)


def test_columns_of_fortran_arrays() -> None:
    generator = np.random.default_rng(2)
    C, A, B = (whole_numbers(generator, "float64", shape) for shape in CASES[mirrored_product][2](9))
    initial = [np.asfortranarray(C), A, np.asfortranarray(B)]
    check_versions(mirrored_product, stages_of(mirrored_product, initial), initial)


def test_arrays_of_unknown_layout_have_no_lanes() -> None:
    generator = np.random.default_rng(3)
    C, A, B = (whole_numbers(generator, "float64", shape) for shape in [(9, 20), (9, 10), (5, 20)])
    initial = [C[:, ::2], A[:, ::2], B[:, ::2]]
    stages = stages_of(mirrored_product, initial)
    assert "_apart" not in stages.source
    check_versions(mirrored_product, stages, initial)


def test_matrices_times_vectors_are_not_gathered() -> None:
    initial = [np.zeros(9), np.zeros((9, 9)), np.zeros(9)]
    assert "_apart" not in stages_of(rows_times_vector, initial, strict=True).source


@pytest.mark.parametrize("version_strict", [False, True])
def test_compiled_code_of_odd_sizes(version_strict: bool) -> None:
    generator = np.random.default_rng(4)
    for function, expected in (
        (mirrored_product, lambda A, B: A @ B[:, ::-1]),
        (into_mirrored, lambda A, B: -(A @ B)[:, ::-1]),
        (rows_of_both, lambda A, B: A @ B.T),
    ):
        kernel = polytune.kernel(function, strict=version_strict, background=False)
        n, m, p = 37, 29, 23
        A = generator.normal(size=(n, p))
        B = generator.normal(size=(m, p) if function is rows_of_both else (p, m))
        for version in ("tiled_registers", "tiled_packed"):
            if version in kernel.space(np.zeros((n, m)), A, B)["version"].values:
                C = np.zeros((n, m))
                kernel.run({"version": version, "threads": 2, "tile_0": 9, "tile_1": 13, "tile_2": 10}, C, A, B)
                np.testing.assert_allclose(C, expected(A, B), rtol=1e-12, atol=1e-12)


def element(*subscripts) -> Element:
    return Element("A", subscripts, "float64")


def test_steps() -> None:
    v, u = Iterator("v"), Iterator("u")
    backwards = Binary("-", u, v, "int64")
    third = Binary("*", Constant(3, "int64"), v, "int64")
    fifth = Binary("*", Constant(5, "int64"), v, "int64")

    def last(_: Element) -> int:
        return 1

    assert apart_of(element(u, v), "v", last) is None
    assert apart_of(element(u, backwards), "v", last) == Apart(1, -1)
    assert apart_of(element(u, third), "v", last) == Apart(1, 3)
    assert apart_of(element(v, u), "v", last) == Apart(0, 1)
    near = [is_near(element(u, each), "v", last) for each in (v, backwards, third, fifth)]
    assert near == [True, True, True, False]
    assert not is_near(element(v, u), "v", last)
    with pytest.raises(ValueError, match="equal distances"):
        apart_of(element(v, v), "v", last)


def test_loads_for_each_lane_are_to_be_outweighed() -> None:
    u, v = Iterator("u"), Iterator("v")
    row, column = element(u, v), element(v, u)

    def last(_: Element) -> int:
        return 1

    def product(*factors):
        value = factors[0]
        for factor in factors[1:]:
            value = Binary("*", value, factor, "float64")
        return [Assign(Element("C", (u, v), "float64"), value)]

    assert pays(product(row, row), "v", last, "float64")
    assert not pays(product(row, column), "v", last, "float64")
    assert pays(product(row, column, row, row, row), "v", last, "float64")
    assert pays(product(row, column), "v", last, "float64", rows="w")
    assert not pays(product(row, column), "v", last, "float64", rows="u")
