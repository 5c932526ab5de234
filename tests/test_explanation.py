"""What people are told of versions."""

import re

import numpy as np
import pytest

import polytune
from polytune import explanation
from polytune.explanation import explain_versions
from tests.schedule.kernels import polybench_case


@pytest.mark.parametrize("name", ["gemm", "seidel-2d", "gramschmidt", "adi", "floyd-warshall", "nussinov", "atax"])
def test_every_version_is_explained_once(name: str) -> None:
    stages = polybench_case(name).stages
    explained = re.findall(r"^  (\w+):", explain_versions(stages), re.MULTILINE)
    given_up = [text.partition(":")[0] for text in stages.given_up]
    assert sorted(explained) == sorted([*(program.name for program in stages.programs), *given_up])


def scaled_bytes(A):
    for i in range(len(A)):
        A[i] = A[i] * 3


def chained(A):
    for i in range(1, len(A)):
        A[i] += A[i - 1]


@pytest.mark.parametrize(
    ("function", "dtype", "reason"),
    [(scaled_bytes, "uint8", "has 'A', an array of uint8"), (chained, "float64", "in an earlier iteration")],
)
def test_reason_for_the_processor_alone_is_given_where_there_are_devices(function, dtype, reason, monkeypatch) -> None:
    kernel = polytune.kernel(budget=0)(function)
    kernel(np.ones(5, dtype))
    assert "runs on the CPU only" not in kernel.explain()
    monkeypatch.setattr(explanation, "devices", lambda: (object(),))
    line = next(line for line in kernel.explain().splitlines() if line.startswith(f"  {function.__name__} runs on"))
    assert line.endswith(reason)


def with_loops_in_statements(A, B, limit, n):
    x = A
    for i in range(5):
        x = x[x > limit * i]
        B[i] = x.sum()
    for i in range(len(A)):
        j = 0
        while j < A[i]:
            j += 1
            B[0] += j
    for i in range(len(A)):
        if A[i] > 100:
            break
        B[i] += A[i]
    for i in range(len(A)):
        for j in range(n[i], n[i + 1]):
            B[i] += A[j]


def test_loops_that_are_not_scheduled_are_named_with_the_reason():
    kernel = polytune.kernel(budget=0)(with_loops_in_statements)
    kernel(np.arange(5.0), np.zeros(5), 0.5, np.zeros(6, np.int64))
    lines = [line.partition(": ")[2].strip() for line in kernel.explain().splitlines()]
    why = "as arrays in it have other shapes from one iteration to the next"
    assert f"for i in range(5): run by NumPy as it stands, {why}" in lines
    in_order = "one statement, its iterations in order, as"
    assert f"while j < A[i]: {in_order} how often it runs depends on data" in lines
    assert f"for i in range(len(A)): {in_order} it may end early" in lines
    assert f"for j in range(n[i], n[i + 1]): {in_order} its bounds depend on data" in lines
