"""Integers of every width, with and without a sign, and bools, in compiled kernels against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from polytune.signature import SIGNED_TYPES, UNSIGNED_TYPES
from tests.test_control import in_every_version
from tests.test_results import compared, kernel_of

INTEGERS = (*SIGNED_TYPES, *UNSIGNED_TYPES)
SIZES = (0, 1, 5, 33)

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:divide by zero", "ignore:invalid value")


def numbers(n: int, dtype: str, seed: int = 0) -> np.ndarray:
    """Numbers from all over a type, its ends among them."""
    limits = np.iinfo(dtype)
    made = np.random.default_rng((n, seed)).integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
    made[: 2 - seed] = ([limits.max, limits.min][seed:])[: len(made)]
    return made


def arithmetic(A, B, C, x):
    for i in range(len(A)):
        C[i] = A[i] + B[i]
        C[i] -= A[i] * B[i]
        if A[i] < B[i]:
            C[i] = C[i] + 3
        if A[i] > x:
            C[i] = max(A[i], B[i])
        C[i] += -A[i]
        C[i] = C[i] // 3 + C[i] % 7
        C[i] *= C[i] ** 2
        C[i] = min(C[i], abs(B[i]))


def halves(A, out):
    for i in range(len(A)):
        out[i] = A[i] / 2 + A[i] * np.float32(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_round_and_compare_as_numpys(dtype: str) -> None:
    for n in SIZES:
        A, B = numbers(n, dtype), numbers(n, dtype, 1)
        for x in (2, 300, -5):
            compared(arithmetic, A, B, np.zeros(n, dtype), x)
        compared(halves, A, np.zeros(n))
    strided = numbers(66, dtype)[::2]
    in_every_version(arithmetic, strided, numbers(33, dtype, 1)[::-1], np.zeros(33, dtype), 2, strict=True)


def numbers_in_lists(A):
    return (
        np.array([A[0], 3]),
        np.array([A[1], 0.5, A[0]]),
        np.array([[A[0], True], [A[0] * 2, A[1]]]),
        np.array([A.sum(), A[0] > 1]),
        np.array([A, A + 1]),
        np.sum([A[0], 300]),
        np.max([[A[0]], [2.5]]),
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "float32", "float64", "bool"])
def test_numbers_of_python_in_lists_have_types_of_their_own(dtype: str) -> None:
    compared(numbers_in_lists, np.array([1, 3, 0, 2]).astype(dtype), strict=True)


def parts_of_sorted(A):
    ends = np.quantile(A, 1), np.quantile(A, (0, 1), axis=1), np.percentile(A, 100), np.quantile(A, (0, 0.5))
    return np.quantile(A, 0.3), np.percentile(A, [10, 90]), np.quantile(A, (0.1, 0.7, 0.9), axis=0), np.median(A), ends


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_quantiles_have_numpys_type(dtype: str) -> None:
    compared(parts_of_sorted, (np.arange(12.0).reshape(4, 3) ** 2 / 7).astype(dtype), strict=True)


def parts_of_arguments(A, q, k, B):
    first = np.quantile(A, q), np.percentile(A, 10 * k), np.percentile(A, 100 * q, axis=1)
    widths = np.zeros(len(B))
    for i in range(len(B)):
        widths[i] = np.quantile(A[:, 0], B[i], keepdims=True)[0]
    return *first, widths, np.quantile(A, B[1])


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float64"])
def test_quantiles_of_arguments_have_numpys_type(dtype: str) -> None:
    A = (np.arange(12.0).reshape(4, 3) ** 2 / 7).astype(dtype)
    for q, k in ((0.3, 4), (1, 10), (np.float64(0.45), 0)):
        compared(parts_of_arguments, A, q, k, np.array([0.2, 0.75]), strict=True)


def parts_of_an_array(A, q):
    return np.quantile(A, q), np.percentile(A, 10 * q, axis=0), np.quantile(A, q[:1], axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("dtype", "of_parts"),
    [
        *((dtype, of_parts) for dtype in ("int32", "uint8", "float64") for of_parts in ("float64", "int64")),
        ("float32", "float64"),
        ("float32", "float32"),
    ],
)
def test_several_quantiles_of_arguments_have_numpys_type(dtype: str, of_parts: str) -> None:
    A = (np.arange(12.0).reshape(4, 3) ** 2 / 7).astype(dtype)
    q = np.array([0, 1, 1] if of_parts == "int64" else [0.2, 0.75, 1.0]).astype(of_parts)
    compared(parts_of_an_array, A, q, strict=True)


def test_quantiles_that_there_are_not_are_numpys_errors() -> None:
    kernel = polytune.kernel(one_quantile)
    for A, q in ((np.arange(4.0), 1.5), (np.arange(4.0), -0.1)):
        with pytest.raises(ValueError, match="range"):
            one_quantile(A, q)
        with pytest.raises(ValueError, match="range"):
            kernel(A, q)
    assert kernel(np.arange(4.0), 0.5) == 1.5


def one_quantile(A, q):
    return np.quantile(A, q)


def sums_and_steps(A):
    return (
        sum(A),
        sum([A[0], 1.5]),
        sum((A, A[::-1])),
        sum(A > 1),
        np.sum(A, initial=2.7),
        np.linspace(A[0], A[1], 3),
        np.linspace(A[0], 2.5, 4, endpoint=False),
        np.linspace(-1, 0, 4, dtype=np.int64),
        np.sinc(A * np.float32(1)),
        max(A[0] > 1, A[1] > 1),
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
def test_sums_and_steps_have_the_types_and_wrap_round_as_in_python(dtype: str) -> None:
    compared(sums_and_steps, np.array([100, 90, 0, 80]).astype(dtype), strict=True)


def first_and_sum(A):
    total = A[0]
    for i in range(1, len(A)):
        total += A[i]
    return total, A[0]


def counts(image, histogram):
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            histogram[image[i, j]] += 1


@pytest.mark.parametrize("dtype", INTEGERS)
def test_sums_and_subscripts_of_every_integer(dtype: str) -> None:
    for n in SIZES[1:]:
        compared(first_and_sum, numbers(n, dtype))
    image = np.random.default_rng(1).integers(0, 100, (9, 11)).astype(dtype)
    in_every_version(counts, image, np.zeros(256, np.int64))


def test_unsigned_subscripts_never_count_from_the_end() -> None:
    histogram = np.zeros(256, np.int64)
    kernel_of(counts, False)(np.full((2, 3), 255, np.uint8), histogram)
    assert histogram[255] == 6
    with pytest.raises(IndexError):
        kernel_of(counts, False)(np.full((2, 3), 200, np.uint8), np.zeros(100, np.int64))


def selected(A, mask, out):
    count = 0
    for i in range(len(A)):
        if mask[i]:
            out[i] = A[i]
            count += 1
        mask[i] = not mask[i] and A[i] > 3.0
    return count


def marked(A):
    prime = np.zeros(len(A), dtype=np.bool_)
    for i in range(2, len(A)):
        prime[i] = A[i] > 0
        for k in range(2, i):
            if i % k == 0:
                prime[i] = False
                break
    return prime


def test_bools() -> None:
    for n in SIZES:
        rng = np.random.default_rng(n)
        A, mask = rng.random(n) * 6, rng.random(n) < 0.5
        for strict in (False, True):
            compared(selected, A, mask, np.zeros(n), strict=strict)
        in_every_version(selected, A, mask[::-1], np.zeros(n))
        compared(marked, np.ones(n))


def scaled(A, factor, flag):
    for i in range(len(A)):
        A[i] = A[i] * factor if flag else A[i] + factor


@pytest.mark.parametrize("factor", [np.uint8(200), np.int16(-3), np.uint64(2**63 + 5), np.float32(0.5)])
def test_scalars_of_every_type(factor: Any) -> None:
    for flag in (np.bool_(True), np.bool_(False), True):
        compared(scaled, np.arange(5.0), factor, flag)
    compared(scaled, np.arange(5, dtype=np.uint64), np.uint64(2**63 + 5), np.bool_(True))


def where_flagged(A, mask, flag):
    return A[mask & flag], A[mask ^ flag], mask | flag, mask + flag, mask * flag, np.maximum(mask, flag)


def filled_with_flag(A, mask, flag):
    found = np.full(len(A), flag)
    found[1:] ^= mask[1:]
    mask |= flag
    return found, np.array([flag, False]), np.where(A > 2, flag, mask), A * flag, flag, not flag, flag + 1


def steered(A, mask, flag=False):
    n = 3 if flag else len(A)
    for i in range(n):
        if (A[i] > 2) == flag and not (flag and mask[i]):
            A[i] += 1
    for _ in range(int(flag)):
        A[0] *= 2
    flag = flag and A[0] > 1
    return flag, A[:n].sum()


@pytest.mark.parametrize("function", [where_flagged, filled_with_flag, steered])
@pytest.mark.parametrize("flag", [True, False, np.bool_(True)])
def test_flags_are_truth_values(function: Callable[..., Any], flag: Any) -> None:
    compared(function, np.arange(6.0), np.arange(6) % 2 == 0, flag)
    compared(function, np.arange(6.0), np.arange(6) % 2 == 0, flag, strict=True)


def truth_as_subscript(A, flag):
    return A[flag]


def test_bool_of_python_is_no_subscript() -> None:
    with pytest.raises(UnsupportedSourceError, match=r"int\(flag\)"):
        polytune.kernel(truth_as_subscript)(np.arange(3.0), True)
    assert polytune.kernel(truth_as_subscript)(np.arange(3.0), 1) == 1.0


def clipped(image, low, high):
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            image[i, j] = min(max(image[i, j], low), high)


def test_images_in_both_layouts() -> None:
    image = np.random.default_rng(0).integers(0, 256, (7, 9)).astype(np.uint8)
    for layout in (image, np.asfortranarray(image), image[:, ::2]):
        in_every_version(clipped, layout, np.uint8(50), np.uint8(200))


def stored(A, B):
    B[:] = A
    for i in range(len(A)):
        B[i] += np.uint8(A[i])


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("floats", ["float32", "float64"])
def test_floats_out_of_range_wrap_round_in_unsigned_integers(floats: str, dtype: str) -> None:
    A = np.tile(np.array([-1.0, 300.0, 70000.0, -3.0, 2.5, -0.5, -100.0]), 7).astype(floats)
    compared(stored, A, np.zeros(len(A), dtype))


def test_floats_that_only_unsigned_integers_of_64_bits_hold() -> None:
    def converted(A):
        return A.astype(np.uint64), (A * 1.5).astype(np.uint64)

    compared(converted, np.tile([2.0**63, 2.0**62, 2.0**63 - 2.0**10, 0.0, -5.5], 5))


@pytest.mark.parametrize("dtype", [*SIGNED_TYPES, *UNSIGNED_TYPES])
def test_numbers_made_of_arguments_keep_their_types(dtype: str) -> None:
    """Such as are computed before all loops, as bounds are."""

    kind = np.dtype(dtype).type

    def converted(A, n, m):
        x, half = kind(n), m // 2
        for i in range(half):
            A[i] += x
        return x, x + x, x * x, half, half + half, A[: half + 1] * half, np.zeros(half)

    for number in (0, 7, 100):
        compared(converted, np.arange(60.0), number, kind(number))
