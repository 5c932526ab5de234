"""Orders with updates of reductions in any order are not looked for in large kernels that gain nothing by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polytune.pipeline import ORDERS
from polytune.schedule.candidate import candidate_schedules
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


FURTHER = {"reassociated", "summed"}


def given_up(function: Any) -> set[str]:
    dependences = stages_of(function, [np.zeros((6, 6)), np.zeros(7)]).dependences
    return FURTHER & set(candidate_schedules(dependences, ORDERS).given_up)


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
