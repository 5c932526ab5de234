"""What is around products of matrices by the library: which kernels share it out, and that results are right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.schedule.analysis.legality import check_legality
from polytune.schedule.candidate import Candidate
from polytune.schedule.rewrites.around_products import AROUND
from tests.every_version import stages_of
from tests.validation.validate import validate


def layer(X, W, b, out):
    h = np.maximum(X @ W + b, 0.0)
    e = np.exp2(h - h.max(axis=1)[:, None])
    out[:] = e / e.sum(axis=1)[:, None]


def distances(X, W, b, out):
    s = (X * X).sum(axis=1)
    d = s[:, None] + s[None, :] - 2.0 * (X @ X.T)
    out[:, 0] = d[:, 0] + d[:, -1]


def two_layers(X, W, b, out):
    h = X @ W + b
    h[h < 0.0] = 0.0
    X[:] = h @ W.T - X


def covariance(X, W, b, out):
    centred = X - X.sum(axis=0) / X.shape[0]
    out[0, :] = (centred.T @ centred / (X.shape[0] - 1)).sum() + W[0]


def scaled_by_loops(X, W, b, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.5 * b[j]
            for k in range(X.shape[1]):
                out[i, j] += X[i, k] * W[k, j]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = out[i, j] * out[i, j]


KERNELS = (layer, distances, two_layers, covariance, scaled_by_loops)


def product_alone(X, W, b, out):
    out[:] = X @ W


def added_product(X, W, b, out):
    for i in range(X.shape[1]):
        for j in range(X.shape[1]):
            for k in range(X.shape[0]):
                W[i, j] += X[k, i] * X[k, j]


def without_products(X, W, b, out):
    X *= 2.0


def arguments_of(rows: int = 6, inner: int = 4, columns: int = 5) -> tuple[np.ndarray, ...]:
    """Matrices of integers, whose sums of products are exact."""
    numbers = np.random.default_rng(rows)
    shapes = (rows, inner), (inner, columns), (columns,), (rows, columns)
    return tuple(numbers.integers(-4, 5, shape).astype(float) for shape in shapes)


def candidate_of(function: Callable[..., Any]) -> Candidate | None:
    found = stages_of(function, arguments_of()).candidates
    return next((each for each in found if each.order == AROUND), None)


def check(function: Callable[..., Any], arguments: tuple[np.ndarray, ...]) -> None:
    """Whether the version does what NumPy does, up to rounding, with one worker and with two."""
    kernel = polytune.kernel(function)
    expected = [array.copy() for array in arguments]
    function(*expected)
    for threads in (1, 2):
        given = [array.copy() for array in arguments]
        kernel.run(kernel.space(*given).configuration(version="around", threads=threads), *given)
        for wanted, found in zip(expected, given, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_results(function: Callable[..., Any]) -> None:
    check(function, arguments_of())
    check(function, arguments_of(70, 33, 65))


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 0, 4), (0, 3, 4)])
def test_small_sizes(sizes: tuple[int, int, int]) -> None:
    check(scaled_by_loops, arguments_of(*sizes))
    check(two_layers, arguments_of(*sizes))


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_every_version_does_what_the_source_does(function: Callable[..., Any]) -> None:
    arguments = arguments_of(4, 3, 3)
    stages = stages_of(function, arguments)
    assert "around" in validate(stages, dict(zip(("X", "W", "b", "out"), arguments, strict=True))).versions


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_schedules_are_legal(function: Callable[..., Any]) -> None:
    found = candidate_of(function)
    assert found is not None and check_legality(found)


@pytest.mark.parametrize("function", [product_alone, added_product, without_products])
def test_kernels_with_nothing_to_share_out(function: Callable[..., Any]) -> None:
    """What only adds a product to its target takes no time beside it."""
    stages = stages_of(function, arguments_of(columns=10))
    names = {each.order.name for each in stages.candidates}
    assert "around" not in names and ("library" in names) == (function is not without_products)


def test_sums_are_shared_out_and_calls_are_not() -> None:
    version = stages_of(layer, arguments_of()).source.split("def run_around(")[1].split("\ndef ")[0]
    before, after = version.split("call_library(")
    assert "claim(context, worker, workers, base, 1) == base" in before.splitlines()[-3]
    assert "total = count_0" in after


def test_explanation_names_the_version() -> None:
    kernel = polytune.kernel(layer)
    kernel(*arguments_of())
    told = kernel.explain().split("  around:\n")[1]
    assert "products of matrices by NumPy's library, and what is around them shared out" in told
