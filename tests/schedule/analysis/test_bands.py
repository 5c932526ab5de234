"""What is said of bands against all pairs of dependent instances at a small size, one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import islpy as isl
import numpy as np
import pytest

from polytune.pipeline import Stages
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.analysis.loop_report import report_loops
from polytune.schedule.candidate import Candidate
from polytune.schedule.unions import domain_of
from polytune.signature import ArrayType, Signature
from tests.schedule.instances import Instance, Pair, Point, extents, pairs, parameters_at, times
from tests.schedule.kernels import SMALL

SIZE = 6


def bands_of(schedule: isl.Schedule) -> list[isl.ScheduleNode]:
    found: list[isl.ScheduleNode] = []

    def visit(node: isl.ScheduleNode) -> bool:
        if node.get_type() == isl.schedule_node_type.band:
            found.append(node.copy())
        return True

    schedule.foreach_schedule_node_top_down(visit)
    return found


class Enumerated:
    """The same questions as ``analyse_band`` answers, answered by looking at every pair."""

    def __init__(self, node: isl.ScheduleNode, dependences: Dependences):
        scop = dependences.scop
        here = parameters_at(scop, extents(scop, [SIZE] * len(scop.parameters), SIZE))
        partial = isl.UnionMap.from_multi_union_pw_aff(node.get_prefix_schedule_multi_union_pw_aff())
        self.members = node.band_n_member()
        self.position = times(node.band_get_partial_schedule_union_map().intersect_domain(node.get_domain()), here)
        prefix: dict[Instance, Point] = dict.fromkeys(self.position, ())
        if node.get_schedule_depth():
            prefix = times(partial.intersect_domain(node.get_domain()), here)
        self.prefix = prefix
        self.flow = {array: pairs(relation, here) for array, relation in dependences.flow.items()}
        self.order = {array: pairs(relation, here) for array, relation in dependences.all_order.items()}
        self.reductions = pairs(dependences.reductions, here)
        self.updates = self.reductions if dependences.relaxed else set()
        self.contained = frozenset(filter(self.is_contained, dependences.privatisable))
        self.resident = frozenset(a for a in self.contained if not any(map(any, self.distances(self.flow[a]))))

    def is_open(self, pair: Pair) -> bool:
        """Whether both ends are in the band, in the same execution of it."""
        return all(end in self.position for end in pair) and self.prefix[pair[0]] == self.prefix[pair[1]]

    def distances(self, dependent: set[Pair]) -> Iterator[tuple[int, ...]]:
        for source, sink in filter(self.is_open, dependent):
            yield tuple(b - a for a, b in zip(self.position[source], self.position[sink], strict=True))

    def is_contained(self, array: str) -> bool:
        touching = {pair for pair in self.flow[array] if any(end in self.position for end in pair)}
        return all(map(self.is_open, touching))

    def carriers(self, member: int) -> set[tuple[str, str, str, str]]:
        """Array, kind and statements of the dependences that keep a member from being coincident."""
        binding = [(array, "flow", relation) for array, relation in self.flow.items()]
        binding += [(array, "order", relation) for array, relation in self.order.items() if array not in self.contained]
        if self.updates:
            binding.append(("", "reduction", self.updates))
        found: set[tuple[str, str, str, str]] = set()
        for array, kind, relation in binding:
            between: dict[tuple[str, str], set[Pair]] = defaultdict(set)
            for source, sink in filter(self.is_open, relation):
                between[source[0], sink[0]].add((source, sink))
            for statements, dependent in between.items():
                if any(self.position[source][member] != self.position[sink][member] for source, sink in dependent):
                    found.add((array, "reduction" if dependent <= self.reductions else kind, *statements))
        return found

    def is_permutable(self) -> bool:
        ordering = [*self.flow.values()]
        ordering += [relation for array, relation in self.order.items() if array not in self.resident]
        return all(step >= 0 for relation in ordering for distance in self.distances(relation) for step in distance)

    def is_concurrent(self) -> bool:
        return self.is_permutable() and all(step >= 0 for distance in self.distances(self.updates) for step in distance)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_bands_are_as_enumerated(name: str) -> None:
    for candidate in SMALL[name].stages.candidates:
        check_bands(candidate)


def check_bands(candidate: Candidate) -> None:
    """Compare all that is said of each band of a schedule."""
    dependences, bands = candidate.dependences, bands_of(candidate.schedule)
    assert bands
    for node in bands:
        analysis, wanted = analyse_band(node, dependences), Enumerated(node, dependences)
        assert analysis.contained == wanted.contained
        assert analysis.resident == wanted.resident
        assert analysis.permutable == wanted.is_permutable()
        assert analysis.concurrent == wanted.is_concurrent()
        for member in range(wanted.members):
            carriers = wanted.carriers(member)
            assert analysis.coincident[member] == (not carriers)
            found = {(o.array, o.kind, o.source, o.sink) for o in analysis.obstacles[member]}
            assert found == carriers


LOOPS = {
    "product_of_sums": [(True, {"total"}), (True, {"total"}), (False, set())],
    "two_live_ranges": [(True, {"t"})],
    "scalar_out_of_loop": [(False, set())],
    "returned_scalar": [(False, set())],
    "row_buffer": [(True, {"row"}), (True, set()), (True, set())],
    "row_buffer_kept_at_one_end": [(True, set()), (False, set()), (True, set()), (True, set())],
    "accumulated_from_zeros": [(False, set()), (True, set()), (True, set())],
    "triangular": [(False, set()), (True, set()), (True, set())],
    "stencil": [(False, set()), (True, set()), (True, set())],
    "in_place_stencil": [(False, set()), (False, set()), (False, set())],
    "may_write": [(True, set()), (True, set())],
    "last_above": [(False, set())],
    "transposed_copy": [(True, set())] * 4,
    "reversed_dependence": [(False, set()), (True, set())],
}
"""The loops in source order: whether each is parallel, and which variables need a copy per worker for that."""


@pytest.mark.parametrize("name", LOOPS)
def test_loops_of_the_source(name: str) -> None:
    reports = report_loops(SMALL[name].stages.dependences)
    assert [(report.parallel, set(report.private)) for report in reports] == LOOPS[name]
    for report in reports:
        assert bool(report.obstacles) == (not report.parallel)


def test_updates_of_a_relaxed_reduction_come_in_any_order_but_not_at_once() -> None:
    """The loop over k in total += A[i, k] B[k, j], upwards and downwards."""
    scop = SMALL["product_of_sums"].stages.scop
    relaxed = compute_dependences(scop, relax_reductions=True)
    upwards = bands_of(scop.schedule)[-1]
    downwards = upwards.delete().insert_partial_schedule(upwards.band_get_partial_schedule().neg())
    analyses = [analyse_band(node, relaxed) for node in (upwards, downwards)]
    assert [analysis.coincident for analysis in analyses] == [(False,), (False,)]
    assert [analysis.permutable for analysis in analyses] == [True, True]
    assert [analysis.concurrent for analysis in analyses] == [True, False]


def rows_of_sums(A, B):
    t = np.empty(4)
    for i in range(A.shape[0]):
        for j in range(3):
            for k in range(4):
                t[k] = A[i, j, k]
            for k in range(4):
                B[i, j] += t[k] * t[3 - k]


def test_values_that_an_outer_loop_has_put_next_to_one_another_need_copies() -> None:
    """In source order no row follows another one with equal j, as j goes from 0 to 2 between them."""
    types = (("A", ArrayType("float64", 3)), ("B", ArrayType("float64", 2)))
    dependences = Stages(rows_of_sums, Signature(types)).dependences
    root = isl.Schedule.from_domain(domain_of(dependences.scop)).get_root().child(0)
    columns, rows = (
        isl.MultiUnionPwAff.read_from_str(root.get_ctx(), f"[{{ S0[i, j, k] -> [({x})]; S1[i, j, k] -> [({x})] }}]")
        for x in ("j", "i")
    )
    band = root.insert_partial_schedule(rows).insert_partial_schedule(columns).child(0)
    analysis = analyse_band(band, dependences)
    assert analysis.coincident == (True,) and "t" in analysis.resident
    assert "t" in analysis.conflicting
