"""Statements that are scheduled as one."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.schedule.analysis.dependences import compute_dependences, relaxed_dependences
from polytune.schedule.analysis.instances import executes_each_once
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.clusters import clustered, clusters_of
from polytune.schedule.scheduler import Strategy, compute_schedule, legal_schedule
from tests.every_version import check_versions, stages_of


def forces(x, mass, force):
    for i in range(len(x)):
        for j in range(len(x)):
            a = x[j] - x[i]
            square = a * a + 1.0
            force[i] += mass[j] * a / square


def several_sums(A, out):
    for i in range(A.shape[0]):
        s = 0.0
        t = 1.0
        for j in range(A.shape[1]):
            s += A[i, j]
            t += A[i, j] * A[i, j]
        out[i] = s / t


def in_branches(A, B):
    for i in range(A.shape[0]):
        t = A[i] * 2.0
        if i > 2:
            t = t + 1.0
            u = t * t
            B[i] = u - A[i]
        else:
            B[i] = t


def nothing_handed_on(A, B):
    for i in range(A.shape[0]):
        A[i] = A[i] + 1.0
        B[i] = B[i] * 2.0


def carried(A, B):
    last = 0.0
    for i in range(A.shape[0]):
        step = A[i] - last
        last = A[i] + step
        B[i] = step * last


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).random(shape)


KERNELS = {
    forces: (numbers(7), numbers(7), numbers(7)),
    several_sums: (numbers(5, 6), numbers(5)),
    in_branches: (numbers(9), numbers(9)),
    nothing_handed_on: (numbers(9), numbers(9)),
    carried: (numbers(9), numbers(9)),
}


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (forces, [3]),
        (several_sums, [2, 2]),
        (in_branches, [3]),
        (nothing_handed_on, []),
        (carried, [3]),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_neighbours_that_hand_on_scalars_are_clusters(function, wanted) -> None:
    stages = stages_of(function, KERNELS[function])
    found = clusters_of(stages.scop, stages.dependences.privatisable)
    assert sorted(map(len, found)) == sorted(wanted)


@pytest.mark.parametrize("function", [each for each in KERNELS if each is not nothing_handed_on])
def test_schedules_of_clusters_are_legal_and_complete(function) -> None:
    stages = stages_of(function, KERNELS[function])
    made = clustered(stages.dependences)
    assert made is not None
    schedule = legal_schedule(stages.scop, stages.dependences, Strategy())
    assert schedule is not None
    assert is_proven_legal(schedule, stages.dependences)
    assert executes_each_once(schedule)
    assert schedule.get_domain().is_equal(stages.scop.schedule.get_domain())
    assert "cluster" not in str(schedule)


def test_loops_are_as_parallel_as_without_clusters() -> None:
    stages = stages_of(forces, KERNELS[forces])
    alone = compute_schedule(stages.scop, stages.dependences, Strategy())
    together = legal_schedule(stages.scop, stages.dependences, Strategy())
    bands = [schedule.get_root().child(0) for schedule in (alone, together)]
    assert bands[0].band_member_get_coincident(0) == bands[1].band_member_get_coincident(0) == 1


@pytest.mark.parametrize("function", KERNELS)
def test_every_version_computes_what_python_does(function) -> None:
    check_versions(function, stages_of(function, KERNELS[function]), KERNELS[function])


@pytest.mark.parametrize("function", KERNELS)
def test_relaxed_dependences_are_those_computed_anew(function) -> None:
    stages = stages_of(function, KERNELS[function])
    anew = compute_dependences(stages.scop, relax_reductions=True)
    known = relaxed_dependences(stages.dependences)
    assert known.relaxed
    assert known.privatisable == anew.privatisable
    assert known.precision == anew.precision
    for name in anew.flow:
        for part in ("flow", "order", "all_order"):
            assert getattr(known, part)[name].is_equal(getattr(anew, part)[name]), (part, name)
    for part in ("tagged_flow", "tagged_order", "reductions"):
        assert getattr(known, part).is_equal(getattr(anew, part)), part
