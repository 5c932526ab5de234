"""The comparisons of searches, on small spaces and with other tuners made up."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.search import against_kernel_tuner, against_opentuner, laplacian, online, profiling, sample_sizes
from benchmarks.search.collection import Collection, tasks_of
from benchmarks.search.foreign import ForeignError, ForeignTuner
from polytune.lab import RecordedSpace, Run
from polytune.lab.application import Application
from polytune.lab.place import Line
from polytune.lab.recording import Recorder
from polytune.lab.run import Task

ROOT = Path(__file__).parents[2]

ORACLE = """
import json, sys
request = json.load(sys.stdin)
print("a greeting")
times = request["milliseconds"]
order = sorted(range(len(times)), key=lambda row: float("inf") if times[row] is None else times[row])
for search, budget, repeat in request["tasks"]:
    if search == "broken":
        answer = {"error": "ValueError: cannot"}
    else:
        answer = {"rows": order[:budget] if search == "oracle" else order[::-1][:budget], "invalid": 3}
    print(json.dumps({"search": search, "budget": budget, "repeat": repeat, **answer}), flush=True)
"""
"""Another tuner: ``oracle`` begins with the best configurations, ``contrary`` with the worst."""


@pytest.fixture
def recorded() -> RecordedSpace:
    """400 configurations; the slowest ten fail."""
    recorder = Recorder("bowl", "", ("a", "b"))
    for a in range(20):
        for b in range(20):
            seconds = 1.0 + (a - 7) ** 2 + (b - 12) ** 2
            times = [] if seconds > 220 else [seconds]
            recorder.add({"a": a, "b": b}, times, "ok" if times else "failed", place=Line("x", 1))
    return recorder.build("x")


@pytest.fixture
def tuner(tmp_path):
    """A function that makes another tuner from a script."""

    def make(script: str = ORACLE, name: str = "kernel_tuner") -> ForeignTuner:
        path = tmp_path / "script.py"
        path.write_text(script)
        return ForeignTuner(name, Path(sys.executable), path, seed=0, jobs=2)

    return make


def test_runs_are_made_once(recorded, tmp_path):
    collection = Collection(tmp_path, 0, 1)
    first = collection.collect(recorded, tasks_of(["random"], {5: 3}))
    asked = []

    def make(space, tasks):
        asked.extend(tasks)
        return collection.own_runs(space, tasks)

    both = collection.collect(recorded, tasks_of(["genetic", "random"], {5: 4}), make)
    assert set(asked) == {*tasks_of(["genetic"], {5: 4}), Task("random", 5, 3)}
    assert both.of_search("random", 5)[:3] == list(first.runs)
    assert both.searches == ["genetic", "random"]
    assert Collection(None, 0, 1).collect(recorded, tasks_of(["random"], {5: 3})) == first


def test_another_tuner_is_asked_in_its_own_process(recorded, tuner):
    other = tuner()
    tasks = tasks_of(["kernel_tuner:oracle", "kernel_tuner:contrary", "kernel_tuner:broken"], {4: 3})
    runs = {run.task: run for run in other.runs(recorded, tasks)}
    assert len(runs) == 6
    assert runs[Task("kernel_tuner:oracle", 4, 2)].slowdowns == (1.0, 2.0, 2.0, 2.0)
    assert all(map(math.isinf, runs[Task("kernel_tuner:contrary", 4, 0)].slowdowns))
    assert set(other.invalid.values()) == {3}
    assert other.failures == {"kernel_tuner:broken": "ValueError: cannot"}


@pytest.mark.parametrize("script", ["raise RuntimeError('no such table')", "import sys; sys.exit('no such table')"])
def test_another_tuner_that_ends_badly_is_a_sentence(recorded, tuner, script):
    with pytest.raises(ForeignError, match=r"kernel_tuner ended with .*no such table"):
        list(tuner(script).runs(recorded, tasks_of(["kernel_tuner:oracle"], {4: 1})))


def test_what_is_not_installed_is_a_sentence(tuner, tmp_path):
    with pytest.raises(ForeignError, match="No module named 'no_such_tuner'"):
        tuner().check("no_such_tuner")
    with pytest.raises(ForeignError, match="cannot be run"):
        ForeignTuner("x", tmp_path / "python", tmp_path / "script.py", 0).check("json")
    assert tuner().check("pytest") == pytest.__version__


def test_wins_and_scores(recorded, tuner):
    strategies = ["oracle", "contrary", "broken"]
    arguments = ([recorded], Collection(None, 0, 1), tuner())
    report = against_kernel_tuner.study(*arguments, "genetic", strategies, {10: 4, 30: 4})
    for row in report["rows"]:
        assert row["best_rival"] == "kernel_tuner:oracle"
        assert row["best_rival_mean_slowdown"] == 1.0
        assert row["wins"] is row["wins_against_single_best"] is row["ties"] is False
        assert row["means"].keys() == {"genetic", "random", "kernel_tuner:oracle", "kernel_tuner:contrary"}
    assert report["scores"]["kernel_tuner:oracle"] == {10: 1.0, 30: 1.0}
    assert report["scores"]["random"] == {10: 0.0, 30: 0.0}
    for interval in report["intervals"]:
        assert interval["low"] <= report["scores"]["genetic"][interval["budget"]] <= interval["high"]
    assert [interval["budget"] for interval in report["intervals"]] == [10, 30]
    assert report["overall"]["kernel_tuner:oracle"] == 1.0
    assert report["single_best"] == "kernel_tuner:oracle"
    assert report["failures"] == {"kernel_tuner:broken": "ValueError: cannot"}
    shown = {goal for goal, reached in report["reached"].items() if reached}
    assert shown == {f"{n} evaluations: on 0 of 1 spaces the best strategy is better by the test" for n in (10, 30)}
    easy = against_kernel_tuner.study(*arguments, "genetic", ["contrary"], {30: 4})
    assert easy["rows"][0]["wins"] is easy["rows"][0]["wins_against_single_best"] is True
    assert next(iter(easy["reached"].values())) is True
    assert easy["rows"][0]["effect"] == 1.0 and easy["rows"][0]["is_behind"] is False
    tie = against_kernel_tuner.study(*arguments, "full", ["oracle"], {400: 4})
    (row,) = tie["rows"]
    assert row["ties"] is row["ties_with_single_best"] is True and row["wins"] is False
    assert tie["reached"]["400 evaluations: 0 of 1 spaces won and 1 tied"] is True
    assert (row["effect"], row["p"], row["is_behind"]) == (0.5, 1.0, False)


def test_few_runs_show_no_difference(recorded, tuner):
    """Behind is what is so by the runs' own spread, corrected for all tests that were made."""
    arguments = ([recorded], Collection(None, 0, 1), tuner(), "genetic", ["oracle"])
    few = against_kernel_tuner.study(*arguments, {10: 2})
    many = against_kernel_tuner.study(*arguments, {10: 20})
    for report, is_behind in ((few, False), (many, True)):
        (row,) = report["rows"]
        assert row["wins"] is False and row["effect"] < 0.5 and row["is_behind"] is is_behind
        goal = f"10 evaluations: on {int(is_behind)} of 1 spaces the best strategy is better by the test"
        assert report["reached"][goal] is not is_behind
    alone = {n: against_kernel_tuner.study(*arguments, {n: 20})["rows"][0]["p"] for n in (10, 12)}
    together = {row["budget"]: row["p"] for row in against_kernel_tuner.study(*arguments, {10: 20, 12: 20})["rows"]}
    least = min(alone, key=alone.__getitem__)
    assert together[least] == pytest.approx(2 * alone[least])


def test_screening_ends_all_but_the_best(recorded, tuner, monkeypatch):
    monkeypatch.setattr(against_kernel_tuner, "CONTENDERS", 1)
    strategies, collection = ["contrary", "oracle"], Collection(None, 0, 1)
    report = against_kernel_tuner.study([recorded], collection, tuner(), "genetic", strategies, {10: 9}, screening=2)
    (row,) = report["rows"]
    assert (row["best_rival"], row["best_rival_runs"], row["runs"]) == ("kernel_tuner:oracle", 9, 9)
    screened = collection.collect(
        recorded, tasks_of(["kernel_tuner:contrary", "kernel_tuner:oracle"], {10: 2}), tuner().runs
    )
    rest = against_kernel_tuner.remaining(screened, ["kernel_tuner:contrary", "kernel_tuner:oracle"], {10: 9}, 2)
    assert rest == [Task("kernel_tuner:oracle", 10, repeat) for repeat in range(2, 9)]


def test_without_the_other_tuner(recorded):
    report = against_kernel_tuner.study([recorded], Collection(None, 0, 1), None, "random", ["pso"], {10: 2})
    assert report["rows"][0]["best_rival"] is None
    assert report["rows"][0]["mean_slowdown"] == report["rows"][0]["random"]
    assert "reached" not in report


def test_time_and_invalid_proposals_beside_opentuner(recorded, tuner):
    # ``default`` is contrary: the worst first.
    report = against_opentuner.study(recorded, Collection(None, 0, 1), tuner(name="opentuner"), ["random"], 3)
    rival, own = report["searches"]["opentuner:default"], report["searches"]["random"]
    worst = sorted(s for s in recorded.seconds if s < math.inf)[::-1]
    fails = recorded.failed
    assert rival["median_seconds"] == pytest.approx(sum(worst[: 100 - fails]))
    assert (rival["invalid_proposals"], own["invalid_proposals"]) == (3, 0)
    assert rival["failed_evaluations"] == fails
    assert report["lead"] == {"random": pytest.approx(rival["median_seconds"] / own["median_seconds"])}
    assert report["largest_possible_lead"] == pytest.approx(rival["median_seconds"] / (100 * recorded.optimum))
    assert list(report["reached"].values()) == [report["lead"]["random"] >= 1.7, True]


@pytest.mark.parametrize("search", ["online", "online:portfolio"])
def test_calls_of_the_online_tuner(recorded, search):
    runs = list(online.online_runs(recorded, tasks_of([search], {60: 3}), seed=0))
    assert [run.task.repeat for run in runs] == [0, 1, 2]
    for run in runs:
        # Every call is served; most of the last ones run a good configuration.
        assert run.evaluations == 60
        assert all(math.isfinite(slowdown) for slowdown in run.slowdowns)
        assert run.slowdown <= 2
        assert statistics.median(run.slowdowns[-20:]) <= 2
    assert list(online.online_runs(recorded, [runs[1].task], seed=0)) == [runs[1]]


def test_an_application_has_the_parameters_of_the_recording():
    recorder = Recorder("conditional", "", ("kind", "tile", "single"))
    for kind, tile in [("plain", None), ("tiled", 4), ("tiled", 8)]:
        configuration = {"kind": kind, "single": True, **({} if tile is None else {"tile": tile})}
        recorder.add(configuration, [1.0 + (tile or 0)], place=Line("conditional.json", 1))
    recorded = recorder.build("conditional.json")
    application = Application(recorded.space, 1)
    rows = [application.row(configuration) for configuration in application.space.enumerate()]
    assert sorted(rows) == [0, 1, 2]  # and no combination that the recording does not have
    assert application.row(application.space.default()) == 1
    assert all(application.reject(configuration) is None for configuration in application.space.enumerate())


def test_sample_sizes(recorded):
    report = sample_sizes.study([recorded], Collection(None, 0, 1), {200: 30}, ["random", "genetic"])
    (overall,) = report["overall"]
    (comparison,) = report["comparisons"]
    assert (overall["effect"], overall["p"]) == (comparison["effect"], comparison["p"])
    assert overall["spaces_ahead"] == int(comparison["effect"] > 0.5)
    claim = report["reached"]["genetic ahead of random with 200 samples"]
    assert claim == (comparison["significant"] and comparison["effect"] > 0.5)


def test_sample_sizes_are_drawn(recorded, tmp_path):
    runs, searches = {10: 4, 20: 3}, ["random", "genetic"]
    report = sample_sizes.study([recorded], Collection(None, 0, 1), runs, searches, tmp_path / "figures")
    files = {Path(each["figure"]).name for each in report["figures"]}
    assert {"speedup-bowl.png", "optimum-bowl.png", "effect-bowl.png", "aggregate.png", "spaces.png"} <= files
    assert all(Path(each["figure"]).read_bytes().startswith(b"\x89PNG") for each in report["figures"])


def test_laplacian_report(recorded):
    report = laplacian.describe(Collection(None, 0, 1).collect(recorded, tasks_of(["random"], {20: 8})), "random", 20)
    assert report["runs"] == 8
    assert report["quartiles"][1] <= report["largest"]
    assert report["mean_evaluations"] == 20


def test_steps():
    task = Task("random", 4, 0)
    assert profiling.steps_to(Run(task, (3.0, math.inf, 1.09, 1.0))) == 3
    assert profiling.steps_to(Run(task, (3.0, 1.2))) == 3


def test_command_line(tmp_path):
    space = tmp_path / "line.csv"
    space.write_text("a,time\n" + "".join(f"{a},{1 + (a - 30) ** 2}\n" for a in range(100)))
    command = [sys.executable, "-m", "benchmarks.search", "kernel-tuner", space, "--search", "random"]
    command += ["--budget", "5", "10", "--repeats", "2", "--json"]
    ran = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert [row["budget"] for row in json.loads(ran.stdout)["rows"]] == [5, 10]
    assert "without --python PYTHON" in ran.stderr
