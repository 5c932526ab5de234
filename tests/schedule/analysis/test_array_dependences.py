"""The coarser ways to find dependences against a simulation of memory that remembers every access."""

from __future__ import annotations

import os
from collections import defaultdict

import islpy as isl
import pytest

from polytune.frontend import analyse, infer_signature
from polytune.frontend.scop import Scop
from polytune.pipeline import ORDERS
from polytune.schedule.analysis import array_dependences
from polytune.schedule.analysis.array_dependences import Precision
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.analysis.legality import violation
from polytune.schedule.candidate import candidate_schedules
from polytune.show import show_dependences
from tests.schedule.instances import Pair, extents, pairs, parameters_at, trace
from tests.schedule.kernels import SMALL

SIZES = ((4, 3, 5), (3, 0, 2))


def gives_up(*_: object) -> None:
    raise isl.Error("gives up")


COARSE = pytest.mark.parametrize(
    "precision", [Precision.MEMORY_BASED, Precision.ORDER_BASED], ids=lambda precision: precision.value
)


def found_as(precision: Precision, scop: Scop, relaxed: bool = False) -> Dependences:
    """The dependences if isl fails at all ways but this one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_dependences, "_without_conflicts", gives_up)
        patch.setattr(array_dependences, "_value_based", gives_up)
        if precision is Precision.ORDER_BASED:
            patch.setattr(array_dependences, "_memory_based", gives_up)
        return compute_dependences(scop, relax_reductions=relaxed)


def remembered(
    scop: Scop, values: dict[str, int], precision: Precision, relaxed: bool
) -> tuple[dict[str, set[Pair]], dict[str, set[Pair]], set[Pair]]:
    """Per array its flow and false dependences, and those of reductions, by looking at every two accesses."""
    owner = {
        reference: statement.name
        for statement in scop.statements
        if statement.reduction is not None
        for reference in (statement.reduction.read, statement.reduction.write)
    }
    flow: dict[str, set[Pair]] = defaultdict(set)
    order: dict[str, set[Pair]] = defaultdict(set)
    reductions: set[Pair] = set()
    steps = trace(scop, parameters_at(scop, values))
    for number, later in enumerate(steps):
        for sink in later:
            for earlier in steps[:number]:
                for source in earlier:
                    if source.access.array != sink.access.array:
                        continue
                    if precision is Precision.MEMORY_BASED and source.element != sink.element:
                        continue
                    if not (source.access.is_write or sink.access.is_write):
                        continue
                    pair = (source.instance, sink.instance)
                    statement = owner.get(source.access.reference)
                    if statement is not None and statement == owner.get(sink.access.reference):
                        reductions.add(pair)
                        if relaxed:
                            continue
                    (order if sink.access.is_write else flow)[sink.access.array].add(pair)
    return flow, order, reductions


@COARSE
@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize("name", SMALL)
def test_dependences_are_those_of_all_pairs(name: str, relaxed: bool, precision: Precision) -> None:
    scop = SMALL[name].stages.scop
    dependences = found_as(precision, scop, relaxed)
    assert set(dependences.precision.values()) == {precision}
    assert not dependences.privatisable
    for sizes in SIZES:
        values = extents(scop, sizes, 2)
        here = parameters_at(scop, values)
        flow, order, reductions = remembered(scop, values, precision, relaxed)
        for array in dependences.flow:
            assert pairs(dependences.flow[array], here) == flow[array], (array, values)
            assert pairs(dependences.order[array], here) == order[array], (array, values)
        assert pairs(dependences.reductions, here) == reductions


@COARSE
@pytest.mark.parametrize("name", SMALL)
def test_coarser_ways_find_all_that_exact_dataflow_finds(name: str, precision: Precision) -> None:
    exact = SMALL[name].stages.dependences
    assert set(exact.precision.values()) == {Precision.VALUE_BASED}
    coarse = found_as(precision, exact.scop)
    for array in exact.flow:
        assert exact.flow[array].is_subset(coarse.flow[array])
        assert exact.order[array].is_subset(coarse.order[array])


@COARSE
@pytest.mark.parametrize("name", SMALL)
def test_schedules_are_legal_by_the_exact_dependences(name: str, precision: Precision) -> None:
    exact = SMALL[name].stages.dependences
    for candidate in candidate_schedules(found_as(precision, exact.scop), ORDERS).made:
        assert violation(candidate.schedule, candidate.dependences) is None
        if not candidate.dependences.relaxed:
            assert violation(candidate.schedule, exact) is None, candidate.name


@COARSE
def test_reader_is_told(precision: Precision) -> None:
    exact = SMALL["stencil"].stages.dependences
    assert not exact.approximations
    lines = show_dependences(found_as(precision, exact.scop)).splitlines()
    wording = "memory-based" if precision is Precision.MEMORY_BASED else "between all accesses"
    for array in ("A", "B"):
        assert any(line.startswith(f"dependences of {array}: {wording}") for line in lines)


def bordered(A, B):
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            if i == 0 or j == 0 or i == n - 1 or j == m - 1:
                B[i, j] = 0.0
            elif i == 1 and not j > 5:
                B[i, j] = A[i, j]
            else:
                B[i, j] = A[i - 1, j] + A[i + 1, j]


def test_elements_of_one_statement_each_need_no_dataflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The domains are unions of pieces: analysing the flow among them took isl all of its budget, ten seconds."""
    monkeypatch.setattr(array_dependences, "FLOW_BUDGET", 200_000)
    found = compute_dependences(analyse(bordered, infer_signature(bordered)))
    assert set(found.precision.values()) == {Precision.VALUE_BASED}
    assert all(relation.is_empty() for relation in (*found.flow.values(), *found.order.values()))


@pytest.mark.parametrize("operations", [1, 100, 3000])
def test_budget_of_isl_makes_dependences_coarser(operations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = SMALL["triangular"].stages.dependences
    monkeypatch.setattr(array_dependences, "FLOW_BUDGET", operations)
    monkeypatch.setattr(array_dependences, "OPERATIONS_OF_AN_ACCESS", 0)
    coarse = compute_dependences(exact.scop)
    assert coarse.precision["A"] is not Precision.VALUE_BASED
    assert exact.flow["A"].is_subset(coarse.flow["A"]) and exact.order["A"].is_subset(coarse.order["A"])


def every_other_element(m, n, A, B, beta):
    B[n // 2 + 1, 2] = A[2] * 2.0
    for i in range(m):
        for j in range(m - 1, -1, -2):
            for k in range(j, n, 2):
                B[k + 1, j + 2] += beta if A[j] != A[j] else B[i + 1, j]
            x = -3.0
            for k in range(min(n, m)):
                x = x + B[i, k]
            A[i] = x + min(i * 0.125, B[j + j + 1, i + 2])


def test_dataflow_with_divisions_ends_before_isl_crashes() -> None:
    """In a process of its own: at some 300,000 operations isl uses memory that is not there."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            scop = analyse(every_other_element, infer_signature(every_other_element))
            for relaxed in (False, True):
                found = compute_dependences(scop, relaxed)
                assert found.precision["B"] is Precision.MEMORY_BASED
                assert violation(scop.schedule, found) is None
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
