"""Factored sums: which kernels have them, and that shared with devices they give what the source gives.

Terms are small whole numbers, of which every order of a sum gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.schedule.analysis.instances import is_of_source
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.regions import RegionKind
from polytune.schedule.rewrites import factoring
from polytune.schedule.rewrites.factoring import COUNTS, FACTORED, neutral_element
from tests.device_versions.offered import cuda_stand_in, offered
from tests.device_versions.versions import assert_same_bits
from tests.fuzz.interpreted import Interpreter

FEW = {1: (7,), 2: (3, 4), 3: (2, 3, 2)}
"""Partial sums, so few that small arrays have several terms in each."""


def returned(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    return total


def part_of_a_product(x, y, out):
    for i in range(2, x.shape[0] - 1):
        out[1] -= x[i] * y[i - 2]


def sum_and_maximum(A, out):
    n, m = A.shape
    total, largest = 0.0, -3.0
    for i in range(n):
        for j in range(m):
            total += A[i, j] * A[i, j]
            largest = max(largest, A[i, j])
    out[0] = total
    out[1] = largest


def inside_the_border(A, out):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            out[0] = min(out[0], A[i, j])


def four_loops(A):
    total = 1
    for a in range(A.shape[0]):
        for b in range(A.shape[1]):
            for c in range(A.shape[2]):
                for d in range(A.shape[3]):
                    total += A[a, b, c, d]
    return total


def product(x, out):
    for i in range(x.shape[0]):
        out[0] *= x[i]


def scaled_and_summed(x, out):
    for i in range(x.shape[0]):
        x[i] = 2 * x[i] + i
    for i in range(x.shape[0]):
        out[0] += x[i]
    for i in range(x.shape[0]):
        x[i] = x[i] + out[0]


def numbers(*shape: int, dtype: str = "float64") -> np.ndarray:
    return (np.arange(np.prod(shape)) % 11 - 4).reshape(shape).astype(dtype)


CASES: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[np.ndarray, ...]]]] = {
    "returned": (returned, lambda n: (numbers(n),)),
    "part_of_a_product": (
        part_of_a_product,
        lambda n: (numbers(n, dtype="float32"), numbers(n, dtype="float32"), numbers(2, dtype="float32")),
    ),
    "sum_and_maximum": (sum_and_maximum, lambda n: (numbers(n, 2 * n), numbers(2))),
    "inside_the_border": (inside_the_border, lambda n: (numbers(n, n, dtype="int32"), numbers(1, dtype="int32") + 5)),
    "four_loops": (four_loops, lambda n: (numbers(n, 3, n, 5, dtype="int64"),)),
    "product": (product, lambda n: (numbers(n, dtype="int64"), numbers(1, dtype="int64") + 9)),
    "scaled_and_summed": (scaled_and_summed, lambda n: (numbers(n), numbers(1))),
}


@pytest.fixture
def few_partial_sums(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(factoring, "COUNTS", FEW)
    yield


def stages_of(function: Callable[..., Any], arguments: tuple[Any, ...], *, strict: bool = False) -> Stages:
    names = function.__code__.co_varnames[: len(arguments)]
    return Stages(function, signature_of(names, arguments), strict=strict, devices=True)


@pytest.mark.parametrize("name", CASES)
def test_shared_with_a_device(name: str, few_partial_sums: None) -> None:
    if cuda_stand_in() is None:
        pytest.skip("the stand-in for CUDA cannot be built here")
    function, make = CASES[name]
    stages = stages_of(function, make(3))
    plan = stages.device_plan
    assert plan is not None and plan.recipe.order == FACTORED
    interpreter = Interpreter(stages.source)
    with offered(("cuda",)) as (device,):
        execution = interpreter.execution()
        for size in (0, 1, 6, 23 if make(1)[0].ndim == 1 else 9):
            wanted = make(size)
            result = function(*wanted)
            for platforms, ratio in (((device,), 1.0), (("cpu", device), 0.4)):
                choice = {"version": "partitioned", "split": len(platforms) - 1, "ratio_0": ratio}
                choice |= {f"platform_{number}": platform for number, platform in enumerate(platforms)}
                shape = {"block": 6, "height": 2, "depth": 2}
                choice |= {f"{key}_{number}": value for key, value in shape.items() for number in range(2)}
                arguments = make(size)
                found = interpreter.run_partitioned(execution, execution.prepare(choice), arguments, seed=size)
                assert_same_bits((*arguments, found), (*wanted, result), f"{name}, {size}, {choice}")


def test_threads_add_up_in_registers_and_read_neighbouring_elements() -> None:
    text = stages_of(sum_and_maximum, (numbers(4, 4), numbers(2))).show("cuda")
    rows, columns = COUNTS[2]
    assert f"v_A[(((c0 * {rows}) + c2)) * e1_v_A + ((c1 * {columns}) + c3)]" in text
    assert "r1[j_Y][j_X] = pt_max_f64(r1[j_Y][j_X], " in text
    assert "= (-PT_INFINITY_f64)" in text


def test_candidate_is_proven() -> None:
    (found,) = stages_of(scaled_and_summed, (numbers(4), numbers(1)))._factored.made
    assert is_of_source(found) and is_proven_legal(found.schedule, found.dependences)
    assert found.origin is not None
    # What only begins partial sums, or adds them up, stands for nothing in the source.
    assert len(found.origin.copies) == 2


def test_processor_adds_up_what_devices_leave() -> None:
    plan = stages_of(returned, (numbers(4),)).device_plan
    assert plan is not None
    kinds = [region.kind for region in plan.regions]
    assert kinds == [RegionKind.SERIAL, RegionKind.PARALLEL, RegionKind.PARALLEL, RegionKind.SERIAL]


def test_strict_sums_stay_on_the_processor() -> None:
    stages = stages_of(returned, (numbers(4),), strict=True)
    assert stages.device_plan is None
    assert "accumulates into total (+)" in stages.show("cuda")


def row_sums(A, out):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i] += A[i, j]


def prefixes(x, out):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
        out[i] = total


def in_a_loop(x, out):
    for t in range(x.shape[0]):
        for i in range(x.shape[0]):
            out[0] += x[i]
        x[t] = out[0]


def below_the_diagonal(A, out):
    for i in range(A.shape[0]):
        for j in range(i):
            out[0] = min(out[0], A[i, j])


def of_another_sum(x, out):
    for i in range(x.shape[0]):
        out[0] += x[i] + out[1]
        out[1] += x[i]


@pytest.mark.parametrize("function", [row_sums, below_the_diagonal, prefixes, in_a_loop, of_another_sum])
def test_other_sums_are_left_as_they_are(function: Callable[..., Any]) -> None:
    """Rows that are independent already, triangles, sums of which others read what is added up so far, and those inside
    of loops."""
    arguments = (numbers(4, 4) if "A" in function.__code__.co_varnames else numbers(4), numbers(4))
    assert stages_of(function, arguments)._factored.made == ()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize(
    ("operator", "apply"), [("+", np.add), ("*", np.multiply), ("min", np.minimum), ("max", np.maximum)]
)
def test_neutral_elements_change_nothing(operator: str, apply: np.ufunc, dtype: str) -> None:
    limits = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    values = np.array([limits.min, -1, 0, 1, limits.max], dtype)
    if dtype.startswith("float"):
        values = np.append(values, np.array([-0.0, np.inf, -np.inf], dtype))
    neutral = np.array(neutral_element(operator, dtype), dtype)
    assert_same_bits(
        [np.signbit(apply(values, neutral)), apply(values, neutral)], [np.signbit(values), values], operator
    )
