"""What is checked of a random program: a compiler that is wrong in one way is found out."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polytune.pipeline import Stages
from tests.fuzz.checking import Failure, Verdict, check
from tests.fuzz.comparing import Difference, compare
from tests.fuzz.minimising import minimised
from tests.fuzz.reach import Shape, TooManyInstances, reach
from tests.fuzz.references import Reference, prepared
from tests.fuzz.samples import Arguments, Sample
from tests.fuzz.scripts import script

ADDITION = Sample(
    "def kernel(n, A, B):\n    for i in range(n):\n        A[i] = B[n - 1 - i] + 1.0\n",
    (("n", "5"), ("A", "np.zeros(5)"), ("B", "np.arange(5.0)")),
    "n, A, B=B",
    strict=True,
)


def with_arguments(*setup: tuple[str, str]) -> Sample:
    return dataclasses.replace(ADDITION, setup=tuple({**dict(ADDITION.setup), **dict(setup)}.items()))


def interpreted(sample: Sample) -> Verdict:
    return check(sample, seed=3, compiled=False)


def test_right_program_passes_in_every_version() -> None:
    verdict = interpreted(ADDITION)
    assert verdict.outcome == "passed" and verdict.executions >= 2 and verdict.analysis_seconds > 0


def test_right_program_passes_compiled() -> None:
    verdict = check(ADDITION, seed=0, compiled=True, versions=0)
    assert verdict.outcome == "passed" and verdict.executions == 2 and verdict.call_seconds > 0


def broken(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    """Have generated modules contain something else."""
    source = Stages.source.func  # type: ignore[attr-defined]

    def replaced(stages: Stages) -> str:
        text = source(stages)
        assert old in text
        return text.replace(old, new)

    monkeypatch.setattr(Stages, "source", property(replaced))


def test_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "+ 1.0", "+ 1.5")
    failure = interpreted(ADDITION).failure
    assert failure is not None and failure.kind.startswith("wrong result of ")
    assert "A differs in 5 of 5 elements" in failure.message


def test_error_that_is_not_polytunes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(stages: Stages) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(Stages, "source", property(fail))
    failure = interpreted(ADDITION).failure
    assert failure is not None and failure.kind.startswith("ZeroDivisionError in ")


@pytest.mark.parametrize(
    "setup",
    [
        ("B", "np.zeros(4)"),
        ("B", "A[:]"),
        ("A", "np.frombuffer(np.zeros(5).tobytes())"),
        ("A", "np.broadcast_to(np.zeros(1), (5,))"),
    ],
    ids=["too small", "overlapping", "read-only", "overlapping itself"],
)
def test_call_that_has_to_be_refused(setup: tuple[str, str]) -> None:
    assert interpreted(with_arguments(setup)).outcome == "refused"


def test_call_that_should_not_be_refused_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "def check(", "def check(*arguments):\n    raise ArgumentError('no')\n\n\ndef unused(")
    failure = interpreted(ADDITION).failure
    assert failure is not None and failure.kind.startswith("refused, and should not be")


def test_call_outside_that_is_not_refused_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "def check(", "def check(*arguments):\n    pass\n\n\ndef unused(")
    failure = interpreted(with_arguments(("B", "np.zeros(4)"))).failure
    assert failure is not None and failure.kind.startswith("IndexError in ")


def test_what_lies_around_a_view_must_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = with_arguments(("A", "None"), ("base", "np.zeros(9)"))
    setup = (("base", "np.zeros(9)"), ("A", "base[2:-2]"), ("n", "5"), ("B", "np.arange(5.0)"))
    assert interpreted(dataclasses.replace(sample, setup=setup)).outcome == "passed"
    monkeypatch.setattr(Sample, "arguments", _with_neighbour_changed(Sample.arguments))
    failure = interpreted(dataclasses.replace(sample, setup=setup)).failure
    assert failure is not None and "base differs in 1 of 9 elements" in failure.message


def _with_neighbour_changed(arguments):
    calls = 0

    def made(sample, function):
        nonlocal calls
        calls += 1
        found = arguments(sample, function)
        found.names["base"][0] = calls
        return found

    return made


def test_sums_that_rounding_would_tell_the_order_of_have_bounds() -> None:
    source = "def kernel(n, A, B):\n    for i in range(n):\n        A[0] += B[i]\n"
    rounded = dataclasses.replace(
        ADDITION, source=source, strict=False, setup=(*ADDITION.setup[:2], ("B", "np.arange(5.0) / 7"))
    )
    exact = dataclasses.replace(ADDITION, source=source, strict=False)
    for sample, is_rounded in ((rounded, True), (exact, False)):
        _, reference = prepared(sample)
        assert (
            reference is not None and reference.bounds is not None and bool(reference.bounds["A"].any()) is is_rounded
        )


# Which elements are touched


def test_reach_takes_both_ways_of_a_condition_on_data_alone() -> None:
    source = """
def kernel(n, A, B):
    for i in range(n):
        if i > 2:
            if not i % 2 and A[i] > 0.0:
                A[i + 1] = B[i - 4] if B[i] > 0.5 else B[2 * i]
        elif i < 0:
            A[100] = 1.0
        while A[i] > 0.5:
            A[i] = A[i] * 0.5
"""
    reached = reach(source, {"n": 6, "A": Shape((9,)), "B": Shape((9,))}, {}, 1000)
    assert reached["A"].ranges == [(0, 5)] and reached["A"].is_inside and reached["A"].written
    assert reached["B"].ranges == [(0, 8)] and not reached["B"].written
    with pytest.raises(TooManyInstances):
        reach(source, {"n": 6, "A": Shape((9,)), "B": Shape((9,))}, {}, 10)


def test_reach_notes_arrays_that_the_kernel_makes() -> None:
    source = """
def kernel(n, A):
    t = np.zeros(n)
    u = np.empty_like(A)
    for i in range(n):
        t[i - 1] = A[i]
        u[i] = t[i]
"""
    reached = reach(source, {"n": 6, "A": Shape((9,))}, {}, 1000)
    assert reached["local 0"].ranges == [(-1, 5)] and not reached["local 0"].is_inside
    assert reached["local 1"].shape == (9,) and reached["local 1"].is_inside


# Smaller programs


def test_failing_program_is_made_small() -> None:
    source = """
def kernel(n, m, A, B, C, alpha):
    s = 0.0
    for i in range(1, n, 2):
        C[i] = alpha
        for j in range(m):
            if (i + j) % 3 == 1:
                B[i + 1, j] = min(A[i], 2.0) + alpha * C[j]
            else:
                s += A[j]
    C[0] = s
"""
    setup = (
        ("n", "7"),
        ("m", "5"),
        ("A", "np.random.default_rng(0).random(9)"),
        ("B", "np.zeros((9, 9))"),
        ("C", "np.zeros(9)"),
        ("alpha", "0.5"),
    )
    sample = Sample(source, setup, "n, m, A, B, C, alpha", strict=True)
    small = minimised(sample, lambda each: "B[" in each.source and "% 3" in each.source, seconds=60)
    assert "for" not in small.source and "A" not in small.source and len(small.source.splitlines()) == 3
    assert small.call == "B" and small.setup == (("B", "np.zeros((9, 9))"),)


def test_script_shows_a_failure_by_itself(tmp_path: Path) -> None:
    failure = Failure("wrong result of source", "A differs", {"version": "source"}, True, 3, (16, 16))
    path = tmp_path / "script.py"
    run = [sys.executable, str(path)]
    root = str(Path(__file__).parents[2])
    path.write_text(
        script(ADDITION, failure).replace(
            "Interpreter(stages.source)", "Interpreter(stages.source.replace('+ 1.0', '+ 2.0'))"
        )
    )
    wrong = subprocess.run(run, capture_output=True, text=True, env={"PYTHONPATH": root})
    assert wrong.returncode == 1 and "Mismatched elements: 5 / 5" in wrong.stderr


def test_script_compares_results_of_every_kind(tmp_path: Path) -> None:
    source = "def kernel(A, B):\n    A[1:] = B[:-1] / 3\n    return A.sum(), (A > 1), B\n"
    setup = ("A", "np.zeros(5)"), ("B", "np.arange(5.0)")
    sample = Sample(source, setup, "A, B", strict=False, numpy=True)
    failure = Failure("wrong result of source", "A differs", {"version": "source"}, True, 3, (16, 16))
    text = script(sample, failure)
    path = tmp_path / "script.py"
    run = [sys.executable, str(path)]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    path.write_text(text)
    right = subprocess.run(run, capture_output=True, text=True, env=environment)
    assert right.returncode == 0, right.stderr
    path.write_text(text.replace("Interpreter(stages.source)", "Interpreter(stages.source.replace('/ 3.0', '/ 3.5'))"))
    assert "Mismatched elements" in subprocess.run(run, capture_output=True, text=True, env=environment).stderr


def array_program(body: str, *setup: tuple[str, str]) -> Sample:
    names = ", ".join(name for name, _ in setup)
    return Sample(f"def kernel({names}):\n    {body}\n", setup, names, strict=False, numpy=True)


VECTOR = ("A", "np.arange(5, dtype=np.int8)")


@pytest.mark.parametrize(
    ("body", "setup", "outcome"),
    [
        ("return A + 1, A.sum(), A[0]", (VECTOR,), "passed"),
        ("return A[I[4]]", (VECTOR, ("I", "np.arange(1, 6)")), "refused"),
        ("A += B", (VECTOR, ("B", "np.arange(4, dtype=np.int8)")), "refused"),
        ("assert A[0] > 1, 'small'", (VECTOR,), "refused"),
        ("unused = {}\n    return A + 1", (VECTOR,), "unsupported"),
        ("return A.sum() > 3 and n ** 2.5 > 1e300", (VECTOR, ("n", "1e300")), "unusable"),
    ],
)
def test_outcomes_of_array_programs(body: str, setup: tuple[tuple[str, str], ...], outcome: str) -> None:
    verdict = interpreted(array_program(body, *setup))
    assert verdict.outcome == outcome, verdict
    assert bool(verdict.unsupported) is (outcome == "unsupported")


@pytest.mark.parametrize(
    ("body", "old", "new", "message"),
    [
        ("A[:] = A[::-1] * 2", "* np.int8(2)", "* np.int8(3)", "A differs"),
        ("return A[1:] * 2", "- 1", "- 2", "shape"),
    ],
)
def test_shapes_and_values_are_compared(
    monkeypatch: pytest.MonkeyPatch, body: str, old: str, new: str, message: str
) -> None:
    broken(monkeypatch, old, new)
    failure = interpreted(array_program(body, VECTOR)).failure
    assert failure is not None and message in failure.message


def test_types_are_compared() -> None:
    sample, wanted = array_program("return A", VECTOR), np.zeros(2, np.int8)
    compare(Reference({}, wanted, None), Arguments({}, ()), wanted.copy(), sample)
    for found in (wanted.astype(np.int16), wanted[0], (wanted,), None):
        with pytest.raises(Difference):
            compare(Reference({}, wanted, None), Arguments({}, ()), found, sample)
    compare(Reference({}, 2, None), Arguments({}, ()), np.int64(2), sample)
    with pytest.raises(Difference):
        compare(Reference({}, np.int8(2), None), Arguments({}, ()), np.int64(2), sample)


def test_changed_arguments_of_a_refused_array_program_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(
        monkeypatch,
        "def check(",
        "def check(*arguments):\n    arguments[0][0] = 7\n    raise ArgumentError('no')\n\n\ndef unused(",
    )
    failure = interpreted(array_program("A[1] = 2", VECTOR)).failure
    assert failure is not None and "refused after A had been changed" in failure.message
