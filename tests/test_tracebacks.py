"""Tracebacks show people's own frames, of every error that is meant for them."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import polytune
from polytune import pipeline
from polytune.errors import (
    ArgumentError,
    DefectError,
    DeviceError,
    HistoryError,
    MissingLibraryError,
    PackageError,
    PolytuneError,
    SearchError,
    SpaceError,
    SubscriptError,
    UnsupportedSourceError,
)
from polytune.runtime.embedded import require_runtime

ROOT = Path(__file__).parents[1]


@polytune.kernel
def opening(x):
    for i in range(len(x)):
        x[i] = open("file")  # noqa: SIM115


@polytune.kernel
def filled(x, n):
    if n < 0:
        raise ZeroDivisionError("n is negative")
    for i in range(n):
        x[i] = 2.0


@polytune.kernel
def scattered(x, index):
    for i in range(len(index)):
        x[index[i]] = 1.0


@polytune.kernel
def solved(A, b):
    x = np.linalg.solve(A, b)
    for i in range(len(b)):
        b[i] = x[i]


def settled() -> None:
    x = np.zeros(3)
    with polytune.tuning("off"):
        for _ in range(3):
            filled(x, 3)
    filled(x, 4)


def set_budget() -> None:
    filled.budget = "a lot"


NOTHING = np.zeros(3)
REFUSED: list[tuple[Callable[[], Any], type[Exception]]] = [
    (lambda: opening(NOTHING), UnsupportedSourceError),
    (lambda: opening.warm_up(), UnsupportedSourceError),
    (lambda: opening.explain(), UnsupportedSourceError),
    (lambda: opening.module_text(devices=False), UnsupportedSourceError),
    (lambda: opening.space(NOTHING), UnsupportedSourceError),
    (lambda: opening.tune(NOTHING), UnsupportedSourceError),
    (lambda: filled(NOTHING), ArgumentError),
    (lambda: filled("x", 3), ArgumentError),
    (lambda: filled(NOTHING, 4), ArgumentError),
    (settled, ArgumentError),
    (lambda: filled(NOTHING, -1), ZeroDivisionError),
    (lambda: filled.run({"version": "none"}, NOTHING, 3), SpaceError),
    (lambda: filled.tuner(NOTHING, 4), ArgumentError),
    (lambda: filled.tune(NOTHING, 3, seconds=-1), PolytuneError),
    (lambda: filled.load("/no/such/file"), HistoryError),
    (lambda: filled.save("/no/such/folder/file"), HistoryError),
    (lambda: filled.example_arguments({}, np.random.default_rng(0)), PolytuneError),
    (set_budget, SpaceError),
    (lambda: polytune.tuning("now"), PolytuneError),
    (lambda: polytune.resident(3), ArgumentError),  # type: ignore[arg-type]
    (lambda: polytune.resident(NOTHING, device="cuda:99").__enter__(), DeviceError),
    (lambda: scattered(NOTHING, np.array([3])), SubscriptError),
    (lambda: polytune.kernel(3), PolytuneError),  # type: ignore[call-overload]
    (lambda: polytune.kernel(budget="a lot")(settled), SpaceError),
    (lambda: require_runtime("package", "0.0", "another"), PackageError),
]


@contextmanager
def caught_files(kind: type[BaseException]) -> Iterator[list[str]]:
    """The files of the frames of the exception that a block raises, once it has ended."""
    files: list[str] = []
    with pytest.raises(kind) as caught:
        yield files
    files += [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]


@pytest.mark.parametrize(("refused", "kind"), REFUSED)
def test_only_frames_of_the_program_are_shown(refused, kind) -> None:
    with caught_files(kind) as files:
        refused()
    assert set(files) == {__file__}


@pytest.mark.parametrize(("refused", "kind"), REFUSED)
def test_all_frames_are_shown_where_that_is_wanted(refused, kind, monkeypatch) -> None:
    monkeypatch.setenv("POLYTUNE_DEBUG", "1")
    with caught_files(kind) as files:
        refused()
    assert any("/polytune/" in file for file in files)


def test_what_a_library_adds_is_shown() -> None:
    with caught_files(np.linalg.LinAlgError) as files:
        solved(np.zeros((3, 3)), np.zeros(3))
    ours = [file for file in files if file == __file__]
    assert files[: len(ours)] == ours and "numpy" in files[-1]
    assert not [file for file in files[len(ours) :] if "numpy" not in file]


def test_causes_are_shown_without_polytunes_frames(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "polytune.pipeline", None)
    monkeypatch.setitem(sys.modules, "islpy", None)
    for name in [name for name in sys.modules if name.startswith(("polytune.codegen", "polytune.frontend"))]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingLibraryError) as caught:
        filled.stages()
    text = "".join(traceback.format_exception(caught.value))
    assert "ModuleNotFoundError" in text and "direct cause" in text
    assert "/polytune/polytune/" not in text.replace(str(ROOT), "/polytune") and text.count("File ") == 1


def test_a_defect_keeps_its_frames(monkeypatch) -> None:
    def fails(*arguments: Any, **keywords: Any) -> Any:
        raise KeyError("x")

    monkeypatch.setattr(pipeline, "analyse", fails)
    with pytest.raises(DefectError) as caught:
        filled.module_text(devices=False)
    text = "".join(traceback.format_exception(caught.value))
    assert "polytune/pipeline.py" in text and "polytune/kernel.py" in text


def test_what_polytune_never_raises_on_purpose_keeps_its_frames(monkeypatch) -> None:
    monkeypatch.setattr(type(filled), "_accept", lambda self, arguments, keywords: {}["x"])
    with caught_files(KeyError) as files:
        filled(NOTHING, n=3)
    assert any(file.endswith("polytune/runtime/calls/calls.py") for file in files)


def test_threads_show_the_same() -> None:
    with ThreadPoolExecutor(1) as pool, caught_files(ArgumentError) as files:
        pool.submit(lambda: filled(NOTHING, 4)).result()
    assert files[-1] == __file__ and not [file for file in files if "/polytune/runtime/" in file]


def test_threads_that_end_by_an_error_show_the_same(monkeypatch) -> None:
    shown: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", shown.append)
    thread = threading.Thread(target=lambda: filled(NOTHING, 4))
    thread.start()
    thread.join()
    (error,) = shown
    files = [frame.filename for frame in traceback.extract_tb(error.exc_traceback)]
    assert files[-1] == __file__ and not [file for file in files if "/polytune/runtime/" in file]


PROGRAM = """
import numpy, polytune

@polytune.kernel
def guarded(x):
    for i in range(len(x)):
        with x:
            x[i] = 1.0

def program():
    guarded(numpy.zeros(3))

program()
"""


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["python", "IPython"])
def test_what_is_printed_is_short(shell, tmp_path) -> None:
    if shell == "IPython":
        pytest.importorskip("IPython")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    run = [sys.executable] if shell == "python" else [sys.executable, "-m", "IPython", "--colors=nocolor"]
    ran = subprocess.run([*run, str(file)], capture_output=True, text=True, cwd=ROOT, timeout=300)
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 1 and "UnsupportedSourceError" in printed and "instead: " in printed
    assert "polytune/runtime" not in printed and "polytune/kernel.py" not in printed
    assert "with x:" in printed and len(printed.splitlines()) < 30


def test_files_beside_the_package_are_the_programs(monkeypatch) -> None:
    """Of a name that begins as that of the package's folder does."""
    file = f"{ROOT / 'polytune_of_mine.py'}"
    program = compile("def asked(search):\n    raise SearchError('mine')\n", file, "exec")
    names: dict[str, Any] = {"SearchError": SearchError}
    exec(program, names)
    monkeypatch.setattr(type(filled), "_accept", lambda self, arguments, keywords: names["asked"](self))
    with caught_files(SearchError) as files:
        filled(NOTHING, n=3)
    assert files[-1] == file and not [each for each in files if "/polytune/runtime/" in each]


def test_every_public_method_of_kernels_shows_the_frames_of_its_callers() -> None:
    """Those of `polytune.Kernel` that can be refused are decorated so."""
    cannot_fail = {"freeze", "trials", "untried"}
    methods = {
        name: method
        for kind in reversed(polytune.Kernel.__mro__)
        if kind.__module__.startswith("polytune")
        for name, method in vars(kind).items()
        if isinstance(method, FunctionType) and not name.startswith("_")
    }
    assert {"run", "tune", "explain"} <= set(methods)
    assert {name for name, method in methods.items() if not hasattr(method, "__wrapped__")} == cannot_fail


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: opening(np.zeros(3)), UnsupportedSourceError),
        (lambda: scattered(np.zeros(3), np.array([5])), SubscriptError),
        (lambda: filled(np.zeros(3), 9), ArgumentError),
    ],
)
def test_errors_come_back_from_other_processes(call: Callable[[], Any], kind: type[PolytuneError]) -> None:
    with pytest.raises(kind) as raised:
        call()
    raised.value.add_note("in a worker")
    back = pickle.loads(pickle.dumps(raised.value))
    assert type(back) is type(raised.value)
    assert str(back) == str(raised.value)
    assert vars(back) == vars(raised.value)
