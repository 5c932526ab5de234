"""Elements that are read under a condition and then written: what is read is what was there before.  Of others LLVM
makes vectors as ever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import binding

import polytune
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


def chosen_into(x, w, y):
    for i in range(y.shape[0]):
        y[i] = 0.0
        for j in range(x.shape[0]):
            y[i] += w[j] if x[j] > i and x[j] < i + 2 else 0.0


def counted_beside(x, w, y):
    for i in range(y.shape[0]):
        number = 0.0
        y[i] = 0.0
        for j in range(x.shape[0]):
            inside = x[j] >= i and x[j] < i + 1
            number += inside
            y[i] += w[j] if inside else 0.0
        y[i] = y[i] / number if number > 0 else -1.0


def replaced(x, w, y):
    """What is read in each iteration is written under a condition that also chooses it."""
    for i in range(x.shape[0]):
        old = w[i]
        new = old if x[i] > 1.0 and x[i] < 3.0 else 0.5
        if x[i] > 1.0:
            w[i] = 0.0
        y[i] = new


def emptied(x, w, y):
    for i in range(x.shape[0]):
        y[i] = w[i] if x[i] > 1.0 and x[i] < 3.0 else 0.5
        w[i] = 0.0 if x[i] > 0.0 else w[i]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("function", [chosen_into, counted_beside, replaced, emptied])
def test_values_that_are_chosen(function: Callable[..., Any], dtype: type) -> None:
    for n in (0, 1, 9, 77):
        random = np.random.default_rng(n)
        x = random.integers(-1, 5, n).astype(np.float64)
        w = random.integers(1, 100, n).astype(dtype)
        x[n // 2 : n // 2 + 1] = np.nan
        y = np.zeros(n)
        for strict in (False, True):
            in_every_version(function, x, w, y, strict=strict)


def chosen_pairs(x, w, y):
    for i in range(y.shape[0]):
        y[i] = 0.0
        for j in range(x.shape[0]):
            y[i] += 2.0 * w[j] if x[j] > i and x[j] < i + 2 else 0.0


def test_sums_in_memory_of_chosen_values_become_vectors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    found: list[str] = []
    emit = binding.TargetMachine.emit_object

    def seen(machine: binding.TargetMachine, module: binding.ModuleRef) -> bytes:
        found.append(str(module))
        return emit(machine, module)

    monkeypatch.setattr(binding.TargetMachine, "emit_object", seen)
    x, w, y = np.arange(40) % 7.0, np.ones(40), np.zeros(3)
    polytune.Kernel(chosen_pairs).run({"version": "source"}, x, w, y)
    np.testing.assert_array_equal(y, [12.0, 12.0, 12.0])
    (text,) = (each for each in found if "x double>" in each)
    assert "\nvector.body" in text and "freeze" not in text
