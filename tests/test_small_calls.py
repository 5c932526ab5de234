"""NumPy's functions on small arrays in compiled code, against NumPy itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.runtime.intrinsics import library
from polytune.runtime.small_calls.calls import small_call
from polytune.signature import DATA_TYPES

Calls = list[str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    """The functions of NumPy that are called by kernels."""
    made: Calls = []
    run = library.run

    def counted(text: str, *arrays: Any) -> None:
        made.append(text.partition(" ")[0])
        run(text, *arrays)

    monkeypatch.setattr(library, "run", counted)
    with polytune.tuning("off"):
        yield made


@polytune.kernel
def of_matrices(A, b, B):
    x, X, inverse, factor = np.empty_like(b), np.empty_like(B), np.empty_like(A), np.empty_like(A)
    size = np.empty(A.shape[0], dtype=A.dtype)
    for k in range(A.shape[0]):
        x[k] = np.linalg.solve(A[k], b[k])
        X[k] = np.linalg.solve(A[k], B[k])
        inverse[k] = np.linalg.inv(A[k])
        factor[k] = np.linalg.cholesky(A[k])
        size[k] = np.linalg.det(A[k])
    return x, X, inverse, factor, size


def layouts(array: np.ndarray) -> Iterator[np.ndarray]:
    """Arrays with the elements of one, but others between them, or in another order."""
    yield array
    yield np.repeat(array, 2, -1)[..., ::2]
    yield array[::-1].copy()[::-1]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_matrices(dtype: str, calls: Calls) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 32):
        roots = rng.random((4, n, n)) - 0.5
        if dtype.startswith("complex"):
            roots = roots + 1j * (rng.random((4, n, n)) - 0.5)
        A = (roots @ roots.conj().swapaxes(1, 2) + np.eye(n)).astype(dtype)
        b, B = (rng.random((4, n)) - 0.5).astype(dtype), (rng.random((4, n, 3)) - 0.5).astype(dtype)
        right = of_matrices.__wrapped__(A, b, B)
        for each in layouts(A):
            for one, other in zip(of_matrices(each, b, B), right, strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, rtol=3e-3 if dtype == "complex64" else 1e-9, atol=1e-6)
    assert not calls


@pytest.mark.slow
def test_what_is_not_small_or_not_of_one_type_is_numpys(calls: Calls) -> None:
    A, b = np.eye(33)[None] * 2.0, np.ones((1, 33))
    (x, *_), right = of_matrices(A, b, b[:, :, None]), of_matrices.__wrapped__(A, b, b[:, :, None])
    assert (x == right[0]).all() and sorted(set(calls)) == [
        f"numpy.linalg.{n}" for n in ("cholesky", "det", "inv", "solve")
    ]
    calls.clear()
    A, b = np.eye(3)[None] * 2.0, np.ones((1, 3), "float32")
    assert (of_matrices(A, b, b[:, :, None])[0] == 0.5).all()
    assert calls == ["numpy.linalg.solve"] * 2


@polytune.kernel
def solved(A, b):
    x = np.empty_like(b)
    for k in range(A.shape[0]):
        x[k] = np.linalg.solve(A[k], b[k])
    return x


@pytest.mark.slow
def test_exceptions_are_numpys(calls: Calls) -> None:
    A, b = np.ones((2, 3, 3)), np.ones((2, 3))
    A[0] = [[0, 2, 1], [1, 0, 0], [4, 1, 0]]  # whose first pivot is 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        solved(A, b)
    assert calls == ["numpy.linalg.solve"]
    A[1] = np.eye(3) + A[0]
    np.testing.assert_allclose(solved(A, b), solved.__wrapped__(A, b))
    A[1, 0, 0] = np.nan
    np.testing.assert_array_equal(np.isnan(solved(A, b)), np.isnan(solved.__wrapped__(A, b)))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        of_matrices(-A[:1], b[:1], b[:1, :, None])


@polytune.kernel
def ordered(A):
    values, places = np.empty_like(A), np.empty(A.shape, np.int64)
    for i in range(A.shape[0]):
        values[i] = np.sort(A[i])
        places[i] = np.argsort(A[i])
    return values, places


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_sorting(dtype: str, calls: Calls) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 8, 9, 33, 512):
        A = np.array([rng.permutation(n) for _ in range(3)]).astype(dtype)
        if dtype == "float64":
            A[0, n // 2] = np.inf
            A[1, 0] = np.nan
        for each in layouts(A):
            for one, other in zip(ordered(each), ordered.__wrapped__(A), strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)
    assert not calls
    # What can be ordered in several ways has NumPy's order.
    A = rng.integers(0, 9, (3, 300)).astype(dtype)
    for one, other in zip(ordered(A), ordered.__wrapped__(A), strict=True):
        np.testing.assert_array_equal(one, other)
    assert calls == ["numpy.argsort"] * 3


@polytune.kernel
def looked_up(points, values, wanted):
    n = wanted.shape[0]
    left, right = np.empty(n, np.int64), np.empty((n, 2), np.int64)
    found, pairs = np.empty(n), np.empty((n, 2))
    for i in range(n):
        left[i] = np.searchsorted(points, wanted[i, 0])
        right[i] = np.searchsorted(points, wanted[i], side="right")
        found[i] = np.interp(wanted[i, 1], points, values)
        pairs[i] = np.interp(wanted[i], points, values)
    return left, right, found, pairs


def test_looking_up(calls: Calls) -> None:
    rng = np.random.default_rng(2)
    for n in (3, 40, 1000):
        points, values = np.sort(rng.integers(0, n, n) / 4.0), rng.random(n)
        special = [-1.0, 0.0, points[0], points[1], points[-1], points[-1] + 1, np.nan, np.inf, -np.inf, 1.1]
        wanted = np.concatenate([special, points[rng.integers(0, n, 10)], rng.random(10) * n / 4]).reshape(-1, 2)
        with np.errstate(all="ignore"):
            right = looked_up.__wrapped__(points, values, wanted)
        for one, other in zip(looked_up(points, values, wanted), right, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    assert not calls
    values[2] = np.inf
    for one, other in zip(
        looked_up(points, values, wanted), looked_up.__wrapped__(points, values, wanted), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_forms_are_made_for_small_arrays_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call on large arrays costs no compilation of what it has no use for."""
    from polytune.runtime.small_calls import calls as small_calls

    def refused(*_: Any) -> Callable[..., Any]:
        raise AssertionError("a form is compiled")

    monkeypatch.setattr(small_calls, "entry_of", refused)
    call = small_calls.SmallCall(99, refused, ("float64",), 32)
    kind = small_calls.DATA_TYPES.index("float64")
    assert not call.attempt(kind, 0, [np.zeros(33)], [np.zeros((33, 33)), np.zeros(33)])
    assert not call.attempt(kind - 1, 0, [np.zeros(3)], [np.zeros((3, 3)), np.zeros(3)])


def test_a_form_that_another_worker_has_made_meanwhile_is_called() -> None:
    form = small_call("numpy.interp *")
    assert form is not None
    arrays = [np.empty(3), np.array([0.5, 1.5, 2.5]), np.arange(4.0), np.arange(4.0) ** 2]
    kind = DATA_TYPES.index("float64")
    words: list[int] = []
    for array in (np.zeros((), np.int64), *arrays):
        words += [array.ctypes.data, DATA_TYPES.index(array.dtype.name), array.ndim, *array.shape, *array.strides]
    row = np.array(words, np.int64)
    for _ in range(2):  # The second time as by a worker that has looked for the form before the first one has made it.
        arrays[0][:] = 0
        assert form.attempt(kind, row.ctypes.data, arrays[:1], arrays[1:])
        np.testing.assert_array_equal(arrays[0], np.interp(*arrays[1:]))
