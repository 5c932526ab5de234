"""The corpus of applications, and the program that compares two compilers on it."""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import replace
from types import FunctionType

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.applications import comparison
from benchmarks.applications.__main__ import app
from benchmarks.applications.case import SPECIAL_VALUES, Case, cases, every_case
from benchmarks.applications.comparison import Comparison, Ran, compare, geometric_mean
from benchmarks.applications.program_of_calls import Beginning, compiled
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of

CORPUS = cases()
NUMERICAL = cases("numerical")
CORPUS_ARRAYS = {name: tuple(inspect.signature(case.function).parameters) for name, case in CORPUS.items()}


@pytest.mark.parametrize("name", CORPUS)
def test_kernels_of_the_corpus_are_accepted(name: str) -> None:
    case = CORPUS[name]
    assert isinstance(case.function, FunctionType)
    names = list(inspect.signature(case.function).parameters)
    stages = Stages(case.function, signature_of(names, case.arguments()))
    assert stages.scop.statements
    assert all(condition.array in CORPUS_ARRAYS[name] for condition in stages.bounds)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMERICAL)
def test_numerical_kernels_compute_what_plain_python_computes(name: str) -> None:
    case = NUMERICAL[name]
    results = []
    compilers = ("polytune", "polytune-fastmath")
    for function in (case.function, *(compiled(case, compiler, unlimited=False) for compiler in compilers)):
        arguments = case.small_arguments()
        beginning = Beginning(arguments)
        results.append(beginning.results(function(*arguments)))
    wanted = results.pop(0)
    for compiler, found in zip(compilers, results, strict=True):
        assert found.keys() == wanted.keys()
        for place, array in wanted.items():
            tolerance = {np.dtype(np.float32): 1e-4, np.dtype(np.complex64): 1e-4}.get(array.dtype, 1e-9)
            assert found[place].dtype == array.dtype
            message = f"{place}, {compiler}"
            np.testing.assert_allclose(found[place], array, rtol=tolerance, atol=tolerance * 1e-2, err_msg=message)


def test_kernels_are_in_one_corpus_each() -> None:
    assert len(NUMERICAL) >= 60
    assert every_case().keys() == CORPUS.keys() | NUMERICAL.keys() and not CORPUS.keys() & NUMERICAL.keys()


def test_arrays_and_random_numbers_are_put_back() -> None:
    arguments = (np.arange(3.0), np.random.default_rng(1))
    beginning = Beginning(arguments)
    drawn = arguments[1].random(4)
    arguments[0][:] = 7.0
    assert beginning.results((drawn, 1)).keys() == {"array0", "result0", "result1"}
    beginning.restore()
    np.testing.assert_array_equal(arguments[0], np.arange(3.0))
    np.testing.assert_array_equal(arguments[1].random(4), drawn)


def test_arguments_of_a_case_are_the_same_each_time_and_new() -> None:
    first, second = CORPUS["heat"].arguments(), CORPUS["heat"].arguments()
    assert first[0] is not second[0]
    np.testing.assert_array_equal(first[0], second[0])


def test_compilers_agree_with_plain_python() -> None:
    def smooth(x, out):
        for i in range(1, len(x) - 1):
            out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0

    case = Case(smooth, lambda rng: (np.arange(20.0), np.zeros(20)), 1, smooth)
    x, wanted = case.arguments()
    smooth(x, wanted)
    for compiler in (*comparison.COMPILERS, "polytune-fastmath"):
        out = np.zeros(20)
        compiled(case, compiler, unlimited=False)(x, out)
        np.testing.assert_allclose(out, wanted)


def test_ratios_are_of_medians() -> None:
    found = Comparison("some")
    assert math.isnan(found.ratio("program", "all"))
    for seconds in (1.0, 9.0, 2.0):
        found.program["polytune"].append(Ran(1.0, 0.5, seconds, 0.1, 0.05, 3, 1.25))
        found.program["numba"].append(Ran(1.0, 0.5, 4.0, 0.2, 0.2, None, None))
    assert found.ratio("program", "all") == 0.5
    assert found.ratio("program", "late") == 0.5
    assert found.ratio("program", "last") == 0.25
    assert found.to_json()["program"]["polytune"][1]["all"] == 9.0
    assert geometric_mean([0.5, 2.0, math.nan, 8.0]) == pytest.approx(2.0)
    assert math.isnan(geometric_mean([]))


def test_polytune_is_given_what_numba_has() -> None:
    some = replace(CORPUS["damped"], fastmath=SPECIAL_VALUES)
    assert compiled(some, "polytune-fastmath", unlimited=True).fastmath == SPECIAL_VALUES
    assert not compiled(some, "polytune", unlimited=True).fastmath


@pytest.mark.parametrize("fastmath", [False, True])
def test_processes_are_compared_and_their_results(fastmath: bool) -> None:
    found = compare(CORPUS["damped"], 1, 0.0, calls=3, fastmath=fastmath)
    assert not found.wrong
    assert {compiler: len(runs) for compiler, runs in found.program.items()} == {"polytune": 1, "numba": 1}
    assert len(found.warm) == 1 and not any(found.tuned.values())
    (ran,) = found.program["polytune"]
    assert ran.start > ran.first > 0 and ran.tried is not None


def test_results_that_differ_are_named() -> None:
    same = [np.arange(5.0)]
    assert comparison._difference({"polytune": same, "numba": [same[0] + 1e-12]}) == ""
    assert "array 0" in comparison._difference({"polytune": same, "numba": [same[0] + 1e-3]})
    assert "array 0" in comparison._difference({"polytune": [np.arange(5)], "numba": [np.arange(5) + 1]})


def test_unknown_kernel_is_bad_usage() -> None:
    assert CliRunner().invoke(app, ["heet"]).exit_code == 2
    assert CliRunner().invoke(app, ["heat", "--corpus", "numerical"]).exit_code == 2
    assert CliRunner().invoke(app, ["sobel", "--corpus", "others"]).exit_code == 2


def test_output_is_one_json_object(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[bool] = []

    def one(case: Case, *_: object, fastmath: bool) -> Comparison:
        given.append(fastmath)
        found = Comparison(case.name)
        found.program["polytune"].append(Ran(1.0, 0.5, 2.0, 0.1, 0.05, 3, 1.25))
        found.program["numba"].append(Ran(1.0, 0.5, 4.0, 0.2, 0.2, None, None))
        found.warm.append(Ran(0.5, 0.1, 1.0, 0.1, 0.1, 1, None))
        return found

    monkeypatch.setattr("benchmarks.applications.__main__.compare", one)
    ran = CliRunner().invoke(app, ["heat", "triad", "--json"])
    assert ran.exit_code == 0
    found = json.loads(ran.stdout)
    assert found["geometric_means"] == {
        "all calls": 0.5,
        "a call after 300": 0.5,
        "the last calls": 0.25,
        "tuned": None,
    }
    assert [each["kernel"] for each in found["kernels"]] == ["heat", "triad"]
    assert CliRunner().invoke(app, ["heat", "--fastmath"]).exit_code == 0
    assert given == [False, False, True]
