"""Versions that take long to look for: which a first call has, and when it waits for all of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import polytune
from polytune import pipeline
from polytune.codegen.transform import Target
from polytune.frontend.polyhedral.budget import ProcessorTime, is_time_left, note_shortage
from polytune.runtime.background.process import WorkerError, WorkerProcess
from tests.deferred.kernels import (
    ARGUMENTS,
    check_smoothed,
    holds,
    packed_kernel,
    powers,
    products,
    smoothed,
    started,
    until,
    versions,
)
from tests.deferred.processes import HeldProcess, changed_over
from tests.every_version import check_versions, stages_of


def cosines(x, out):
    for a in range(x.shape[0]):
        for b in range(x.shape[0]):
            both = 0.0
            first = 0.0
            second = 0.0
            for k in range(x.shape[1]):
                both += x[a, k] * x[b, k]
                first += x[a, k] * x[a, k]
                second += x[b, k] * x[b, k]
            out[a, b] = both / math.sqrt(first * second)


def test_there_is_a_version_of_each_order_for_a_team_to_choose_from(monkeypatch):
    """Loops joined in bands need not be faster than those of the source, as where rows are added up in order."""
    monkeypatch.setattr(pipeline, "FEW_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 100.0)
    monkeypatch.setattr(pipeline, "WAIT_OF_PRODUCTS", 100.0)
    x = np.random.default_rng(2).random((7, 5))
    stages = replace(stages_of(cosines, [x, np.zeros((7, 7))], target=Target()), may_defer=True)
    teams = [program.recipe.order.name for program in stages.programs if program.team]
    assert sorted(teams) == ["banded", "source"]
    check_versions(cosines, stages, [x, np.zeros((7, 7))])


def test_no_product_of_matrices_is_looked_for_in_large_kernels(monkeypatch):
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "MOST_OF_PRODUCTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 100.0)
    monkeypatch.setattr(pipeline, "WAIT_OF_PRODUCTS", 100.0)
    stages = replace(stages_of(powers, [np.ones((5, 5)), 3]), may_defer=True)
    assert "distributed" not in {program.recipe.order.name for program in stages.programs}


def test_products_that_are_not_called_for_in_time_are_left_for_later(makers):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(products)
    A = np.arange(16.0).reshape(4, 4)
    try:
        np.testing.assert_array_equal(kernel(A, A.T), products(A, A.T))
        assert set(versions(kernel)) <= {"parallel", "source"}
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    assert "library" in versions(kernel)


@pytest.fixture
def not_to_be_started(makers) -> None:
    """Has a test fail that starts a process."""

    class Unwanted(WorkerProcess):
        def __init__(self, module: str):
            raise AssertionError("nothing is left for later")

    makers(Unwanted)


def test_a_first_call_has_all_versions_that_are_made_in_time(monkeypatch, not_to_be_started):
    monkeypatch.setattr(pipeline, "WAIT", 1e6)
    kernel = polytune.kernel(smoothed)
    check_smoothed(kernel)
    assert not holds(kernel) and kernel._may_defer
    arguments = ARGUMENTS[smoothed]
    signature = kernel.generated(*arguments).module.SIGNATURE
    assert versions(kernel) == [program.name for program in kernel.stages(signature).programs]
    for version in versions(kernel):
        start = np.random.default_rng(1).uniform(size=40)
        ours, theirs = started(start), started(start)
        smoothed(*theirs, 3)
        kernel.run(kernel.space(*ours, 3).configuration(version=version), *ours, 3)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def summed_columns(X, y, out):
    for j in range(X.shape[1]):
        total = 0.0
        for i in range(X.shape[0]):
            total += X[i, j] * y[i]
        out[j] = total


def test_versions_at_once_have_what_is_written_for_vectors(makers):
    """Two of them, of the source order: one for a team, with what is made of its loops, and one for a worker alone."""
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(summed_columns)
    generator = np.random.default_rng(3)
    try:
        for shape in ((1, 1), (0, 5), (40, 77), (300, 200)):
            X, y, out = generator.uniform(size=shape), generator.uniform(size=shape[0]), np.empty(shape[1])
            kernel(X, y, out)
            np.testing.assert_allclose(out, X.T @ y, rtol=1e-12)
        assert holds(kernel) and versions(kernel) == ["parallel_registers", "source"]
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    assert len(versions(kernel)) > 2


@pytest.mark.parametrize("phase", ["candidate_schedules", "make_plans", "make_programs"])
def test_versions_that_are_not_all_made_in_time_are_left_for_later(monkeypatch, makers, phase):
    monkeypatch.setattr(pipeline, "WAIT", 1e6)
    whole, tried = getattr(pipeline, phase), []

    def short(*arguments):
        """What is made first is cut off; what is made in its place is not."""
        if not tried:
            note_shortage()
        tried.append(phase)
        return whole(*arguments)

    monkeypatch.setattr(pipeline, phase, short)
    kernel = changed_over(makers)
    assert len(tried) == 2 and len(versions(kernel)) > 2
    check_smoothed(kernel)


def test_the_smallest_kernels_wait_and_the_largest_do_not(monkeypatch):
    """However long it takes, and without a try."""
    stages = polytune.kernel(smoothed).stages()
    deferring = replace(stages, may_defer=True)
    assert deferring.defers and "_generated" not in vars(deferring)
    monkeypatch.setattr(pipeline, "FEW_CONSTRAINTS", deferring.dependences.constraints)
    assert not replace(stages, may_defer=True).defers
    monkeypatch.setattr(pipeline, "FEW_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 1e6)
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", deferring.dependences.constraints - 1)
    assert replace(stages, may_defer=True).defers


def test_a_process_is_started_when_half_of_the_time_is_used(makers):
    maker = makers(WorkerProcess)
    time = ProcessorTime(1.0, used=0.6, on_half=maker.expect)
    with time.running():
        assert is_time_left() and is_time_left()
    until(lambda: maker._process is not None)
    stages, packed = packed_kernel(smoothed)
    assert maker.make(packed).result(100.0) == stages.source
    maker.close()


def test_nobody_is_told_of_a_process_that_cannot_be_started(makers):
    class Missing(WorkerProcess):
        def __init__(self, module: str):
            raise WorkerError("there is none")

    maker = makers(Missing)
    maker.expect()
    with pytest.raises(WorkerError, match="there is none"):
        maker.make(b"").result(100.0)
    maker.close()


def test_loops_are_not_begun_where_plans_have_taken_too_long(monkeypatch, makers):
    monkeypatch.setattr(pipeline, "WAIT", 1e6)
    monkeypatch.setattr(pipeline, "PLANNED_BY", 0.0)
    check_smoothed(changed_over(makers))
