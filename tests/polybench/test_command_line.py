"""``python -m polybench``."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import polybench.command_line as program
from polybench.datasets import CATALOGUE
from polybench.registry import SUITE
from polybench.suite import Suite

runner = CliRunner()
APP = program.application(SUITE)


@pytest.fixture
def fake_suite(monkeypatch, make_benchmark):
    """Lets the commands find a benchmark that needs no compiler, spoilt or not, under every name."""

    def install(after_run=lambda configuration, is_strict, x, y: None):
        monkeypatch.setattr(Suite, "benchmark", lambda suite, name: make_benchmark(after_run))

    return install


def spoil(configuration, is_strict, x, y):
    y[0] += 1


def test_list_names_every_kernel():
    result = runner.invoke(APP, ["list"])
    assert result.exit_code == 0
    assert all(f" {name} " in result.stdout for name in CATALOGUE)


def test_list_as_json():
    listed = json.loads(runner.invoke(APP, ["list", "--json"]).stdout)["kernels"]
    assert [entry["kernel"] for entry in listed] == list(CATALOGUE)
    gemm = next(entry for entry in listed if entry["kernel"] == "gemm")
    assert gemm["category"] == "blas"
    assert gemm["sizes"]["MINI"] == {"ni": 20, "nj": 25, "nk": 30}


@pytest.mark.parametrize("command", ["run", "verify"])
def test_an_unknown_kernel_is_bad_usage(command):
    result = runner.invoke(APP, [command, "gem"])
    assert result.exit_code == 2
    assert result.stderr == "error: The suite has no kernel 'gem'; did you mean 'gemm'?\n"
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments", [["run"], ["run", "gemm", "--dataset", "HUGE"], ["run", "gemm", "--calls", "0"], ["tune", "gemm"]]
)
def test_bad_usage(arguments):
    result = runner.invoke(APP, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_verify_as_json(fake_suite):
    fake_suite()
    result = runner.invoke(APP, ["verify", "jacobi-1d", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "kernels": [
            {
                "kernel": "jacobi-1d",
                "dataset": "MINI",
                "versions": 4,
                "verified": True,
                "max_error": 0.0,
                "failures": [],
            }
        ]
    }


def test_verify_without_names_does_all_and_a_name_given_twice_counts_once(fake_suite):
    fake_suite()
    count = "--json", "--no-strict", "--dataset", "small"
    everything = runner.invoke(APP, ["verify", *count])
    assert len(json.loads(everything.stdout)["kernels"]) == 30
    assert "seidel-2d: verified\n" in everything.stderr
    assert len(json.loads(runner.invoke(APP, ["verify", "lu", "lu", *count]).stdout)["kernels"]) == 1


def test_verify_fails_with_sentences(fake_suite):
    fake_suite(spoil)
    result = runner.invoke(APP, ["verify", "lu", "--no-strict"])
    assert result.exit_code == 1
    assert "jacobi-1d: the suite's data (tsteps=20, n=30), version source (threads=4): the error is" in result.stdout
    assert "more failures; --json has them all" in result.stdout
    as_json = runner.invoke(APP, ["verify", "lu", "--no-strict", "--json"])
    assert as_json.exit_code == 1
    (entry,) = json.loads(as_json.stdout)["kernels"]
    assert not entry["verified"]
    assert len(entry["failures"]) > 3


def test_run_prints_a_table(fake_suite):
    fake_suite()
    result = runner.invoke(APP, ["run", "jacobi-1d", "--calls", "3", "--dataset", "mini"])
    assert result.exit_code == 0
    for row in ("jacobi-1d MINI", "first call", "tuned call (of 3 calls", "NumPy reference", "GFLOP/s", "verified"):
        assert row in result.stdout


def test_run_as_json(fake_suite):
    fake_suite()
    result = runner.invoke(APP, ["run", "jacobi-1d", "--calls", "3", "--json"])
    assert result.exit_code == 0
    measured = json.loads(result.stdout)
    assert measured["dataset"] == "MEDIUM"
    assert measured["calls"] == 3
    assert measured["verified"] is True
    assert {"first_call", "tuned_call", "reference_call", "gflops", "max_error"} < measured.keys()


def test_run_of_a_wrong_kernel_fails(fake_suite):
    fake_suite(spoil)
    assert runner.invoke(APP, ["run", "jacobi-1d", "--calls", "2", "--dataset", "mini"]).exit_code == 1


def test_an_error_is_one_sentence_unless_debugged(fake_suite, capsys):
    def fail(*arguments):
        raise OSError("the disk is full")

    fake_suite(fail)
    arguments = ["run", "jacobi-1d", "--calls", "2", "--dataset", "mini"]
    with pytest.raises(SystemExit) as stopped:
        program.main(SUITE, arguments)
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "error: the disk is full\n"
    with pytest.raises(OSError, match="the disk is full"):
        program.main(SUITE, [*arguments, "--debug"])


def test_threads_cannot_be_limited_once_numba_is_there(fake_suite, monkeypatch):
    fake_suite()
    monkeypatch.setitem(sys.modules, "numba", sys)
    result = runner.invoke(APP, ["run", "jacobi-1d", "--threads", "1"])
    assert result.exit_code == 2
    assert "--threads" in result.stderr


def test_threads_are_limited_before_numba_is_imported():
    text = (
        "import polybench.command_line as program; program._limit_threads(1); import numba;"
        "print(numba.config.NUMBA_NUM_THREADS)"
    )
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "1", ran.stderr


def test_the_command_line_starts_without_the_compiler():
    text = "import sys, polybench.__main__; print(sorted({'numba', 'islpy', 'polybench.kernels'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "[]", ran.stderr
