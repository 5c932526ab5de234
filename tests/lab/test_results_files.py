"""Results on the disk: complete, growing, cut off, merged."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from polytune.errors import RecordingError, RecordingWarning
from polytune.lab import simulate
from polytune.lab.results import Results, Setting
from polytune.lab.results_files import RunLog, read_results, write_results
from polytune.lab.run import Run, Task


@pytest.fixture
def results(recorded) -> Results:
    return simulate(recorded, ["random", "genetic"], [5, 30], 3, seed=11)


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_what_is_written_is_read(results, tmp_path, ending):
    path = tmp_path / f"r.{ending}"
    write_results(path, results)
    assert read_results(path) == results


def test_json_has_the_summary(results, tmp_path):
    write_results(tmp_path / "r.json", results)
    document = json.loads((tmp_path / "r.json").read_text())
    assert {name: document[name] for name in ("space", "optimum", "results")} == results.summary()


def test_json_may_be_laid_out_by_others(results, tmp_path):
    path = tmp_path / "r.json"
    write_results(path, results)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    assert read_results(path) == results


def test_another_ending(results, tmp_path):
    with pytest.raises(RecordingError, match=r"written as \.json or \.csv"):
        write_results(tmp_path / "r.xml", results)


def test_the_setting_tells_spaces_apart(recorded):
    setting = Setting.of(recorded, 0)
    assert Setting.of(recorded, 0) == setting
    slower = replace(recorded, seconds=recorded.seconds * 1.5)
    assert Setting.of(slower, 0).fingerprint != setting.fingerprint
    assert Setting.of(slower, 0).distribution == setting.distribution
    assert setting.distribution[0] == 1.0


def test_a_log_is_gone_on_with(results, tmp_path):
    path = tmp_path / "r.json.runs"
    with RunLog(path, results.setting, resume=False) as log:
        for run in results.runs[:4]:
            log.add(run)
    with RunLog(path, results.setting, resume=True) as log:
        assert tuple(log.runs) == results.runs[:4]
        for run in results.runs[4:]:
            log.add(run)
    assert read_results(path) == results


def test_a_log_is_not_begun_anew(results, tmp_path):
    path = tmp_path / "r.json.runs"
    with RunLog(path, results.setting, resume=False) as log:
        log.add(results.runs[0])
    with pytest.raises(RecordingError, match="runs of an earlier simulation"):
        RunLog(path, results.setting, resume=False)
    other = replace(results.setting, seed=12)
    with pytest.raises(RecordingError, match=r"another simulation \(seed 11, not 12\)"):
        RunLog(path, other, resume=True)
    assert len(read_results(path).runs) == 1


def test_a_log_cut_in_mid_line(results, tmp_path):
    path = tmp_path / "r.json.runs"
    with RunLog(path, results.setting, resume=False) as log:
        for run in results.runs[:3]:
            log.add(run)
    path.write_text(path.read_text()[:-20])
    with pytest.warns(RecordingWarning, match=r"runs:4: the file ends within this entry; the 2 before"):
        assert read_results(path).runs == results.runs[:2]
    with pytest.warns(RecordingWarning), RunLog(path, results.setting, resume=True) as log:
        log.add(results.runs[2])
    assert read_results(path).runs == results.runs[:3]


def test_a_log_without_runs(results, tmp_path):
    path = tmp_path / "r.json.runs"
    RunLog(path, results.setting, resume=False).__exit__(None, None, None)
    assert read_results(path) == Results(results.setting, ())


def test_a_log_takes_over_a_finished_file(results, tmp_path):
    with RunLog(tmp_path / "log", results.setting, resume=False) as log:
        log.add(results.runs[2])
        log.take_over(results)
        assert sorted(map(repr, log.runs)) == sorted(map(repr, results.runs))
        with pytest.raises(RecordingError, match="another simulation"):
            log.take_over(Results(replace(results.setting, seed=1), ()))


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "{}", '{"runs": []}', "{", '{"space": "x"}\n{"y": 1}\n', "[1]"])
def test_something_else(write, text):
    with pytest.raises(RecordingError, match=r"r\.json"):
        read_results(write("r.json", text))


@pytest.mark.parametrize(
    ("name", "value"), [("distribution", []), ("distribution", [0.5]), ("optimum", 10**400), ("seed", float("inf"))]
)
def test_a_setting_that_cannot_be(results, tmp_path, name, value):
    path = tmp_path / "r.json"
    write_results(path, results)
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(RecordingError, match=r"r\.json: these are no results of 'polytune simulate'"):
        read_results(path)


def test_a_table_has_runs_of_any_length(results, tmp_path):
    long = replace(results.runs[0], slowdowns=(1.234567,) * 20_000)
    write_results(tmp_path / "r.csv", Results(results.setting, (long,)))
    assert read_results(tmp_path / "r.csv").runs == (long,)


def test_bad_runs_in_a_log_name_the_line(results, tmp_path):
    path = tmp_path / "log"
    with RunLog(path, results.setting, resume=False) as log:
        for run in results.runs[:3]:
            log.add(run)
    lines = path.read_text().splitlines()
    lines[2] = lines[2].replace('"slowdowns":[', '"slowdowns":[0.5,')
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordingError, match=r"log:3: .*a slowdown is below 1"):
        read_results(path)


def test_bad_runs_in_a_table_name_the_line(results, tmp_path):
    path = tmp_path / "r.csv"
    write_results(path, results)
    lines = path.read_text().splitlines()
    lines[3] = lines[3].replace("genetic", "genetic").replace(lines[3].split(",")[5].split()[0], "fast", 2)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordingError, match=r"r\.csv:4: this is no run"):
        read_results(path)


@pytest.mark.parametrize("name", ["r.json", "r.csv"])
def test_what_was_measured_anew_is_kept(recorded, tmp_path, name):
    measured = simulate(recorded, ["random"], [3], 4, remeasured=10)
    nothing = Run(Task("random", 3, 4), (math.inf,), math.inf)
    results = Results.ordered(measured.setting, [*measured.runs, nothing])
    write_results(tmp_path / name, results)
    found = read_results(tmp_path / name)
    assert found == results and found.setting.random_curve == results.setting.random_curve
    assert [run.final for run in found.runs] == [run.final for run in results.runs]
