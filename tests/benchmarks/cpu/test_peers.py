"""Other compilers are found or not, and what they make is checked before it is timed."""

import importlib.util
import os
import shutil
import stat
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.cpu.__main__ import PEERS as OFFERED
from benchmarks.cpu.c_peers import FAST, SourceToSource
from benchmarks.cpu.contender import PeerError, Problem, accepted
from benchmarks.cpu.peers import NAMES, PEERS, absent
from benchmarks.cpu.python_peers import Pythran, Reference
from polybench.benchmark import copy_arguments
from polybench.datasets import Dataset
from polybench.registry import benchmark
from polytune.runtime.calls.arguments import signature_of

SECONDS = 60.0
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc on the path")


@pytest.fixture(autouse=True)
def patient_threads(monkeypatch):
    """The threads of other run times do not keep the processor busy while they wait: tests run side by side."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")


@pytest.fixture
def problem(tmp_path):
    """The given kernel, by name, at the types of the suite's data."""

    def make(name):
        found = benchmark(name)
        initial = found.initialise(**found.sizes(Dataset.MINI))
        stages = found.kernel.stages(signature_of(found.argument_names, initial))
        return Problem(found, stages, initial, tmp_path)

    return make


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a shell script on the path."""

    def make(name, text):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        file = folder / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return make


def silent(text):
    pass


def computes(contender, name):
    """Whether a contender computes at MINI what the reference does."""
    found = benchmark(name)
    initial = found.initialise(**found.sizes(Dataset.MINI))
    expected, actual = copy_arguments(initial), copy_arguments(initial)
    found.reference(*expected)
    contender.load()(*actual)
    return found.error_of(initial, expected, actual) <= found.tolerance


def test_every_peer_can_be_asked_for():
    assert OFFERED == NAMES


@needs_gcc
@pytest.mark.parametrize(("peer", "name"), [("gcc", "gemm"), ("gcc", "deriche"), ("gcc-plain", "gemm")])
def test_gcc(problem, peer, name):
    given = problem(name)
    assert computes(accepted(PEERS[peer], given, Dataset.MINI, SECONDS, silent), name)
    text = (given.folder / f"{name}.c").read_text()
    assert ("restrict" in text) == (peer == "gcc")
    assert "enum {" in text


@needs_gcc
def test_a_library_leaves_subnormal_numbers_as_they_are(problem):
    """Linked with -ffast-math, it would have them taken for zeros in all of this process."""
    assert "-ffast-math" in FAST
    (contender,) = PEERS["gcc"].variants(problem("trisolv"))
    contender.load()
    assert np.float64(5e-324) * np.float64(1.0) > 0


@pytest.mark.parametrize("peer", [PEERS["clang"], PEERS["polly"]], ids=lambda peer: peer.name)
def test_clang(problem, peer):
    if peer.missing():
        pytest.skip(peer.missing())
    assert computes(accepted(peer, problem("gemm"), Dataset.MINI, SECONDS, silent), "gemm")


@needs_gcc
def test_compilers_from_c_to_c_get_marked_loops(problem, program):
    # A compiler that leaves the loops as they are, if they are marked.
    program("polycc", 'test "$1" = --tile && grep -q "#pragma scop" "$2" && cp "$2" "$4"')
    peer = SourceToSource("pluto", "polycc", ("--tile",))
    assert peer.missing() is None
    assert computes(accepted(peer, problem("jacobi-2d"), Dataset.MINI, SECONDS, silent), "jacobi-2d")


@needs_gcc
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('echo "[pluto] error: no loops" >&2; exit 1', "polycc .* failed: .pluto. error: no loops"),
        ('sed \'s/0\\.2/0.3/\' "$2" > "$4"', "the result is wrong at SMALL"),
        ('sed \'s/#pragma scop/abort();/\' "$2" > "$4"', "ended by SIGABRT"),
        ('echo "this is no C" > "$4"', "gcc .* failed: .*error"),
    ],
)
def test_compilers_that_fail_are_told(problem, program, script, reason):
    program("polycc", script)
    peer = SourceToSource("pluto", "polycc", ("--tile",))
    with pytest.raises(PeerError, match=reason):
        accepted(peer, problem("jacobi-2d"), Dataset.MINI, SECONDS, silent)


def test_what_takes_too_long_is_left_out(problem):
    with pytest.raises(PeerError, match=r"a call takes .* s, longer than 0 s"):
        accepted(PEERS["numpy"], problem("gemm"), Dataset.MINI, 0.0, silent)


def test_absent_programs_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert absent(["numba", "numpy", "pluto", "ppcg", "gcc-plain"]) == {
        "pluto": "there is no polycc on the path",
        "ppcg": "there is no ppcg on the path",
        "gcc-plain": "there is no gcc on the path",
    }


@dataclass(frozen=True)
class TwoVariants:
    """A peer whose first variant is of another kernel."""

    name: str = "two"
    fixes_sizes: bool = False

    def missing(self):
        return None

    def variants(self, problem):
        yield Reference("mvt")
        yield Reference(problem.benchmark.name)


def test_the_first_variant_that_is_right_is_taken(problem):
    assert accepted(TwoVariants(), problem("gemm"), Dataset.MINI, SECONDS, silent) == Reference("gemm")


def test_pythran_gets_the_loops_with_directives(problem, monkeypatch):
    """Whether Pythran is installed or not: what it would be given."""
    from benchmarks.cpu import python_peers

    monkeypatch.setattr(python_peers, "run_tool", lambda command, folder: "")
    found = list(Pythran().variants(problem("nussinov")))
    assert len(found) == 1
    text = (found[0].path.parent / "nussinov_pythran_0.py").read_text()
    assert text.startswith("# pythran export nussinov(int32[:], int32[:, :])\n")
    assert "def match(first, second):" in text
    found = list(Pythran().variants(problem("gemm")))
    assert len(found) == 2
    parallel, serial = ((f.path.parent / f"gemm_pythran_{number}.py").read_text() for number, f in enumerate(found))
    assert "    #omp parallel for\n    for i in range(ni):\n" in parallel
    assert "prange" not in parallel
    assert "omp" not in serial


@pytest.mark.skipif(importlib.util.find_spec("pythran") is None, reason="pythran is not installed")
def test_pythran(problem):
    assert computes(accepted(Pythran(), problem("gemm"), Dataset.MINI, SECONDS, silent), "gemm")
