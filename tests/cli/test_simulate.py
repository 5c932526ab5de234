"""``polytune simulate``."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from polytune.cli.options import repeat_options
from polytune.errors import SearchError
from polytune.lab import simulation
from polytune.lab.results_files import RunLog, read_results
from polytune.lab.strategies import STRATEGIES

ROOT = Path(__file__).parents[2]


@pytest.fixture
def space(tmp_path) -> Path:
    """A space of 60 configurations with the optimum of 1 ms at (2, 3)."""
    file = tmp_path / "bowl.csv"
    rows = (f"{a},{b},{1 + (a - 2) ** 2 + (b - 3) ** 2}" for a in range(10) for b in range(6))
    file.write_text("a,b,time\n" + "\n".join(rows) + "\n")
    return file


def simulate(run, space, *options):
    return run("simulate", space, "--search", "random", "genetic", "--budget", "5", "60", "--jobs", "1", *options)


def test_json(run, space):
    ran = simulate(run, space, "--repeat", "4", "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["space"], ran.json["optimum"]) == ("bowl", 0.001)
    entries = ran.json["results"]
    wanted = [("random", 5), ("random", 60), ("genetic", 5), ("genetic", 60)]
    assert [(entry["search"], entry["budget"]) for entry in entries] == wanted
    for entry in entries:
        assert entry["repeats"] == 4
        assert entry["mean_evaluations"] == entry["budget"] == len(entry["curve"])
        assert entry["curve"][-1] == pytest.approx(entry["mean_slowdown"])
        assert entry["curve"] == sorted(entry["curve"], reverse=True)
        assert (entry["mean_slowdown"] == 1.0) == (entry["budget"] == 60)


def test_table(run, space):
    ran = simulate(run, space, "--repeat", "2")
    assert ran.code == 0, ran.err
    title, header, *rows = ran.out.splitlines()
    assert title.strip() == "bowl: 60 configurations, 0 of them failed"
    columns = "search budget repeats min 1st quartile median mean 3rd quartile max evaluations"
    assert header.split() == columns.split()
    assert [row.split()[:3] for row in rows] == [[s, b, "2"] for s in ("random", "genetic") for b in ("5", "60")]


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_output(run, space, tmp_path, ending):
    file = tmp_path / f"r.{ending}"
    ran = simulate(run, space, "--repeat", "3", "--output", file, "--seed", "9", "--json")
    assert ran.code == 0, ran.err
    assert read_results(file).summary() == ran.json
    assert read_results(file).setting.seed == 9
    assert not list(tmp_path.glob("*.runs"))


def test_resume_makes_only_what_is_missing(run, space, tmp_path):
    file = tmp_path / "r.json"
    whole = simulate(run, space, "--repeat", "5", "--json").json
    simulate(run, space, "--repeat", "2", "--output", file)
    # Runs that are there are not made again: changed ones are seen to be kept.
    document = json.loads(file.read_text())
    document["runs"][0]["slowdowns"][-1] = 1.0
    file.write_text(json.dumps(document))
    ran = simulate(run, space, "--repeat", "5", "--output", file, "--resume", "--json")
    assert ran.code == 0, ran.err
    assert [entry["repeats"] for entry in ran.json["results"]] == [5] * 4
    assert ran.json["results"][1:] == whole["results"][1:]
    assert read_results(file).of_search("random", 5)[0].slowdown == 1.0


def test_another_seed_is_another_simulation(run, space, tmp_path):
    file = tmp_path / "r.json"
    simulate(run, space, "--repeat", "2", "--output", file)
    ran = simulate(run, space, "--repeat", "2", "--output", file, "--resume", "--seed", "1")
    assert ran.code == 1
    assert "seed 0, not 1" in ran.err


def test_interrupt_keeps_the_runs(space, tmp_path):
    """Ctrl-C, with one worker and with several, leaves a file that can be resumed."""
    file = tmp_path / "r.json"
    command = [sys.executable, "-m", "polytune", "simulate", space, "--search", "random", "--budget", "60"]
    command += ["--repeat", "1000000", "--jobs", "1", "--output", file]
    process = subprocess.Popen(list(map(str, command)), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    log = tmp_path / "r.json.runs"
    deadline = time.monotonic() + 60
    while not (log.exists() and log.stat().st_size > 20_000) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"interrupted" in err
    assert b"--resume goes on" in err
    assert b"Traceback" not in err
    kept = len(read_results(file).runs)
    assert kept >= 10
    assert len(read_results(log).runs) == kept


def test_an_interrupt_waits_until_a_run_is_in_the_log_and_in_the_file(run, space, tmp_path, monkeypatch):
    """It goes to the process, so that any thread may be the one that the operating system gives it to."""
    file = tmp_path / "r.json"
    add = RunLog.add

    def interrupted(log, made):
        if len(log.runs) == 4:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)  # until another thread has had it
        add(log, made)

    monkeypatch.setattr(RunLog, "add", interrupted)
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        ran = run("simulate", space, "--search", "random", "--budget", "5", "--repeat", "9", "--jobs", "1", "-o", file)
    finally:
        stop.set()
        other.join()
    assert (ran.code, "interrupted: 5 of 9 runs were made" in ran.err) == (1, True)
    assert read_results(file).runs == read_results(file.with_name("r.json.runs")).runs
    assert len(read_results(file).runs) == 5


def test_a_killed_worker_is_a_sentence_and_costs_no_run(run, space, tmp_path, monkeypatch):
    file = tmp_path / "r.json"
    made = simulation.make_runs

    def killed(recorded, tasks, *options):
        yield from itertools.islice(made(recorded, tasks, *options), 3)
        raise SearchError("one of the processes that run the searches was killed")

    monkeypatch.setattr(simulation, "make_runs", killed)
    ran = run("simulate", space, "--search", "random", "--budget", "5", "--repeat", "9", "--jobs", "1", "-o", file)
    assert ran.code == 1
    assert "was killed; --resume goes on with the 3 runs in" in ran.err
    assert len(read_results(file.with_name("r.json.runs")).runs) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--output", "r.txt"), "neither .json nor .csv"),
        (("--resume",), "--resume goes on with the file that --output names"),
        (("--repeat", "0"), "--repeat"),
        (("--cores", "4352"), "belong to --search profile"),
        (("--save-model", "m.json"), "belong to --search profile"),
    ],
)
def test_bad_usage(run, space, options, message):
    ran = simulate(run, space, *options)
    assert ran.code == 2
    assert message in ran.err


def test_an_unknown_search_is_a_sentence(run, space):
    ran = run("simulate", space, "--search", "randon")
    assert ran.code == 1
    assert "no search 'randon'" in ran.err
    assert "random" in ran.err


def test_a_bad_recording_is_a_sentence(run, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,time\n1,2\n2,fast\n")
    ran = run("simulate", file, "--search", "random", "--budget", "1")
    assert ran.code == 1
    assert "t.csv:3, field 'time': 'fast' stands where a number belongs" in ran.err
    assert run("simulate", tmp_path / "absent.csv").code == 1


def test_a_cut_recording_is_warned_of(run, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,b,time\n1,1,2\n2,1,3\n3")
    ran = run("simulate", file, "--search", "random", "--budget", "2", "--repeat", "1", "--jobs", "1")
    assert ran.code == 0
    assert "warning:" in ran.err
    assert "t.csv:4: the file ends within this entry" in ran.err


def test_the_unit_can_be_given(run, tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a,cost\n1,2\n2,3\n")
    options = ("--time", "cost", "--unit", "us", "--search", "full", "--budget", "9", "--repeat", "1", "--json")
    assert run("simulate", file, *options).json["optimum"] == pytest.approx(2e-6)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("s --budget 1 2 --json", "s --budget 1 --budget 2 --json"),
        ("s --budget 1 --budget 2 3", "s --budget 1 --budget 2 --budget 3"),
        ("s --budget=1 2", "s --budget=1 --budget 2"),
        ("s --repeat 1 2", "s --repeat 1 2"),
        ("--budget 1 2 -- s t", "--budget 1 --budget 2 -- s t"),
        ("s --budget", "s --budget"),
        ("s -", "s -"),
        ("--budget 1 2 s t 3", "--budget 1 --budget 2 s t 3"),
        ("--search a b 3 --json", "--search a --search b --search 3 --json"),
    ],
)
def test_lists_of_values(line, expected):
    assert repeat_options(line.split(), {"--budget", "--search"}) == expected.split()


def test_the_space_may_come_after_numbers(run, space):
    ran = run("simulate", "--search", "random", "--repeat", "1", "--jobs", "1", "--budget", "5", "6", space, "--json")
    assert ran.code == 0, ran.err
    assert [entry["budget"] for entry in ran.json["results"]] == [5, 6]


def test_settings_make_a_search_of_their_own(run, space):
    searches = ("genetic", "genetic:population=5", "hierarchical:numeric=random", "online")
    ran = run("simulate", space, "--search", *searches, "--budget", "30", "--repeat", "3", "--jobs", "1", "--json")
    assert ran.code == 0, ran.err
    assert [entry["search"] for entry in ran.json["results"]] == list(searches)
    assert ran.json["results"][0]["curve"] != ran.json["results"][1]["curve"]
    ran = run("simulate", space, "--search", "genetic:size=5", "--jobs", "1")
    assert ran.code == 1 and "has no setting 'size'" in ran.err


def test_the_minimum_the_quartiles_and_the_maximum(run, space):
    ran = simulate(run, space, "--repeat", "9", "--json")
    for entry in ran.json["results"]:
        assert entry["quartiles"] == sorted(entry["quartiles"])
        assert entry["quartiles"][2] == entry["median_slowdown"]
        assert entry["quartiles"][0] <= entry["mean_slowdown"] <= entry["quartiles"][4]


def test_the_twelve_strategies(run, space):
    pytest.importorskip("statsmodels")
    ran = run("simulate", space, "--strategies", "--budget", "25", "--repeat", "2", "--jobs", "1")
    assert ran.code == 0, ran.err
    names = list(STRATEGIES)
    assert names[:2] == ["RS", "LHS"] and len(names) == 12
    assert [line.split()[1] for line in ran.out.splitlines()[2:]] == names


def test_the_analysis_of_variance_step_by_step(run, space):
    pytest.importorskip("statsmodels")
    options = ("--search", "dlmt", "random", "--budget", "30", "--repeat", "1", "--jobs", "1", "--analysis")
    ran = run("simulate", space, *options)
    assert ran.code == 0, ran.err
    lines = [line.split() for line in ran.out.splitlines()]
    assert "dlmt, step 1:" in ran.out and ["term", "Df", "Sum", "Sq", "Mean", "Sq", "F", "value", "Pr(>F)"] in lines
    assert any(line[:2] == ["a", "1"] for line in lines) and any(line[:1] == ["Residuals"] for line in lines)
    assert " keeps " in ran.out and "the p-values of the F-tests" in ran.out
    steps = run("simulate", space, *options, "--json").json["analysis"]["dlmt"]
    assert steps[0]["fixed"] in ("a", "b")
    assert {"points", "candidates", "power", "table", "left_out", "predicted", "reason"} < set(steps[0])


def test_a_histogram_by_the_clock(run, space, tmp_path):
    file = tmp_path / "histogram.csv"
    options = ("--search", "random", "full", "--budget", "8", "--repeat", "3", "--histogram", file, "--step", "0.005")
    ran = run("simulate", space, *options, "--json")
    assert ran.code == 0, ran.err
    header, *lines = file.read_text().splitlines()
    assert header.startswith("search,seconds,mean") and len(lines) == len(ran.json["rows"]) >= 2
    assert {row["search"] for row in ran.json["rows"]} == {"random", "full"}
    assert ran.json["rows"][-1]["runs"] == 3
    assert run("simulate", space, *options, "--remeasure", "3").code == 2


@pytest.mark.parametrize("option", ["--output", "--histogram", "--save-model"])
def test_files_that_cannot_be_written_are_told_first(run, tmp_path, option):
    file = tmp_path / "nowhere" / "x.csv"
    ran = run("simulate", tmp_path / "absent.csv", "--search", "profile", option, file)
    assert ran.code == 1 and f"{file} cannot be written: there is no folder {file.parent}; make it" in ran.err
