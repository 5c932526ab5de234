"""Variables that are read and may not have been assigned, against what Python does."""

# ruff: noqa: B007, F821, F841

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnassignedVariableError, UnsupportedSourceError
from polytune.frontend import analyse
from polytune.frontend.polyhedral.unassigned import unassigned_reads
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of


def after_a_loop(n, m, A):
    for i in range(n):
        x = A[i]
    A[0] = x


def after_nested_loops(n, m, A):
    for i in range(n):
        for j in range(i + 1, m):
            x = A[j] + i
    A[0] = x


def read_under_a_condition(n, m, A):
    for i in range(n):
        x = A[i]
    if m > 2:
        A[0] = x


def from_the_iteration_before(n, m, A):
    for i in range(n):
        if i > m:
            A[i] = x
        if i == 2:
            x = A[0]
        if i == 0 and m == 0:
            x = 1.0


def counting_down(n, m, A):
    for i in range(n - 1, -1, -1):
        if i < m:
            A[i] = x + 1.0
        else:
            x = A[i] * 2.0


def in_branches(n, m, A):
    if n > 2:
        x = 1.0
    elif m > 1:
        x = A[1]
    A[0] = x


def in_a_conditional_expression(n, m, A):
    for i in range(n):
        x = A[i]
    A[0] = x if m > 2 else 3.0


def accumulated(n, m, A):
    for i in range(n):
        total = 0.0
        for j in range(m):
            total += A[j]
        last = total
    A[0] = last + total


def returned(n, m, A):
    A[0] = 2.0
    for i in range(n):
        x = A[i]
    return x


def minimum_of(A, n):
    for i in range(n):
        least = A[i]
    return least


def inlined(n, m, A):
    A[0] = 2.0
    A[1] = minimum_of(A, m)


def affine_value(n, m, A):
    for i in range(n):
        k = i + 1
    A[0] = k


def always_assigned(n, m, A):
    x = 0.0
    for i in range(n):
        y = A[i]
        x = x + y
        if m > 1:
            z = x
        if m <= 1:
            z = y
        A[i] = z
    A[0] = x


PROGRAMS = [
    after_a_loop,
    after_nested_loops,
    read_under_a_condition,
    from_the_iteration_before,
    counting_down,
    in_branches,
    in_a_conditional_expression,
    accumulated,
    returned,
    inlined,
    affine_value,
    always_assigned,
]


def is_violated(condition: isl.Set, values: dict[str, int]) -> bool:
    for name, value in values.items():
        position = condition.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            condition = condition.fix_val(isl.dim_type.param, position, isl.Val(value, condition.get_ctx()))
    return not condition.is_empty()


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_conditions_hold_exactly_where_python_raises(function: Callable[..., Any]) -> None:
    reads = unassigned_reads(analyse(function, signature_of(("n", "m", "A"), (1, 1, np.ones(9)))))
    raised = 0
    for n in range(-1, 6):
        for m in range(-1, 6):
            try:
                function(n, m, np.arange(9.0))
            except UnboundLocalError:
                raised += 1
                assert any(is_violated(read.violated, {"n": n, "m": m}) for read in reads), (n, m)
            else:
                assert not any(is_violated(read.violated, {"n": n, "m": m}) for read in reads), (n, m)
    assert (raised == 0) == (function is always_assigned)
    assert (not reads) == (function is always_assigned)


@pytest.mark.parametrize("function", [after_a_loop, returned, accumulated])
def test_a_call_is_refused_before_anything_is_written(function: Callable[..., Any]) -> None:
    kernel, A = polytune.kernel(function), np.ones(3)
    with pytest.raises(UnassignedVariableError) as caught:
        kernel(0, 1, A)
    assert isinstance(caught.value, UnboundLocalError) and isinstance(caught.value, ArgumentError)
    np.testing.assert_array_equal(A, 1.0)
    text = str(caught.value)
    assert f"{__file__}:" in text and "n = 0;" in text and "^" in text and "= 0.0" in text
    wanted, got = np.arange(3.0), np.arange(3.0)
    assert kernel(2, 1, got) == function(2, 1, wanted)
    np.testing.assert_array_equal(got, wanted)


def awkward_line(A):
    for i in range(A.shape[0] - 1):
        x = A[i]
    A[0] = x  # ${x} "quoted" \ {


def test_the_line_is_shown_as_it_stands() -> None:
    with pytest.raises(UnassignedVariableError) as caught:
        polytune.kernel(awkward_line)(np.ones(1))
    assert f'\n        A[0] = x  # ${{x}} "quoted" \\ {{\n{" " * 15}^\n' in str(caught.value)
    assert "A.shape[0] = 1;" in str(caught.value)


def never_assigned(A):
    for i in range(2, 2):
        k = i
    A[0] = k


def read_first(A):
    for i in range(3):
        if i > 0:
            x = 1.0
        A[i] = x


@pytest.mark.parametrize("function", [never_assigned, read_first])
def test_what_is_never_assigned_is_refused_at_once(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedSourceError, match="is read before anything has assigned it"):
        Stages(function, signature_of(("A",), (np.ones(9),))).source  # noqa: B018


def assigned_by_data(n, A):
    for i in range(n):
        if A[i] > 0.5:
            x = A[i]
    A[0] = x


def read_by_data(n, A):
    for i in range(n):
        x = A[i]
    if A[0] > 0.5:
        A[1] = x
    A[2] = x if A[2] > 0.5 else 0.0
    while A[3] > 0.5 and A[0] < x:
        A[3] -= x


@pytest.mark.parametrize("function", [assigned_by_data, read_by_data])
def test_what_depends_on_data_is_left_to_the_data(function: Callable[..., Any]) -> None:
    reads = unassigned_reads(analyse(function, signature_of(("n", "A"), (1, np.ones(9)))))
    assert [str(read.violated) for read in reads] == (["[n] -> {  : n <= 0 }"] if function is assigned_by_data else [])


def test_a_variable_that_data_did_not_assign_is_0() -> None:
    A = np.zeros(4) - 1.0
    polytune.kernel(assigned_by_data)(3, A)
    assert A[0] == 0.0
