"""NumPy's functions that are made of others, and those that it computes itself, against NumPy."""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError


def numbers(dtype: str, *shape: int) -> np.ndarray:
    """Numbers of both signs, among them halves, equal ones and, of floats, NaN, zeros of both signs and infinity."""
    rng = np.random.default_rng(sum(shape))
    found = (rng.integers(-9, 10, shape) / (2 if dtype.startswith("float") else 1)).astype(dtype)
    return found if not dtype.startswith("uint") else np.abs(found)


def special(dtype: str, *shape: int) -> np.ndarray:
    found = numbers(dtype, *shape)
    if dtype.startswith("float") and found.size > 4:
        found.flat[:5] = np.nan, np.inf, -np.inf, 0.0, -0.0
    return found


def layouts(array: np.ndarray) -> Iterator[np.ndarray]:
    yield array
    if array.ndim == 2:
        yield np.asfortranarray(array)
    yield np.repeat(array, 2, -1)[..., ::2]


def module_of(folder: Path, names: str, statements: list[str]) -> ModuleType:
    """A module with a function ``f0``, ``f1``, ... of some arrays for each statement."""
    file = folder / "functions_of_numpy.py"
    texts = [f"def f{place}({names}):\n    {text}\n" for place, text in enumerate(statements)]
    file.write_text("import math\n\nimport numpy as np\n\n\n" + "\n\n".join(texts))
    specification = importlib.util.spec_from_file_location("functions_of_numpy", file)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def same(found: Any, right: Any, tolerance: float, text: str = "") -> None:
    """Hold a result against NumPy's, its type and shape too."""
    found, right = np.asarray(found), np.asarray(right)
    assert (found.dtype, found.shape) == (right.dtype, right.shape), text
    np.testing.assert_allclose(found, right, rtol=tolerance, atol=tolerance, err_msg=text)


def check(
    folder: Path, expressions: list[str], first: np.ndarray, second: np.ndarray, tolerance: float = 1e-12
) -> None:
    """Hold kernels of expressions of ``A`` and ``B`` against NumPy, with ``A`` in each layout in turn."""
    module = module_of(folder, "A, B", [f"return {text}" for text in expressions])
    with warnings.catch_warnings(), np.errstate(all="ignore"), polytune.tuning("off"):
        warnings.simplefilter("ignore")
        laid_out = list(layouts(first))
        for place, text in enumerate(expressions):
            function = getattr(module, f"f{place}")
            arguments = laid_out[place % len(laid_out)], second
            found = polytune.kernel(function)(*(each.copy(order="K") for each in arguments))
            same(found, function(*arguments), tolerance, text)


ELEMENTS = """
np.isclose(A, B)
np.isclose(A, B, rtol=0.3, equal_nan=True)
np.allclose(A, A)
np.allclose(A[1:], B[1:])
np.fix(A)
np.round(A, 1)
np.around(A, -1)
np.clip(A, None, B)
np.clip(A, -1, None)
np.heaviside(A, 0.5)
np.signbit(A)
np.nan_to_num(A)
np.float_power(A, 2)
np.logaddexp(A, B)
np.logaddexp2(A, B)
np.sinc(A)
np.nan_to_num(A, nan=1.0, posinf=2.0)
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_of_elements(dtype: str, tmp_path: Path) -> None:
    A, B = special(dtype, 7, 9), numbers(dtype, 9, 7).T.copy()
    check(tmp_path, ELEMENTS, A, B, tolerance=1e-5 if dtype == "float32" else 1e-12)


REDUCTIONS = """
np.ptp(A)
np.ptp(A, axis=0)
np.amin(A)
np.amax(A, axis=1)
np.max(A, axis=0, initial=3)
np.average(A)
np.average(A, axis=1)
np.average(A, weights=np.abs(B) + 1)
np.sum(A, initial=3)
np.sum(A, axis=0, where=B > 0)
np.add.reduce(A)
np.maximum.reduce(A, axis=1)
sum(A)
sum(A[0])
any(A[0] > 3)
all(A[:, 0] < 20)
np.argmin(A)
np.argmax(A)
A.argmax()
np.add.accumulate(A)
np.diff(A, n=2)
np.diff(A, 2, axis=0)
np.median(A)
np.median(A, axis=0)
np.percentile(A, 30)
np.cumsum(A)
A[:, 1:].cumsum()
np.cumprod(A.T / 8)
np.quantile(A, 0.7, axis=1)
np.trapezoid(A)
np.trapezoid(A, dx=0.5, axis=0)
np.trapezoid(A, B[0])
np.gradient(A, axis=0)
np.gradient(A, 0.5, axis=1)
np.gradient(B[0])
np.select([A > 2, B > 0], [A, B], 1.0)
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_reductions_and_statistics(dtype: str, tmp_path: Path) -> None:
    A, B = numbers(dtype, 8, 5), numbers(dtype, 8, 5) + 1
    check(tmp_path, REDUCTIONS if dtype == "float64" else REDUCTIONS[::3], A, B)


WITHOUT_NAN = """
np.nansum(A)
np.nansum(A, axis=0)
np.nanmean(A, axis=1)
np.nanmean(A)
np.nanmax(A, axis=0)
np.nanmin(A)
np.nanstd(A, axis=1)
np.nanmedian(A)
np.nanvar(B)
np.nanvar(A, axis=0, ddof=2)
np.nanstd(A, ddof=1, keepdims=True)
np.nanmin(A, axis=1, keepdims=True)
np.array([np.nanstd(A[i]) + np.nanmax(A[i]) + np.nanmin(A[:, 1]) for i in range(len(A))])
""".strip().splitlines()


ROWS_WITHOUT_NUMBERS = """
np.nanvar(A, axis=0)
np.nanstd(A, axis=1, ddof=1)
np.nanmin(A, axis=1)
np.nanmax(A, axis=0)
np.nanmax(A[1])
np.nanstd(A)
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_rows_of_which_all_elements_are_no_numbers(dtype: str, tmp_path: Path) -> None:
    A = numbers(dtype, 6, 5)
    A[1], A[:, 3], A[2, 1:], A[0, 0] = np.nan, np.nan, np.nan, np.inf
    check(tmp_path, ROWS_WITHOUT_NUMBERS, A, A, {"float64": 1e-12, "float32": 1e-5, "float16": 1e-2}[dtype])


def test_reductions_without_nan(tmp_path: Path) -> None:
    A = special("float64", 6, 5)
    A[np.inf == A] = 2  # sums of infinities of both signs are NaN
    check(tmp_path, WITHOUT_NAN, A, numbers("int64", 4, 4))


REARRANGED = """
np.tile(A, 2)
np.tile(A, (2, 1, 3))
np.tile(A[0], 3)
np.repeat(A, 2, axis=0)
np.repeat(A, 3)
np.pad(A, 1)
np.pad(A, ((1, 0), (2, 1)), constant_values=4)
np.pad(A[0], (1, 2), mode='edge')
np.column_stack((A[:, 0], B))
np.dstack((A, A))
np.append(A[0], B[0])
np.append(A, B, axis=0)
np.rot90(A)
np.rot90(A, -1)
np.rot90(A, 2)
np.roll(A, (1, 2), axis=(0, 1))
np.atleast_2d(A[0])
np.tri(4, 6, 1) * 2
np.kron(A, B)
np.kron(A[0], B[0])
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["float64", "bool"])
def test_rearrangements(dtype: str, tmp_path: Path) -> None:
    A = numbers(dtype, 4, 7) if dtype != "bool" else numbers("int64", 4, 7) > 0
    check(tmp_path, REARRANGED, A, A[::-1].copy())


VECTORS = """
np.cross(A, A[::-1])
np.cross(A[0], A[1])
np.take(A, k, axis=0)
np.take(A[0], k % 3)
A * np.size(A) - np.ndim(A)
""".strip().splitlines()


def test_vectors_and_places(tmp_path: Path) -> None:
    check(
        tmp_path, [re.sub(r"\bk\b", "B", text) for text in VECTORS], numbers("float64", 5, 3), np.array([3, 0, -1, 3])
    )


SIGNALS = """
np.convolve(A[0], b)
np.convolve(A[0], b, 'same')
np.convolve(b, A[0], mode='valid')
np.correlate(A[0], b)
np.correlate(A[0], b, 'full')
np.fft.fft(A)
np.fft.ifft(A, axis=0)
np.fft.fft2(A)
np.fft.fftn(A, norm='ortho')
np.fft.fftshift(A)
np.fft.ifftshift(A, axes=1)
np.fft.irfft(A)
np.polyval(b, A)
np.linalg.matrix_power(A[:2, :2], 3)
np.fft.rfft(A)
np.fft.rfft(b, norm='ortho')
np.corrcoef(A)
np.digitize(A, np.sort(b), right=True)
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_signals(dtype: str, tmp_path: Path) -> None:
    is_real = dtype == "float64"
    of_numbers = [text for text in SIGNALS if is_real or not any(name in text for name in ("rfft", "corrcoef", "sort"))]
    for n in (4, 9) if is_real else (9,):
        A, b = numbers("float64", 5, n).astype(dtype), numbers("float64", 3).astype(dtype)
        check(tmp_path, [re.sub(r"\bb\b", "B", text) for text in of_numbers], A, b, tolerance=1e-9 if is_real else 1e-3)


def test_what_is_refused_or_does_not_fit() -> None:
    @polytune.kernel
    def slopes(A):
        return np.gradient(A)

    @polytune.kernel
    def weighted(A, w):
        return np.average(A, weights=w)

    @polytune.kernel
    def products(A, B):
        return np.cross(A, B)

    matrix = np.arange(9.0).reshape(3, 3) ** 2
    for found, right in zip(slopes(matrix), np.gradient(matrix), strict=True):
        np.testing.assert_array_equal(found, right)
    with pytest.raises(ArgumentError, match="two elements or more"):
        slopes(np.ones(1))
    with pytest.raises(ArgumentError, match="of the shape of the array"):
        weighted(np.ones(3), np.ones(4))
    with pytest.raises(ArgumentError, match=r"np\.cross of an extent"):
        products(np.ones((3, 2)), np.ones((3, 2)))


CHANGES = """
np.multiply(A, B, A)
np.negative(B, out=B)
np.matmul(A, B, out=B)
np.sum(A, axis=0, out=A[0])
np.add.at(A[1], k, B[0])
np.subtract.at(A[2], k, 1.5)
np.maximum.at(B[1], k, A[0])
np.putmask(A, A > 2.0, 1.0)
np.copyto(B, A, where=A < 0.0)
np.fill_diagonal(B, 0.5)
B.sort(axis=0)
with np.errstate(divide="ignore", invalid="ignore"): A /= B
for i, j in np.ndindex(A.shape): A[i, j] += i * j
for (i, j), value in np.ndenumerate(B): A[j, i] += value
""".strip().splitlines()


def test_calls_that_change_arrays(tmp_path: Path) -> None:
    module = module_of(tmp_path, "A, B, k", CHANGES)
    k = np.array([0, 2, 2, -1, 0, 1, 2, 0])
    with polytune.tuning("off"):
        for place, text in enumerate(CHANGES):
            A, B = numbers("float64", 8, 8), numbers("float64", 8, 8) + 0.25
            right = A.copy(), B.copy()
            polytune.kernel(getattr(module, f"f{place}"))(A, B, k)
            getattr(module, f"f{place}")(*right, k)
            for one, other in zip((A, B), right, strict=True):
                same(one, other, 1e-12, text)


def test_out_has_to_have_a_type_that_numpy_converts_to() -> None:
    @polytune.kernel
    def summed(A, B):
        np.sum(A, axis=0, out=B)

    with pytest.raises(UnsupportedSourceError, match="does not convert float64"):
        summed(np.ones((2, 3)), np.ones(3, np.int64))


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3)])
def test_extrema_of_nothing(shape: tuple[int, int], dtype: Any) -> None:
    def extrema(A):
        return np.max(A), np.min(A, axis=(0, 1), keepdims=True)

    kernel = polytune.kernel(extrema)
    if 0 not in shape:
        assert [np.all(each) for each in kernel(np.ones(shape, dtype))] == [True, True]
        return
    for function in (kernel, extrema):
        with pytest.raises(ValueError, match=r"empty|zero-size"):
            function(np.ones(shape, dtype))
