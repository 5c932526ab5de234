"""Elements that are read under a condition and then written: what is read is what was there before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.test_control import in_every_version


def taken(x, w, y):
    for i in range(x.shape[0]):
        p = 0.5
        if x[i] > 1.0:
            p = w[i]
            w[i] = 0.0
        y[i] = p


def added_up(x, w, y):
    total = 0.0
    for i in range(x.shape[0]):
        p = -0.0
        if x[i] > 1.0:
            p += w[i]
            w[i] = 0.0
        total += p
    return total


def counted(x, w, y):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            total += w[i]
            w[i] = 7.0
    return total


def on_both_sides(x, w, y):
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            p = w[i]
            w[i] = y[i]
        else:
            p = y[i]
            y[i] = 3.0
        x[i] = p


def in_two_branches(x, w, y):
    for i in range(x.shape[0]):
        p = 2.0
        if x[i] > 1.0:
            p = w[i]
        if x[i] > 0.0:
            w[i] = -1.0
        y[i] = p


FUNCTIONS = [taken, added_up, counted, on_both_sides, in_two_branches]
KINDS = [(True, np.float64), (True, np.float32), (True, np.int64), (True, np.int32), (False, np.float64)]


@pytest.mark.parametrize(("is_native", "dtype"), KINDS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_is_read_was_there_before_it_was_written(
    function: Callable[..., Any], is_native: bool, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYTUNE_NATIVE", str(int(is_native)))
    monkeypatch.setattr("tests.test_results.KERNELS", {})  # of which each is compiled as it was when first called
    for n in (1, 9, 40, 77):
        random = np.random.default_rng(n)
        x = random.integers(-1, 4, n).astype(np.float64)
        w, y = (random.integers(1, 100, n).astype(dtype) for _ in range(2))
        if function is not on_both_sides:
            y = y.astype(np.float64)
        for strict in (False, True):
            in_every_version(function, x, w, y, strict=strict)
