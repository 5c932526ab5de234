"""What fails inside the compiler as it never should is a defect of polytune, and names the kernel."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytune
from polytune import compiler, pipeline
from polytune.errors import DefectError, MissingLibraryError, PolytuneError
from polytune.module_cache import module_cache
from polytune.packaging import build
from polytune.runtime.calls.arguments import signature_of


def doubled(A):
    for i in range(len(A)):
        A[i] = 2.0 * A[i] + 0.5


FIRST_LINE = doubled.__code__.co_firstlineno


def failing(error: BaseException) -> Callable[..., Any]:
    def fails(*arguments: Any, **keywords: Any) -> Any:
        raise error

    return fails


@pytest.fixture
def kernel(tmp_path, monkeypatch) -> polytune.Kernel:
    """A kernel that is in no cache."""
    monkeypatch.setattr(module_cache(), "load", lambda identity: None)
    return polytune.Kernel(doubled)


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("analyse", isl.Error("filter node is not allowed")),
        ("analyse", RecursionError("deep")),
        ("compute_dependences", ZeroDivisionError()),
        ("candidate_schedules", AssertionError("never")),
        ("write_module", isl.Error("total dimensionality changed unexpectedly")),
    ],
)
def test_an_exception_that_is_not_polytunes_is_a_defect(kernel, monkeypatch, where, error) -> None:
    monkeypatch.setattr(pipeline, where, failing(error))
    A = np.ones(3)
    with pytest.raises(DefectError) as caught:
        kernel(A)
    np.testing.assert_array_equal(A, 1.0)
    text = str(caught.value)
    assert isinstance(caught.value, PolytuneError) and caught.value.__cause__ is error
    assert text.startswith(f"{__file__}:{FIRST_LINE}: kernel 'doubled' could not be compiled: {type(error).__name__}")
    assert "a defect of polytune" in text and "in polytune/pipeline.py:" in text
    assert "doubled.__wrapped__(...) runs the kernel as plain Python" in text


def test_a_kernel_is_compiled_once_its_defect_is_gone(kernel, monkeypatch) -> None:
    A = np.ones(3)
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "analyse", failing(KeyError("x")))
        with pytest.raises(DefectError):
            kernel(A)
    kernel(A)
    np.testing.assert_array_equal(A, 2.5)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), SystemExit(), PolytuneError("own")])
def test_what_is_no_defect_passes(kernel, monkeypatch, error) -> None:
    monkeypatch.setattr(pipeline, "analyse", failing(error))
    with pytest.raises(type(error)) as caught:
        kernel(np.ones(3))
    assert caught.value is error


def test_a_library_that_is_missing_is_no_defect(kernel, monkeypatch) -> None:
    """sympy is imported when something is counted, long after the compiler itself."""
    monkeypatch.setitem(sys.modules, "sympy", None)
    signature = signature_of(("A",), (np.ones(3),))
    stages = kernel.stages(signature)
    for compiles in (
        lambda: kernel.module_text(signature, devices=True),
        lambda: stages.counts,
        lambda: stages.show("counts"),
    ):
        with pytest.raises(MissingLibraryError, match=r"needs sympy, which cannot be imported .*: pip install sympy$"):
            compiles()
    kernel(np.ones(3))  # of which nothing is counted


def test_all_that_compiles_goes_through_the_door(kernel, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(pipeline, "analyse", failing(KeyError("x")))
    for compiles in (
        lambda: kernel.explain(),
        lambda: kernel.space(np.ones(3)),
        lambda: kernel.run({"version": "source"}, np.ones(3)),
        lambda: kernel.example_arguments({"n": 3}, np.random.default_rng(0)),
        lambda: build([kernel], tmp_path),
    ):
        with pytest.raises(DefectError, match="kernel 'doubled'"):
            compiles()
    assert not list(tmp_path.iterdir())


def test_the_compiler_is_imported_where_no_thread_can_be_started(monkeypatch):
    monkeypatch.setattr(compiler, "_IMPORTED", set())
    monkeypatch.setattr(threading.Thread, "start", failing(RuntimeError("can't start new thread")))
    compiler.import_whole("polytune.pipeline")
    assert not compiler._IMPORTED


INTERRUPTED = """
import _thread, sys
import numpy as np
import polytune

@polytune.kernel
def doubled(A):
    for i in range(len(A)):
        A[i] = 2.0 * A[i] + 0.5

class Interrupting:
    \"\"\"Presses Ctrl-C when a module is about to be imported.\"\"\"

    def find_spec(self, name, path, target=None):
        if name == "polytune.frontend.syntax.ranges" and self in sys.meta_path:
            sys.meta_path.remove(self)
            _thread.interrupt_main()

sys.meta_path.insert(0, Interrupting())
A = np.ones(3)
try:
    doubled(A)
except KeyboardInterrupt:
    print("interrupted", A)
doubled(A)
print(A)
"""


def test_an_interrupt_while_the_compiler_is_imported_breaks_nothing(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED)
    environment = {**os.environ, "PYTHONPATH": str(Path(polytune.__file__).parents[1])}
    environment |= {"POLYTUNE_CACHE_DIR": str(tmp_path / "cache"), "POLYTUNE_BACKGROUND": "1"}
    ran = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300
    )
    assert ran.stdout == "interrupted [1. 1. 1.]\n[2.5 2.5 2.5]\n", ran.stderr
