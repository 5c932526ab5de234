"""Schedules that isl's scheduler finds only where it is asked in the right way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polytune.frontend.polyhedral.budget import within_budget
from polytune.schedule import scheduler
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.scheduler import LEAST_FUSED, MOST_FUSED, Strategy, legal_schedule
from tests.every_version import check_versions, stages_of

STRATEGIES = (Strategy(), Strategy(outer_coincidence=True), LEAST_FUSED, MOST_FUSED)


def two_colours(spins: Any, field: Any) -> None:
    n, m = spins.shape
    for colour in range(2):
        for i in range(n):
            for j in range(m):
                if (i + j) % 2 == colour:
                    around = spins[(i - 1) % n, j] + spins[(i + 1) % n, j] + spins[i, (j - 1) % m]
                    if around < field[i, j]:
                        spins[i, j] = -spins[i, j]


def updated_by_index(A: Any, rows: Any, B: Any) -> None:
    n, m = A.shape
    C = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            C[i, j] = A[i, j] + 1.0
    for i in range(n):
        C[rows[i], 0] = 2.0
    for i in range(n):
        C[rows[i], 1] = A[i, 0]
    for i in range(n):
        for j in range(m):
            B[i, j] = C[i, j] / n


RING = (np.random.default_rng(1).integers(0, 2, (6, 8)) * 2.0 - 1.0, np.random.default_rng(2).random((6, 8)))
UPDATED = (
    np.random.default_rng(1).random((5, 4)),
    np.array([3, 1, 3, 0, 1]),
    np.zeros((5, 4)),
)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_sweeps_over_two_colours_on_rings_are_scheduled(strategy: Strategy) -> None:
    """isl is unable to carry their dependences while it takes care that no loops run into one."""
    stages = stages_of(two_colours, RING)
    found = legal_schedule(stages.scop, stages.dependences, strategy)
    assert found is not None
    colours = found.get_root().child(0)
    assert colours.band_n_member() == 1
    # Where there is an odd number of rows, the first and the last one have the same colours.
    assert analyse_band(colours.child(0), stages.dependences).concurrent


def test_sweeps_over_two_colours_have_tiles() -> None:
    names = {program.name for program in stages_of(two_colours, RING).programs}
    assert "tiled" in names


def test_options_are_put_back_after_a_failure() -> None:
    stages = stages_of(two_colours, RING)
    context = stages.scop.context.get_ctx()
    before = context.get_schedule_treat_coalescing()
    assert within_budget(context, 100, lambda: legal_schedule(stages.scop, stages.dependences, Strategy())) is None
    assert legal_schedule(stages.scop, stages.dependences, Strategy()) is not None
    assert context.get_schedule_treat_coalescing() == before


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_the_first_schedule_keeps_writes_that_one_read_may_see_in_order(
    strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """isl's criterion for live ranges lets writes by index change places, which the exact check refuses."""
    proofs: list[bool] = []
    prove = scheduler.is_proven_legal
    monkeypatch.setattr(scheduler, "is_proven_legal", lambda *given: proofs.append(prove(*given)) or proofs[-1])
    stages = stages_of(updated_by_index, UPDATED)
    assert "C" in stages.dependences.privatisable
    assert legal_schedule(stages.scop, stages.dependences, strategy) is not None
    assert proofs == [True]


def test_forced_dependences_are_those_between_such_writes() -> None:
    dependences = stages_of(updated_by_index, UPDATED).dependences
    by_index = dependences.order["C"].intersect(dependences.flow["C"].apply_range(dependences.flow["C"].reverse()))
    assert not by_index.is_empty()
    assert by_index.is_subset(dependences.forced)
    assert dependences.forced.is_subset(dependences.everything)


@pytest.mark.parametrize(
    ("function", "arguments"), [(two_colours, RING), (updated_by_index, UPDATED)], ids=lambda each: str(each)[:20]
)
def test_every_version_computes_what_python_does(function: Any, arguments: tuple[np.ndarray, ...]) -> None:
    check_versions(function, stages_of(function, arguments), arguments)
