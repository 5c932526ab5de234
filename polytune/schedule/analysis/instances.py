"""The proof that what is generated from executes exactly the statement instances of the source, once each.

Dependences say in which order instances have to come; of an instance that is missing, or that is there twice, they say
nothing.  A schedule tree loses instances where the filters of a sequence do not cover what is above them, or where a
band is no function of all of them, and repeats those that two filters have in common.  So each tree that loops are made
of is read once more, by nobody who made it.
"""

from __future__ import annotations

import islpy as isl

from polytune.frontend.polyhedral.budget import PROOF_BUDGET, within_budget
from polytune.schedule.candidate import Candidate
from polytune.schedule.regions import MARK, Plan
from polytune.schedule.unions import domain_of, maps_of, sets_of

_PASSED_ON = (
    isl.schedule_node_type.domain,
    isl.schedule_node_type.mark,
    isl.schedule_node_type.leaf,
    isl.schedule_node_type.context,
)
"""Nodes that neither choose nor order instances."""


def executes_each_once(schedule: isl.Schedule) -> bool:
    """Return whether the loops of a schedule tree execute each instance of its domain exactly once; not, where isl
    gives up.

    With D the instances that reach a node:

    - the filters ``F_1, ..., F_n`` below a sequence or set node partition them: ``D = union of F_k``, and
      ``F_k intersect F_l`` is empty for ``k != l`` (all within D);
    - the partial schedule B of a band node is a function defined on all of them: ``D subset of domain(B)``.  A point of
      B has all its instances below, so that nothing is lost where B is not injective.

    By induction over the tree each instance reaches exactly one leaf.  Nodes of other kinds are not made by any pass,
    and not accepted.
    """
    context = schedule.get_ctx()
    return within_budget(context, PROOF_BUDGET, lambda: _is_partition(schedule.get_root()), needed=True) is True


def _is_partition(node: isl.ScheduleNode) -> bool:
    """Return whether each instance that reaches a node reaches exactly one leaf below."""
    kind = node.get_type()
    if kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
        rest = node.get_domain()
        for position in range(node.n_children()):
            chosen = node.child(position).filter_get_filter().intersect(node.get_domain())
            if not chosen.is_subset(rest):
                return False
            rest = rest.subtract(chosen)
        return rest.is_empty() and all(
            _is_partition(node.child(position).child(0)) for position in range(node.n_children())
        )
    if kind == isl.schedule_node_type.band:
        placed = node.band_get_partial_schedule_union_map().domain()
        if not node.get_domain().is_subset(placed):
            return False
    elif kind not in _PASSED_ON:
        return False
    return all(_is_partition(node.child(position)) for position in range(node.n_children()))


def is_of_source(candidate: Candidate) -> bool:
    """Return whether the instances of a candidate's schedule are those of the kernel as it was written; not, where isl
    gives up.

    Its own instances are ``D = { S[i] }`` of its kernel's domains.  Of a kernel that was rewritten, ``origin`` has to
    be a bijection ``{ S'[i'] -> S[i] }`` from those of D that stand for instances of the source to all of these; the
    others, those of ``copies``, only move values.  An instance of ``whole`` may stand for many: each instance of the
    source still has one that stands for it, and no more.
    """
    own = candidate.dependences.scop

    def work() -> bool:
        instances = domain_of(own)
        if not candidate.schedule.get_domain().is_equal(instances):
            return False
        if candidate.origin is None:
            return True
        source, origin = candidate.origin.source, candidate.origin.relation
        copies = domain_of(own, [own.statement(name) for name in sorted(candidate.origin.copies)])
        whole = domain_of(own, [own.statement(name) for name in sorted(candidate.origin.whole)])
        return (
            origin.domain().is_equal(instances.subtract(copies))
            and origin.range().is_equal(domain_of(source))
            and origin.subtract_domain(whole).is_single_valued()
            and origin.is_injective()
        )

    return within_budget(own.context.get_ctx(), PROOF_BUDGET, work, needed=True) is True


def has_all_in_regions(plan: Plan) -> bool:
    """Return whether the regions of a plan partition its kernel's instances; not, where isl gives up.

    Each leaf of the plan's tree lies under exactly one mark, the mark of a region has just the region's instances below
    it, and the region's band and the loops around it are functions of all of them.  With ``executes_each_once`` of the
    tree no instance is outside of all regions, or in two of them.
    """
    context = plan.schedule.get_ctx()

    def work() -> bool:
        found: dict[str, isl.UnionSet] = {}
        if not _find_marks(plan.schedule.get_root(), found) or len(found) != len(plan.regions):
            return False
        return plan.schedule.get_domain().is_equal(domain_of(plan.dependences.scop)) and all(
            f"{MARK}{region.index}" in found
            and region.domain.is_equal(found[f"{MARK}{region.index}"])
            and _is_total(region.band, region.domain)
            and _is_total(region.prefix, region.domain)
            for region in plan.regions
        )

    return within_budget(context, PROOF_BUDGET, work, needed=True) is True


def _find_marks(node: isl.ScheduleNode, found: dict[str, isl.UnionSet]) -> bool:
    """Note the instances below each mark.  Return whether there is one above every leaf that anything reaches, and none
    in another."""
    kind = node.get_type()
    if kind == isl.schedule_node_type.mark:
        name = node.mark_get_id().get_name()
        if name in found or _has_mark(node.child(0)):
            return False
        found[name] = node.get_domain()
        return True
    if kind == isl.schedule_node_type.leaf:
        return node.get_domain().is_empty()
    return all(_find_marks(node.child(position), found) for position in range(node.n_children()))


def _has_mark(node: isl.ScheduleNode) -> bool:
    if node.get_type() == isl.schedule_node_type.mark:
        return True
    return any(_has_mark(node.child(position)) for position in range(node.n_children()))


def _is_total(function: isl.MultiUnionPwAff | None, instances: isl.UnionSet) -> bool:
    """Return whether each member of a function is defined for all instances."""
    if function is None:
        return True
    return all(
        instances.is_subset(isl.UnionMap.from_union_pw_aff(function.get_union_pw_aff(member)).domain())
        for member in range(function.dim(isl.dim_type.set))
    )


def lies_between(instances: isl.UnionSet, position: isl.UnionPwAff, lower: isl.PwAff, upper: isl.PwAff) -> bool:
    """Return whether ``lower <= position(x) < upper`` for all instances x: the tiles over that range leave none of them
    out.

    Args:
        instances: ``[p] -> { S[i] }``.
        position: ``[p] -> { S[i] -> [(b)] }``, a member of a band.
        lower, upper: ``[p] -> { [(v)] }``, functions of parameters alone.
    """
    values = instances.apply(isl.UnionMap.from_union_pw_aff(position))
    for part in sets_of(values):
        name = "polytune_position"
        space = part.get_space().add_dims(isl.dim_type.param, 1)
        last = space.dim(isl.dim_type.param) - 1
        space = space.set_dim_name(isl.dim_type.param, last, name)
        at = part.align_params(space).equate(isl.dim_type.set, 0, isl.dim_type.param, last).params()
        local = isl.LocalSpace.from_space(at.get_space())
        value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.param, last))
        if not at.is_subset(lower.le_set(value).intersect(upper.gt_set(value))):
            return False
    return True


def may_be_shifted(schedule: isl.Schedule) -> bool:
    """Return whether isl may put statements of strided loops into a wrong order when it makes loops of a schedule.

    It shifts iterations of one statement along a loop so that they meet those of another one with the same stride and
    another offset.  Where offsets depend on outer loops, isl 0.27 has also shifted a third statement, which has no
    iterations where the second has any: before one that it has to follow.  So with T the schedule, the values
    ``T(S)`` of all statements S have to have the same stride and the same offset along each loop where some offset is
    no constant.
    """
    times = [part.range() for part in maps_of(schedule.get_map().intersect_domain(schedule.get_domain()))]
    if len(times) < 2 or not any(piece.dim(isl.dim_type.div) for part in times for piece in part.get_basic_sets()):
        return False
    for place in range(times[0].dim(isl.dim_type.set)):
        found = [part.get_stride_info(place) for part in times]
        offsets = [info.get_offset() for info in found if not info.get_stride().is_one()]
        if all(offset.is_cst() for offset in offsets):
            continue
        if len({(str(info.get_stride()), str(info.get_offset())) for info in found}) > 1:
            return True
    return False
