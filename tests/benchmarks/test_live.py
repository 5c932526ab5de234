"""A kernel that runs, tuned by both in turns: the other tuner's process is a small script here."""

import sys
import time
from unittest.mock import create_autospec

import numpy as np
import pytest

from benchmarks.search import live
from benchmarks.search.foreign import ForeignError
from benchmarks.timing import Workload
from polytune.runtime.calls.invocation import Invocation
from polytune.runtime.tuning.first_choices import FirstChoices
from polytune.tuner import Constraint, Integer, Is, Nominal, Space

SPACE = Space(
    [
        Nominal("version", ("tiled", "source")),
        Integer("tile", 1, 64, logarithmic=True, default=32, when=Is("version", "tiled")),
    ],
    [Constraint("version == 'source' or tile > 1")],
)

SCRIPT = """
import json, sys
request = json.loads(sys.stdin.readline())
assert [parameter["kind"] for parameter in request["parameters"]] == ["choice", "logarithmic"], request
proposals = [{"version": "tiled", "tile": 1}, {"version": "source", "tile": 7}, {"version": "tiled", "tile": 64}]
answers = []
while True:
    print(json.dumps({"proposal": proposals[len(answers) % 3]}), flush=True)
    line = sys.stdin.readline()
    if not line:
        break
    answers.append(json.loads(line)["seconds"])
    assert (answers[-1] is None) == (len(answers) % 3 == 1), answers
"""


class Generated:
    """A kernel whose run time is its configuration's."""

    space = SPACE

    def __init__(self):
        self.first_choices = create_autospec(FirstChoices, instance=True, starts=(SPACE.default(),))
        self.first_choices.risk.return_value = 1.0

    def prepare(self, values):
        return Invocation(values, (len(values[0]),))

    def run(self, configuration, invocation):
        end = time.perf_counter() + (2e-4 if configuration["version"] == "source" else 5e-5)
        while time.perf_counter() < end:
            pass


@pytest.fixture
def script(tmp_path, monkeypatch):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    monkeypatch.setattr(live, "SCRIPT", path)
    return path


def test_both_choose_in_turns(script):
    rival = live.Rival(sys.executable, SPACE, 0)
    try:
        run = live.one_run(Generated(), Workload((np.zeros(3),)), rival, 0, 150)
    finally:
        rival.close()
    assert len(run.own) == len(run.rival) == live.ITERATIONS
    assert run.invalid == 50  # every third proposal breaks the constraint; two of three count
    assert run.own_best < 2e-4 and run.rival_best < 2e-4  # both have found the tiled version
    assert run.converged or run.calls == 150
    found = live.summary("gemm MINI", [run])
    assert found["tuners"]["opentuner"]["invalid_proposals"] == 50
    assert found["lead"] == pytest.approx(sum(run.rival) / sum(run.own))


def test_a_process_that_ends_is_a_sentence(script):
    script.write_text("raise SystemExit('no ensemble today')")
    with pytest.raises(ForeignError, match="opentuner ended with no ensemble today"):
        live.Rival(sys.executable, SPACE, 0).ask()  # it may have ended before it is told of the space, or after
