"""Loops over neighbours of elements: vectors of them load what they need, rather than shuffle what they have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import binding

import polytune
from polytune.runtime.native import machine_code


def smoothed(u, v):
    for i in range(1, len(u) - 1):
        v[i] = 0.25 * (u[i - 1] + 2.0 * u[i] + u[i + 1])


def averaged(u, v):
    for i in range(1, len(u) - 1):
        v[i] = (u[i - 1] + u[i] + u[i + 1]) / 3.0


def moved(u, v):
    """In place: each element is read before it is written."""
    for i in range(len(u) - 1):
        u[i] = v[0] * (0.25 * u[i] + 0.75 * u[i + 1])


def differences(u, v):
    """The source itself passes on what it has read: there is nothing to load."""
    before = 0.0
    for i in range(len(u)):
        now = u[i] * u[i]
        v[i] = now - before
        before = now


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The texts of all modules that LLVM makes machine code of, as it has optimised them; none are on disk."""
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    found: list[str] = []
    emit = binding.TargetMachine.emit_object

    def seen(machine: binding.TargetMachine, module: binding.ModuleRef) -> bytes:
        found.append(str(module))
        return emit(machine, module)

    monkeypatch.setattr(binding.TargetMachine, "emit_object", seen)
    return found


def check(function: Callable[..., Any]) -> None:
    """Hold the source order against plain Python, for sizes of whole vectors and others."""
    kernel = polytune.Kernel(function)
    for size in (2, 3, 17, 64, 1001):
        rng = np.random.default_rng(size)
        arguments = [rng.random(size), rng.random(size)]
        values, expected = ([value.copy() for value in arguments] for _ in range(2))
        kernel.run({"version": "source"}, *values)
        function(*expected)
        for found, wanted in zip(values, expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("function", [smoothed, moved])
def test_neighbours_are_loaded(function: Callable[..., Any], texts: list[str]) -> None:
    check(function)
    (text,) = (each for each in texts if "x double>" in each)
    assert "%vector.recur" not in text and "\nvector.body" in text


def test_neighbours_that_the_source_passes_on_are_right(texts: list[str]) -> None:
    check(differences)
    assert any("x double>" in each for each in texts)


def test_long_modules_are_compiled_once(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "_LONG", 10)
    check(averaged)
    assert any("%vector.recur" in each for each in texts)


def outlined(u, v):
    """Loads of nine neighbours, more than half of which LLVM has from the iterations before."""
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            x = u[i - 1, j + 1] + 2.0 * u[i, j + 1] + u[i + 1, j + 1]
            x -= u[i - 1, j - 1] + 2.0 * u[i, j - 1] + u[i + 1, j - 1]
            y = u[i + 1, j - 1] + 2.0 * u[i + 1, j] + u[i + 1, j + 1]
            y -= u[i - 1, j - 1] + 2.0 * u[i - 1, j] + u[i - 1, j + 1]
            v[i, j] = np.sqrt(x * x + y * y)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_neighbours_that_are_loaded_or_passed_on_are_right(dtype: str, texts: list[str]) -> None:
    kernel = polytune.Kernel(outlined)
    for shape in ((2, 2), (3, 3), (3, 12), (5, 100)):
        u = np.random.default_rng(1).random(shape).astype(dtype)
        u.flat[:2] = np.inf, np.nan
        wanted, found = np.zeros_like(u), np.zeros_like(u)
        with np.errstate(invalid="ignore"):
            outlined(u, wanted)
        kernel.run({"version": "source"}, u, found)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    for text in texts:
        assert "%vector.recur" not in text or machine_code._is_passed_on_cheaply(text, machine_code._features())


def loop_of(kind: str, step: int) -> str:
    """A loop with a vector that is passed on, as LLVM writes it."""
    return (
        "entry:\n  br label %vector.body\n\n"
        "vector.body:                                      ; preds = %vector.body, %entry\n"
        "  %index = phi i64 [ 0, %entry ], [ %index.next, %vector.body ]\n"
        f"  %vector.recur = phi {kind} [ zeroinitializer, %entry ], [ %wide.load, %vector.body ]\n"
        f"  %index.next = add nuw nsw i64 %index, {step}\n"
        "  br i1 %done, label %exit, label %vector.body\n\n"
        "exit:\n  ret void\n"
    )


@pytest.mark.parametrize(
    ("kind", "step", "features", "is_cheap"),
    [
        ("<8 x double>", 8, "+avx2", True),
        ("<16 x float>", 16, "+avx2", True),
        ("<16 x i32>", 16, "+avx2", True),
        ("<8 x double>", 16, "+avx2", False),
        ("<8 x double>", 32, "+avx2", False),
        ("<4 x double>", 4, "+avx2", False),
        ("<4 x double>", 4, "+avx2,+avx512f,+avx512vl", True),
        ("<4 x double>", 4, "+avx512f,-avx512vl", False),
        ("<4 x double>", 16, "+avx2,+avx512f,+avx512vl", False),
        ("<8 x float>", 8, "+avx2", False),
        ("<8 x float>", 8, "+avx512vl", True),
        ("<2 x ppc_fp128>", 2, "+avx2", False),
    ],
)
def test_neighbours_that_are_cheap_to_pass_on(kind: str, step: int, features: str, is_cheap: bool) -> None:
    assert machine_code._is_passed_on_cheaply(loop_of(kind, step), features) == is_cheap
    assert not machine_code._is_passed_on_cheaply(loop_of(kind, step) + loop_of("<8 x double>", 32), features)
