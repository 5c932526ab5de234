"""The comparison on a checkout of NPBench, with a small folder that is laid out like one."""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.npbench.__main__ import app, mean
from benchmarks.npbench.comparison import FormRun, KernelComparison, compare, difference, ended_within
from benchmarks.npbench.folder import FolderError, chosen, read_folder
from benchmarks.npbench.run_form import outputs
from benchmarks.npbench.table import table

DATA = """
import numpy as np

def initialize(N, factor):
    rng = np.random.default_rng(N)
    return rng.random((N, N)) * factor, np.zeros(N)
"""

ROWS = """
import numpy as np

def rows(A, out, N):
    out[:] = np.sum(A, axis=1)
    return np.max(A)
"""

ROWS_NUMBA = """
import numba as nb
import numpy as np

@nb.njit
def rows(A, out, N):
    for i in range(N):
        out[i] = A[i].sum(){wrong}
    return A.max()
"""

SORTED = """
import numpy as np

def ordered(A, out, N):
    out[:] = sorted(A[0], key=abs)
"""


def description(name: str, **changes: Any) -> dict[str, Any]:
    said = {
        "name": name,
        "short_name": name,
        "relative_path": f"kind/{name}",
        "module_name": name,
        "func_name": name,
        "parameters": {"S": {"N": 12, "factor": 2.0}, "M": {"N": 30, "factor": 2.0}},
        "init": {"func_name": "initialize", "input_args": ["N", "factor"], "output_args": ["A", "out"]},
        "input_args": ["A", "out", "N"],
        "array_args": ["A", "out"],
        "output_args": ["out"],
    }
    return {"benchmark": {**said, **changes}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bench_info").mkdir()
    files = {
        "rows": {"": DATA, "_numpy": ROWS, "_numba_n": ROWS_NUMBA.format(wrong=""), "_numba_np": "raise OSError('no')"},
        "wrong": {"": DATA, "_numpy": ROWS, "_numba_n": ROWS_NUMBA.format(wrong=" + 1.0"), "_numpyish": "1 / 0"},
        "ordered": {"": DATA, "_numpy": SORTED},
    }
    for name, forms in files.items():
        function = "ordered" if name == "ordered" else "rows"
        said = description(name, func_name=function)
        (tmp_path / "bench_info" / f"{name}.json").write_text(json.dumps(said))
        place = tmp_path / "npbench" / "benchmarks" / "kind" / name
        place.mkdir(parents=True)
        for form, text in forms.items():
            (place / f"{name}{form}.py").write_text(text)
    return tmp_path


def test_kernels_are_read_with_their_forms_and_data(folder: Path) -> None:
    kernels = read_folder(folder)
    assert list(kernels) == ["ordered", "rows", "wrong"]
    rows = kernels["rows"]
    assert rows.forms("numba") == ("numba_n", "numba_np") and rows.forms("numpy") == ("numpy",)
    assert kernels["wrong"].forms("numpy") == ("numpy",) and rows.forms("jax") == ()
    arguments = rows.arguments("M")
    assert list(arguments) == ["A", "out", "N"] and arguments["A"].shape == (30, 30) and arguments["N"] == 30
    np.testing.assert_array_equal(arguments["A"], rows.arguments("M")["A"])
    assert [kernel.name for kernel in chosen(kernels, ["rows"])] == ["rows"]
    with pytest.raises(FolderError, match="no size 'L'; it has S, M"):
        rows.arguments("L")
    with pytest.raises(FolderError, match="there is no kernel 'columns'; there are ordered, rows, wrong"):
        chosen(kernels, ["columns"])


def test_what_is_no_checkout_is_told(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="is no checkout of NPBench"):
        read_folder(tmp_path)
    (tmp_path / "bench_info").mkdir()
    (tmp_path / "bench_info" / "half.json").write_text('{"benchmark": {"name": "half"}}')
    with pytest.raises(FolderError, match=r"half\.json does not describe a kernel: KeyError: 'relative_path'"):
        read_folder(tmp_path)


def test_forms_are_run_and_their_results_compared(folder: Path) -> None:
    kernels = read_folder(folder)
    found = compare(folder, kernels["rows"], ["numpy", "polytune", "numba"], "S", 0.0, 200.0)
    ours, best = found.best("polytune"), found.best("numba")
    assert ours is not None and ours.first > ours.late > 0.0 and ours.problem == ""
    assert best is not None and best.form == "numba_n"
    assert [(run.form, run.problem) for run in found.runs["numba"]] == [("numba_n", ""), ("numba_np", "OSError: no")]
    assert found.ratio > 0.0 and found.failures == []
    wrong = compare(folder, kernels["wrong"], ["numba"], "S", 0.0, 200.0)
    assert wrong.best("numba") is None and math.isnan(wrong.ratio)
    assert "result 1 differs by" in wrong.runs["numba"][0].problem


def test_where_no_results_are_named_all_arrays_are(folder: Path) -> None:
    (folder / "bench_info" / "ordered.json").write_text(
        json.dumps(description("ordered", func_name="ordered", output_args=[]))
    )
    kernel = read_folder(folder)["ordered"]
    A, out = np.ones((2, 2)), np.zeros(2)
    assert [each.shape for each in outputs(kernel, {"A": A, "out": out, "N": 2}, None)] == [(2, 2), (2,)]
    (run,) = compare(folder, kernel, [], "S", 0.0, 60.0).runs["numpy"]
    assert run.counts and run.late > 0.0


def test_a_process_that_takes_too_long_is_ended(folder: Path) -> None:
    found = compare(folder, read_folder(folder)["rows"], ["numpy"], "S", 60.0, 1.0)
    assert found.runs["numpy"] == [
        FormRun("numpy", found.runs["numpy"][0].first, found.runs["numpy"][0].late, "no result in 1 s")
    ]


def test_the_program_tells_refusals_and_failures(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    command = ["rows", "ordered", "--npbench", str(folder), "--seconds", "0", "--framework", "polytune"]
    ended = CliRunner().invoke(app, [*command, "--json", "--output", str(file)])
    assert ended.exit_code == 0, ended.output
    told = json.loads(ended.stdout)
    assert told["accepted"] == 1 and told["size"] == "S" and told == json.loads(file.read_text())
    run = told["kernels"][1]["runs"]["polytune"][0]
    assert run["refused"] and "sorted" in run["problem"] and run["first"] is None
    ended = CliRunner().invoke(app, command)
    assert "refused" in ended.output and "geometric mean" in ended.output and ended.exit_code == 0


def test_a_comparison_that_was_cut_off_goes_on(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    common = ["--npbench", str(folder), "--seconds", "0", "--framework", "numpy", "--output", str(file)]
    ended = CliRunner().invoke(app, ["rows", "wrong", *common, "--within", "0"])
    assert ended.exit_code == 0 and "not reached in time: rows, wrong" in ended.output
    assert CliRunner().invoke(app, ["wrong", *common, "--within", "5"]).exit_code == 0
    before = json.loads(file.read_text())["kernels"][0]
    ended = CliRunner().invoke(app, ["rows", "wrong", *common, "--resume"])
    assert ended.exit_code == 0, ended.output
    first, second = json.loads(file.read_text())["kernels"]
    assert (first, second["kernel"]) == (before, "rows") and second["runs"]["numpy"][0]["late"] > 0
    ended = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["rows", *common, "--resume", "--size", "M"])
    assert ended.exit_code == 2 and "another size or other frameworks" in ended.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "pass --npbench DIR"),
        (["--npbench", "{folder}", "columns"], "no kernel 'columns'"),
        (["--npbench", "{folder}", "--size", "L"], "no size 'L'"),
        (["--npbench", "{folder}", "--framework", "cobol"], "no framework 'cobol'"),
        (["--npbench", "/"], "no checkout of NPBench"),
        (["--npbench", "{folder}", "--resume"], "pass it as --output FILE"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_told(folder: Path, arguments: list[str], message: str) -> None:
    given = [argument.format(folder=folder) for argument in arguments]
    ended = CliRunner(env={"NPBENCH": None, "COLUMNS": "300"}).invoke(app, given)
    assert ended.exit_code == 2 and message in ended.output


def test_differences_of_results() -> None:
    right = [np.array([3.0, 4.0, np.nan]), np.array([1, 2], np.uint8)]
    assert difference([right[0] * (1 + 1e-7), right[1]], right, 1e-5) == ""
    assert difference([right[0] * 1.01, right[1]], right, 1e-5) == "result 0 differs by 0.01 of its norm"
    assert difference([np.zeros(3), right[1]], right, 1e-5) == "result 0 is infinite or NaN in other places"
    assert difference([right[0]], right, 1e-5) == "1 results, not 2"
    assert difference([right[0], np.zeros(3)], right, 1e-5) == "result 1 has the shape (3,), not (2,)"
    assert difference([np.array([1e-7])], [np.zeros(1)], 1e-5) == ""
    assert difference([np.array([1j])], [np.array([-1j])], 1e-5) == "result 0 differs by 2 of its norm"


def test_ratios_are_those_of_the_better_baseline() -> None:
    found = KernelComparison("some")
    assert math.isnan(found.ratio)
    found.runs = {
        "numpy": [FormRun("numpy", 1.0, 0.9)],
        "polytune": [FormRun("polytune", 2.0, 0.1)],
        "numba": [FormRun("numba_n", 1.0, 0.05, "wrong"), FormRun("numba_np", 1.0, 0.4)],
    }
    assert found.ratio == pytest.approx(4.0) and found.ratio_to("numpy") == pytest.approx(9.0)
    assert mean([2.0, math.nan, 8.0]) == pytest.approx(4.0)


def test_files_become_one_table() -> None:
    def run(late: float | None, problem: str = "") -> dict[str, object]:
        return {"form": "", "first": 1.0, "late": late, "problem": problem, "refused": bool(problem)}

    kernels = [
        {
            "kernel": "b",
            "runs": {"polytune": [run(0.002)], "numpy": [run(0.008)], "numba": [run(0.004), run(0.001, "wrong")]},
        },
        {"kernel": "a", "runs": {"polytune": [run(0.001)], "numpy": [run(0.001)]}},
        {"kernel": "c", "runs": {"polytune": [run(None, "refused")], "numpy": [run(0.001)]}},
    ]
    assert table(kernels).splitlines()[2:] == [
        "| a | 1 | 1.00 |  |  |  |  |",
        "| b | 2 | 4.00 | 2.00 |  |  |  |",
        "| c | refused |  |  |  |  |  |",
        "| geometric mean (kernels) | | 2.00 (2) | 2.00 (1) |  |  |  |",
    ]


def test_what_hangs_is_ended_with_all_that_it_has_started() -> None:
    start = time.monotonic()
    assert ended_within(1, ["sh", "-c", "sleep 300 & sleep 300"], os.environ)[2] is None
    # Who waits for the end of the output waits for both.
    assert time.monotonic() - start < 100
    assert ended_within(60, ["sh", "-c", "echo good; echo bad >&2; exit 3"], os.environ) == ("good\n", "bad\n", 3)
