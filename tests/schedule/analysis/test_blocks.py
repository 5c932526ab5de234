"""Dependences of scalars that are found in blocks, against a simulation of memory and isl's analysis of all loops."""

from __future__ import annotations

import pytest

from polytune.frontend import analyse, infer_signature
from polytune.frontend.scop import Scop
from polytune.schedule.analysis import array_dependences
from polytune.schedule.analysis.blocks import blocks_of
from polytune.schedule.analysis.dependences import compute_dependences
from polytune.schedule.unions import domain_of
from tests.schedule.analysis.test_dependences import SIZES, simulated
from tests.schedule.instances import extents, pairs, parameters_at


def window(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            total = 0.0
            for a in range(-1, 2):
                for b in range(-1, 2):
                    v = A[i + a, j + b] - A[i, j]
                    total += v * v
            B[i, j] = total


def triangle_that_may_be_empty(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s = 1.0
            for k in range(i, j):
                s = s * A[i, k] + 1.0
            B[i, j] = s


def guarded_writes(A, B):
    for i in range(A.shape[0]):
        best = 0.0
        for j in range(A.shape[1]):
            if A[i, j] > best:
                best = A[i, j]
        B[i, 0] = best


def two_lives(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t = A[i, j]
            B[i, j] = t
            t = 2.0
            if i > 1:
                t = B[i, j] + t
            B[i, j] += t


def never_read_at_the_end(A, B):
    for i in range(A.shape[0]):
        x = 0.0
        for j in range(A.shape[1]):
            B[i, j] = x
            x += A[i, j]


def assigned_before_and_in_blocks(A, B):
    """The value goes from one iteration of i to the next where A has one column."""
    x = 0.0
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            x = A[i, j]
        B[i, 0] = x


def assigned_where_a_row_begins(A, B):
    """The value goes from one iteration of j to the next: a block is a row."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if j == 0:
                x = A[i, j]
            if j > 0:
                x = x + A[i, j]
            B[i, j] = x


KERNELS = {
    function.__name__: function
    for function in (
        window,
        triangle_that_may_be_empty,
        guarded_writes,
        two_lives,
        never_read_at_the_end,
        assigned_before_and_in_blocks,
        assigned_where_a_row_begins,
    )
}

FOUND_ELSEWHERE = {"assigned_before_and_in_blocks", "assigned_where_a_row_begins"}
"""The kernels with values that leave a block."""


def scop_of(name: str) -> Scop:
    function = KERNELS[name]
    function.__annotations__ = dict.fromkeys(("A", "B"), "float64[:, :]")
    return analyse(function, infer_signature(function))


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize("name", KERNELS)
def test_dependences_of_blocks_are_those_of_the_simulation(name: str, relaxed: bool) -> None:
    scop = scop_of(name)
    dependences = compute_dependences(scop, relax_reductions=relaxed)
    found = 0
    for sizes in SIZES:
        values = extents(scop, sizes, 2)
        here = parameters_at(scop, values)
        flow, order, _ = simulated(scop, values, relaxed)
        for array in dependences.flow:
            assert pairs(dependences.flow[array], here) == flow[array], (array, values)
            assert pairs(dependences.order[array], here) == order[array], (array, values)
            found += len(flow[array]) + len(order[array])
    assert found


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize("name", KERNELS)
def test_blocks_give_what_all_loops_give(name: str, relaxed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    scop = scop_of(name)
    used: list[bool] = []
    blockwise = array_dependences.blockwise_dataflow

    def noted(*arguments):
        found = blockwise(*arguments)
        used.append(found is not None)
        return found

    monkeypatch.setattr(array_dependences, "blockwise_dataflow", noted)
    in_blocks = compute_dependences(scop, relax_reductions=relaxed)
    assert used
    assert all(used) is (name not in FOUND_ELSEWHERE)
    monkeypatch.setattr(array_dependences, "blockwise_dataflow", lambda *_: None)
    in_all = compute_dependences(scop, relax_reductions=relaxed)
    assert in_blocks.privatisable == in_all.privatisable
    for array in in_all.flow:
        assert in_blocks.flow[array].is_equal(in_all.flow[array])
        assert in_blocks.order[array].is_equal(in_all.order[array])
    assert in_blocks.tagged_flow.is_equal(in_all.tagged_flow)
    assert in_blocks.tagged_order.is_equal(in_all.tagged_order)
    assert in_blocks.reductions.is_equal(in_all.reductions)


def test_there_are_no_blocks_where_statements_are_ordered_first() -> None:
    scop = scop_of("assigned_before_and_in_blocks")
    assert blocks_of(scop.schedule) is None
    own = [statement for statement in scop.statements if len(statement.iterators) == 1]
    blocks = blocks_of(scop.schedule.intersect_domain(domain_of(scop, own)))
    assert blocks is not None
    assert blocks.of.is_injective()
