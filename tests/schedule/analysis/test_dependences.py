"""Dependences against a simulation of memory: every instance in source order, every element's last accesses."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import polytune
from polytune.frontend.scop import AccessKind, ArrayRole, Scop
from polytune.schedule.analysis import array_dependences
from polytune.schedule.analysis.dependences import compute_dependences
from polytune.schedule.analysis.legality import violation
from tests.every_version import stages_of
from tests.schedule.instances import Pair, Point, Touch, extents, pairs, parameters_at, trace
from tests.schedule.kernels import SMALL, Case, matrix

SIZES = ((4, 3, 5), (5, 5, 5), (1, 2, 1), (3, 0, 2))
"""Extents of arrays, in turn; integer arguments are 2 throughout."""


def scop_of(name: str) -> Scop:
    return SMALL[name].stages.scop


def simulated(
    scop: Scop, values: dict[str, int], relaxed: bool
) -> tuple[dict[str, set[Pair]], dict[str, set[Pair]], set[str]]:
    """Flow and false dependences per array, and the arrays of which a read may see no write.

    Writes that may not happen, and those of reductions where they are relaxed, do not end the life of what was there.
    """
    owner = {
        reference: statement.name
        for statement in scop.statements
        if statement.reduction is not None
        for reference in (statement.reduction.read, statement.reduction.write)
    }

    def ends_lives(touch: Touch) -> bool:
        certain = touch.access.kind is AccessKind.MUST_WRITE
        return certain and not (relaxed and touch.access.reference in owner)

    def ordered(source: Touch, sink: Touch) -> bool:
        first, second = owner.get(source.access.reference), owner.get(sink.access.reference)
        return not (relaxed and first is not None and first == second)

    flow: dict[str, set[Pair]] = defaultdict(set)
    order: dict[str, set[Pair]] = defaultdict(set)
    uninitialised: set[str] = set()
    since: dict[tuple[str, Point], list[Touch]] = defaultdict(list)
    defined: set[tuple[str, Point]] = set()
    for touches in trace(scop, parameters_at(scop, values)):
        for touch in touches:
            place = (touch.access.array, touch.element)
            if not touch.access.is_write and place not in defined:
                uninitialised.add(touch.access.array)
            for earlier in since[place]:
                if not ordered(earlier, touch):
                    continue
                if touch.access.is_write:
                    order[touch.access.array].add((earlier.instance, touch.instance))
                elif earlier.access.is_write:
                    flow[touch.access.array].add((earlier.instance, touch.instance))
        for touch in touches:
            if ends_lives(touch):
                since[touch.access.array, touch.element] = []
                defined.add((touch.access.array, touch.element))
        for touch in touches:
            since[touch.access.array, touch.element].append(touch)
    return flow, order, uninitialised


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize("name", SMALL)
def test_dependences_are_those_of_the_simulation(name: str, relaxed: bool) -> None:
    scop = scop_of(name)
    dependences = compute_dependences(scop, relax_reductions=relaxed)
    written = {access.array for statement in scop.statements for access in statement.accesses if access.is_write}
    assert set(dependences.flow) == set(dependences.order) == written
    found = 0
    for sizes in SIZES:
        values = extents(scop, sizes, 2)
        here = parameters_at(scop, values)
        flow, order, uninitialised = simulated(scop, values, relaxed)
        for array in written:
            assert pairs(dependences.flow[array], here) == flow[array], (array, values)
            assert pairs(dependences.order[array], here) == order[array], (array, values)
            found += len(flow[array]) + len(order[array])
        assert not dependences.privatisable & uninitialised
    assert found


PRIVATISABLE = {
    "product_of_sums": {"total"},
    "two_live_ranges": {"t"},
    "scalar_out_of_loop": {"t"},
    "returned_scalar": set(),
    "row_buffer": {"row"},
    "row_buffer_kept_at_one_end": {"row"},
    "accumulated_from_zeros": set(),
    "last_above": {"found"},
}
"""The arrays that never show a value that the kernel has not written: not those that are returned, and not those that
start as zeros."""


@pytest.mark.parametrize("name", PRIVATISABLE)
def test_privatisable_arrays(name: str) -> None:
    assert SMALL[name].stages.dependences.privatisable == PRIVATISABLE[name]


def test_arguments_are_never_privatisable() -> None:
    for case in SMALL.values():
        arguments = {array.name for array in case.stages.scop.arrays if array.role is ArrayRole.ARGUMENT}
        assert not case.stages.dependences.privatisable & arguments


def test_self_dependences_of_reductions_are_told() -> None:
    """With n = 3 each of the three reductions has a chain of three steps per row."""
    scop = scop_of("reductions")
    here = parameters_at(scop, extents(scop, (3, 3, 3, 3), 2))
    own = pairs(SMALL["reductions"].stages.dependences.reductions, here)
    steps = {statement.name for statement in scop.statements if statement.reduction is not None}
    assert len(steps) == 3
    expected = {((name, (i, j)), (name, (i, j + 1))) for name in steps for i in range(3) for j in range(2)}
    assert own == expected


def test_relaxed_reductions_are_ordered_against_what_is_around_them() -> None:
    """s[0] is summed by two loops, then read by a third: each read comes after every single step."""
    scop = scop_of("two_sums_into_one")
    here = parameters_at(scop, extents(scop, (3, 3, 1), 2))
    relaxed = compute_dependences(scop, relax_reductions=True)
    found = pairs(relaxed.flow["s"], here)
    first, second, reader = (statement.name for statement in scop.statements)
    expected = {((first, (i,)), (second, (j,))) for i in range(3) for j in range(3)}
    expected |= {((step, (i,)), (reader, (j,))) for step in (first, second) for i in range(3) for j in range(3)}
    assert found == expected


def beyond_isl(n, m, A):
    """isl fails to compute the exact false dependences of p, but for those of one iteration of k."""
    for i in range(0, n + 1, 3):
        for j in range(i + 1):
            for k in range(n + 1):
                p = A[i]
                for step in range(j):
                    p -= A[j - 1] if step + 1 < k or k % 2 != 0 else p
                A[j] += p


def test_where_isl_fails_there_are_more_dependences_and_never_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_dependences, "blockwise_dataflow", lambda *_: None)
    case = Case("beyond_isl", beyond_isl, (4, 5, matrix(9)))
    scop, dependences = case.stages.scop, case.stages.dependences
    values = {parameter.name: 4 for parameter in scop.parameters}
    flow, order, _ = simulated(scop, values, relaxed=False)
    here = parameters_at(scop, values)
    for array in ("A", "p"):
        assert flow[array] and flow[array] <= pairs(dependences.flow[array], here)
        assert order[array] and order[array] <= pairs(dependences.order[array], here)
    assert order["p"] < pairs(dependences.order["p"], here)
    monkeypatch.undo()
    assert order["p"] == pairs(compute_dependences(scop).order["p"], here)
    assert all(violation(candidate.schedule, dependences) is None for candidate in case.stages.candidates)


def solved_rows(A, B):
    """Arrays that each row makes anew, of which the last element is read: there is one, or the call is refused."""
    n = A.shape[1]
    for row in range(A.shape[0]):
        upper = np.zeros(n)
        right = np.zeros(n)
        upper[0] = 1.0 / A[row, 0]
        right[0] = B[row, 0]
        for i in range(1, n):
            upper[i] = 1.0 / (A[row, i] - upper[i - 1])
            right[i] = B[row, i] - right[i - 1] * upper[i]
        B[row, n - 1] = right[n - 1]
        for i in range(n - 2, -1, -1):
            B[row, i] = right[i] - upper[i] * B[row, i + 1]


def test_elements_that_no_array_has_are_not_read() -> None:
    values = [np.full((5, 9), 4.0), np.arange(45.0).reshape(5, 9)]
    stages = stages_of(solved_rows, values)
    locals_ = {array.name for array in stages.scop.arrays if array.role is ArrayRole.LOCAL}
    assert len(locals_) == 2
    assert locals_ <= stages.dependences.privatisable
    assert any(region.shared for plan in stages.plans for region in plan.regions if region.prefix is None)
    exact = [values[0], values[1] * 2.0**20]
    kernel = polytune.kernel(solved_rows, background=False)
    wanted = exact[1].copy()
    solved_rows(exact[0], wanted)
    for version in kernel.space(*exact)["version"].values:
        found = exact[1].copy()
        kernel.run(kernel.space(*exact).configuration(version=version), exact[0], found)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=version)
