"""The two command lines, each in a process of its own."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from benchmarks import program

ROOT = Path(__file__).parents[2]


def run(*arguments):
    return subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=400)


def commands(command):
    """A command of one of the programs, and all under it."""
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from commands(inner)


@pytest.mark.parametrize(
    "module", ["cpu.__main__", "gpu.__main__", "search.__main__", "cooperative", "payoff", "latency"]
)
def test_json_is_a_flag_and_output_a_file_in_every_program(module):
    app = importlib.import_module(f"benchmarks.{module}").app
    options = [option for command in commands(typer.main.get_command(app)) for option in command.params]
    flags = {name: option.is_flag for option in options for name in option.opts if name in ("--json", "--output")}
    assert flags["--json"]
    assert not flags.get("--output", False)


def test_so_they_are_in_the_cost_of_the_tuner(tmp_path):
    done = run("benchmarks.tuner_cost", "--json", "--output", str(tmp_path / "nowhere" / "x.json"))
    assert done.returncode == 2
    assert "--output: there is no folder" in done.stderr


def test_a_kernel_is_compared():
    options = ("--dataset", "mini", "--seconds", "0", "--repeats", "3", "--peers", "numba,numpy", "--json")
    done = run("benchmarks.cpu", "trisolv", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (entry,) = found["kernels"]
    assert entry["kernel"] == "trisolv"
    assert entry["agrees"]
    assert entry["numba"]["prange"] == []
    assert entry["tuning"]["calls"] + entry["tuning"]["remembered_calls"] >= 1
    samples = {name: len(sample["values"]) for name, sample in entry["seconds"].items()}
    assert samples == {"polytune": 3, "numba": 3, "numpy": 3}
    over = found["over"]["numba"]
    assert entry["speedup_over"]["numba"] == over["minimum"] == pytest.approx(over["geometric_mean"])
    assert {name: len(limit["values"]) for name, limit in entry["limits"].items()} == {
        "dgemm": 3,
        "sgemm": 3,
        "triad": 3,
    }
    assert min(limit["rate"] for limit in entry["limits"].values()) > 0
    assert "trisolv" in done.stderr


def test_an_unknown_kernel_is_bad_usage():
    done = run("benchmarks.cpu", "gem")
    assert done.returncode == 2
    assert "did you mean 'gemm'" in done.stderr


def test_an_unknown_baseline_is_bad_usage():
    done = run("benchmarks.cpu", "gemm", "--also", "openmp")
    assert done.returncode == 2
    assert "'openmp'" in done.stderr


def test_an_unknown_peer_is_bad_usage():
    done = run("benchmarks.cpu", "gemm", "--peers", "gcc,icc")
    assert done.returncode == 2
    assert "not 'icc'" in done.stderr


def test_a_table_or_a_figure_that_cannot_be_is_found_out_at_once(tmp_path):
    done = run("benchmarks.cpu", "gemm", "--best", str(tmp_path / "none.csv"))
    assert done.returncode == 2
    assert "none.csv cannot be read" in done.stderr
    done = run("benchmarks.cpu", "gemm", "--plot", str(tmp_path / "figure.txt"))
    assert done.returncode == 2
    assert ".pdf, .png or .svg" in done.stderr


def test_the_overhead_of_a_tuned_call_is_measured():
    done = run("benchmarks.call_overhead", "100", "0")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["call"]) == len(found["bare"]) == len(found["overhead"]) == 2
    assert min(found["bare"]) > 0
    for call, bare, overhead in zip(found["call"], found["bare"], found["overhead"], strict=True):
        assert overhead == call - bare


@pytest.mark.slow
def test_packages_around_libraries_are_measured_beside_their_kernels(tmp_path):
    output = tmp_path / "native.json"
    arguments = ("atax", "--dataset", "MINI", "--seconds", "0.3", "--repeats", "1", "--json", "--output", str(output))
    done = run("benchmarks.native", *arguments)
    assert done.returncode == 0, done.stderr
    (measured,) = json.loads(done.stdout)["kernels"]
    assert measured["kernel"] == "atax" and measured["agrees"] and measured["bytes"] > 10_000
    assert 0 < measured["numpy"]["median"] < measured["imports"]["median"]
    assert measured["ratio"] == measured["native"]["median"] / measured["tuned"]["median"]
    assert json.loads(output.read_text())[0]["kernel"] == "atax"


def test_errors_for_people_have_no_name_of_a_class(tmp_path, capsys):
    module = importlib.import_module("benchmarks.search.__main__")
    (tmp_path / "odd.csv").write_text("nothing of the kind\n")
    for file, said in (
        (tmp_path / "odd.csv", f"error: {tmp_path / 'odd.csv'}"),
        (tmp_path / "absent.csv", f"error: {tmp_path / 'absent.csv'}: No such file or directory; see whether"),
    ):
        with pytest.raises(SystemExit) as ended:
            program.run(module.app, "search", ["profile", str(file)])
        assert ended.value.code == 1
        assert capsys.readouterr().err.startswith(said)
