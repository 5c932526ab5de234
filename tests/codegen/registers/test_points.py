"""Register tiles of points that have variables of their own, with loops, and loops in loops, inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polytune
from polytune.codegen.loops import For, Let, is_innermost, walk_nodes
from polytune.codegen.vectors.expressions import Lanes
from tests.every_version import check_versions, stages_of, with_vectors
from tests.fuzz.interpreted import Interpreter


def convolution(out, image, K):
    """Loops in loops of a point, of which the rows of a block share nothing but K."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for a in range(K.shape[0]):
                for b in range(K.shape[1]):
                    s += image[i + a, j + b] * K[a, b]
            out[i, j] = s


def nested_triangle(out, image, K):
    """An inner bound that follows an outer loop, statements before and behind the inner loop, an element kept."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 1.0
            for a in range(K.shape[0]):
                s = s * 0.5 + K[a, 0]
                for b in range(a):
                    out[i, j] += s * image[i + a, j + b] - K[a, b]
                s -= image[i, j + a]
            out[i, j] += s


def stored_in_nested_loops(out, image, K):
    """What an outer iteration has stored changes in a loop inside, and is read again behind it."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for a in range(K.shape[0]):
                image[a, j + 4 * i] = s + K[a, 0]
                for b in range(K.shape[1]):
                    image[a, j + 4 * i] = image[a, j + 4 * i] * 0.5 + K[a, b]
                s += image[a, j + 4 * i]
            out[i, j] = s


@pytest.mark.parametrize("function", [convolution, nested_triangle, stored_in_nested_loops])
@pytest.mark.parametrize("shape", [(1, 1), (3, 10)])
@pytest.mark.parametrize("window", [(0, 3), (3, 2)])
def test_loops_in_loops_of_points(function: Callable, shape: tuple[int, int], window: tuple[int, int]) -> None:
    generator = np.random.default_rng(sum(shape))
    image = generator.random((shape[0] + window[0] + 4, 4 * shape[0] + shape[1] + 5))
    arguments = [generator.random(shape), image, generator.random((window[0], window[1] + 1))]
    stages = stages_of(function, arguments, strict=True)
    if function is not stored_in_nested_loops:
        assert with_vectors(stages)
    check_versions(function, stages, arguments, versions=with_vectors(stages), tiles=[(3, 7), (64,)])


def fixed_window(out, image):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for a in range(3):
                for b in range(3):
                    s += image[i + a, j + b]
            out[i, j] = s


def test_loops_that_compilers_unroll_are_left_to_them() -> None:
    stages = stages_of(fixed_window, [np.zeros((3, 4)), np.zeros((5, 6))], strict=True)
    assert not with_vectors(stages)


def chains(x, y):
    for i in range(x.shape[0]):
        x[i, 0] = 0.0
        for j in range(1, x.shape[1]):
            x[i, j] = y[i, j] - 0.5 * x[i, j - 1]


def small_products(a, b, c):
    for n in range(a.shape[0]):
        for i in range(24):
            for j in range(24):
                total = 0.0
                for k in range(24):
                    total += a[n, i, k] * b[n, k, j]
                c[n, i, j] = total


def test_blocks_whose_rows_share_loads_have_few_iterations_too() -> None:
    rng = np.random.default_rng(2)
    arguments = [rng.random((3, 24, 24)) for _ in range(3)]
    stages = stages_of(small_products, arguments)
    assert "tiled_registers" in [program.name for program in stages.programs]
    check_versions(small_products, stages, arguments, versions=["tiled_registers"])


def test_points_that_advance_together_are_right() -> None:
    """Their band is innermost, and the loop that stands outermost depends on itself."""
    generator = np.random.default_rng(3)
    initial = [generator.random((9, 12)), generator.random((9, 12))]
    stages = stages_of(chains, initial, strict=True)
    assert any(program.name == "interleaved" for program in stages.programs)
    interpreter = Interpreter(stages.source)
    expected = [value.copy() for value in initial]
    chains(*expected)
    for program in stages.programs:
        values = [value.copy() for value in initial]
        sizes = {f"tile_{member}": 4 for member in range(4)}
        interpreter.run({"version": program.name, "threads": 2, **sizes}, values, seed=0)
        assert np.array_equal(values[0], expected[0]), program.name


def standardised(out, image, K):
    """Roots and quotients of what a column has added up."""
    for j in range(out.shape[1]):
        mean = 0.0
        for i in range(out.shape[0]):
            mean += image[i, j]
        mean /= out.shape[0]
        square = 0.0
        for i in range(out.shape[0]):
            square += (image[i, j] - mean) * (image[i, j] - mean)
        deviation = np.sqrt(square / out.shape[0] + K[0, 0])
        for i in range(out.shape[0]):
            out[i, j] = (image[i, j] - mean) / deviation


def nearest(out, image, K):
    """What lies across rows, the same in all iterations."""
    for i in range(out.shape[0]):
        least = 10.0
        for j in range(image.shape[0]):
            x = K[i, 0] - image[j, 0]
            y = K[i, 1] - image[j, 1]
            least = min(least, x * x + y * y)
        out[i, 0] = np.sqrt(least)


def attracted(out, image, K):
    """Three elements of one row that every iteration adds to."""
    for i in range(K.shape[0]):
        for k in range(2):
            K[i, k] = 0.25
        for j in range(image.shape[0]):
            x = image[j, 0] - image[i, 0]
            y = image[j, 1] - image[i, 1]
            square = x * x + y * y + 0.5
            scale = 1.0 / (square * np.sqrt(square))
            K[i, 0] += scale * x
            K[i, 1] += scale * y


POINTS = [standardised, nearest, attracted]


@pytest.mark.parametrize("function", POINTS)
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (7, 10)])
def test_roots_and_lanes_that_are_loaded_once(function: Callable, shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(sum(shape))
    arguments = [
        generator.random(shape),
        generator.random((shape[0] + 1, shape[1] + 2)),
        generator.random((shape[0], 2)),
    ]
    stages = stages_of(function, arguments, strict=True)
    assert with_vectors(stages)
    check_versions(function, stages, arguments, versions=with_vectors(stages), tiles=[(3, 7), (64,)])


@pytest.mark.parametrize("function", POINTS)
def test_points_of_single_precision_are_right(function: Callable) -> None:
    generator = np.random.default_rng(7)
    arguments = [generator.random((7, 10)), generator.random((8, 12)), generator.random((7, 2))]
    singles = [value.astype(np.float32) for value in arguments]
    kernel = polytune.Kernel(function)
    for configuration in kernel.generated(*singles).first_choices.starts:
        values, expected = ([value.copy() for value in each] for each in (singles, arguments))
        kernel.run(configuration, *values)
        function(*expected)
        for found, wanted in zip(values, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(configuration))


def test_lanes_that_are_the_same_in_all_iterations_are_loaded_before_the_loop() -> None:
    arguments = [np.ones((9, 9)), np.ones((9, 9)), np.ones((9, 2))]
    program = next(each for each in stages_of(nearest, arguments).programs if each.has_vectors)
    loops = [node for region in program.regions for node in walk_nodes(region.body) if isinstance(node, For)]
    innermost = [loop for loop in loops if is_innermost(loop)]
    loads = [node for loop in innermost for node in walk_nodes(loop) if isinstance(node, Let)]
    assert innermost and loads
    assert not any(isinstance(load.value, Lanes) and load.value.apart is not None for load in loads)


def added_to_the_right(out, image, K, n):
    """No element of out is accessed where n is 0."""
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            t = 0.0
            for k in range(image.shape[1]):
                t += image[i, k] * image[k, j]
            for k in range(n):
                out[i, j + 5] += t * K[k, j]


def added_in_loops_inside(out, image, K, n):
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            t = 0.0
            for k in range(image.shape[1]):
                t += image[k, j]
                for m in range(n):
                    out[i, j + 5] += t * K[m, k]


def added_in_some_rows(out, image, K, n):
    """Row 0 has no iterations, and no element."""
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            t = 1.0
            for _ in range(i):
                t = t * 0.5
                out[i - 1, j] += t * K[n, j]


@pytest.mark.parametrize("function", [added_to_the_right, added_in_loops_inside, added_in_some_rows])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_elements_that_no_iteration_updates_need_not_be_there(function: Callable, n: int) -> None:
    """Neither loaded nor stored: they may be another's memory."""
    generator = np.random.default_rng(n)
    out = generator.random((8, 9) if function is added_in_some_rows else (9, 14 if n else 2))
    arguments = [out, generator.random((9, 9)), generator.random((9, 9)), n]
    stages = stages_of(function, arguments, strict=True)
    assert with_vectors(stages)
    check_versions(function, stages, arguments, versions=with_vectors(stages), tiles=[(3, 7), (64,)])


def sums_by_label(out, A, labels):
    """What a label says of a row is the same for all columns."""
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for i in range(A.shape[0]):
                s += 2.0 * A[i, j] if labels[i] == k and not labels[i] > 2 else 0.5
            out[k, j] = s / 2.0


def differences_of_rows(out, A, labels):
    """Where the condition is one on loop variables, the other rows need not be there."""
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for i in range(A.shape[0]):
                s += A[i - 1, j] if i > 0 and labels[i] == k else 0.0
            out[k, j] = s


def elements_by_label(out, A, labels):
    """Which row is read the data say, and only where the condition holds."""
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for i in range(A.shape[0]):
                s += A[labels[i], j] if labels[i] == k else 0.0
            out[k, j] = s


@pytest.mark.parametrize("function", [sums_by_label, differences_of_rows, elements_by_label])
@pytest.mark.parametrize("shape", [(1, 1), (4, 11)])
@pytest.mark.parametrize("count", [0, 1, 9])
def test_choices_that_are_the_same_for_all_columns(function: Callable, shape: tuple[int, int], count: int) -> None:
    generator = np.random.default_rng(count)
    A = generator.integers(-4, 5, (count, shape[1])) / 2.0
    A[1::3, 0], A[2::4, -1] = np.nan, np.inf
    labels = generator.integers(0, min(4, max(1, count)), count)
    arguments = [np.zeros(shape), A, labels]
    stages = stages_of(function, arguments)
    assert bool(with_vectors(stages)) == (function is sums_by_label)
    check_versions(function, stages, arguments, tiles=[(3, 7), (64,)])
