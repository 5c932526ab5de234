"""What ``@polytune.kernel`` does where compiling fails, takes long, or is not needed again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import CompilationError
from polytune.history import HistoryStore
from polytune.runtime.modules import compiled_functions
from polytune.tuner import online

ROOT = Path(__file__).parents[1]


def test_version_that_does_not_compile_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    @polytune.kernel
    def doubled(A):
        for i in range(len(A)):
            A[i] = A[i] * 2.0

    entry_of = compiled_functions.entry_of
    tried: list[str] = []

    def failing(function: Any, words: int) -> int:
        tried.append(function.__name__)
        if function.__name__ != "run_source":
            raise CompilationError(f"{function.__name__} is too hard")
        return entry_of(function, words)

    monkeypatch.setattr(compiled_functions, "entry_of", failing)
    values = np.ones(4)
    for call in range(1, 6):
        doubled(values)
        assert (values == 2.0**call).all()
    assert "run_source" in tried
    assert len(tried) == len(set(tried)), "a version that has failed is not tried again"


def test_kernel_of_which_no_version_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    @polytune.kernel
    def tripled(A):
        for i in range(len(A)):
            A[i] = A[i] * 3.0

    def failing(function: Any, words: int) -> int:
        raise CompilationError(f"{function.__name__} is too hard")

    monkeypatch.setattr(compiled_functions, "entry_of", failing)
    A = np.ones(4)
    for _ in range(2):
        with pytest.raises(CompilationError):
            tripled(A)
    assert (A == 1).all()


def test_version_that_cannot_be_compiled_fails_once(monkeypatch: pytest.MonkeyPatch) -> None:
    @polytune.kernel
    def smoothed(A, B, n):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                B[i, j] = A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]

    tried: list[str] = []
    failed: list[Any] = []
    fail = online.OnlineTuner.fail

    def failing(function: Any, words: int) -> int:
        tried.append(function.__name__)
        raise CompilationError(f"{function.__name__} is too hard")

    def noted(tuner: Any, configuration: Any, *arguments: Any, **keywords: Any) -> None:
        failed.append(configuration["version"])
        fail(tuner, configuration, *arguments, **keywords)

    monkeypatch.setattr(compiled_functions, "entry_of", failing)
    monkeypatch.setattr(online.OnlineTuner, "fail", noted)
    A, B = np.ones((64, 64)), np.zeros((64, 64))
    for _ in range(3):
        with pytest.raises(CompilationError):
            smoothed(A, B, 64)
    assert len(tried) == len(set(tried)) > 1
    assert len(failed) == len(set(failed)), "one configuration of a version is enough"


# What is kept

CHILD = """
import numpy
from polytune.kernel_modules import KernelModules
from tests.test_kernel import smooth

def no_pipeline(*_):
    raise AssertionError("analysed again")

KernelModules.stages = no_pipeline if {again} else KernelModules.stages
A, B = numpy.arange(9.0), numpy.zeros(9)
smooth.run(smooth.space(A, B).configuration(version="source"), A, B)
function = {{v.name: v for v in smooth.generated(A, B).module.VERSIONS}}["source"].function
print(sum(function.stats.cache_hits.values()), sum(function.stats.cache_misses.values()), B.sum())
"""


def test_second_process_neither_analyses_nor_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("POLYTUNE_NATIVE", "0")  # Numba counts what it compiles
    counts = []
    for again in (False, True):
        command = [sys.executable, "-c", CHILD.format(again=again)]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
        assert ran.returncode == 0, ran.stderr
        counts.append(tuple(map(float, ran.stdout.split())))
    (hits, misses, total), second = counts
    assert (hits, misses, total) == (0, 1, 28.0)
    assert second == (1, 0, 28.0)


# The first call


def heavy(u: np.ndarray, v: np.ndarray, steps: int) -> None:
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1])


def test_the_first_call_runs_what_is_quick_to_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And each call is right, whichever version runs it."""
    monkeypatch.setenv("POLYTUNE_NATIVE", "0")  # else everything is quick to compile
    kernel = polytune.Kernel(heavy)
    kernel._store = HistoryStore(tmp_path)
    rng = np.random.default_rng(0)
    u, v = rng.random((23, 31)), rng.random((23, 31))
    wanted = u.copy(), v.copy()
    generated = kernel.generated(u, v, 2)
    choices, functions = generated.first_choices, generated.functions
    monkeypatch.setattr(functions, "preparation", lambda configuration: None)  # nothing is on disk
    first = generated.space.default()
    monkeypatch.setattr(choices, "promising", lambda parameters: (first, *choices.starts))  # whatever is expected
    opening = choices.opening(first, (23, 31, 2))
    assert opening is not None and opening["version"] != first["version"]
    assert functions.compilation(opening) <= functions.compilation(first) / 2
    ready: list[bool] = []
    monkeypatch.setattr(generated, "is_ready", lambda configuration: bool(ready))
    for _ in range(3):
        kernel(u, v, 2)
        heavy(*wanted, 2)
    tuner = kernel.tuner(u, v, 2)
    assert tuner.statistics().explored == 0 and tuner.statistics().preparing == first
    ready.append(True)
    kernel(u, v, 2)
    heavy(*wanted, 2)
    ((trials),) = kernel.trials().values()
    assert [each.configuration for each in trials][:2] == [opening, first]
    np.testing.assert_allclose(u, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(v, wanted[1], rtol=1e-12)


def test_calls_with_much_to_do_wait_for_the_first_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYTUNE_NATIVE", "0")
    generated = polytune.Kernel(heavy).generated(np.zeros((9, 9)), np.zeros((9, 9)), 1)
    monkeypatch.setattr(generated.functions, "preparation", lambda configuration: None)  # nothing is on disk
    assert generated.first_choices.opening(generated.space.default(), (300, 300, 50)) is not None
    assert generated.first_choices.opening(generated.space.default(), (3000, 3000, 500)) is None
