"""The source order with sums in copies of the workers' own: when it is looked for, and that its versions are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytune
from polytune import kernel_modules, pipeline
from polytune.pipeline import AT_ONCE, Stages
from polytune.runtime.modules.cache import ModuleCache
from polytune.schedule.candidate import candidate_schedules
from polytune.schedule.orders import reduced
from polytune.schedule.orders.reduced import REDUCED
from polytune.schedule.orders.source import SOURCE
from polytune.signature import Signature, parse_type
from tests.schedule.kernels import POLYBENCH, SMALL, legal_candidates


def sums_of_columns(A, rows, out):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[j] += A[i, j]


def largest(A, rows, out):
    top = -np.inf
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            top = max(top, A[i, j])
    out[:] = top


def counted(A, rows, out):
    for i in range(rows.shape[0]):
        out[rows[i]] += A[i, 0]


def descended(A, rows, out):
    """Steps that end early, each of which adds up over rows what the next one needs."""
    rest = 1e9
    for step in range(6):
        if rest < 1e-3:
            break
        error = 0.0
        for i in range(A.shape[0]):
            total = 0.0
            for j in range(A.shape[1]):
                total += A[i, j] * out[j]
            error += (total - 1.0) * (total - 1.0)
            A[i, 0] = A[i, 0] + 1e-3 * step
        rest = error
        for j in range(A.shape[1]):
            out[j] *= 1.0 - 1.0 / (1.0 + error)


def of_rows(A, rows, out):
    """Sums of rows of their own, whose rows are shared out as they are."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, 0] += A[i, j]


def solved(A, rows, out):
    """Calls of a library that may have threads of its own."""
    for i in range(rows.shape[0]):
        out += np.linalg.solve(A, out) * rows[i]


FUNCTIONS = (sums_of_columns, largest, counted, descended)

ORDERS = (SOURCE, REDUCED)

SIGNATURE = Signature(
    (
        ("A", parse_type("float64[:, ::1]")),
        ("rows", parse_type("int64[::1]")),
        ("out", parse_type("float64[::1]")),
    )
)


def orders_of(function: Callable[..., Any], **options: Any) -> list[str]:
    found = candidate_schedules(Stages(function, SIGNATURE, **options).dependences, ORDERS)
    assert not found.given_up
    return [candidate.name for candidate in found.made]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_is_looked_for_where_an_outermost_loop_adds_up(function: Callable[..., Any]) -> None:
    assert orders_of(function) == ["source", "reduced"]
    assert orders_of(function, strict=True) == ["source"]


def test_rows_with_sums_of_their_own_are_shared_out_as_they_are() -> None:
    assert orders_of(of_rows) == ["source"]


def test_calls_of_libraries_come_one_after_the_other() -> None:
    assert orders_of(solved) == ["source"]


def test_the_source_order_is_left_where_isl_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    dependences = Stages(sums_of_columns, SIGNATURE).dependences
    monkeypatch.setattr(reduced, "PHASE_BUDGET", 1)
    found = candidate_schedules(dependences, ORDERS)
    assert [candidate.name for candidate in found.made] == ["source"] and found.given_up == ("reduced",)


@pytest.mark.parametrize("name", [*SMALL, *POLYBENCH])
def test_the_order_is_legal(name: str) -> None:
    assert legal_candidates(name, ORDERS)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_versions_are_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, function: Callable[..., Any]) -> None:
    monkeypatch.setattr(pipeline, "ORDERS", ORDERS)
    monkeypatch.setattr(pipeline, "TRANSFORMS", AT_ONCE)
    cache = ModuleCache(tmp_path)
    monkeypatch.setattr(kernel_modules, "module_cache", lambda: cache)
    kernel = polytune.kernel(background=False)(function)
    versions = kernel.stages(SIGNATURE).programs
    assert {"source", "reduced"} <= {version.name.partition("_")[0] for version in versions}
    generator = np.random.default_rng(5)
    for n, m in ((1, 1), (7, 5), (90, 33), (0, 4)):
        A, rows, out = generator.random((n, m)), generator.integers(0, m, n), generator.random(m)
        theirs = A.copy(), rows, out.copy()
        function(*theirs)
        for version in versions:
            for threads in (1, 2) if version.team else (1,):
                ours = A.copy(), rows, out.copy()
                chosen = {"threads": threads} if version.team else {}
                kernel.run(kernel.space(*ours).configuration(version=version.name, **chosen), *ours)
                for mine, his in zip(ours, theirs, strict=True):
                    np.testing.assert_allclose(mine, his, rtol=1e-12)
