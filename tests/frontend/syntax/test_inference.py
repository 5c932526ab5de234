"""Types guessed from the source."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polytune.errors import UnsupportedSourceError
from polytune.frontend import analyse, infer_signature
from polytune.frontend.syntax.guesses import possible_signatures
from tests.frontend import features, programs

MATRIX, VECTOR = "float64[:, ::1]", "float64[::1]"


def annotated(C: "float32[:, ::1]", n: int, x: float, P: "int32[:]", q: "float32"):  # noqa: F821, UP037
    for i in range(n):
        C[i, i] = x * P[i] + q


def annotated_without_quotes(
    C: float32[:, ::1],  # noqa: F821
    P: int32[:],  # noqa: F821
    q: float32,  # noqa: F821
    is_doubled: bool,
    z: complex,
    w: list[float],
):
    for i in range(C.shape[0]):
        C[i, i] = P[i] + q * w[i] if is_doubled else z.real


def sizes(A, n, m, x, y, k):
    t = np.zeros((m, 2))
    half = n // 2
    for i in range(half):
        if i < k and x > 0.5:
            t[i, 0] = A[i][i + 1]
        A[i][0] = t[i, 0] * y
    A[0][0] = math.sqrt(y)


def through_calls(A, B, row, scaling):
    features.fill(B, 1.0)
    shared(A, row, scaling)


def shared(M, r, f):
    for j in range(M.shape[1]):
        M[r, j] *= f


def with_defaults(A, x, y=0.5, match=1, gap=-2, *, is_doubled=False, z=1j, n=3, name=None):
    for i in range(n):
        A[i] = x * y + (match if A[i] > 0 else gap) + (A[i] if is_doubled else z.real)


def shapes(A, B, C):
    n, m, k = A.shape
    C[0] = B.shape[1] + len(C) + n + m + k


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (programs.gemm, f"alpha: float, beta: float, C: {MATRIX}, A: {MATRIX}, B: {MATRIX}"),
        (programs.jacobi_2d, f"tsteps: int, A: {MATRIX}, B: {MATRIX}"),
        (programs.atax, f"A: {MATRIX}, x: {VECTOR}, y: {VECTOR}, tmp: {VECTOR}"),
        (annotated, "C: float32[:, ::1], n: int, x: float, P: int32[:], q: float32"),
        (
            annotated_without_quotes,
            "C: float32[:, ::1], P: int32[:], q: float32, is_doubled: bool, z: complex, w: float64[::1]",
        ),
        (sizes, f"A: {MATRIX}, n: int, m: int, x: float, y: float, k: int"),
        (through_calls, f"A: {MATRIX}, B: {VECTOR}, row: int, scaling: float"),
        (
            with_defaults,
            f"A: {VECTOR}, x: float, y: float, match: int, gap: int, is_doubled: bool, z: complex, n: int, name: float",
        ),
        (shapes, f"A: float64[:, :, ::1], B: {MATRIX}, C: {VECTOR}"),
        (features.procedures_inlined, f"A: {MATRIX}, x: {VECTOR}, y: {VECTOR}"),
        (features.data_branch, f"A: {VECTOR}, B: {VECTOR}, limit: float"),
    ],
)
def test_types_are_read_from_the_source(function: Callable[..., Any], expected: str) -> None:
    assert str(infer_signature(function)) == expected


def test_what_is_inferred_can_be_analysed() -> None:
    for function in (programs.gemm, programs.lu, sizes, shapes, annotated, features.local_arrays):
        assert analyse(function, infer_signature(function)).statements


def float8_array(A: "float8[:]"):  # noqa: F821, UP037
    A[0] = 1.0


def long_number(A, n: np.longdouble):
    A[0] = n


@pytest.mark.parametrize(
    ("function", "at"),
    [(float8_array, '"float8[:]"'), (long_number, "np.longdouble")],
)
def test_an_annotation_that_names_no_type_is_refused(function, at) -> None:
    with pytest.raises(UnsupportedSourceError, match="kernels work on numbers and arrays of bool, int8") as caught:
        infer_signature(function)
    assert caught.value.what == f"an argument is annotated as {at}"
    place = caught.value.location
    assert place.text[place.column : place.end_column] == at


def numpy_numbers(A, n: np.int32, x: np.float32):
    for i in range(n):
        A[i] = x


def test_a_numpy_type_as_an_annotation_is_a_strong_scalar() -> None:
    types = infer_signature(numpy_numbers)
    assert str(types) == "A: float64[::1], n: int32, x: float32"


def distribution(x: np.ndarray, scale: float) -> np.ndarray:
    return np.exp(scaled_by(x, scale))


def scaled_by(x: np.ndarray, scale: float) -> np.ndarray:
    kind = type(scale)
    found = np.empty_like(x)
    for i in range(len(found)):
        found[i] = x[i] * (kind(1) / scale)
    return found


def test_an_annotation_says_that_an_argument_is_an_array() -> None:
    types = infer_signature(distribution)
    assert str(types) == "x: float64[::1], scale: float"
    assert analyse(distribution, types).statements
    assert "x: float64[:, ::1], scale: float" in map(str, possible_signatures(distribution))


def bounds_of_one_array_in_a_choice(first, ends, n):
    total = 0
    for i in range(n):
        last = ends[i] if i < n - 1 else n
        for k in range(first[i], last):
            total += k
    return total


def test_both_sides_of_a_choice_that_bounds_a_loop_are_integers() -> None:
    assert str(infer_signature(bounds_of_one_array_in_a_choice)) == "first: int64[::1], ends: int64[::1], n: int"


def rotated(A, B, k, n):
    for i in range(n):
        A[i] += 1.0j * k[i] * B[i]


def test_arrays_are_complex_where_complex_numbers_are_stored() -> None:
    first, *others = map(str, possible_signatures(rotated))
    assert first == "A: float64[::1], B: float64[::1], k: float64[::1], n: int"
    assert others[0] == "A: complex128[::1], B: float64[::1], k: float64[::1], n: int"
    assert others[1] == "A: complex128[::1], B: complex128[::1], k: complex128[::1], n: int"
