"""Python integers that a NumPy type cannot hold: an error before anything is written, where Python raises one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polytune import kernel
from polytune.errors import ArgumentError, IntegerRangeError


def masked(A, B, m):
    for i in range(A.shape[0]):
        B[i] = A[i] & m


def shifted(A, B, m):
    for i in range(A.shape[0]):
        B[i] = m - A[i]


def stored(A, B, m):
    for i in range(A.shape[0]):
        B[i] = i + m


def added_to(A, B, m):
    for i in range(A.shape[0]):
        B[i] = A[i]
        B[i] += m


def derived(A, B, m):
    bound = 4 * m - 1
    for i in range(A.shape[0]):
        B[i] = A[i] | bound


def power(A, B, m):
    bound = 2**m - 1 if m > 0 else 0
    for i in range(A.shape[0]):
        B[i] = A[i] & bound


def converted(A, B, m):
    for i in range(A.shape[0]):
        B[i] = np.uint8(m) & 1


def least(A, B, m):
    for i in range(A.shape[0]):
        B[i] = np.minimum(A[i], m)


def of_arrays(A, B, m):
    B[:] = A * m


def part(A, B, m):
    B[1:] = m


def filled(A, B, m):
    B[:] = np.full(A.shape[0], m, A.dtype)


def function_of_arrays(A, B, m):
    B[:] = np.bitwise_xor(A, m)


KERNELS = [
    masked,
    shifted,
    stored,
    added_to,
    derived,
    power,
    converted,
    least,
    of_arrays,
    part,
    filled,
    function_of_arrays,
]
BOUNDS = [-200, -129, -128, -1, 0, 1, 3, 7, 9, 60, 64, 120, 127, 128, 250, 255, 256, 1000, 40_000]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "uint64"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_kernels_raise_where_python_does(function: Callable[..., None], dtype: str) -> None:
    compiled = kernel(function)
    outcomes = set()
    for size in (0, 6):
        for m in (0, 3, 7, 8, 9, 16, 17, 40) if function is power else BOUNDS:
            A = np.arange(size).astype(dtype)
            expected, B = np.full(size, 5, dtype), np.full(size, 5, dtype)
            with np.errstate(over="ignore"):
                error = _error_of(function, A, expected, m)
            if error is None:
                compiled(A, B, m)
                np.testing.assert_array_equal(B, expected)
            else:
                with pytest.raises(IntegerRangeError) as caught:
                    compiled(A, B, m)
                assert isinstance(caught.value, OverflowError) and isinstance(caught.value, ArgumentError)
                assert f"which {'uint8' if function is converted else dtype} cannot hold" in str(caught.value)
                np.testing.assert_array_equal(B, 5)  # nothing has been written
            outcomes.add(error)
    always_fits = function is power and dtype == "uint64"
    assert outcomes == ({None} if always_fits else {None, OverflowError})


def _error_of(function: Callable[..., None], *arguments: Any) -> type[Exception] | None:
    try:
        function(*arguments)
    except OverflowError:
        return OverflowError
    return None


def test_the_remedy_works() -> None:
    def counted(codes, m, counts):
        code = 0
        for i in range(codes.shape[0]):
            code = ((code << 2) | codes[i]) & m
            counts[code] += 1

    def remedied(codes, m, counts):
        code = 0
        for i in range(codes.shape[0]):
            code = ((code << 2) | codes[i]) & np.int64(m)
            counts[code] += 1

    codes = np.random.default_rng(5).integers(0, 4, 300).astype(np.uint8)
    counts, expected = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    with pytest.raises(IntegerRangeError, match=r"(?s)the Python integer 1023.*m = 1023.*np\.int64\(m\)"):
        kernel(counted)(codes, 1023, counts)
    assert not counts.any()
    kernel(remedied)(codes, 1023, counts)
    remedied(codes, 1023, expected)
    np.testing.assert_array_equal(counts, expected)
    assert np.count_nonzero(expected[256:]) > 20


def test_loops_without_iterations_have_no_integers() -> None:
    def shifted(A):
        for i in range(300, A.shape[0] + 300):
            A[i - 300] = i

    def unsigned(A):
        for i in range(3):
            A[i] = -1 - i

    with pytest.raises(IntegerRangeError, match=r"the Python integer -1 - i, which uint8 cannot hold"):
        kernel(unsigned)(np.zeros(3, np.uint8))
    A = np.zeros(0, np.uint8)
    kernel(shifted)(A)  # no iteration, no integer
    with pytest.raises(IntegerRangeError):
        kernel(shifted)(np.zeros(1, np.uint8))


def test_numpys_integers_wrap_round() -> None:
    def stored(A, m):
        for i in range(A.shape[0]):
            A[i] = m

    A = np.zeros(3, np.uint8)
    kernel(stored)(A, np.int64(300))
    np.testing.assert_array_equal(A, np.full(3, 300 % 256))


def test_comparisons_and_floats_take_any_integer() -> None:
    def compared(A, B, m):
        for i in range(A.shape[0]):
            B[i] = A[i] / m if A[i] < m else 0.0

    A = np.arange(5).astype(np.uint8)
    B, expected = np.zeros(5), np.zeros(5)
    kernel(compared)(A, B, 300)
    compared(A, expected, 300)
    np.testing.assert_array_equal(B, expected)
