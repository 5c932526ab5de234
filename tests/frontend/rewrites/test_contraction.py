"""Arrays of which each element is needed in one iteration alone: which are left out, and that results stay NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import numpy as np
import pytest

from polytune.frontend import analyse
from polytune.frontend.lowering.lower import lower
from polytune.frontend.rewrites.contraction import with_values_in_variables
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.source import read_source
from polytune.runtime.calls.arguments import signature_of
from tests.frontend.rewrites.test_forwarding import check, local_arrays, vector


def points(n: int) -> np.ndarray:
    return np.random.default_rng(n + 3).random((n, 3)) - 0.5


def forces(x, m):
    d = x[None, :, :] - x[:, None, :]
    w = m / ((d**2).sum(axis=2) + 0.1) ** 1.5
    return (d * w[:, :, None]).sum(axis=1)


def twice_in_a_statement(x, m):
    t = np.exp(m)
    x[:, 0] = t * t


def in_several_statements_of_a_body(x, m):
    t = np.exp(m) / 3.0
    for i in range(len(m)):
        x[i, 0] = t[i] * t[i]
        if i > 1:
            x[i, 1] = m[0]
        x[i, 2] += np.sqrt(t[i])


def components_of_loops(x, m):
    t = np.tanh(m)
    for i in range(len(m)):
        for k in range(3):
            x[i, k] += 1.0
            x[i, k] += x[i, k] * t[i]
            for j in range(2):
                x[i, k] *= 0.5 + j


def read_where_a_condition_holds(x, m):
    t = np.exp(m)
    for i in range(len(m)):
        if i > 2:
            x[i, 0] = t[i] * t[i] - t[i]


def chained(x, m):
    t = np.exp(m)
    u = np.sqrt(t * t + t) + t
    x[:, 1] = u * u - u


def inside_of_a_loop(x, m):
    for k in range(3):
        t = np.exp(x[:, k] * m)
        x[:, k] = t * t


GONE = {
    each.__name__: (each, gone)
    for each, gone in (
        (twice_in_a_statement, ("t",)),
        (in_several_statements_of_a_body, ("t",)),
        (components_of_loops, ("t",)),
        (read_where_a_condition_holds, ("t",)),
        (chained, ("t", "u")),
    )
}


@pytest.mark.parametrize(("function", "gone"), GONE.values(), ids=GONE)
@pytest.mark.parametrize("strict", [False, True], ids=["not strict", "strict"])
def test_values_are_computed_where_they_are_needed(
    function: Callable[..., Any], gone: tuple[str, ...], strict: bool
) -> None:
    for size in (1, 4, 7):
        assert not local_arrays(function, [points(size), vector(size)]) & set(gone)
        check(function, [points(size), vector(size)], strict=strict)


def test_components_of_points_are_written_out() -> None:
    signature = signature_of(("x", "m"), (points(4), vector(4))).with_extents({("x", 1): 3})
    scop = analyse(forces, signature)
    assert [array.name for array in scop.arrays if array.role is ArrayRole.LOCAL] == []
    assert max(statement.domain.dim(isl.dim_type.set) for statement in scop.statements) == 2
    check(forces, [points(4), vector(4) + 1.0], strict=False)


def at_other_elements(x, m):
    t = np.exp(m)
    for i in range(1, len(m)):
        x[i, 0] = t[i] * t[i - 1]


def in_two_bodies(x, m):
    t = np.exp(m)
    for i in range(len(m)):
        for j in range(2):
            x[i, j] += 1.0
        x[i, 0] = t[i]
        for j in range(1, 3):
            x[i, j] = t[i] * j


def again_and_again(x, m):
    t = np.exp(m)
    for k in range(3):
        for i in range(len(m)):
            x[i, k] += x[i, 2 - k] * t[i]


def components_in_turn(x, m):
    t = np.exp(m)
    for i in range(len(m)):
        for k in range(1, 3):
            x[i, k] = x[i, k - 1] * t[i]


def components_that_depend_on_one_another(x, m):
    t = np.exp(m)
    for i in range(len(m)):
        for k in range(3):
            x[i, k] += 2.0
            for j in range(2):
                x[i, k] = x[i, 0] * t[i] + j


def component_of_a_bound(x, m):
    t = np.exp(m)
    for i in range(len(m)):
        for k in range(3):
            for j in range(k):
                x[i, k] += x[i, k] * t[i] + j


def operands_change(x, m):
    t = np.exp(m)
    m += 1.0
    x[:, 0] = t * t


def operands_are_changed_by_the_reader(x, m):
    t = np.exp(m)
    for i in range(len(m)):
        x[i, 0] = t[i] * t[i]
        m[len(m) - 1 - i] = 0.5


def returned(x, m):
    t = np.exp(m)
    x[:, 0] = t * t
    return t


KEPT = {
    each.__name__: each
    for each in (
        at_other_elements,
        in_two_bodies,
        again_and_again,
        components_that_depend_on_one_another,
        component_of_a_bound,
        operands_change,
        operands_are_changed_by_the_reader,
        returned,
    )
}


@pytest.mark.parametrize("function", KEPT.values(), ids=KEPT)
def test_what_several_iterations_need_stays(function: Callable[..., Any]) -> None:
    for size in (1, 4, 7):
        assert "t" in local_arrays(function, [points(size), vector(size)])
        check(function, [points(size), vector(size)], strict=False)


@pytest.mark.parametrize("function", [components_in_turn, inside_of_a_loop], ids=lambda each: each.__name__)
def test_results_are_numpy_s_either_way(function: Callable[..., Any]) -> None:
    for size in (1, 4, 7):
        check(function, [points(size), vector(size)], strict=True)


def test_a_program_without_such_arrays_stays_as_it_is() -> None:
    lowered = lower(read_source(at_other_elements), signature_of(("x", "m"), (points(3), vector(3))))
    assert with_values_in_variables(lowered.nodes, lowered.kernel) == lowered.nodes
