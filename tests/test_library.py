"""Calls of NumPy on whole arrays inside of kernels: linear algebra, sorting and random numbers, against NumPy."""

# ruff: noqa: B007

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.codegen.loops import Compute, walk_nodes
from polytune.errors import CompilationError
from polytune.explanation import explain
from polytune.frontend.expression import LibraryCall
from polytune.schedule.platforms.partition import obstacle_to_devices
from tests.every_version import SMALL, check_versions, stages_of
from tests.test_control import in_every_version
from tests.test_results import kernel_of, same

SIZES = (1, 2, 9)


def symmetric(n: int, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    """A positive definite matrix."""
    A = np.random.default_rng(seed).random((n, n))
    return (A @ A.T + n * np.eye(n)).astype(dtype)


def numbers(*shape: int, dtype: str = "float64", seed: int = 1) -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) * 90 - 30).astype(dtype)


def factored(A):
    A[:] = np.linalg.cholesky(A) + np.triu(A, k=1)


def solved(A, b):
    return np.linalg.solve(A, b)


def solved_in_expressions(A, b, B):
    x = 2.0 * np.linalg.solve(A.T + A, b - 1.0) + b
    return x, np.linalg.inv(A) @ B, np.linalg.det(A[:-1, 1:]) + 1.0


def decomposed(A):
    values, vectors = np.linalg.eigh(A)
    q, r = np.linalg.qr(A)
    u, s, vt = np.linalg.svd(A[:, :-1], full_matrices=False)
    sign, size = np.linalg.slogdet(A)
    return values, np.abs(vectors), np.abs(q), np.abs(r), (u * s) @ vt, s, sign * size, np.linalg.eigvalsh(A)


def of_one_result(A):
    s = np.linalg.svd(A, compute_uv=False)
    r = np.linalg.qr(A, mode="r")
    return s, np.abs(r), np.linalg.matrix_rank(A), np.linalg.pinv(A)


def norms(A, b):
    rows, columns = np.linalg.norm(A, axis=1), np.linalg.norm(A, np.inf, axis=0)
    spectral, nuclear = np.linalg.norm(A, 2), np.linalg.norm(A, "nuc")
    return rows, columns, spectral, nuclear, np.linalg.norm(b, 1), np.linalg.norm(b, -np.inf), np.linalg.norm(A)


def least_squares(A, b):
    x, _, rank, s = np.linalg.lstsq(A, b, rcond=None)
    return x, rank, s.sum(), np.linalg.lstsq(A, b, rcond=None)[0]


@pytest.mark.parametrize(
    ("dtype", "layout"),
    [
        ("float64", np.ascontiguousarray),
        ("float64", np.asfortranarray),
        ("float64", lambda A: np.repeat(A, 2, 1)[:, ::2]),
        ("float32", np.ascontiguousarray),
        ("int64", np.ascontiguousarray),
    ],
)
def test_linear_algebra_is_numpys(dtype: str, layout: Callable[[np.ndarray], np.ndarray]) -> None:
    tolerance = 2e-3 if dtype == "float32" else 1e-9
    for n in SIZES:
        A, b, B = layout(symmetric(n, dtype)), numbers(n, dtype=dtype), layout(numbers(n, 3, dtype=dtype))
        for function, arguments in (
            (solved, (A, b)),
            (solved, (A, B)),
            (solved_in_expressions, (A, b, B)),
            (decomposed, (A,)),
            (of_one_result, (A,)),
            (norms, (A, b)),
            (least_squares, (numbers(n + 3, n, dtype=dtype), numbers(n + 3, dtype=dtype))),
        ):
            right = function(*arguments)
            found = kernel_of(function, False)(*arguments)
            for one, other in zip(_tuple(found), _tuple(right), strict=True):
                assert np.asarray(one).dtype == np.asarray(other).dtype
                scale = max(1.0, float(np.max(np.abs(other), initial=0.0)))
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


def eigenvalues(A):
    values, vectors = np.linalg.eigh(A)
    sign, size = np.linalg.slogdet(A)
    return np.linalg.eigvalsh(A), values, np.abs(vectors), sign, size, np.linalg.cholesky(A), np.linalg.pinv(A)


def mixed(A, b):
    return np.linalg.solve(A, b.real.copy()), np.linalg.solve(A.real.copy(), b), np.linalg.inv(A).real


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_linear_algebra_of_complex_numbers_is_numpys(dtype: str) -> None:
    """Results that are real by what they mean, as singular values and norms, are real."""
    tolerance = 2e-3 if dtype == "complex64" else 1e-9
    for n in SIZES:
        turned = numbers(n, n) * 0.01
        A = (symmetric(n) + 1j * (turned - turned.T)).astype(dtype)
        b, B = (numbers(n, *more, seed=2) + 1j * numbers(n, *more, seed=3) for more in ((), (3,)))
        tall = (numbers(n + 3, n, seed=4) + 1j * numbers(n + 3, n, seed=5)).astype(dtype)
        for function, arguments in (
            (solved, (A, b.astype(dtype))),
            (solved, (A, B.astype(dtype))),
            (solved_in_expressions, (A, b.astype(dtype), B.astype(dtype))),
            (eigenvalues, (A,)),
            (of_one_result, (A,)),
            (norms, (A, b.astype(dtype))),
            (least_squares, (tall, np.ones(n + 3, dtype))),
            (mixed, (A, b.astype(dtype))),
        ):
            right, found = function(*arguments), kernel_of(function, False)(*arguments)
            for one, other in zip(_tuple(found), _tuple(right), strict=True):
                assert np.asarray(one).dtype == np.asarray(other).dtype, function
                scale = max(1.0, float(np.max(np.abs(other), initial=0.0)))
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * scale)


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_a_factorisation_in_place_is_computed_by_every_version() -> None:
    for n in SIZES:
        in_every_version(factored, symmetric(n))


def stacked(A):
    return np.linalg.inv(A), np.linalg.det(A), np.linalg.cholesky(A)


def test_stacks_of_matrices() -> None:
    A = np.stack([symmetric(4, seed=seed) for seed in range(3)])
    for one, other in zip(kernel_of(stacked, False)(A), stacked(A), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


# ---- in loops


def solved_in_a_loop(A, B, X):
    for k in range(A.shape[0]):
        X[k] = np.linalg.solve(A[k], B[k])


def iterated(A, b, steps):
    x = b.copy()
    for _ in range(steps):
        r = b - A @ x
        x += 0.5 * np.linalg.solve(A, r)
        for i in range(1, len(x)):
            x[i] += 1e-3 * x[i - 1]
    return x


def growing(A, out):
    for k in range(1, A.shape[0] + 1):
        out[k - 1] = np.linalg.det(A[:k, :k])


def sorted_rows(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = -A[i, j]
        B[i, :] = np.sort(A[i])
        for j in range(A.shape[1]):
            B[i, j] *= 2.0


def sorted_in_place(A):
    for i in range(A.shape[0]):
        A[i] = np.sort(-A[i])
        for j in range(A.shape[1]):
            A[i, j] *= 2.0


def until_small(A, b):
    x = np.zeros_like(b)
    error = 1.0
    while error > 1e-8:
        r = b - A @ x
        x += 0.9 * np.linalg.solve(A, r)
        error = np.abs(r).max()
    return x


def test_calls_in_loops_are_computed_by_every_version() -> None:
    A = np.stack([symmetric(4, seed=seed) for seed in range(6)])
    in_every_version(solved_in_a_loop, A, numbers(6, 4), np.zeros((6, 4)))
    in_every_version(growing, symmetric(5), np.zeros(5))
    in_every_version(sorted_rows, numbers(7, 9), np.zeros((7, 9)))
    for function, arguments in ((iterated, (symmetric(5), numbers(5), 4)), (until_small, (symmetric(5), numbers(5)))):
        np.testing.assert_allclose(kernel_of(function, False)(*arguments), function(*arguments), rtol=1e-9)


def test_loops_around_calls_run_in_parallel() -> None:
    kernel = polytune.kernel(budget=0, background=False)(sorted_in_place)
    A = numbers(7, 9)
    wanted = A.copy()
    sorted_in_place(wanted)
    kernel(A)
    np.testing.assert_array_equal(A, wanted)
    assert "for i: parallel, with a copy per worker of temporary" in explain(kernel)


@pytest.mark.parametrize("function", [sorted_rows, solved_in_a_loop, growing])
def test_versions_have_no_races(function: Callable[..., Any]) -> None:
    arguments = {
        sorted_rows: (numbers(4, 3), np.zeros((4, 3))),
        solved_in_a_loop: (np.stack([symmetric(3, seed=seed) for seed in range(4)]), numbers(4, 3), np.zeros((4, 3))),
        growing: (symmetric(4), np.zeros(4)),
    }[function]
    check_versions(function, stages_of(function, arguments, target=SMALL), arguments)


# ---- sorting and searching


def ordered(A, v):
    places = np.argsort(A, kind="stable")
    B = np.sort(A)
    total = 0.0
    for k in range(len(A)):
        total += A[places[k]] * k
    found = np.searchsorted(B, v)
    one = np.searchsorted(B, v[0], side="right")
    return B, places, total, found, one, np.partition(A, len(A) // 2)[len(A) // 2]


def sorted_along(A):
    A.sort()
    return np.sort(A, axis=0), np.argsort(A[::-1, 1:], axis=0)


def interpolated(x, A, B):
    counts, edges = np.histogram(A, bins=4)
    heavy, _ = np.histogram(A, 4, weights=B)
    counts[0] += int(heavy[0])
    return np.interp(x, np.sort(A), B), np.interp(x[0], np.sort(A), B), counts, edges


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8"])
def test_sorting_is_numpys(dtype: str) -> None:
    for n in SIZES:
        A, v = numbers(n, dtype=dtype), numbers(4, dtype=dtype, seed=2)
        for one, other in zip(kernel_of(ordered, False)(A, v), ordered(A, v), strict=True):
            np.testing.assert_array_equal(one, other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
        wanted, found = numbers(n, n + 1, dtype=dtype), numbers(n, n + 1, dtype=dtype)
        same(kernel_of(sorted_along, False)(found), sorted_along(wanted))
        same(found, wanted)
        B, x = np.arange(float(n)), numbers(3, seed=3)
        for one, other in zip(kernel_of(interpolated, False)(x, A, B), interpolated(x, A, B), strict=True):
            np.testing.assert_array_equal(one, other)


# ---- random numbers


def drawn(A, n, m):
    np.random.seed(7)
    A[:] = np.random.random((n, m)) + A
    total = 0.0
    for i in range(n):
        x = np.random.normal(1.0, 2.0, size=m)
        total += x.sum() + np.random.rand() + np.random.gamma(2.0, 0.5) + np.random.geometric(0.3)
    A += np.random.laplace(0.0, scale=2.0, size=A.shape)
    np.random.shuffle(A)
    return np.random.randint(0, 10, size=n), total, np.random.permutation(m), np.random.uniform(-1.0, 1.0)


def test_random_numbers_are_numpys_in_its_order() -> None:
    for n, m in ((1, 1), (4, 3), (6, 8)):
        A, B = numbers(n, m), numbers(n, m)
        right = drawn(A, n, m)
        state = np.random.get_state()[2]
        found = kernel_of(drawn, True)(B, n, m)
        assert np.random.get_state()[2] == state
        np.testing.assert_array_equal(A, B)
        for one, other in zip(found, right, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


# ---- what is shown


def test_every_stage_shows_calls_but_there_is_no_c_of_them() -> None:
    arguments = (np.stack([symmetric(3)] * 2), numbers(2, 3), np.zeros((2, 3)))
    stages = stages_of(solved_in_a_loop, arguments)
    texts = {stage: stages.show(stage) for stage in ("scop", "deps", "schedule", "loops", "cpu", "space", "counts")}
    assert "numpy.linalg.solve *(A[" in texts["loops"]
    assert "call_library(context, 'numpy.linalg.solve *', 1, " in texts["cpu"]
    with pytest.raises(CompilationError, match=r"calls numpy\.linalg\.solve, which NumPy computes"):
        stages.show("c")
    found = obstacle_to_devices(stages.scop)
    assert found is not None and found[1] == "a call of numpy.linalg.solve, which NumPy computes"


def least_and_greatest(A, B):
    for k in np.argsort(A)[:3]:
        for x in np.sort(B[k]):
            A[k] += x


def test_what_a_loop_goes_over_is_computed_once() -> None:
    """Before the loop, also where the loop changes what it was computed from."""
    A, B = numbers(6), numbers(6, 4)
    programs = stages_of(least_and_greatest, (A, B)).programs
    source = next(program for program in programs if program.name == "source")
    calls = [part for part in walk_nodes(source.regions[0].body) if isinstance(part, Compute)]
    library = [each for call in calls for each in call.operations if isinstance(each, LibraryCall)]
    assert [call.function.split()[0] for call in library] == ["numpy.argsort", "numpy.sort"]
    in_every_version(least_and_greatest, A, B)


def trend(x, y, Y):
    c = np.polyfit(x, y, 2)
    rest = y - np.polyval(c, x)
    slope, start = np.polyfit(x, y, 1)
    return c, np.sum(rest**2), slope + start, np.polyfit(x, Y, deg=1)


@pytest.mark.parametrize("strict", [False, True])
def test_polynomials_that_are_fitted(strict: bool) -> None:
    kernel = kernel_of(trend, strict)
    for n in (4, 9):
        x, y, Y = np.arange(n) / 2, numbers(n), numbers(n, 3)
        for arguments in ((x, y, Y), (x.astype(np.float32), y, Y), (np.arange(n), y.astype(np.float32), Y * 1j)):
            for found, wanted in zip(kernel(*arguments), trend(*arguments), strict=True):
                assert np.asarray(found).dtype == np.asarray(wanted).dtype
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    with pytest.raises(TypeError, match="expected non-empty vector"):
        kernel(x[:0], y[:0], Y[:0])
