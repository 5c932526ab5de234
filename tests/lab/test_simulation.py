"""Runs of searches on recorded spaces, alone and many at once."""

from __future__ import annotations

import math
import os
import statistics

import numpy as np
import pytest

from polytune.errors import SearchError
from polytune.lab import load, simulate, simulation
from polytune.lab.place import Line
from polytune.lab.recording import Recorder
from polytune.lab.run import Run, Task, make_run
from polytune.lab.simulation import SimulationPlan, make_runs


def test_a_run_looks_up_what_the_search_asks_for(recorded):
    run = make_run(recorded, Task("full", len(recorded), 0), seed=0)
    assert run.evaluations == len(recorded)
    assert sorted(run.slowdowns) == pytest.approx(sorted(recorded.slowdowns))
    assert run.slowdown == 1.0
    assert sum(map(math.isinf, run.slowdowns)) == recorded.failed


def test_the_curve_is_the_best_so_far():
    run = Run(Task("random", 5, 0), (math.inf, 3.0, 4.0, math.inf, 2.0))
    assert run.curve.tolist() == [math.inf, 3.0, 3.0, 3.0, 2.0]
    assert (run.slowdown, run.evaluations) == (2.0, 5)


def test_a_budget_larger_than_the_space_ends_with_it(recorded):
    run = make_run(recorded, Task("random", 1000, 0), seed=0)
    assert run.evaluations == len(recorded)


def test_a_run_depends_on_what_it_is_alone(recorded):
    task = Task("genetic", 20, 3)
    alone = make_run(recorded, task, seed=7)
    among = {run.task: run for run in simulate(recorded, ["genetic", "random"], [10, 20], 5, seed=7).runs}
    assert among[task] == alone
    assert make_run(recorded, task, seed=8) != alone
    assert among[Task("genetic", 20, 2)].slowdowns != alone.slowdowns
    assert among[Task("random", 20, 3)].slowdowns != alone.slowdowns


def test_processes_change_nothing(recorded):
    tasks = SimulationPlan(["random", "annealing"], [5, 10], 2).tasks()
    alone = list(make_runs(recorded, tasks, 3, jobs=1))
    together = list(make_runs(recorded, tasks, 3, jobs=2))
    assert sorted(map(repr, together)) == sorted(map(repr, alone))


def _is_killed(task):
    os._exit(9)


def test_a_process_that_is_killed_is_a_sentence(recorded, monkeypatch):
    monkeypatch.setattr(simulation, "_work", _is_killed)
    with pytest.raises(SearchError, match="one of the processes that run the searches was killed"):
        list(make_runs(recorded, SimulationPlan(["random"], [5], 4).tasks(), 3, jobs=2))


def test_random_search_finds_what_it_must(recorded):
    """The mean of the best of n draws without replacement is known exactly."""
    n, repeats = 10, 400
    results = simulate(recorded, ["random"], [n], repeats)
    finite = np.sort(recorded.slowdowns)
    rows = len(finite)
    # P(the best is the k-th) = C(rows - k, n - 1) / C(rows, n), k from 1.
    chance = np.array([math.comb(rows - k, n - 1) / math.comb(rows, n) for k in range(1, rows + 1)])
    usable = np.isfinite(finite)
    expected = float((chance[usable] * finite[usable]).sum())
    deviation = math.sqrt(float((chance[usable] * (finite[usable] - expected) ** 2).sum()) / repeats)
    assert chance[~usable].sum() < 1e-6
    assert results.summary()["results"][0]["mean_slowdown"] == pytest.approx(expected, abs=4 * deviation)


def test_repeats_come_last_in_a_plan():
    tasks = SimulationPlan(["a_search", "random"][1:], [20, 10, 20], 2).tasks()
    assert tasks == [Task("random", b, r) for r in (0, 1) for b in (10, 20)]


def test_what_cannot_be_planned():
    with pytest.raises(SearchError, match=r"no search 'genetics'.*'genetic'"):
        SimulationPlan(["genetics"], [10], 1)
    with pytest.raises(SearchError, match="must be at least 1"):
        SimulationPlan(["random"], [0], 1)
    with pytest.raises(SearchError, match="must be at least 1"):
        SimulationPlan(["random"], [10], 0)


def test_summary(recorded):
    results = simulate(recorded, ["random", "full"], [1000], 3)
    summary = results.summary()
    assert summary["space"] == "bowl"
    assert summary["optimum"] == pytest.approx(2e-3)
    for entry, search in zip(summary["results"], ("random", "full"), strict=True):
        assert (entry["search"], entry["budget"], entry["repeats"]) == (search, 1000, 3)
        assert entry["mean_slowdown"] == entry["median_slowdown"] == 1.0
        assert entry["mean_evaluations"] == len(entry["curve"]) == 64
        assert entry["curve"][-1] == 1.0
        firsts = [run.slowdowns[0] for run in results.of_search(entry["search"], entry["budget"])]
        if all(map(math.isfinite, firsts)):
            assert entry["curve_deviations"][0] == pytest.approx(statistics.stdev(firsts))
        assert entry["curve_deviations"][-1] == 0.0


def test_runs_that_found_nothing_leave_no_mean(recorded):
    failing = [i for i in range(len(recorded)) if math.isinf(recorded.cost(i))]
    only_failures = Run(Task("random", 2, 0), (math.inf,) * 2)
    found = Run(Task("random", 2, 1), (2.0, 1.5))
    from polytune.lab.results import Results, Setting

    entry = Results.ordered(Setting.of(recorded, 0), [only_failures, found]).summary()["results"][0]
    assert failing
    assert entry["mean_slowdown"] is None
    assert entry["curve"] == entry["curve_deviations"] == [None, None]


def test_settings_reach_the_searches(recorded):
    small = simulate(recorded, ["genetic"], [40], 3, settings={"genetic": {"population": 4}})
    assert small != simulate(recorded, ["genetic"], [40], 3)
    assert small == simulate(recorded, ["genetic"], [40], 3, settings={"genetic": {"population": 4}}, jobs=2)
    with pytest.raises(SearchError, match="no setting 'size'"):
        simulate(recorded, ["genetic"], [40], 1, settings={"genetic": {"size": 4}})


def test_single_measurements_and_the_best_measured_anew():
    """A configuration with one lucky measurement is chosen, and measuring it anew tells what it is."""
    recorder = Recorder("noisy", "", ("a",))
    recorder.add({"a": 0}, [1.0, 1.0, 1.0], place=Line("noisy", 1))
    recorder.add({"a": 1}, [0.9, 3.0, 3.0], place=Line("noisy", 1))
    recorder.add({"a": 2}, [], "failed", place=Line("noisy", 1))
    noisy = recorder.build("noisy")
    runs = simulate(noisy, ["full"], [3], 60, remeasured=200).runs
    chosen = [run.slowdown for run in runs]
    assert {slowdown == 1.0 for slowdown in chosen} == {True, False}
    # The mean of its three measurements is 2.3; a third of the runs is deceived.
    assert all(slowdown == 1.0 or slowdown == pytest.approx(2.3, rel=0.2) for slowdown in chosen)
    assert 10 <= sum(slowdown > 1 for slowdown in chosen) <= 30
    assert all(run.slowdowns[2] == math.inf for run in runs)
    assert all(run.final is None for run in simulate(noisy, ["full"], [3], 2).runs)


def test_measured_anew_where_nothing_runs():
    recorder = Recorder("broken", "", ("a",))
    for a in range(3):
        recorder.add({"a": a}, [1.0] if a else [], "ok" if a else "failed", place=Line("broken", 1))
    (run,) = simulate(recorder.build("broken"), ["full"], [1], 1, remeasured=10).runs
    assert run.slowdown == math.inf == run.final
    assert Run.from_json(run.to_json()) == run


def test_libraries_have_one_thread_in_one_process_too(monkeypatch):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = [each["num_threads"] for each in threadpoolctl.threadpool_info()]
    runs = make_runs(load("example:gemm"), [Task("random", 2, 0), Task("random", 2, 1)], 0)
    next(runs)
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert all(each["num_threads"] == 1 for each in threadpoolctl.threadpool_info())
    assert len(list(runs)) == 1
    assert "OPENBLAS_NUM_THREADS" not in os.environ
    assert [each["num_threads"] for each in threadpoolctl.threadpool_info()] == before
