"""Calls whose integers are others each time, and which therefore share what is known of calls near them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from polytune.history import HistoryStore
from polytune.runtime.calls import untuned
from polytune.runtime.tuning import borrowed


def column(x, y, k, factor):
    for i in range(x.shape[0]):
        y[i] = factor * x[i, k] + k


def firsts(x, n, m):
    """Local arrays and results of sizes that follow from one integer, and a loop that ends by another."""
    found = np.zeros(n // 2)
    for i in range(n // 2):
        for j in range(m):
            found[i] += x[i, j]
    return found


def stored(kernel: polytune.Kernel, folder: Any) -> polytune.Kernel:
    kernel._store = HistoryStore(folder / "history.sqlite")
    return kernel


@pytest.fixture
def kernel(tmp_path) -> polytune.Kernel:
    return stored(polytune.Kernel(column, background=False), tmp_path)


X = np.random.default_rng(0).random((5, 200))


def check(kernel: polytune.Kernel, k: Any, factor: float = 2.0) -> None:
    y = np.zeros(5)
    kernel(X.copy(), y, k, factor)
    np.testing.assert_allclose(y, factor * X[:, k] + k, rtol=1e-13)


def test_integers_that_are_new_each_time_cost_no_tuner_each(kernel, made):
    for k in range(200):
        check(kernel, k)
    assert len(kernel.tuners) <= 16
    made.clear()
    for k in range(199, 100, -1):
        check(kernel, k, float(k))
    assert made.count(True) >= 80, "such calls have been checked"
    made.clear()
    for wrong in (200, 2**40, -201, 2**63):
        with pytest.raises(ArgumentError):
            kernel(X, np.zeros(5), wrong, 2.0)
    for other in (np.int64(150), np.int32(150)):
        check(kernel, other)
    assert not any(made)
    check(kernel, 150)
    assert made[-1]


def test_calls_that_take_long_get_a_tuner_of_their_own(kernel, made, monkeypatch):
    for k in range(100):
        check(kernel, k)
    case = len(kernel.tuners)
    check(kernel, 99)
    assert len(kernel.tuners) == case
    monkeypatch.setattr(untuned, "_WORTH_A_TUNER", 0.0)
    check(kernel, 99)
    assert len(kernel.tuners) == case + 1
    tuner = kernel.tuner(X, np.zeros(5), 99, 2.0)
    calls = tuner.statistics().calls
    for _ in range(4):
        check(kernel, 99)
    assert tuner.statistics().calls == calls + 4, "that is what learns from the calls now"


def test_whoever_asks_for_a_tuner_gets_it(kernel, made):
    for _ in range(3):
        for k in range(60):
            check(kernel, k)
    asked = kernel.tuner(X, np.zeros(5), 59, 2.0)
    check(kernel, 59)
    assert asked.statistics().calls == 1


def test_whoever_asks_gets_it_also_for_calls_that_are_not_counted_any_more(kernel, made, monkeypatch):
    monkeypatch.setattr(borrowed, "_MOST", 4)
    for _ in range(3):
        for k in range(60):
            check(kernel, k)
    for k in range(20, 40):
        asked = kernel.tuner(X, np.zeros(5), k, 2.0)
        calls = asked.statistics().calls
        check(kernel, k)
        assert asked.statistics().calls == calls + 1


def test_a_frozen_kernel_runs_what_is_best_near_by(kernel, made):
    for k in range(20):
        check(kernel, k)
    tuners = len(kernel.tuners)
    kernel.freeze()
    for k in range(30):
        check(kernel, k)
    assert len(kernel.tuners) == tuners


def test_sizes_that_are_far_from_all_others_have_tuners_of_their_own(tmp_path):
    kernel = stored(polytune.Kernel(column, background=False), tmp_path)
    for k in range(10):
        check(kernel, k)
    tuners = len(kernel.tuners)
    wide = np.ones((500, 200))
    kernel(wide, np.zeros(500), 5, 2.0)
    assert len(kernel.tuners) == tuners + 1, "a hundred times as many rows"


def test_integers_that_memory_follows_from_are_compared(tmp_path, made):
    kernel = stored(polytune.Kernel(firsts, background=False), tmp_path)
    with polytune.tuning("off"):
        for _ in range(4):
            for n in (4, 6, 7):
                for m in (3, 5):
                    x = np.random.default_rng(n).random((4, 6))
                    np.testing.assert_allclose(kernel(x, n, m), firsts(x, n, m), rtol=1e-13)
        assert made[-6:] == [True] * 6
        for n, m in ((10, 3), (4, 7)):
            with pytest.raises(ArgumentError):
                kernel(np.ones((4, 6)), n, m)
        with pytest.raises(ArgumentError, match="is negative: -1"):
            kernel(np.ones((4, 6)), -2, 3)
