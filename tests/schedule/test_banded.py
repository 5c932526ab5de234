"""The source order with loops in bands: which loops join, that it is legal, and that its versions are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytune
from polytune import kernel_modules, pipeline
from polytune.pipeline import AT_ONCE, Stages
from polytune.runtime.modules.cache import ModuleCache
from polytune.schedule.candidate import candidate_schedules
from polytune.schedule.orders import banded
from polytune.schedule.orders.banded import BANDED
from polytune.schedule.orders.source import SOURCE
from polytune.signature import Signature, parse_type
from tests.schedule.kernels import POLYBENCH, SMALL, legal_candidates


def products(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * B[k, j]
            C[i, j] = total


def updates(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = 0.0
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def of_one_row(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = 0.0
            for _ in range(1):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]


def backwards(A, B, C):
    """Each element needs the one above and to the right: neither loop may be inside of the other one's tiles."""
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1] - 1):
            A[i, j] += A[i - 1, j + 1]
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0.0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def without_sums(A, B, C):
    """Of these nests none is for registers: one has no sum, one whole numbers, and one a single loop of independent
    iterations."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= 2.0
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            above = 0
            for k in range(A.shape[1]):
                above += 1 if A[i, k] > B[k, j] else 0
            C[i, j] = above
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                C[i, 0] += A[i, k] * B[k, j]


def softened(A, B, C):
    scores = A @ B
    weights = np.exp(scores - scores.max(axis=1)[:, None])
    C[:] = weights / weights.sum(axis=1)[:, None]


FUNCTIONS = (products, updates, of_one_row, backwards, softened)


SIGNATURE = Signature(tuple((name, parse_type("float64[:, ::1]")) for name in "ABC"))


def bands(node: isl.ScheduleNode) -> list[int]:
    """The numbers of members of the bands at and below a node."""
    own = [node.band_n_member()] if node.get_type() == isl.schedule_node_type.band else []
    return own + [each for place in range(node.n_children()) for each in bands(node.child(place))]


ORDERS = (SOURCE, BANDED)
"""The source order, and that with loops joined in bands."""

JOINED = {products: [2, 1], updates: [1, 1, 3], of_one_row: [2, 1], backwards: [1, 1, 2, 1]}


@pytest.mark.parametrize("function", JOINED)
def test_loops_that_may_be_interchanged_join(function: Callable[..., Any]) -> None:
    dependences = Stages(function, SIGNATURE).dependences
    _, found = candidate_schedules(dependences, ORDERS).made
    assert bands(found.schedule.get_root()) == JOINED[function]


def test_loops_that_are_not_for_registers_stay_as_they_are() -> None:
    dependences = Stages(without_sums, SIGNATURE).dependences
    found = candidate_schedules(dependences, ORDERS)
    assert [candidate.name for candidate in found.made] == ["source"] and not found.given_up


def test_the_source_order_is_left_where_isl_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    dependences = Stages(products, SIGNATURE).dependences
    monkeypatch.setattr(banded, "PHASE_BUDGET", 1)
    found = candidate_schedules(dependences, ORDERS)
    assert [candidate.name for candidate in found.made] == ["source"] and found.given_up == ("banded",)


@pytest.mark.parametrize("name", [*SMALL, *POLYBENCH])
def test_the_order_is_legal(name: str) -> None:
    found = legal_candidates(name, ORDERS)
    assert len(found) == 1 or max(bands(found[1].schedule.get_root())) > 1


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("strict", [False, True])
def test_versions_are_right(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, function: Callable[..., Any], strict: bool
) -> None:
    monkeypatch.setattr(pipeline, "ORDERS", ORDERS)
    monkeypatch.setattr(pipeline, "TRANSFORMS", AT_ONCE)
    cache = ModuleCache(tmp_path)
    monkeypatch.setattr(kernel_modules, "module_cache", lambda: cache)
    kernel = polytune.kernel(background=False, strict=strict)(function)
    generator = np.random.default_rng(5)
    names: set[str] = set()
    for n, m, k in ((1, 1, 1), (7, 5, 3), (40, 70, 33), (3, 90, 1), (0, 4, 4)):
        A, B = generator.uniform(size=(n, k)), generator.uniform(size=(k, m))
        if n > 5:
            A[2, 0], B[0, 3] = np.nan, np.inf
        theirs = A.copy(), B.copy(), np.zeros((n, m))
        with np.errstate(invalid="ignore"):
            function(*theirs)
        versions = kernel.stages(SIGNATURE).programs
        for version in versions:
            ours = A.copy(), B.copy(), np.zeros((n, m))
            kernel.run(kernel.space(*ours).configuration(version=version.name), *ours)
            for mine, his in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(mine, his, rtol=0 if strict and function in JOINED else 1e-12)
        names |= {version.name for version in versions}
    assert "source" in names and any(name.startswith(BANDED.name) for name in names)
