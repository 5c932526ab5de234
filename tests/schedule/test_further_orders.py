"""Orders with updates of reductions in any order are not looked for in large kernels that gain nothing by them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from polytune.pipeline import ORDERS
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.candidate import Known, candidate_schedules
from polytune.schedule.orders.further import updates_own_scalars
from polytune.schedule.tiles.row_sweeps import may_sweep_rows
from tests.every_version import stages_of


def rows_apart(A: Any, out: Any) -> None:
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            out[i] += A[i, j]


def columns(A: Any, out: Any) -> None:
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            out[j] += A[i, j] * out[m]


def sums_of_rows(A: Any, out: Any) -> None:
    n, m = A.shape
    for i in range(n):
        total = 0.0
        for j in range(m):
            total += A[i, j]
        out[i] = total


def sums_of_pages(A: Any, out: Any) -> None:
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            total = 0.0
            for k in range(m):
                total += A[i, k] * A[j % 2, k]
            out[i] += total * out[m]


FURTHER = {"reassociated", "summed"}


def dependences_of(function: Any) -> Dependences:
    return stages_of(function, [np.zeros((6, 6)), np.zeros(7)]).dependences


def given_up(function: Any) -> set[str]:
    return FURTHER & set(candidate_schedules(dependences_of(function), ORDERS).given_up)


def test_large_kernel_is_not_scheduled_again_where_its_deepest_loops_are_shared_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert given_up(rows_apart) == set()
    monkeypatch.setattr("polytune.schedule.orders.further.MOST_CONSTRAINTS", 0)
    assert given_up(rows_apart) == FURTHER


def test_larger_kernel_is_where_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polytune.schedule.orders.further._is_shared_out", lambda known: False)
    monkeypatch.setattr("polytune.schedule.orders.further.MOST_CONSTRAINTS", 0)
    assert given_up(columns) == set()
    monkeypatch.setattr("polytune.schedule.orders.further.MOST_OF_SERIAL", 0)
    assert given_up(columns) == FURTHER


def test_reductions_in_scalars_of_the_workers_own_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polytune.schedule.orders.further.MOST_WITH_OWN_SCALARS", 0)
    assert updates_own_scalars(Known(dependences_of(sums_of_rows)))
    assert not updates_own_scalars(Known(dependences_of(rows_apart)))
    monkeypatch.undo()
    assert not updates_own_scalars(Known(dependences_of(sums_of_rows)))


def test_sums_that_begin_anew_inside_of_two_loops_are_none_of_a_sweep() -> None:
    assert may_sweep_rows(dependences_of(sums_of_rows).scop)
    assert may_sweep_rows(dependences_of(rows_apart).scop)
    inner = dependences_of(sums_of_pages).scop
    assert not may_sweep_rows(replace(inner, statements=inner.statements[:-1]))
