"""``polytune compare``."""

from __future__ import annotations

import pytest

from polytune.cli.console import results
from polytune.lab import simulate
from polytune.lab.place import Line
from polytune.lab.recording import Recorder
from polytune.lab.results import Results
from polytune.lab.results_files import read_results, write_results
from polytune.lab.run import Run, Task


@pytest.fixture
def files(tmp_path):
    """Results of two searches on two spaces; the greedy one is made for them."""
    paths = []
    for number, name in enumerate(("bowl", "[red]trough")):
        recorder = Recorder(name, "", ("a", "b"))
        for a in range(12):
            for b in range(12):
                recorder.add({"a": a, "b": b}, [1.0 + (a - 4) ** 2 + (1 + number) * (b - 7) ** 2], place=Line("x", 1))
        path = tmp_path / f"{number}.json"
        write_results(path, simulate(recorder.build("x"), ["random", "greedy_restart"], [10, 40], 30))
        paths.append(path)
    return paths


def test_json(run, files):
    ran = run("compare", *files, "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert found["baseline"] == "random"
    assert len(found["comparisons"]) == 2 * 2 * 2
    for entry in found["comparisons"]:
        if entry["search"] == "random":
            assert (entry["effect"], entry["score"], entry["significant"]) == (0.5, 0.0, False)
        assert entry["repeats"] == 30
    better = [c for c in found["comparisons"] if (c["search"], c["budget"]) == ("greedy_restart", 40)]
    assert all(entry["effect"] > 0.5 for entry in better)
    assert found["scores"]["random"] == 0
    mine = [c["score"] for c in found["comparisons"] if c["search"] == "greedy_restart"]
    assert found["scores"]["greedy_restart"] == pytest.approx(sum(mine) / len(mine))


def test_tables(run, files, monkeypatch):
    monkeypatch.setattr(results, "_width", 200)  # wide enough that no heading is broken
    ran = run("compare", *files)
    assert ran.code == 0, ran.err
    assert ran.out.count("% of optimum") == 2
    assert "[red]trough" in ran.out
    assert "score over 2 spaces" in ran.out
    *_, better, worse, note = ran.out.rstrip().splitlines()
    assert (better.split()[0], worse.split()) == ("greedy_restart", ["random", "0.000", "4", "of", "4"])
    assert note.startswith("p is that of the two-sided Mann-Whitney U test after Holm's correction for 4 comparisons")


def test_another_baseline(run, files):
    found = run("compare", files[0], "--baseline", "greedy_restart", "--json").json
    losing = [c for c in found["comparisons"] if (c["search"], c["budget"]) == ("random", 40)]
    assert losing[0]["effect"] < 0.5


def test_a_baseline_without_runs_is_bad_usage(run, files):
    ran = run("compare", *files, "--baseline", "tpe")
    assert ran.code == 2
    assert "on bowl there are only random, greedy_restart" in ran.err


def test_a_baseline_without_a_budget_is_bad_usage(run, tmp_path):
    recorder = Recorder("line", "", ("a",))
    for a in range(20):
        recorder.add({"a": a}, [1.0 + a], place=Line("x", 1))
    recorded = recorder.build("x")
    write_results(tmp_path / "1.json", simulate(recorded, ["random"], [5], 2))
    write_results(tmp_path / "2.csv", simulate(recorded, ["full"], [5, 9], 2))
    ran = run("compare", tmp_path / "1.json", tmp_path / "2.csv")
    assert ran.code == 2
    assert "no runs with 9 evaluations" in ran.err


def test_figures(run, files, tmp_path):
    pytest.importorskip("matplotlib")
    ran = run("compare", files[0], "--plot", tmp_path / "figures", "--json")
    assert ran.code == 0, ran.err
    assert len(ran.json["figures"]) == 7
    assert all((tmp_path / "figures" / file.rpartition("/")[2]).stat().st_size > 1000 for file in ran.json["figures"])


def test_what_is_no_result_is_a_sentence(run, tmp_path):
    file = tmp_path / "r.json"
    file.write_text('{"a": 1}')
    ran = run("compare", file)
    assert ran.code == 1
    assert "r.json:1: this is no result of 'polytune simulate --output' (it has no 'space')" in ran.err


def test_no_file_is_bad_usage(run):
    assert run("compare").code == 2


def test_nothing_is_shortened_where_the_output_is_no_terminal(run, files):
    ran = run("compare", *files)
    assert "greedy_restart" in ran.out and "% of optimum" in ran.out and "…" not in ran.out


def test_means_over_some_cells_only_are_marked_and_come_last(run, files, tmp_path, monkeypatch):
    """What ran on one of the two spaces alone is not held against the others."""
    monkeypatch.setattr(results, "_width", 200)
    found = read_results(files[0])
    alone = [Run(Task("oracle", budget, repeat), (1.0,) * budget) for budget in found.budgets for repeat in range(30)]
    write_results(tmp_path / "more.json", Results.ordered(found.setting, [*found.runs, *alone]))
    ran = run("compare", tmp_path / "more.json", files[1])
    assert ran.code == 0, ran.err
    scores = [line.split() for line in ran.out.splitlines() if line.rstrip().endswith("of 4")]
    assert [line[0] for line in scores] == ["greedy_restart", "random", "oracle"]
    assert scores[2][1:] == ["1.000", "*", "2", "of", "4"]
    assert "* a mean over some of the spaces and budgets only, which compares with no other" in ran.out
    document = run("compare", tmp_path / "more.json", files[1], "--json").json
    assert (document["cells"]["oracle"], document["all_cells"]) == (2, 4)
