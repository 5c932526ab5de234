"""Kernels that are too large to look for orders in which the updates of reductions come in any order.

The time that isl's scheduler takes grows with the square of the number of constraints.  Of a large kernel most of what
such orders could share out is shared out already: one nest of many is kept serial by the updates of a reduction alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytune.schedule.candidate import Known
from polytune.schedule.grouping import is_parallel, parts_of

MOST_CONSTRAINTS = 500
"""The largest kernel, by the constraints of all dependences between its statements, of which a further order is looked
for where another one shares out the deepest loops.  Of 96 kernels none is larger and has an order that is worth it."""

MOST_OF_SERIAL = 1_000
"""The same where no order shares out the deepest loops."""

MOST_WITH_OWN_SCALARS = 500
"""The largest kernel whose reductions are given another order where all of them are in scalars of the workers' own."""


def updates_own_scalars(known: Known) -> bool:
    """Return whether all reductions of a kernel that is not small are in scalars of which each worker has its own.

    Their loops are inside of all that is shared out, and their order matters to nothing else.
    """
    scop, own = known.scop, known.dependences.privatisable
    updated = {
        access.array
        for statement in scop.statements
        for access in statement.accesses
        if statement.reduction is not None and access.reference == statement.reduction.write
    }
    is_small = known.dependences.constraints <= MOST_WITH_OWN_SCALARS
    return not is_small and all(name in own and not scop.array(name).ndim for name in updated)


def is_too_large(known: Known) -> bool:
    """Return whether the kernel is too large to look for an order in which updates of reductions come in any order."""
    size = known.dependences.constraints
    if size <= MOST_CONSTRAINTS:
        return False
    return size > MOST_OF_SERIAL or _is_shared_out(known)


def _is_shared_out(known: Known) -> bool:
    """Return whether an order that is known has parallel loops around all of its deepest statements, with no more than
    one loop around them."""
    source, *others = known.found
    if all(is_parallel(part, known.dependences) for part in parts_of(source.schedule)):
        return True
    return any(_has_parallel_loops(candidate.schedule) for candidate in others)


def _has_parallel_loops(schedule: isl.Schedule) -> bool:
    leaves = list(_leaves(schedule.get_root(), ()))
    deepest = max(len(loops) for loops in leaves)
    return all(any(loops[:2]) for loops in leaves if len(loops) == deepest)


def _leaves(node: isl.ScheduleNode, around: tuple[bool, ...]) -> Iterator[tuple[bool, ...]]:
    """The loops around each leaf below a node, the outermost one first: whether isl has found them to be parallel.

    Args:
        node: the node.
        around: the same for the node.
    """
    if node.get_type() == isl.schedule_node_type.band:
        around += tuple(bool(node.band_member_get_coincident(member)) for member in range(node.band_n_member()))
    if not node.n_children():
        yield around
    for position in range(node.n_children()):
        yield from _leaves(node.child(position), around)
