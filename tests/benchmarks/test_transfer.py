"""The benchmark of what history is worth on new sizes, on times that a formula gives."""

from __future__ import annotations

import json
import math
import time

import pytest
from typer.testing import CliRunner

from benchmarks import transfer
from benchmarks.transfer import OutOfTimeError, Problem, Recording, transferred
from tests.tuner.historical.test_transfer import SPACE, cost


def problem(n: int, counted: list) -> Problem:
    def measure(configuration):
        counted.append(configuration)
        return None if configuration.get("tile_0") == 512 else cost(configuration, n)

    return Problem("made_up", n, SPACE, (SPACE.default(),), lambda _: 1.0, measure)


def recordings(folder, counted: list, end: float = math.inf) -> list[Recording]:
    return [Recording(problem(n, counted), folder / f"{n}.jsonl", end) for n in (500, 1500, 4000)]


def test_history_brings_new_sizes_near_their_best(tmp_path):
    counted: list = []
    found = list(transferred(recordings(tmp_path, counted), long=80, trials=12))
    assert [each.size for each in found] == [500, 1500, 4000]
    assert all(each.near_after is not None and each.transferred <= 1.1 for each in found)
    assert all(each.trials <= 12 and each.first_choice > 3 for each in found)
    assert sum(each.cold for each in found) > sum(each.transferred for each in found)


def test_nothing_is_measured_twice(tmp_path):
    counted: list = []
    first = list(transferred(recordings(tmp_path, counted), long=40, trials=8))
    lines = sum(len(file.read_text().splitlines()) for file in tmp_path.iterdir())
    assert lines == len(counted)
    again: list = []
    assert list(transferred(recordings(tmp_path, again, time.monotonic() - 1), long=40, trials=8)) == first
    assert again == []


def test_a_run_ends_with_its_time(tmp_path):
    with pytest.raises(OutOfTimeError):
        list(transferred(recordings(tmp_path, [], time.monotonic() - 1), long=40, trials=8))


def test_the_command_says_what_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "problems", lambda name, factors: [problem(n, []) for n in (500, 1500, 4000)])
    arguments = ["made_up", "--keep", str(tmp_path), "--long", "40", "--trials", "8", "--json"]
    ran = CliRunner().invoke(transfer.app, arguments)
    assert ran.exit_code == 0, ran.output
    report = json.loads(ran.stdout)
    assert report["of"] == 3 and report["left"] == [] and report["failures"] == []

    def over(*arguments):
        raise OutOfTimeError

    monkeypatch.setattr(transfer, "transferred", over)
    ran = CliRunner().invoke(transfer.app, arguments[:-1])
    assert "no time was left for made_up: the same command goes on" in ran.stdout


def test_a_kernel_of_one_size_is_refused():
    with pytest.raises(ValueError, match="the data of laplacian have one size alone"):
        list(transfer.problems("laplacian", [1.0]))
