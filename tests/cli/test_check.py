"""``polytune check``: which functions of a file can be compiled, and what stands in the way of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

FILE = """
import math
import os
import sys
import numpy as np
import a_module_that_is_not_installed as absent
from numba import njit
from polytune import kernel

sys.stdout.write("executed")
open("EXECUTED", "w").close()
N = 4
MOST = N * 2 + int(math.sqrt(16.0))
CORES = os.cpu_count()
WEIGHTS = np.array([1.0, 2.0])


def announced(function):
    open("EXECUTED", "w").close()
    return function


def loud(value):
    open("EXECUTED", "w").close()
    return value


@announced
@njit(parallel=True)
def weighted(A, B, n=N, m=loud(3)):
    for i in range(min(n, MOST)):
        A[i] = B[i] * WEIGHTS[i % 2] + helper(B[i])


def helper(x):
    return x + 1.0


@kernel
def products(alpha: float, C, A, B):
    C[:] = alpha * A @ B


def refused(A, B):
    x = np.fft.ihfft(A)
    for i in range(CORES):
        B[i] = x[i] + math.fsum(B[i])
        absent.call(B)
    return {1: 2}


class Solver:
    def step(self, A):
        for i in range(len(A)):
            A[i] = self.rate

    @staticmethod
    def clear(A: "float32[:, ::1]"):
        A[1:] = 0


if CORES > 0:
    def under_a_condition(x, y):
        return np.sum(x * y[:, None])
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "some_functions.py"
    file.write_text(FILE)
    return file


def test_each_function_with_something_to_compile_is_listed(run, file) -> None:
    ran = run("check", file, "--json")
    assert ran.code == 1 and ran.json["accepted"] is False
    found = {each["function"]: each for each in ran.json["functions"]}
    assert {name: each["accepted"] for name, each in found.items()} == {
        "weighted": True,
        "products": True,
        "refused": False,
        "Solver.step": False,
        "Solver.clear": True,
        "under_a_condition": True,
    }
    assert found["weighted"]["types"] == "A: float64[::1], B: float64[::1], n: int, m: float"
    assert found["Solver.clear"]["types"] == "A: float32[:, ::1]"
    assert found["under_a_condition"]["types"].endswith("y: float64[::1]")
    assert found["refused"]["line"] == FILE.splitlines().index("def refused(A, B):") + 1
    assert [(each["source"], each["what"]) for each in found["refused"]["obstacles"]] == [
        ("np.fft.ihfft(A)", "np.fft.ihfft is called"),
        ("CORES", "the value of 'CORES' is not known"),
        ("math.fsum(B[i])", "math.fsum is called"),
        ("absent", "the value of 'absent' is not known"),
        ("{1: 2}", "a list, tuple, set or dictionary"),
    ]
    lines = FILE.splitlines()
    for each in found["refused"]["obstacles"]:
        assert lines[each["line"] - 1][each["column"] :].startswith(each["source"])
        assert each["file"] == str(file) and each["why"] and each["instead"]


def test_nothing_of_the_file_runs(run, file) -> None:
    ran = run("check", file)
    assert "executed" not in ran.out
    assert not (file.parent / "EXECUTED").exists()


def test_the_text_says_what_stands_in_the_way(run, file) -> None:
    ran = run("check", file)
    assert ran.code == 1
    assert f"accepted {file}:" in ran.out and f"refused  {file}:" in ran.out
    assert "        x = np.fft.ihfft(A)\n            ^^^^^^^^^^^^^^^\n" in ran.out.replace("\n    ", "\n")
    assert "instead: check with --import, which runs the file" in ran.out
    assert ran.out.splitlines()[-1] == "4 of 6 functions can be compiled"


def test_names_choose_functions_and_unknown_ones_are_a_mistake(run, file) -> None:
    ran = run("check", f"{file}:weighted,products", "--json")
    assert ran.code == 0
    assert [each["function"] for each in ran.json["functions"]] == ["weighted", "products"]
    ran = run("check", f"{file}:helper")
    assert ran.code == 2
    assert "no function 'helper' with a loop or an array expression" in ran.err


COMPUTED = """
import numpy as np

def computed():
    return 3

K = computed()

def fill(A):
    for i in range(K):
        A[i] = K
"""


def test_with_import_what_is_computed_is_known(run, tmp_path) -> None:
    file = tmp_path / "computed_constant.py"
    file.write_text(COMPUTED)
    assert run("check", file).code == 1
    ran = run("check", "--import", file, "--json")
    assert ran.code == 0
    assert [each["accepted"] for each in ran.json["functions"]] == [True]


def test_a_module_of_a_package_finds_its_siblings(run, tmp_path) -> None:
    package = tmp_path / "some_package_to_check"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "constants.py").write_text("LIMIT = 5\n\ndef doubled(x):\n    return 2.0 * x\n")
    file = package / "kernels.py"
    file.write_text(
        "from .constants import LIMIT, doubled\n\n"
        "def fill(A):\n    for i in range(LIMIT):\n        A[i] = doubled(A[i])\n"
    )
    assert run("check", file).code == 0


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def f(:\n", "broken.py:1: "),
        ("x = 3\0\n", "broken.py: source code string cannot contain null bytes"),
        ("x = 3\n", "there is no function with a loop or an array expression"),
    ],
)
def test_files_without_functions(run, tmp_path, text, what) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    ran = run("check", file)
    assert what in ran.out + ran.err
    assert ran.code == (0 if text == "x = 3\n" else 1)


def test_a_file_that_cannot_be_read_hides_no_other(run, tmp_path) -> None:
    broken, good, more = tmp_path / "broken.py", tmp_path / "good.py", tmp_path / "more.py"
    broken.write_text("def f(:\n")
    good.write_text("def fill(A):\n    for i in range(3):\n        A[i] = 2.0\n")
    more.write_bytes(b"x = 3\0\n")
    ran = run("check", broken, good, more)
    assert ran.code == 1
    assert "fill" in ran.out and "broken.py:1: " in ran.err and "more.py: " in ran.err
    ran = run("check", broken, good, "--json")
    assert ran.code == 1 and ran.json["accepted"] is False
    assert [each["function"] for each in ran.json["functions"]] == ["fill"]
    (unread,) = ran.json["unread"]
    assert "broken.py:1: " in unread


def test_types_that_kernels_cannot_have_are_named_with_the_source(run, tmp_path) -> None:
    file = tmp_path / "annotated.py"
    file.write_text(
        'import math\n\ndef f(A: "float128[:]", B: "text"):\n    for i in range(3):\n        A[i] = math.fsum(B[i])\n'
    )
    ran = run("check", file, "--json")
    obstacles = ran.json["functions"][0]["obstacles"]
    assert [each["source"] for each in obstacles] == ['"float128[:]"', '"text"', "math.fsum(B[i])"]


CALLED = """
def bisect(f, a, b, args=(), steps=50):
    low = f(a, *args)
    for _ in range(steps):
        middle = 0.5 * (a + b)
        if f(middle, *args) * low > 0:
            a = middle
        else:
            b = middle
    return a


def table(X, metric, out):
    for i in range(X.shape[0]):
        for j in range(X.shape[0]):
            out[i, j] = metric(X[i], X[j])


def padded(X, *, mode="edge"):
    for i in range(len(X)):
        X[i] = 0.0 if mode == "zero" else X[i] + 1.0
"""


def test_functions_and_texts_are_guessed(run, tmp_path) -> None:
    file = tmp_path / "called.py"
    file.write_text(CALLED)
    ran = run("check", file, "--json")
    assert ran.code == 0
    types = {each["function"]: each["types"] for each in ran.json["functions"]}
    assert types["bisect"].startswith("f: some_number(), a: float, b: float, args: ()")
    assert "metric: some_number()" in types["table"]
    assert types["padded"] == "X: float64[::1], mode: 'edge'"


def test_loops_that_are_not_scheduled_are_named(run, tmp_path) -> None:
    file = tmp_path / "ended.py"
    file.write_text(
        "def f(A):\n    for i in range(len(A)):\n        if A[i] > 1.0:\n            break\n        A[i] = 0.0\n"
    )
    (found,) = run("check", file, "--json").json["functions"]
    how = "one statement, its iterations in order, as it may end early"
    assert found["loops"] == [{"line": 2, "source": "for i in range(len(A))", "how": how}]
    assert f"    2: for i in range(len(A)): {how}\n" in run("check", file).out


def test_kernels_and_methods_of_arrays_are_listed_without_loops(run, tmp_path) -> None:
    (tmp_path / "few.py").write_text(
        "import polytune\nfrom polytune import kernel as compiled\n\n"
        "@polytune.kernel(strict=True)\ndef shifted(A):\n    return A + 1.0\n\n"
        "@compiled\ndef halved(A):\n    return 0.5 * A\n\n"
        "def centred(A):\n    return A - A.mean(axis=0)\n\n"
        "def said(text):\n    return text.strip().split()\n\n"
        "class Series:\n    def least(self):\n        return self.min()\n"
    )
    ran = run("check", str(tmp_path / "few.py"), "--json")
    assert ran.code == 0
    assert [each["function"] for each in ran.json["functions"]] == ["shifted", "halved", "centred"]
