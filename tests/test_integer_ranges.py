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


def under_condition(A, B, m):
    for i in range(A.shape[0]):
        if A[i] > 3:
            B[i] = A[i] | m


def behind_continue(A, B, m):
    for i in range(A.shape[0]):
        if A[i] <= 3:
            continue
        B[i] = A[i] ^ m


def in_while(A, B, m):
    for i in range(A.shape[0]):
        tries = 0
        while A[i] > tries:
            tries += 2
            B[i] = A[i] & m


def in_test(A, B, m):
    for i in range(A.shape[0]):
        tries = 0
        while tries < 3 and (A[i] & m) > tries:
            tries += 1
        B[i] = tries


def in_choice(A, B, m):
    for i in range(A.shape[0]):
        B[i] = A[i] | m if A[i] > 3 else A[i]


def in_conjunction(A, B, m):
    for i in range(A.shape[0]):
        if A[i] > 3 and (A[i] | m) > 6:
            B[i] = 1


def chosen(x, m):
    if x > 3:
        return x | m
    return x


def in_helper(A, B, m):
    for i in range(A.shape[0]):
        B[i] = chosen(A[i], m)


def by_mask(A, B, m):
    B[A > 3] = m


def by_subscripts(A, B, m):
    if A.shape[0] > 3:
        B[np.arange(3)] = m


def listed(A, B, m):
    B[:] = np.array([m, 1], dtype=A.dtype)[0]


def squared(A, B, m):
    for i in range(A.shape[0]):
        B[i] = A[i] & (m * m)


def greatest(A, B, m):
    B[:] = A.max(initial=m)


KERNELS = [
    under_condition,
    behind_continue,
    in_while,
    in_test,
    in_choice,
    in_conjunction,
    in_helper,
    by_mask,
    by_subscripts,
    listed,
    greatest,
    squared,
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
    always_fits = function in (power, squared) and dtype == "uint64"
    assert outcomes == ({None} if always_fits else {None, OverflowError})


def _error_of(function: Callable[..., None], *arguments: Any) -> type[Exception] | None:
    try:
        function(*arguments)
    except OverflowError:
        return OverflowError
    return None


@pytest.mark.parametrize("function", [under_condition, behind_continue, in_while, in_choice, in_conjunction, in_helper])
def test_calls_are_refused_as_if_data_came_to_all_statements(function: Callable[..., None]) -> None:
    A, B = np.zeros(6, np.uint8), np.full(6, 5, np.uint8)
    with pytest.raises(IntegerRangeError, match="the Python integer 300, which uint8 cannot hold"):
        kernel(function)(A, B, 300)
    np.testing.assert_array_equal(B, 5)
    compiled, expected = kernel(function), np.full(6, 5, np.uint8)
    compiled(A, B, 200)
    function(A, expected, 200)
    np.testing.assert_array_equal(B, expected)


def within_branch(A, B, m):
    for i in range(A.shape[0]):
        if A[i] > 3 and m >= 0 and m < 256:
            B[i] = A[i] | m


def within_choices(A, B, m):
    for i in range(A.shape[0]):
        B[i] = (A[i] | m if m < 256 else 1) if m >= 0 else 2


def within_conjunctions(A, B, m):
    for i in range(A.shape[0]):
        B[i] = m > 255 or m < 0 or (A[i] ^ m) > 6


def within_power(A, B, m):
    for i in range(A.shape[0]):
        if A[i] > 3:
            B[i] = 2**m if m >= 0 and m < 8 else 3


def narrowed(x, m):
    y = x
    if m >= 0 and m < 256:
        y = x ^ m
    return y


def within_helper(A, B, m):
    for i in range(A.shape[0]):
        B[i] = narrowed(A[i], m)


def behind_breaks(A, B, m):
    for i in range(A.shape[0]):
        for j in range(m):
            if j > 200:
                break
            if j == 3:
                continue
            if A[i] > 3:
                B[i] = A[i] ^ j


GUARDED = [within_branch, within_choices, within_conjunctions, within_power, within_helper, behind_breaks]


@pytest.mark.parametrize("function", GUARDED, ids=lambda function: function.__name__)
def test_conditions_on_arguments_are_respected(function: Callable[..., None]) -> None:
    compiled = kernel(function)
    for m in (-1, 0, 7, 8, 255, 256, 1000):
        A, expected, B = np.arange(6, dtype=np.uint8), np.full(6, 5, np.uint8), np.full(6, 5, np.uint8)
        function(A, expected, m)
        compiled(A, B, m)
        np.testing.assert_array_equal(B, expected)


def test_exponents_are_looked_at_where_data_decide() -> None:
    def raised(A, B, n):
        for i in range(A.shape[0]):
            B[i] = A[i] ** n if A[i] > 3 else 1

    A, expected, B = np.arange(6), np.zeros(6, np.int64), np.zeros(6, np.int64)
    kernel(raised)(A, B, 3)
    raised(A, expected, 3)
    np.testing.assert_array_equal(B, expected)
    B[:] = 5
    with pytest.raises(ArgumentError, match="with a negative exponent: -3"):
        kernel(raised)(A, B, -3)
    np.testing.assert_array_equal(B, 5)


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


def test_conditions_on_floats_that_no_integer_is_say_nothing_of_integers() -> None:
    def counted(A, B, x, m):
        for i in range(A.shape[0]):
            B[i] = A[i] | m if x < np.inf and x != np.nan and x > 0.5 else A[i]

    A = np.arange(6, dtype=np.uint8)
    for x in (0.25, 3.0, np.inf):
        expected, B = np.zeros(6, np.uint8), np.zeros(6, np.uint8)
        counted(A, expected, x, 7)
        kernel(counted)(A, B, x, 7)
        np.testing.assert_array_equal(B, expected)
    with pytest.raises(IntegerRangeError):
        kernel(counted)(A, A.copy(), 3.0, 300)


def test_errors_name_the_variables_of_inner_loops() -> None:
    def last_smaller(A, B, m):
        for i in range(A.shape[0]):
            for j in range(m):
                if A[i] == j:
                    break
                B[i] = j

    A, B = np.arange(6, dtype=np.uint8), np.zeros(6, np.uint8)
    with pytest.raises(IntegerRangeError, match="the Python integer j, which uint8 cannot hold, in B"):
        kernel(last_smaller)(A, B, 1000)
    compiled, expected = kernel(last_smaller), np.zeros(6, np.uint8)
    compiled(A, B, 200)
    last_smaller(A, expected, 200)
    np.testing.assert_array_equal(B, expected)
