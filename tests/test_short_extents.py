"""Short extents of arguments, as of points and colours: what is compiled for them, and that results stay right."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from polytune.module_cache import short_extents
from polytune.runtime.calls.arguments import signature_of
from polytune.signature import ArrayType, Signature, accepts, parse_type
from tests.frontend.rewrites.test_forwarding import check
from tests.test_control import in_every_version


def moved(x, by):
    n, d = x.shape
    total = np.zeros(d)
    for i in range(n):
        for k in range(d):
            x[i, k] += by[k]
            total[k] += x[i, k]
    return total


def centred(x, by):
    d = x - x.mean(axis=0)
    return np.sqrt((d**2).sum(axis=1)), d + by, (d * by).max(axis=1), (d > by).any(axis=-1), d.prod(axis=1)


def turned(x, by):
    across = np.outer(by, by) + np.eye(len(by))
    return x @ across.T @ across, np.einsum("ij,jk,ik->i", x, across, x), (x @ by) ** 2


def beside(x, by):
    if x.shape[1] == 3:
        return x[:, 1:-1] * x
    return x + by


def forces(x, by):
    d = x[None, :, :] - x[:, None, :]
    w = by[0] / ((d**2).sum(axis=2) + 0.5) ** 1.5
    return (d * w[:, :, None]).sum(axis=1)


def components(x, by):
    total = 0.0
    for i in range(len(x)):
        total += x[i, 0] * by[1] - x[i, 1] * by[0]
        x[i, -1] = x[i, 0] - 2.0 * x[i, 1]
    return total


FUNCTIONS = [moved, centred, turned, beside, forces, components]


def signatures(kernel: polytune.Kernel) -> list[str]:
    """The types for which a kernel has code, as people are told of them."""
    start = f"{kernel.__name__}("
    return [line for line in kernel.explain().splitlines() if line.startswith(start)]


def points(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + d)
    return rng.integers(-8, 9, (n, d)) / 4.0, rng.integers(-8, 9, d) / 4.0


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_calls_with_ever_other_extents_have_code_for_two_of_them_and_one_for_all(function: Callable[..., Any]) -> None:
    kernel = polytune.kernel(function, background=False)
    for n, d in ((6, 3), (300, 3), (300, 5), (9, 2), (200, 2), (150, 4), (300, 3), (100, 7), (400, 4), (2, 2), (0, 3)):
        if not n and function is centred:
            continue  # a mean of nothing
        arguments = points(n, d)
        expected, given = copy.deepcopy(arguments), copy.deepcopy(arguments)
        wanted, found = function(*expected), kernel(*given)
        for right, own in zip((*expected, wanted), (*given, found), strict=True):
            for each, other in zip(_several(right), _several(own), strict=True):
                np.testing.assert_allclose(other, each, rtol=1e-12, atol=1e-12)
                assert np.asarray(other).dtype == np.asarray(each).dtype
    made = signatures(kernel)
    assert sum("3::1" in each for each in made) == sum("2::1" in each for each in made) == 1
    assert len(made) == 3, made


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_an_extent_that_code_is_made_for_may_be_stretched() -> None:
    kernel = polytune.kernel(beside, background=False)
    x, by = points(100, 3)
    np.testing.assert_array_equal(kernel(x, by), x[:, 1:-1] * x)


def test_points_lie_as_far_apart_as_their_type_says() -> None:
    """NumPy may give an extent of 1 any stride, and arrays in other orders keep theirs."""

    def turned_by(x, out):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j, 0] = x[i, j, 1] - x[i, j, 2]
                out[i, j, 1] = x[i, j, 2] - x[i, j, 0]
                out[i, j, 2] = x[i, j, 0] - x[i, j, 1]

    kernel = polytune.kernel(turned_by, background=False)
    x = points(300, 3)[0].reshape(300, 1, 3)
    odd = np.lib.stride_tricks.as_strided(x, x.shape, (x.strides[0], 8888, x.strides[2]))
    assert odd.flags.c_contiguous
    wide = np.repeat(np.repeat(x, 2, axis=2), 2, axis=1)
    for given in (x, odd, np.asfortranarray(x), x[::-1], wide[:, ::2, ::2], x.reshape(100, 3, 3)):
        for out in (np.zeros_like(given), np.zeros(given.shape, order="F")):
            kernel(given, out)
            wanted = np.zeros(given.shape)
            turned_by(given, wanted)
            np.testing.assert_array_equal(out, wanted)
    assert "x: float64[:, 3:, 3::1], out: float64[:, 3:, 3::1]" in kernel.explain()


def test_calls_that_do_not_fit_are_refused_as_for_any_extents() -> None:
    def product(A, B):
        C = np.zeros((3, 2))
        return A @ B @ C

    kernel = polytune.kernel(product, background=False)
    A, B = points(100, 4)[0], points(4, 2)[0]
    with pytest.raises(ArgumentError, match="do not fit"):
        kernel(A, B)
    B = points(4, 3)[0]
    np.testing.assert_allclose(kernel(A, B), product(A, B))


def test_a_loop_that_known_extents_leave_empty() -> None:
    def beyond(A, B):
        for i in range(A.shape[0]):
            for k in range(3, A.shape[1]):
                B[i, 0] += A[i, k]

    kernel = polytune.kernel(beyond, background=False)
    for d in (3, 6):
        A, B = points(100, d)[0], np.zeros((100, 1))
        kernel(A, B)
        np.testing.assert_array_equal(B[:, 0], A[:, 3:].sum(axis=1))


@pytest.mark.parametrize(
    ("shapes", "telling", "found"),
    [
        ({"x": (300, 3)}, "x0 x1", "x1"),
        ({"x": (300, 3)}, "x0", ""),
        ({"x": (20, 3)}, "x0 x1", ""),
        ({"x": (3, 300)}, "x0 x1", ""),
        ({"x": (300,)}, "x0", ""),
        ({"x": (300, 1)}, "x0 x1", ""),
        ({"x": (300, 5)}, "x0 x1", ""),
        ({"x": (300, 1, 3)}, "x0 x1 x2", "x2"),
        ({"x": (300, 3, 2)}, "x0 x1 x2", "x1 x2"),
        ({"x": (3, 3)}, "x0 x1", ""),
        ({"x": (300, 3), "R": (3, 3), "b": (2,), "n": ()}, "x1 R0 R1 b0", "x1 R0 R1 b0"),
        ({"x": (300, 3), "c": (9, 3)}, "x1 c0 c1", "x1 c1"),
        ({"x": (300, 3), "R": (3, 3)}, "R0 R1", ""),
    ],
    ids=str,
)
def test_short_extents_are_the_last_ones_of_large_arrays(
    shapes: dict[str, tuple[int, ...]], telling: str, found: str
) -> None:
    def places(text: str) -> set[tuple[str, int]]:
        return {(each[0], int(each[1])) for each in text.split()}

    wanted = {(name, axis): shapes[name][axis] for name, axis in places(found)}
    assert short_extents(shapes, lambda: places(telling)) == wanted


def test_extents_are_part_of_a_type_as_people_write_it() -> None:
    kind = ArrayType("float64", 3, "C", ((1, 4), (2, 3)))
    assert str(kind) == "float64[:, 4:, 3::1]"
    assert parse_type(str(kind)) == kind
    assert eval(repr(kind)) == kind
    for wrong in ("float64[3]", "float64[-3::1]", "float64[n:]"):
        with pytest.raises(ValueError, match="is not a type"):
            parse_type(wrong)


def test_what_is_made_for_an_extent_takes_no_other() -> None:
    names = ("x", "by")
    wanted = Signature(tuple(zip(names, map(parse_type, ("float64[:, 3::1]", "float64[::1]")), strict=True)))
    for d, fits in ((3, True), (2, False)):
        values = points(300, d)
        given = wanted.with_known_extents(signature_of(names, values), values)
        assert all(accepts(wanted[name], given[name]) for name in names) == fits


def few_terms(x, by):
    return (
        (x[:, :3] ** 2).sum(axis=1),
        x[:, :3] @ np.ones((3, 2)),
        x[:, :2].min(axis=1),
        x[:, :3].std(axis=1),
        (x[:, :2] > 0).all(axis=1, keepdims=True),
        x[:2, :3].sum(),
        np.linalg.norm(x[0, :3]),
    )


@pytest.mark.parametrize("strict", [False, True])
def test_sums_of_few_elements_are_written_out(strict: bool) -> None:
    x, by = points(7, 4)
    x[3] = -0.0
    check_all = copy.deepcopy((x, by))
    in_every_version(few_terms, *check_all, strict=strict)


def onto_itself(x, by):
    x[:] = x @ np.array([[0.0, 1.0], [1.0, 0.5]])


def test_a_product_that_replaces_its_factor_reads_all_of_it_first() -> None:
    check(onto_itself, list(points(5, 2)), strict=False)


def weighted(x, y):
    for i in range(len(x)):
        y[i] = 0.0
        for k in range(x.shape[1]):
            y[i] += x[i, k] * (k + 1)


@pytest.mark.parametrize("mode", ["on", "frozen"])
def test_calls_that_have_settled_tell_extents_apart(mode: str) -> None:
    kernel = polytune.kernel(weighted, background=False)
    with polytune.tuning(mode):
        for shape in ((300, 3), (450, 2), (100, 9), (300, 3), (200, 3), (450, 2)):
            for _ in range(6):
                x, y = np.random.default_rng(shape).random(shape), np.zeros(shape[0])
                kernel(x, y)
                np.testing.assert_allclose(y, x @ (np.arange(shape[1]) + 1.0), rtol=1e-12)
