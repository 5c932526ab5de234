"""What kernels return: arrays made inside, arguments, numbers, tuples, at the end and before it."""

from __future__ import annotations

import copy
import importlib
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from polytune.packaging import build

SIZES = (0, 1, 2, 5, 33)


def compared(function: Callable[..., Any], *arguments: Any, strict: bool = False) -> Any:
    """What a kernel returns, which must be what plain Python does, as must be what both write."""
    kernel = kernel_of(function, strict)
    wanted, found = copy.deepcopy(arguments), copy.deepcopy(arguments)
    right, result = function(*wanted), kernel(*found)
    same(result, right)
    for after, before in zip(found, wanted, strict=True):
        same(after, before)
    return result


def same(found: Any, wanted: Any) -> None:
    assert isinstance(found, tuple) == isinstance(wanted, tuple)
    assert isinstance(found, list) == isinstance(wanted, list)
    if isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, np.ndarray):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if found.dtype == np.float32 else 1e-12)
    elif wanted is None or isinstance(wanted, str):
        assert found == wanted
    else:
        assert not isinstance(wanted, np.generic) or wanted.dtype in (bool, found.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


KERNELS: dict[tuple[Any, bool], Any] = {}


def kernel_of(function: Callable[..., Any], strict: bool) -> Any:
    key = function, strict
    if key not in KERNELS:
        KERNELS[key] = polytune.kernel(strict=strict, budget=0, background=False)(function)
    return KERNELS[key]


def vector(n: int, dtype: str = "float64") -> np.ndarray:
    return (np.random.default_rng(n).random(n) * 9).astype(dtype)


def doubled(A):
    n, m = A.shape
    B = np.empty_like(A)
    for i in range(n):
        for j in range(m):
            B[i, j] = 2 * A[i, j]
    return B


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
def test_an_array_that_is_made_inside_is_returned(dtype: str) -> None:
    for n in SIZES:
        A = vector(n * 3, dtype).reshape(n, 3)
        for layout in (A, np.asfortranarray(A), vector(n * 6, dtype).reshape(n, 6)[:, ::2], A[::-1]):
            compared(doubled, layout)


def test_each_call_returns_an_array_of_its_own() -> None:
    kernel = kernel_of(doubled, False)
    for n in (4, 700):  # the memory of large local arrays is used again by later calls
        A = np.random.default_rng(n).random((n, n))
        first = kernel(A)
        kept = first.copy()
        others = [kernel(A + k) for k in range(1, 4)]
        np.testing.assert_array_equal(first, kept)
        for k, other in enumerate(others, 1):
            np.testing.assert_array_equal(other, 2 * (A + k))
            assert not np.shares_memory(first, other)
        first[:] = -1.0
        np.testing.assert_array_equal(kernel(A), kept)


def sums(A):
    n = A.shape[0]
    rows = np.zeros(n)
    total = 0.0
    least = np.inf
    for i in range(n):
        rows[i] = A[i] * A[i]
        total += A[i]
        least = min(least, A[i])
    return rows, total, (n, least)


def test_tuples_of_arrays_and_numbers() -> None:
    for strict in (False, True):
        for n in SIZES:
            compared(sums, vector(n), strict=strict)


def test_strict_results_are_pythons_bits() -> None:
    A = vector(33)
    rows, total, (_, least) = kernel_of(sums, True)(A)
    right = sums(A)
    assert rows.tobytes() == right[0].tobytes() and total == right[1] and least == right[2][1]


def filled(out, value):
    for i in range(len(out)):
        out[i] = value
    return out


def both_arguments(A, x, n):
    for i in range(n):
        A[i] += x
    return n, A, x


def test_arguments_are_returned_as_they_are() -> None:
    out = np.empty(7)
    assert kernel_of(filled, False)(out, 2.5) is out
    assert out.tolist() == [2.5] * 7
    A = np.zeros(5)
    n, same_array, x = kernel_of(both_arguments, False)(A, 0.5, 3)
    assert (n, x) == (3, 0.5) and same_array is A


def partly_written(A):
    out = np.zeros(len(A) + 2)
    for i in range(0, len(A), 2):
        out[i] = A[i]
    return out


def test_what_is_not_written_of_zeros_stays_zero() -> None:
    for n in SIZES:
        compared(partly_written, vector(n))
    kernel = kernel_of(partly_written, False)
    for _ in range(3):
        assert not kernel(np.ones(300_000))[1::2].any()


def mean(A):
    if len(A) == 0:
        return 0.0
    total = 0.0
    for i in range(len(A)):
        total += A[i]
    return total / len(A)


def by_size(A, n):
    if n < 0:
        return None
    if n == 0:
        return 0
    elif n == 1:
        return A[0]
    B = np.empty(n)
    for i in range(n):
        B[i] = A[i] + 1.0
    if n > 4:
        return B, n
    return B


def by_data(A, limit):
    total = 0.0
    for i in range(len(A)):
        total += A[i]
    if total > limit:
        return -1.0
    for i in range(len(A)):
        A[i] = A[i] / (total + 1.0)
    if len(A) > 2:
        if A[0] > A[1]:
            return A[0], A[1]
        A[0] = 7.0
    return total


def test_early_returns() -> None:
    for n in SIZES:
        compared(mean, vector(n))
        compared(by_size, vector(40), n)
        for limit in (-1.0, 1e9):
            compared(by_data, vector(n), limit)
            compared(by_data, vector(n)[::-1].copy(), limit)
    compared(by_size, vector(3), -2)
    A = vector(9)
    assert kernel_of(by_size, False)(A, 1) == A[0]


def functions_of_a_sum(A):
    s = 0.0
    for i in range(len(A)):
        s += A[i]
    return np.log(s), np.sqrt(s), np.exp(s), np.arcsin(s), np.power(s, -1.5), np.arctan2(s, s), abs(s), np.cosh(s)


def others_of_a_sum(A):
    s = 0.0
    for i in range(len(A)):
        s += A[i]
    return math.gamma(s), math.lgamma(s), math.copysign(1.0, s), np.hypot(s, s), np.rint(s), A.std()


@pytest.mark.parametrize("strict", [True, False])
def test_functions_of_results_raise_nothing_and_give_numbers_of_numpy(strict: bool) -> None:
    for total in (0.0, -0.0, 0.5, -2.0, 1e3, -1e3, np.inf, -np.inf, np.nan):
        A = np.array([total, 0.0 * total if np.isfinite(total) else total])
        with np.errstate(all="ignore"):
            found, wanted = kernel_of(functions_of_a_sum, strict)(A), functions_of_a_sum(A)
            others = kernel_of(others_of_a_sum, strict)(A)
        np.testing.assert_allclose(found, wanted, rtol=1e-15)
        assert {type(number) for number in (*found, *others)} == {np.float64}
        if np.isfinite(total) and total > 0 and total < 100:
            np.testing.assert_allclose(others, others_of_a_sum(A), rtol=1e-15)


def test_functions_of_results_where_c_has_no_number() -> None:
    gamma, lgamma, *_ = zip(*(kernel_of(others_of_a_sum, True)(np.array([s])) for s in (0.0, -1.0, 400.0)), strict=True)
    np.testing.assert_equal(gamma, (np.inf, np.nan, np.inf))
    np.testing.assert_equal(lgamma, (np.inf, np.inf, math.lgamma(400.0)))


def without_a_result(A, n):
    if n > 3:
        return
    for i in range(len(A)):
        A[i] = 0.0


def test_returns_without_a_result() -> None:
    for n in (2, 5):
        assert compared(without_a_result, vector(6), n) is None


def test_built_packages_return_what_kernels_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def halves(A):
        B = np.empty_like(A)
        total = 0.0
        for i in range(len(A)):
            B[i] = A[i] / 2
            total += B[i]
        if len(A) > 3:
            return B, total
        return A, total

    build([polytune.kernel(halves)], tmp_path / "built_results", devices=False)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        embedded = importlib.import_module("built_results").halves
        for n in (0, 3, 4, 20):
            A = vector(n)
            result = embedded(A)
            same(result, halves(A.copy()))
            assert (result[0] is A) == (n <= 3)
    finally:
        for name in [name for name in sys.modules if name.startswith("built_results")]:
            del sys.modules[name]


def test_results_that_are_no_numbers() -> None:
    @polytune.kernel
    def of_arguments(A, x: float, y: float):
        A[0] = 1.0
        if y > 2.5:
            return np.log(x), y**0.5
        return np.sqrt(x), np.abs(x) / y

    for x, y in ((0.25, 2.0), (-0.25, 0.5), (-1.0, 3.0), (0.0, 3.0), (1.0, 0.0)):
        with np.errstate(all="ignore"):
            expected = of_arguments.__wrapped__(np.zeros(2), np.float64(x), np.float64(y))
        np.testing.assert_allclose(of_arguments(np.zeros(2), x, y), expected, rtol=1e-14)


def integers_of_numpy(x, A, n):
    A[0] = 1.0
    k = np.int64(3)
    return np.argmin(x), np.int64(0), k, np.int64(n), np.float32(2.0), n, len(A)


def test_constants_have_types_of_numpy() -> None:
    found = compared(integers_of_numpy, 3.0, vector(3), 5)
    assert [type(each) for each in found] == [type(each) for each in integers_of_numpy(3.0, vector(3), 5)]


def method_that_is_none(A):
    return A.ptp()


def test_methods_that_arrays_do_not_have_are_refused() -> None:
    with pytest.raises(UnsupportedSourceError, match=r"the method \.ptp"):
        kernel_of(method_that_is_none, False)(vector(3))


WEIGHTS = [0.5, 1.5]


def test_lists_are_lists() -> None:
    def parts(A):
        return np.split(A, 1), np.split(A, 2), np.array_split(A, 3), (A[0], [A[1], 2])

    def the_only_part(A):
        return np.split(A, 1)[0] * 2.0

    def the_only_part_by_name(A):
        (part,) = np.array_split(A, 1)
        return part + 1.0

    def written_out(A):
        first, *others = A[0], 2, 3
        return first, others, [2 * i for i in (1, 2)], tuple(2 * i for i in (1, 2)), WEIGHTS, (1, [2, (3,)])

    def of_a_function(A):
        def pair(x):
            return [x, x + 1.0]

        return pair(A[0]), A.shape

    def one_of_two(A):
        if A[0] > 0.0:
            return [A[0], 1.0]
        return A[0], 1.0

    def place(A):
        return np.unravel_index(len(A), (7,)), np.unravel_index(len(A), (3, 4)), np.nonzero(A)

    for function in (parts, the_only_part, the_only_part_by_name, written_out, of_a_function, one_of_two, place):
        kernel = polytune.kernel(function)
        for A in (np.arange(1.0, 7.0), -np.arange(1.0, 5.0)):
            same(kernel(A.copy()), function(A.copy()))


SIZES = range(10)


def of_remainders(A):
    n = len(A)
    first, second, third = np.array_split(A, 3)
    return np.zeros(n % 3), A[: n // 3 + min(n % 3, 1)], np.ones(max(n - 3, 0) % 4), first, second, third + 1.0


def of_the_returning_iteration(A):
    for i in range(len(A)):
        t = np.ones(i + 1)
        t[i] += A[i]
        if t.sum() > 3.5:
            return t, t[1:]
    return A, A


def of_rows(A):
    for i in range(len(A)):
        if A[i] > 0.6:
            return A[i:] * 2.0, A[:i]
    return A, A


def of_sorted_beginnings(A):
    for i in range(len(A)):
        beginning = np.sort(A[: i + 1])
        if beginning[0] < -0.5:
            return beginning
    return A


def of_two_loops(A):
    for i in range(len(A)):
        for j in range(i):
            t = A[j:i] - 1.0
            if t.sum() > 0.25:
                A[i] = 7.0
                return t
    return A


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "function", [of_remainders, of_the_returning_iteration, of_rows, of_sorted_beginnings, of_two_loops]
)
def test_arrays_have_the_size_of_where_they_are_made(function: Callable[..., Any], strict: bool) -> None:
    kernel = kernel_of(function, strict)
    for size in SIZES:
        A = np.random.default_rng(size).standard_normal(size)
        expected = A.copy()
        same(kernel(A), function(expected))
        np.testing.assert_array_equal(A, expected)


@pytest.mark.parametrize("strict", [True, False])
def test_numbers_of_numpy_are_numpys(strict: bool) -> None:
    def after_a_loop(A, n, x):
        A *= 2.0
        places = np.unravel_index(n, (7,)), np.unravel_index(n, (2, 4))
        return np.int64(n), np.float64(x), np.float64(3), n, x, np.float32(n), np.int64(n) + 1, places, np.argmin(3.0)

    kernel = polytune.kernel(strict=strict)(after_a_loop)
    for n, x in ((5, 2.5), (np.int64(5), np.float64(2.5)), (np.uint8(5), np.float32(2.5))):
        found, expected = kernel(np.ones(3), n, x), after_a_loop(np.ones(3), n, x)
        same(found, expected)
        for one, other in zip(found, expected, strict=True):
            assert isinstance(one, np.generic) or not isinstance(other, np.generic)
            assert isinstance(one, tuple) or np.asarray(one).dtype == np.asarray(other).dtype


@polytune.kernel
def extremes(A):
    return np.max(A), np.min(A, axis=0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint64"])
@pytest.mark.parametrize("place", [None, 0, 1500, 2999])
def test_extremes_are_numpys_in_every_version(dtype, place):
    """Workers have copies of their own, in which NaN stays."""
    A = np.random.default_rng(3).integers(1, 99, (100, 30)).astype(dtype)
    if place is not None:
        A.flat[place] = np.nan if A.dtype.kind == "f" else 0
    generated = extremes.generated(A)
    versions = [version.name for version in generated.module.VERSIONS]
    space = extremes.space(A)
    assert hasattr(generated.module, "complete_all"), "workers have no copies of their own"
    for version in versions:
        greatest, least = extremes.run(space.configuration(version=version), A)
        np.testing.assert_array_equal(greatest, A.max(), err_msg=version)
        np.testing.assert_array_equal(least, A.min(axis=0), err_msg=version)
