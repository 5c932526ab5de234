"""Comparisons of magnitudes, by squares where these leave no doubt, against NumPy's ``hypot`` for numbers of all
sizes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from llvmlite import binding

import polytune
from polytune.runtime.native.vector_mathematics import library
from tests.runtime.native.test_lowering import texts_emitted

PARTS = (0.0, 1e-320, 1e-200, 1e-160, 3e-39, 1e-20, 0.6, 1.0, 3.0, 4e15, 1e19, 1e38, 1e153, 1.7e308, np.inf, np.nan)
FACTORS = (1 - 1e-6, 1 - 4e-15, 1 - 2.0**-53, 1.0, 1 + 2.0**-52, 1 + 4e-15, 1 + 1e-6, 2.0, 0.25)


def beyond(x, y, bounds, found):
    for i in range(len(x)):
        size = complex(x[i], y[i]) if x.dtype == np.float64 else np.complex64(complex(x[i], y[i]))
        k = 0
        while k < 1 and abs(size) > bounds[i]:
            found[i, 0] += 1
            k += 1
        while k < 2 and abs(size) >= bounds[i]:
            found[i, 1] += 1
            k += 2
        for _ in range(3):
            if abs(size) < bounds[i]:
                break
            found[i, 2] += 1
        for _ in range(3):
            if abs(size) <= bounds[i]:
                break
            found[i, 3] += 1


def numbers(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parts of numbers, and bounds near their magnitudes and far from them."""
    with np.errstate(all="ignore"):
        parts = np.array(PARTS, dtype)
        pairs = [(x, -y) for x, y in itertools.product(parts, parts)]
        near = [(x, y, np.hypot(x, y) * np.dtype(dtype).type(each)) for x, y in pairs for each in FACTORS]
    far = [(x, y, bound) for x, y in pairs for bound in (2.0, -1.0, 0.0, np.inf, np.nan)]
    x, y, bounds = np.array([*near, *far], dtype).T.copy()
    return x, y, bounds


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("strict", [False, True])
def test_the_outcome_is_that_of_hypot(dtype: str, strict: bool) -> None:
    x, y, bounds = numbers(dtype)
    found = np.zeros((len(x), 4), np.int64)
    polytune.kernel(strict=strict, background=False)(beyond)(x, y, bounds, found)
    with np.errstate(all="ignore"):
        sizes = np.hypot(x, y)
    is_more, is_same = sizes > bounds, sizes >= bounds
    wanted = np.column_stack((is_more, is_same, 3 * ~(sizes < bounds), 3 * ~(sizes <= bounds)))
    np.testing.assert_array_equal(found, wanted)


def steps_to(z, most: int):
    k = 0
    while k < most and abs(z[0]) < 2.0:
        z[0] = z[0] * z[0] + z[1]
        k += 1
    return k


def test_hypot_is_called_for_what_is_in_doubt_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = texts_emitted(monkeypatch)
    assert polytune.kernel(steps_to)(np.array([0j, 2.0 + 0j]), 9) == 1  # as its magnitude is 2
    text = next(each for each in texts if "@hypot" in each)
    assert "fmul" in text and "!prof" in text


def seen(Z, found):
    for i in range(len(Z)):
        found[i] = 1.0 if abs(Z[i]) > 2.0 else 0.0


HAS_VECTOR_FORM = bool(library() and binding.address_of_symbol("_ZGVbN2vv_hypot"))


@pytest.mark.skipif(not HAS_VECTOR_FORM, reason="there are no vector forms of hypot on this system")
def test_loops_over_arrays_stay_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = texts_emitted(monkeypatch)
    polytune.kernel(seen)(np.arange(9) * (0.5 + 0.5j), np.zeros(9))
    assert any("vv_hypot" in each for each in texts)
