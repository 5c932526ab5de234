"""Bounds conditions: exactly the sizes for which the program leaves an array."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import islpy as isl
import numpy as np
import pytest

from polytune.frontend.polyhedral.bounds import BoundsCondition, access_bounds, extent_parameter
from polytune.frontend.scop import Scop
from tests.frontend import features, programs
from tests.frontend.helpers import analysed
from tests.frontend.interpreter import Run


class OutOfBoundsError(Exception):
    pass


class CheckedRun(Run):
    """A run that stops at the first access out of bounds."""

    def _index(self, element: Any) -> tuple[int, ...]:
        index = tuple(int(self._value(subscript)) for subscript in element.subscripts)
        if not all(0 <= i < n for i, n in zip(index, self.memory[element.array].shape, strict=True)):
            raise OutOfBoundsError
        return index


def is_violated(condition: BoundsCondition, values: dict[str, int]) -> bool:
    violated = condition.violated
    for name, value in values.items():
        position = violated.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            violated = violated.fix_val(isl.dim_type.param, position, isl.Val(value, violated.get_ctx()))
    assert violated.dim(isl.dim_type.param) <= len(values)
    return not violated.is_empty()


def check(scop: Scop, conditions: tuple[BoundsCondition, ...], arguments: dict[str, Any]) -> bool:
    """Compare the conditions with a run; whether the run stayed within its arrays."""
    run = CheckedRun(scop, arguments)
    try:
        run.execute()
        inside = True
    except OutOfBoundsError:
        inside = False
    values = dict(run.parameters)
    for condition in conditions:
        for name, array, dimension in condition.extents:
            values[name] = arguments[array].shape[dimension]
    assert inside == (not any(is_violated(condition, values) for condition in conditions))
    return inside


def shifted(A, B, n: int, k: int):
    for i in range(n):
        A[i + k] = B[2 * i]


def guarded(A, B):
    for i in range(len(A)):
        A[i] = (B[i - 1] if i > 0 else 0.0) + (B[i + 2] if i % 3 == 0 else 1.0)


def local(A, n: int):
    t = np.zeros(2 * max(n, 0))
    for i in range(len(A)):
        t[i] = A[i]
        A[i] = t[i]


def strided(A, n: int):
    for i in range(1, n, 3):
        A[i] = 1.0


def remainders(A, n: int, m: int):
    for i in range(n):
        if i % 4 == 3:
            A[i + 1, 5 - i] = A[i + 2, i + 2]
        else:
            A[i, i] = A[i, i] + min(A[(i + 2) % 3, abs(i - m // 2) + 2], A[i + 2, i + 2])


def chosen_between_equals(A, B, n: int):
    for i in range(len(A)):
        A[i] = 0.5 if B[i + n] > 0.0 else 0.5  # noqa: RUF034


def conditions_on_data_and_indices(A, B, n: int):
    for i in range(len(A)):
        A[i] = 1.0 if i >= n or A[0] > 2.0 else B[i]
        A[i] = B[i + 1] * 0.5 if not (A[0] > 2.0 or i >= n) else A[i]
        if i >= n or A[0] > 2.0:
            A[i] = 1.0
        else:
            A[i] = B[i + 2] * 0.5


@pytest.mark.parametrize(
    "function",
    [
        chosen_between_equals,
        conditions_on_data_and_indices,
        remainders,
        programs.gemm,
        programs.atax,
        shifted,
        guarded,
        local,
        strided,
        features.ends,
        features.substituted,
    ],
)
def test_conditions_are_exact(function: Callable[..., Any]) -> None:
    scop = analysed(function)
    conditions = access_bounds(scop)
    assert conditions
    kinds = scop.signature.arguments
    ranks = [getattr(kind, "ndim", 0) for _, kind in kinds]
    integers = [name for name, kind in kinds if getattr(kind, "ndim", 0) == 0 and kind.dtype == "int64"]
    choices = np.random.default_rng(1)
    outcomes = set()
    for _ in range(60):
        arguments: dict[str, Any] = {}
        for (name, _kind), rank in zip(kinds, ranks, strict=True):
            if rank:
                arguments[name] = np.ones(tuple(choices.integers(1 if choices.random() < 0.8 else 0, 5, rank)))
            else:
                arguments[name] = int(choices.integers(-2, 5)) if name in integers else 1.5
        outcomes.add(check(scop, conditions, arguments))
    assert outcomes == {True, False}


def test_lower_bounds_are_conditions_too() -> None:
    conditions = access_bounds(analysed(shifted))
    sides = {(condition.array, condition.side) for condition in conditions}
    assert sides == {("A", "lower"), ("A", "upper"), ("B", "upper")}
    lower = next(condition for condition in conditions if condition.side == "lower")
    context = lower.violated.get_ctx()
    assert lower.violated.is_equal(isl.Set.read_from_str(context, "[n, k] -> { : n > 0 and k < 0 }"))
    assert (lower.location.segment, lower.extents) == ("A[i + k]", ())
    assert lower.location.text[lower.location.column :] == "A[i + k] = B[2 * i]"


def test_extents_that_the_scop_knows_keep_their_names() -> None:
    scop = analysed(programs.gemm)
    assert extent_parameter(scop, "C", 0) == "n"
    assert extent_parameter(scop, "B", 1) == "$B$shape_1"
    extents = itertools.chain.from_iterable(condition.extents for condition in access_bounds(scop))
    assert set(extents) == {("$A$shape_0", "A", 0), ("$B$shape_0", "B", 0), ("$B$shape_1", "B", 1)}


def test_a_condition_that_another_implies_is_left_out() -> None:
    conditions = access_bounds(analysed(programs.jacobi_2d))
    assert sorted((condition.array, condition.dimension) for condition in conditions) == [("A", 1), ("B", 0), ("B", 1)]


def test_a_kernel_that_never_leaves_its_arrays_has_no_conditions() -> None:
    assert access_bounds(analysed(features.steps)) == ()
