"""Register tiles: which nests have them, and that every block, whole or not, computes what the source says.

Small registers make small problems have whole blocks; generated code is interpreted, and compared with the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import FunctionType

import numpy as np
import pytest

from polytune.codegen.loops import Compute, For, Node, Store, walk_nodes
from polytune.codegen.transform import Target
from polytune.codegen.vectors.expressions import Lanes
from polytune.frontend.expression import walk
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.signature import Signature
from tests.every_version import SMALL, check_versions, stages_of, with_vectors
from tests.fuzz.interpreted import Interpreter
from tests.schedule.kernels import POLYBENCH, polybench_case


def product(alpha, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def product_with_transposed(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] -= A[i, k] * B[j, k]


def lower_triangle(n, C, A):
    for i in range(n):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]


def upper_triangle(n, C, A):
    for i in range(n):
        for j in range(i, n):
            for k in range(A.shape[0]):
                C[i, j] += A[k, i] * A[k, j]


def in_place(m, n, B, A):
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]


def own_variables(m, n, C, A, B):
    for i in range(m):
        for j in range(n):
            t = 0.0
            for k in range(i):
                t += B[k, j] * A[i, k]
            C[i, j] = C[i, j] / 2.0 + t


def columns_alone(y, A, x):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] += A[i, j] * x[i]


def rows_alone(y, A, x):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] += A[i, j] * x[j]


def greatest_sum(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = max(C[i, j], A[i, k] + B[k, j])


def two_products(C, D, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
                D[i, j] -= abs(A[i, k]) * B[k, j]


def update_and_sum(A, a, b, x, y):
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            A[i, j] = A[i, j] + a[i] * b[j]
            x[j] = x[j] - 2.0 * A[i, j] * y[i]


def update_then_sum(A, a, b, x, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += a[i] * b[j]
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            x[j] += A[i, j] * y[i]


def several_sums(A, B, x, y, z):
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            x[j] = max(x[j], A[i, j])
            B[i, j] = x[j] + z[j]
            y[j] = y[j] + B[i, j] * z[j]


def sum_of_two_products(alpha, C, A, B):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k]


def within_a_band(C, A, B):
    for i in range(C.shape[0]):
        for j in range(max(0, i - 3), min(C.shape[1], i + 4)):
            for k in range(A.shape[1]):
                C[i, j] = A[i, k] * 3.0 * B[j, k] + C[i, j]


def within_a_triangle(C, A, B):
    """B has no more rows than are read: as many as the longest row of the triangle."""
    for i in range(C.shape[0]):
        for j in range(min(i, C.shape[0] - i)):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k]


def whole_numbers(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Of these every sum is exact, so that its order does not matter."""
    return generator.integers(-4, 5, shape).astype(float)


def arguments_of(function: Callable, size: int, generator: np.random.Generator) -> list:
    m, n, k = size, size + 2, 2 * size + 1
    array = whole_numbers
    return {
        product: lambda: [2.0, array(generator, m, n), array(generator, m, k), array(generator, k, n)],
        product_with_transposed: lambda: [array(generator, m, n), array(generator, m, k), array(generator, n, k)],
        lower_triangle: lambda: [n, array(generator, n, n), array(generator, n, k)],
        upper_triangle: lambda: [n, array(generator, n, n), array(generator, k, n)],
        in_place: lambda: [m, n, array(generator, m, n), array(generator, m, m)],
        own_variables: lambda: [m, n, array(generator, m, n), array(generator, m, m), array(generator, m, n)],
        columns_alone: lambda: [array(generator, n), array(generator, m, n), array(generator, m)],
        rows_alone: lambda: [array(generator, m), array(generator, m, n), array(generator, n)],
        update_and_sum: lambda: [array(generator, *shape) for shape in ((m, n), (m,), (n,), (n,), (m,))],
        update_then_sum: lambda: [array(generator, *shape) for shape in ((m, n), (m,), (n,), (n,), (m,))],
        several_sums: lambda: [array(generator, *shape) for shape in ((m, n), (m, n), (n,), (n,), (n,))],
        sum_of_two_products: lambda: [0.5, *(array(generator, *shape) for shape in ((m, m), (m, k), (m, k)))],
        within_a_band: lambda: [array(generator, m, n), array(generator, m, k), array(generator, n, k)],
        within_a_triangle: lambda: [array(generator, m, m), array(generator, m, k), array(generator, (m + 1) // 2, k)],
        greatest_sum: lambda: [array(generator, m, n), array(generator, m, k), array(generator, k, n)],
        two_products: lambda: [
            array(generator, m, n),
            array(generator, m, n),
            array(generator, m, k),
            array(generator, k, n),
        ],
    }[function]()


KERNELS = [
    product,
    product_with_transposed,
    lower_triangle,
    upper_triangle,
    in_place,
    own_variables,
    columns_alone,
    rows_alone,
    greatest_sum,
    two_products,
    update_and_sum,
    update_then_sum,
    several_sums,
    sum_of_two_products,
    within_a_band,
    within_a_triangle,
]


def check(function: Callable, stages: Stages, size: int, tiles: tuple[int, ...], convert: Callable) -> None:
    """All versions with vectors against the source, for arguments of a size that are converted before."""
    initial = [convert(value) for value in arguments_of(function, size, np.random.default_rng(size))]
    check_versions(function, stages, initial, versions=with_vectors(stages), tiles=[tiles])


@cache
def stages_for(function: FunctionType, signature: Signature) -> Stages:
    """The stages for all sizes of arguments of these types."""
    return Stages(function, signature, target=SMALL)


@pytest.mark.parametrize("function", KERNELS)
@pytest.mark.parametrize("size, tiles", [(1, (4,)), (5, (3, 2, 4)), (9, (16,)), (10, (7, 9, 5)), (13, (8, 4, 16))])
def test_every_block_is_right(function: Callable, size: int, tiles: tuple[int, ...]) -> None:
    assert isinstance(function, FunctionType)
    arguments = arguments_of(function, size, np.random.default_rng(0))
    signature = signature_of(function.__code__.co_varnames[: len(arguments)], tuple(arguments))
    check(function, stages_for(function, signature), size, tiles, lambda value: value)


@pytest.mark.parametrize(
    "function, dtype",
    [
        *((function, np.float32) for function in (product, product_with_transposed, in_place, own_variables)),
        *((function, np.int64) for function in (product, product_with_transposed, in_place)),
        *((function, np.int32) for function in (product, product_with_transposed, in_place, greatest_sum)),
    ],
)
def test_other_types(function: Callable, dtype: type) -> None:
    def convert(value):
        return (
            value.astype(dtype)
            if isinstance(value, np.ndarray)
            else dtype(value)
            if isinstance(value, float)
            else value
        )

    arguments = [convert(value) for value in arguments_of(function, 3, np.random.default_rng(0))]
    check(function, stages_of(function, arguments), 9, (5, 16, 7), convert)


@pytest.mark.parametrize("order", ["F", "A"])
def test_other_layouts(order: str) -> None:
    def convert(value):
        if not isinstance(value, np.ndarray) or value.ndim == 1:
            return value
        if order == "F":
            return np.asfortranarray(value)
        wide = np.zeros((value.shape[0], 2 * value.shape[1]))
        wide[:, ::2] = value
        return wide[:, ::2]

    # In Fortran order rows and columns change their roles; along strides there are no vectors.
    arguments = [convert(value) for value in arguments_of(product, 4, np.random.default_rng(0))]
    stages = stages_of(product, arguments)
    if order == "A":
        assert not with_vectors(stages)
    else:
        check(product, stages, 9, (5, 7, 16), convert)


@pytest.mark.parametrize("function", KERNELS)
def test_strict_sums_keep_their_order(function: Callable) -> None:
    generator = np.random.default_rng(1)
    initial = [
        generator.random(value.shape) if isinstance(value, np.ndarray) else value
        for value in arguments_of(function, 9, generator)
    ]
    stages = stages_of(function, initial, strict=True)
    assert "lane_sum(" not in stages.source
    expected = [value.copy() if isinstance(value, np.ndarray) else value for value in initial]
    function(*expected)
    interpreter = Interpreter(stages.source)
    for version in with_vectors(stages):
        values = [value.copy() if isinstance(value, np.ndarray) else value for value in initial]
        interpreter.run({"version": version, "threads": 2, **{f"tile_{k}": 6 for k in range(4)}}, values, seed=0)
        for wanted, got in zip(expected, values, strict=True):
            assert np.array_equal(wanted, got), version


def innermost(node: Node) -> list[For]:
    return [
        part
        for part in walk_nodes(node)
        if isinstance(part, For) and not any(isinstance(below, For) for below in walk_nodes(part.body))
    ]


def test_nothing_is_stored_in_the_innermost_loop_of_a_whole_block() -> None:
    stages = stages_of(product, arguments_of(product, 4, np.random.default_rng(0)))
    program = next(program for program in stages.programs if program.name == "tiled_registers")
    loops = innermost(program.regions[-1].body)
    assert loops
    for loop in loops:
        assert not any(isinstance(part, Store | Compute) for part in walk_nodes(loop.body))


@pytest.mark.parametrize("function", [lower_triangle, upper_triangle])
def test_what_rows_share_is_loaded_once(function: Callable) -> None:
    """Also where the rows of a block have different columns."""
    arguments = arguments_of(function, 4, np.random.default_rng(0))
    program = next(each for each in stages_of(function, arguments).programs if each.has_vectors)
    loops = [loop for region in program.regions for loop in innermost(region.body)]
    for loop in loops:
        loads = [node.value.element for node in walk_nodes(loop) if isinstance(getattr(node, "value", None), Lanes)]
        assert len(loads) == len(set(loads))


def live(stages: Stages) -> int:
    """The variables that the first innermost loop of the last region updates."""
    program = next(program for program in stages.programs if program.name == "tiled_registers")
    first = innermost(program.regions[-1].body)[0]
    return len({part.name for part in walk_nodes(first.body) if hasattr(part, "name")})


def test_blocks_are_as_large_as_there_are_registers() -> None:
    arguments = arguments_of(product, 4, np.random.default_rng(0))
    few, many = (live(stages_of(product, arguments, target=Target(16, count))) for count in (8, 32))
    assert few < many


def next_to_itself(A):
    for i in range(1, A.shape[0]):
        for j in range(1, A.shape[1]):
            for k in range(A.shape[1]):
                A[i, j] += A[i - 1, k] * A[k, j - 1]


def test_what_may_be_read_and_updated_in_one_block_is_right() -> None:
    """Every dependence is there: whatever versions there are, they agree with the source."""
    initial = whole_numbers(np.random.default_rng(2), 7, 7) / 4.0
    stages = stages_of(next_to_itself, [initial], strict=True)
    interpreter = Interpreter(stages.source)
    expected = initial.copy()
    next_to_itself(expected)
    for program in stages.programs:
        values = [initial.copy()]
        sizes = {f"tile_{member}": 3 for member in range(4)}
        interpreter.run({"version": program.name, "threads": 2, **sizes}, values, seed=0)
        assert np.array_equal(values[0], expected), program.name


def next_column(A, x):
    for j in range(A.shape[1] - 1):
        for i in range(A.shape[0]):
            A[i, j] = 2.0 * A[i, j]
            x[j] = x[j] + A[i, j + 1]


def loops_of_sweeps(stages: Stages) -> list[For]:
    """The loops by several rows at a time that have a loop over vectors of columns inside."""
    nodes = [node for program in stages.programs for region in program.regions for node in walk_nodes(region.body)]
    loops = [node for node in nodes if isinstance(node, For) and node.step > 1]
    return [loop for loop in loops if any(isinstance(part, For) and part.step > 1 for part in walk_nodes(loop.body))]


def test_sweeps_go_along_rows() -> None:
    """Through A once: the two loops of the source become one, and what is updated in it is not loaded again."""
    arguments = arguments_of(update_then_sum, 9, np.random.default_rng(0))
    best = stages_of(update_then_sum, arguments).programs[0]
    (region,) = best.regions
    loaded = {part.element for node in walk_nodes(region.body) for part in walk(node) if isinstance(part, Lanes)}
    assert {element.array for element in loaded} == {"A", "b", "x"}
    assert loops_of_sweeps(stages_of(update_then_sum, arguments))


def test_columns_that_use_one_another_are_no_sweep() -> None:
    arguments = [np.arange(80.0).reshape(8, 10), np.zeros(10)]
    stages = stages_of(next_column, arguments)
    interpreter = Interpreter(stages.source)
    expected = [value.copy() for value in arguments]
    next_column(*expected)
    for program in stages.programs:
        values = [value.copy() for value in arguments]
        interpreter.run({"version": program.name, "threads": 2, "tile_0": 3, "tile_1": 5}, values, seed=0)
        assert np.array_equal(values[0], expected[0]), program.name
        assert np.array_equal(values[1], expected[1]), program.name


@pytest.mark.parametrize("name", POLYBENCH)
def test_kernels_of_the_suite(name: str) -> None:
    case = polybench_case(name)
    stages = replace(case.stages, target=SMALL)
    versions = with_vectors(stages)
    if not versions:
        return
    interpreter = Interpreter(stages.source)
    expected = list(case.arguments().values())
    with np.errstate(all="ignore"):
        case.function(*expected)
    for version in versions:
        for tiles in ((2, 3, 4), (5, 2, 7)):
            values = list(case.arguments().values())
            sizes = {f"tile_{member}": tiles[member % 3] for member in range(6)}
            with np.errstate(all="ignore"):
                interpreter.run({"version": version, "threads": 2, **sizes}, values, seed=0)
            for wanted, got in zip(expected, values, strict=True):
                precision = 1e-5 if np.asarray(wanted).dtype == np.float32 else 1e-9
                np.testing.assert_allclose(got, wanted, precision, precision, err_msg=f"{version} {tiles}")


def next_row(n, m, A, C):
    for i in range(1, m):
        for j in range(1, n):
            for k in range(n):
                C[i, j] = C[i + 1, j] - C[i, j] + k
            for _k in range(n):
                A[0] += C[i, j]


@pytest.mark.parametrize("n", [0, 1, 2, 5, 19])
def test_elements_that_are_always_apart_need_no_test(n: int) -> None:
    """C[i + 1, j] never is an element C[i, j] of the block, whatever n and m are."""
    arguments = n, 4, np.zeros(2), np.arange(150.0).reshape(6, 25)
    stages = stages_of(next_row, arguments)
    assert with_vectors(stages)
    check_versions(next_row, stages, arguments)


def overwritten(A, B):
    T = np.empty(A.shape[1])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[j] = A[i, j]
        for j in range(A.shape[1]):
            for k in range(B.shape[0]):
                T[j] = 2.0 * B[k]
        for j in range(A.shape[1]):
            A[i, j] += T[j]


def last_of_each_row(T, B):
    for i in range(B.shape[0]):
        for j in range(T.shape[0]):
            T[j] = B[i]


@pytest.mark.parametrize("rows", [0, 1, 3, 9])
def test_what_is_only_overwritten_is_not_loaded(rows: int) -> None:
    """No row at all leaves the elements as they were."""
    arguments = np.arange(21.0), np.linspace(1.0, 2.0, rows)
    check_versions(last_of_each_row, stages_of(last_of_each_row, arguments), arguments)
    arguments = np.arange(5.0 * 19).reshape(5, 19), np.linspace(1.0, 2.0, rows)
    check_versions(overwritten, stages_of(overwritten, arguments), arguments)
