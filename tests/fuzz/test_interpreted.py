"""The interpreter finds what it is there to find: each test breaks a generated module in one way."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType

import numpy as np
import pytest

from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.fuzz.interpreted import Interpreter, RaceError
from tests.fuzz.interpreted_team import DeadlockError


def two_steps(n, A, B):
    for i in range(n):
        B[i] = 2.0 * A[i]
    for i in range(n):
        A[i] = B[n - 1 - i]


def generated(function: Callable, *arguments: object) -> str:
    assert isinstance(function, FunctionType)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Stages(function, signature_of(names, arguments)).source


def arguments() -> tuple[int, np.ndarray, np.ndarray]:
    return 9, np.arange(9.0), np.zeros(9)


def run_parallel(source: str, seeds: range = range(20)) -> None:
    """Every version that has a team, by three workers with tiles of two, in several orders."""
    interpreter = Interpreter(source)
    names = [version.name for version in interpreter.module["VERSIONS"] if version.team]
    assert names
    for name in names:
        for seed in seeds:
            values = arguments()
            configuration = {"version": name, "threads": 3, **{f"tile_{member}": 2 for member in range(9)}}
            interpreter.run(configuration, values, seed)
            assert np.array_equal(values[1], 2.0 * np.arange(9.0)[::-1])


def test_right_module_passes() -> None:
    run_parallel(generated(two_steps, *arguments()))


def test_missing_wait_is_a_race() -> None:
    source = generated(two_steps, *arguments())
    broken = re.sub(r"( +)wait\(.*\)\n", r"\1pass\n", source)
    assert broken != source
    with pytest.raises(RaceError, match=r"B\[\d\] is written by task \d+ and touched by task \d+"):
        run_parallel(broken)


def test_write_after_read_without_wait_is_a_race() -> None:
    def shift(n, A, B):
        for i in range(n):
            B[i] = 2.0 * A[i]

    source = generated(shift, *arguments())
    broken = re.sub(r"B\[(\w+)\] =", r"A[(\1 + 3) % n] =", source)
    assert broken != source
    with pytest.raises(RaceError, match=r"A\[\d\] is (read|written) by task"):
        run_parallel(broken)


def test_subscript_outside_is_an_error_even_where_python_would_wrap_round() -> None:
    source = generated(two_steps, *arguments())
    broken = re.sub(r"B\[(\w+)\] =", r"B[\1 - 1] =", source)
    assert broken != source
    with pytest.raises(IndexError, match=r"B\[-1\] is outside the shape \(9,\)"):
        run_parallel(broken)


def test_task_that_is_never_completed_is_a_deadlock() -> None:
    source = generated(two_steps, *arguments())
    broken = re.sub(r"( +)complete\(.*\)\n", r"\1pass\n", source)
    assert broken != source
    with pytest.raises(DeadlockError, match="workers wait for"):
        run_parallel(broken)


def test_own_copy_read_before_it_is_written_is_a_race() -> None:
    def through_buffer(n, A, B):
        T = np.empty(4, dtype=np.float64)
        for i in range(n):
            for j in range(4):
                T[j] = A[i] + j
            for j in range(4):
                B[i] += T[j]

    def run(source: str) -> None:
        interpreter = Interpreter(source)
        for version in interpreter.module["VERSIONS"]:
            values = arguments()
            interpreter.run({"version": version.name, "threads": 3, **dict.fromkeys(TILES, 2)}, values, seed=0)
            assert np.array_equal(values[2], 4.0 * np.arange(9.0) + 6.0)

    source = generated(through_buffer, *arguments())
    run(source)
    broken = re.sub(r"T_private\[(\w+)\] = (?!T)", r"if \1 > 0: T_private[\1] = ", source)
    assert broken != source
    with pytest.raises(RaceError, match=r"T_private\[0\] of one worker is read by task \d, which did not write it"):
        run(broken)


def test_order_of_tasks_varies() -> None:
    """With waits removed and the race check off, some orders give a wrong result: orders are really different."""
    source = re.sub(r"( +)wait\(.*\)\n", r"\1pass\n", generated(two_steps, *arguments()))
    interpreter = Interpreter(source)
    name = next(version.name for version in interpreter.module["VERSIONS"] if version.team)
    results = set()
    for seed in range(20):
        values = arguments()
        values[2][:] = -1.0
        try:
            interpreter.run({"version": name, "threads": 3, **dict.fromkeys(TILES, 2)}, values, seed)
        except RaceError:
            results.add(tuple(values[2]))
    assert len(results) > 3


TILES = tuple(f"tile_{member}" for member in range(9))
