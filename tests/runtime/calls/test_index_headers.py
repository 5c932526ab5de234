"""The test of numbers in index arrays by their headers, against NumPy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from polytune.runtime.calls.index_headers import is_outside_by_header, prepare_header_tests


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (64,), (1000,), (3, 5), (0, 4), (2, 3, 4)])
def test_it_finds_what_numpy_finds(dtype: type, shape: tuple[int, ...]) -> None:
    prepare_header_tests()
    rng = np.random.default_rng(0)
    for _ in range(20):
        extent = int(rng.integers(0, 30))
        numbers = rng.integers(-extent, max(extent, 1), shape).astype(dtype)
        if numbers.size and rng.random() < 0.7:
            numbers.reshape(-1)[rng.integers(numbers.size)] = rng.choice(
                [extent, extent - 1, -extent, -extent - 1, np.iinfo(dtype).max, np.iinfo(dtype).min]
            )
        wanted = bool(((numbers < -extent) | (numbers >= extent)).any())
        assert is_outside_by_header(numbers, extent) is wanted


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::2],
        lambda a: a[::-1],
        lambda a: a.reshape(20, 50).T,
        lambda a: a.astype(np.uint8),
        lambda a: a.astype(np.uint64),
        lambda a: a.astype(">i8"),
        lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(np.int64),
    ],
    ids=["every second", "backwards", "transposed", "bytes", "unsigned", "big-endian", "unaligned"],
)
def test_of_other_arrays_it_says_nothing(view: Callable[[np.ndarray], np.ndarray]) -> None:
    prepare_header_tests()
    assert is_outside_by_header(view(np.arange(1000) % 100), 50) is None
