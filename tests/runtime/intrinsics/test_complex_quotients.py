"""Quotients of complex numbers of all sizes, against NumPy's: bit for bit in strict kernels, but for signs of NaN."""

from __future__ import annotations

import numpy as np
import pytest

import polytune

PARTS = (0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 5e-324, -1e-170, 1e-30, 1e30, 1e170, -1.7e308, np.inf, -np.inf, np.nan)


def side_by_side(z, w):
    return z / w


def one_after_another(z, w, found):
    found[0] = z[0] / w[0]
    for i in range(1, len(z)):
        found[i] = (z[i] - 0.25 * found[i - 1]) / w[i]


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of numbers of such parts, and numbers of many magnitudes."""
    rng = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        numbers = np.array([complex(x, y) for x in PARTS for y in PARTS]).astype(dtype)
    first, second = (each.ravel() for each in np.meshgrid(numbers, numbers))
    others = (rng.standard_normal((2, 3000, 2)) * 10.0 ** rng.integers(-15, 15, (2, 3000, 2))).view(complex)[:, :, 0]
    return np.concatenate((first, others[0].astype(dtype))), np.concatenate((second, others[1].astype(dtype)))


def parts_of(numbers: np.ndarray) -> np.ndarray:
    """The parts as bits, of which all NaN have the same."""
    parts = numbers.view(numbers.real.dtype).copy()
    parts[np.isnan(parts)] = np.nan
    return parts.view(f"i{parts.itemsize}")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("is_native", ["0", "1"])
def test_quotients_are_those_of_numpy(dtype: str, is_native: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYTUNE_NATIVE", is_native)
    z, w = pairs(dtype)
    with np.errstate(all="ignore"):
        wanted = z / w
    np.testing.assert_array_equal(parts_of(polytune.kernel(strict=True)(side_by_side)(z, w)), parts_of(wanted))
    # Products that are added may be rounded once; with a divisor of 0 there are none.
    is_zero = w == 0
    found = polytune.kernel(side_by_side)(z, w)
    np.testing.assert_array_equal(parts_of(found[is_zero]), parts_of(wanted[is_zero]))
    is_plain = np.isfinite(wanted) & (np.abs(wanted) > 0)
    error = np.abs(found[is_plain] - wanted[is_plain]) / np.abs(wanted[is_plain])
    assert error.max() < 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_recurrences_wait_for_the_same_quotients(dtype: str) -> None:
    rng = np.random.default_rng(5)
    z, w = (each.astype(dtype) for each in rng.standard_normal((2, 500, 2)).view(complex)[:, :, 0])
    wanted, found = np.empty_like(z), np.empty_like(z)
    one_after_another(z, w, wanted)
    polytune.kernel(strict=True)(one_after_another)(z, w, found)
    np.testing.assert_allclose(found, wanted, rtol=64 * np.finfo(dtype).eps)
