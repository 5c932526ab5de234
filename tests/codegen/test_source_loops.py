"""The source's own loops compute what the source does, and stand in where isl makes none."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

from polytune.codegen.source_loops import source_program
from polytune.codegen.tiles import windows
from polytune.frontend import analyse
from polytune.schedule.analysis.dependences import compute_dependences
from polytune.schedule.candidate import Candidate
from polytune.schedule.orders.source import SOURCE
from polytune.schedule.planning import plan_serial
from tests.codegen.interpreter import Interpreter
from tests.codegen.test_programs import assert_close, instances
from tests.every_version import check_versions, stages_of
from tests.frontend.test_semantics import CASES as FEATURES
from tests.schedule.kernels import SMALL, Case

CASES = [
    *SMALL.values(),
    *(Case(f"{function.__name__} {number}", function, arguments)
      for function, cases in FEATURES.items() for number, arguments in enumerate(cases)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_computes_what_the_source_does(case: Case) -> None:
    expected, given = case.arguments(), case.arguments()
    with np.errstate(all="ignore"):
        wanted = case.function(*expected.values())
        scop = analyse(case.function, case.stages.signature)
        schedule = Candidate(SOURCE, scop.schedule, compute_dependences(scop))
        interpreter = Interpreter(source_program(plan_serial(schedule), scop), scop)
        found = interpreter.run(given, (), 0)
    for argument, value in expected.items():
        assert_close(given[argument], value, 0.0, argument)
    assert_close(found, wanted, 0.0, "result")
    assert interpreter.executed == instances(scop, interpreter.names)


def backwards(n, m, A, B):
    for i in range(n - 1, -1, -2):
        for j in range(m, i, -3):
            A[i, j] = A[i, j - 1] + 1.0
        if i % 3 == 1:
            B[i] += A[i, 0]
        else:
            for j in range(min(i, 4), -1, -1):
                B[j] -= 0.5


def test_remains_where_isl_fails_over_all_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(build: object, schedule: object) -> object:
        raise isl.Error("total dimensionality changed unexpectedly")

    for module in (windows, __import__("polytune.codegen.programs", fromlist=["programs"])):
        monkeypatch.setattr(module, "loops_of_schedule", failing)
    calls = [(n, 7, np.arange(80.0).reshape(8, 10)[:, :8].copy(), np.ones(8)) for n in range(9)]
    stages = stages_of(backwards, calls[0])
    assert [program.name for program in stages.programs] == ["source"]
    assert any(line.startswith("parallel: ") for line in stages.given_up)
    for arguments in calls:
        check_versions(backwards, stages, arguments)
