"""Register tiles of points that have variables of their own, with loops, and loops in loops, inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

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
