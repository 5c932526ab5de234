"""``polytune report``."""

from __future__ import annotations

import sys

import pytest

PROGRAM = """
import sys
import numpy as np
import beside_the_program
import polytune


@polytune.kernel(background=False)
def scale(alpha, x):
    for i in range(len(x)):
        x[i] *= alpha


@polytune.kernel
def never_called(x):
    for i in range(len(x)):
        x[i] = 1.0


if __name__ == "__main__":
    for _ in range(3):
        scale(2.0, np.ones(1000))
    beside_the_program.shift(np.ones(1000))
    print(sys.argv[1:])
    if "fail" in sys.argv:
        raise ValueError("on purpose")
    sys.exit(3 if "exit" in sys.argv else None)
"""

BESIDE = """
import polytune


@polytune.kernel(background=False)
def shift(x):
    for i in range(len(x) - 1):
        x[i] = x[i + 1]
"""


@pytest.fixture
def program_file(tmp_path, monkeypatch):
    (tmp_path / "beside_the_program.py").write_text(BESIDE)
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    yield file
    sys.modules.pop("beside_the_program", None)


def test_page_of_a_kernel_that_is_tuned_first(run, kernels_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run("report", f"{kernels_file}:scale", "--size", "A_0=40", "--size", "A_1=50", "--seconds", "0.5")
    assert (ran.code, ran.out) == (0, "scale.html\n"), ran.err
    text = (tmp_path / "scale.html").read_text(encoding="utf-8")
    assert "For A_0 = 40, A_1 = 50" in text and 'id="tuning"' in text
    # What is known from before is shown without another call.
    again = run(
        "report", f"{kernels_file}:scale", "--size", "A_0=40", "--size", "A_1=50", "--seconds", "0", "-o", "b.html"
    )
    assert again.code == 0 and 'id="landscape"' in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_page_without_sizes_as_json(run, kernels_file, tmp_path):
    page = tmp_path / "page.html"
    ran = run("report", f"{kernels_file}:shift", "--strict", "-o", page, "--json")
    assert ran.json == {"pages": {"shift": str(page)}}
    assert "(strict)" in page.read_text(encoding="utf-8")


def test_size_that_is_not_there(run, kernels_file):
    ran = run("report", f"{kernels_file}:scale", "--size", "n=40")
    assert ran.code == 2 and "A_0" in ran.err


def test_live_runs_the_program_and_leaves_a_page_of_each_kernel(run, program_file, tmp_path):
    before = sys.argv[:], sys.path[:]
    ran = run("report", "--live", program_file, "--json", "--", "--given", "x")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("['--given', 'x']\n") and "program.py at http://127.0.0.1:" in ran.err
    assert (sys.argv, sys.path) == before
    pages = {file.name for file in tmp_path.glob("*.html")}
    assert pages == {"scale.html", "never_called.html", "shift.html"}
    assert "<dd>3</dd>" in (tmp_path / "scale.html").read_text(encoding="utf-8")


def test_live_of_one_kernel_of_a_program_that_fails(run, program_file, tmp_path):
    ran = run("report", "--live", f"{program_file}:shift", "-o", "page.html", "--", "fail")
    assert ran.code == 1
    assert "ValueError: on purpose" in ran.err and "page.html" in ran.err
    assert "<h1><code>shift</code>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert run("report", "--live", f"{program_file}:shift", "--", "exit").code == 3


def test_live_of_a_program_without_the_kernel(run, program_file):
    ran = run("report", "--live", f"{program_file}:other")
    assert ran.code == 1 and "had no kernel called other" in ran.err


def test_options_that_do_not_go_together(run, program_file):
    assert run("report", "--live", program_file, "--size", "n=1").code == 2
    assert run("report", f"{program_file}:scale", "--", "x").code == 2
