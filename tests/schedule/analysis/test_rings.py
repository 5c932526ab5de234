"""Subscripts on rings, ``(i + shift[k]) % n``: which iterations are independent, and what all versions compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.every_version import check_versions, stages_of


def streamed(f, cx, cy, out):
    _, n, m = f.shape
    for i in range(n):
        for j in range(m):
            for k in range(f.shape[0]):
                out[k, (i + cx[k]) % n, (j - cy[k]) % m] = f[k, i, j] * 2.0


def added(f, cx, cy, out):
    _, n, m = f.shape
    for i in range(n):
        for j in range(m):
            for k in range(f.shape[0]):
                out[k, (i + cx[k]) % n, (cy[k] + j) % m] += f[k, i, j]


def two_shifts(f, cx, cy, out):
    _, n, m = f.shape
    for i in range(n):
        for j in range(m):
            for k in range(f.shape[0]):
                out[k, (i + cx[k]) % n, (j + cy[k]) % m] = out[k, (i + cy[k]) % n, (j + cx[k]) % m] + f[k, i, j]


def shifted_by_row(f, cx, cy, out):
    """The shift is another one for each i, and so may be the same element."""
    _, n, m = f.shape
    for i in range(n):
        for j in range(m):
            out[0, (i + cx[i]) % n, j] += f[0, i, j]


def twice_around(f, cx, cy, out):
    _, n, m = f.shape
    for i in range(2 * n):
        for j in range(m):
            for k in range(f.shape[0]):
                out[k, (i + cx[k]) % n, j] += f[k, i // 2, j]


def changed_shifts(f, cx, cy, out):
    _, n, m = f.shape
    for i in range(n):
        for j in range(m):
            for k in range(f.shape[0]):
                out[k, (i + cx[k]) % n, j] += f[k, i, j]
        for k in range(f.shape[0]):
            cx[k] += 1


def elsewhere(f, cx, cy, out):
    """The elements are read again as they lie."""
    _, n, m = f.shape
    for i in range(n):
        for j in range(m):
            for k in range(f.shape[0]):
                out[k, (i + cx[k]) % n, j] = f[k, i, j] + out[k, i, j]


SHIFTS = np.array([0, 1, -1, 7, -13, 2])
CASES: dict[str, Callable] = {
    "streamed": streamed,
    "added": added,
    "two shifts": two_shifts,
    "shifted by row": shifted_by_row,
    "twice around": twice_around,
    "changed shifts": changed_shifts,
    "elsewhere": elsewhere,
}


def arguments_of(dtype: str) -> tuple[Any, ...]:
    f = np.arange(6.0 * 6 * 5).reshape(6, 6, 5)
    return f, SHIFTS.astype(dtype), SHIFTS[::-1].astype(dtype), np.ones((6, 6, 5))


@pytest.mark.parametrize("dtype", ["int64", "int32"])
@pytest.mark.parametrize("name", CASES)
def test_versions_compute_what_python_does(name: str, dtype: str) -> None:
    arguments = arguments_of(dtype)
    check_versions(CASES[name], stages_of(CASES[name], arguments), arguments, tiles=((2,), (3, 1)))


@pytest.mark.parametrize(
    "name", ["streamed", "added", "two shifts", "changed shifts", "shifted by row", "twice around"]
)
def test_instances_are_independent_where_all_places_differ(name: str) -> None:
    stages = stages_of(CASES[name], arguments_of("int64"))
    pairs = stages.dependences.flow["out"].union(stages.dependences.order["out"])
    assert pairs.is_empty() == (name in ("streamed", "added"))
