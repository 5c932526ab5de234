"""The source order with loops that may be interchanged in one band, found without isl's scheduler.

isl's scheduler solves linear programs over all statements and dependences of a kernel.  Here each nest of the source is
looked at by itself: a loop that is directly inside of another one, with nothing beside it, joins the band of that if no
dependence that is open there goes back along any of its members.  So the order of execution is the source's, and what
is computed side by side in registers is what the nests allow as they stand.  Only nests that are for registers are
looked at: those in which sums of floating-point numbers are made in two loops or more of independent iterations.
"""

from __future__ import annotations

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.candidate import Attempted, Candidate, Known, Need, Order, PlanOptions
from polytune.schedule.plan_transform import accumulates
from polytune.schedule.tree import is_one_iteration, statements_of


def _find(known: Known) -> Attempted[Candidate]:
    """The order, if any loops join."""
    bands = _Bands(known.dependences)
    root = known.scop.schedule.get_root().child(0)
    found = within_budget(root.get_ctx(), PHASE_BUDGET, lambda: bands.joined(root).get_schedule())
    if found is None:
        return Attempted((), (BANDED.name,))
    return Attempted((Candidate(BANDED, found, known.dependences),) if bands.are_joined else (), ())


class _Bands:
    """Joins the bands of a schedule tree.

    Attributes:
        are_joined: whether any were.
    """

    def __init__(self, dependences: Dependences):
        self.are_joined = False
        self._dependences = dependences
        self._sums = frozenset(_sums(dependences))

    def joined(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """The node, at the same position, with the loops of its subtree in bands as deep as there are."""
        while node.get_type() == isl.schedule_node_type.band and is_one_iteration(node):
            node = node.delete()
        if self._sums.isdisjoint(statements_of(node)):
            return node
        if node.get_type() == isl.schedule_node_type.band:
            deepest = node
            while (deeper := self._with_next(deepest)) is not None:
                deepest = deeper
            if deepest.band_n_member() > 1 and sum(analyse_band(deepest, self._dependences).coincident) > 1:
                node = deepest
                self.are_joined = True
        for position in range(node.n_children()):
            node = self.joined(node.child(position)).parent()
        return node

    def _with_next(self, node: isl.ScheduleNode) -> isl.ScheduleNode | None:
        """A band with the loop inside of it as one more member; None where that is none of it."""
        inside = node.child(0)
        while inside.get_type() == isl.schedule_node_type.band and is_one_iteration(inside):
            inside = inside.delete()
        if inside.get_type() != isl.schedule_node_type.band:
            return None
        member = inside.band_get_partial_schedule()
        around = inside.delete().parent()
        band = around.band_get_partial_schedule().flat_range_product(member)
        deeper = around.delete().insert_partial_schedule(band)
        return deeper.band_set_permutable(1) if analyse_band(deeper, self._dependences).permutable else None


def _sums(dependences: Dependences) -> list[str]:
    """The names of the statements that add to floating-point numbers, or multiply them, again and again."""
    scop = dependences.scop
    return [
        statement.name
        for statement in scop.statements
        if statement.reduction is not None and accumulates(statement)
        for access in statement.accesses
        if access.reference == statement.reduction.write and scop.array(access.array).dtype.startswith("float")
    ]


BANDED = Order(
    name="banded",
    meaning="the loops of the source, neighbours that may be interchanged in one band",
    find=_find,
    needs=(Need("sums of floating-point numbers, which may stay in registers", lambda found: bool(_sums(found))),),
    options=PlanOptions(wavefront=False),
)
