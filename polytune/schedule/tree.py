"""Schedule trees: what is below a node."""

from __future__ import annotations

import islpy as isl

from polytune.schedule.unions import sets_of


def separate_innermost(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """Have isl split the innermost loops where other statements begin or end, so that no condition is left inside
    them."""
    if node.get_type() == isl.schedule_node_type.band and not has_band(node.child(0)):
        return node.band_member_set_ast_loop_type(node.band_n_member() - 1, isl.ast_loop_type.separate)
    for position in range(node.n_children()):
        node = separate_innermost(node.child(position)).parent()
    return node


def in_one_loop(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """Have isl make one loop of each member of a band for all statements, with conditions inside it.

    By itself it would split the loops where statements begin or end.  Of statements whose loops begin and end at
    different, parametric places, as those of boundaries do, that is a number of cases that grows with the product of
    the places, and each a copy of the code inside.
    """
    for member in range(node.band_n_member()):
        node = node.band_member_set_ast_loop_type(member, isl.ast_loop_type.atomic)
    return node


def has_band(node: isl.ScheduleNode) -> bool:
    """Return whether a node is a band or has one below."""
    if node.get_type() == isl.schedule_node_type.band:
        return True
    return any(has_band(node.child(position)) for position in range(node.n_children()))


def is_one_iteration(node: isl.ScheduleNode) -> bool:
    """Return whether a band is a loop of one iteration, as that over an axis of extent 1 is."""
    if node.band_n_member() > 1:
        return False
    values = sets_of(node.band_get_partial_schedule_union_map().intersect_domain(node.get_domain()).range())
    return len(values) == 1 and values[0].is_singleton()


def statements_of(node: isl.ScheduleNode) -> tuple[str, ...]:
    """The names of the statements below a node."""
    return tuple(sorted(part.get_tuple_name() for part in sets_of(node.get_domain())))


def below_mark(node: isl.ScheduleNode, name: str) -> isl.ScheduleNode | None:
    """The node below the mark of a name."""
    if node.get_type() == isl.schedule_node_type.mark and node.mark_get_id().get_name() == name:
        return node.child(0)
    for position in range(node.n_children()):
        found = below_mark(node.child(position), name)
        if found is not None:
            return found
    return None
