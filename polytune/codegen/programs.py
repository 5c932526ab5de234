"""Plan to program: one version of a kernel in the loop IR."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polytune.codegen.ast_conversion import add_constant, convert_expression, convert_node
from polytune.codegen.loops import Node, Program, RegionCode, TiledMember
from polytune.codegen.own_names import own_prefix
from polytune.frontend.scop import Scop
from polytune.schedule.regions import Plan, Region, RegionKind


def generate_program(plan: Plan, scop: Scop) -> Program:
    """The loop IR of a plan: the code of every region, and the skeleton that calls them in order."""
    names = _Names(own_prefix(scop))
    regions = tuple(_region_code(region, plan, scop, names) for region in plan.regions)
    heaviest = max(plan.regions, key=_weight, default=None)
    contiguous = None if heaviest is None else heaviest.contiguous
    tiles = tuple(member == contiguous for member in range(plan.tile_depth))
    return Program(plan.name, _skeleton(plan, scop, names), regions, plan.team, tiles)


def _weight(region: Region) -> tuple[int, int]:
    """How much work a region does, by the loops around its innermost statement; of equals, the one with more tiles."""
    loops: list[int] = []
    region.domain.foreach_set(lambda part: loops.append(part.dim(isl.dim_type.set)))
    return max(loops, default=0), region.depth


@dataclass(frozen=True)
class _Names:
    """Names for loop variables and window bounds, with the prefix that keeps them apart from the kernel's own."""

    prefix: str

    def loop(self, depth: int) -> str:
        return f"{self.prefix}c{depth}"

    def window(self, member: int) -> tuple[str, str]:
        return f"{self.prefix}l{member}", f"{self.prefix}u{member}"


def _ast_build(context: isl.Set, names: _Names, depth: int) -> isl.AstBuild:
    isl_context = context.get_ctx()
    isl_context.set_ast_build_detect_min_max(1)
    isl_context.set_ast_build_exploit_nested_bounds(1)
    iterators = isl.IdList.alloc(isl_context, depth)
    for level in range(depth):
        iterators = iterators.add(isl.Id.read_from_str(isl_context, names.loop(level)))
    return isl.AstBuild.from_context(context).set_iterators(iterators)


def _schedule_depth(schedule: isl.Schedule) -> int:
    """The largest number of band members above any leaf."""
    deepest = 0

    def visit(node: isl.ScheduleNode) -> bool:
        nonlocal deepest
        if node.get_type() == isl.schedule_node_type.leaf:
            deepest = max(deepest, node.get_schedule_depth())
        return True

    schedule.foreach_schedule_node_top_down(visit)
    return deepest


def _skeleton(plan: Plan, scop: Scop, names: _Names) -> Node:
    """What is around the regions: the plan's schedule with every execution of a region as a single instance.

    Without that isl would be free to generate the statements of a region apart, and with them several calls of it.
    """
    schedule = plan.schedule.map_schedule_node_bottom_up(_as_one_instance)
    build = _ast_build(scop.context, names, _schedule_depth(schedule))
    return convert_node(build.node_from_schedule(schedule), scop)


def _as_one_instance(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """At a mark, the leaf of a statement ``region<k>[prefix]`` for all instances below with equal outer time."""
    if node.get_type() != isl.schedule_node_type.mark:
        return node
    return node.group(node.mark_get_id()).parent().cut()


def _region_code(region: Region, plan: Plan, scop: Scop, names: _Names) -> RegionCode:
    """The code of a region.

    Its body is generated for the instances ``{ x in domain : prefix(x) = c, l <= band(x) < u }`` with c, l and u as
    parameters: affine, so that one body serves every tile size.  The skeleton calls a region only where there is
    any such instance.
    """
    outer = tuple(names.loop(level) for level in range(region.outer_depth))
    domain = region.domain.intersect_params(scop.context)
    if region.prefix is not None:
        for level, name in enumerate(outer):
            domain = _constrain(domain, region.prefix.get_union_pw_aff(level), name, 0, 0)
    context = scop.context
    members: tuple[TiledMember, ...] = ()
    if region.band is not None:
        context = domain.params()
        members = _ranges(domain, region, context, names)
    windows = tuple(names.window(member) for member in range(region.depth))
    context = _window_context(domain, region, context, windows)
    inside = domain
    for member, (lower, upper) in enumerate(windows):
        assert region.band is not None
        position = region.band.get_union_pw_aff(member)
        inside = _constrain(_constrain(inside, position, lower, 0, None), position, upper, None, -1)
    schedule = plan.schedule.intersect_domain(inside)
    build = _ast_build(context, names, _schedule_depth(plan.schedule))
    body = convert_node(build.node_from_schedule(schedule), scop)
    return RegionCode(
        region.index,
        region.kind.value,
        region.shared,
        outer,
        members,
        windows,
        body,
        region.private if region.kind is not RegionKind.SERIAL else region.local,
        frozenset(name for name in region.local if scop.array(name).ndim == 0),
    )


def _constrain(
    domain: isl.UnionSet, position: isl.UnionPwAff, name: str, low: int | None, high: int | None
) -> isl.UnionSet:
    """``{ x in domain : low <= position(x) - name <= high }`` with the parameter ``name``; None is no bound."""
    space = isl.Space.set_alloc(domain.get_ctx(), 1, 1).set_dim_name(isl.dim_type.param, 0, name)
    local = isl.LocalSpace.from_space(space)
    value = isl.Aff.var_on_domain(local, isl.dim_type.set, 0)
    difference = value.sub(isl.Aff.var_on_domain(local, isl.dim_type.param, 0))
    allowed = isl.Set.universe(space)
    if low is not None:
        allowed = allowed.intersect(isl.PwAff.from_aff(difference.add_constant_val(-low)).nonneg_set())
    if high is not None:
        allowed = allowed.intersect(isl.PwAff.from_aff(difference.neg().add_constant_val(high)).nonneg_set())
    positions = isl.UnionMap.from_union_pw_aff(position)
    return domain.intersect(positions.intersect_range(isl.UnionSet.from_set(allowed)).domain())


def _window_context(
    domain: isl.UnionSet, region: Region, context: isl.Set, windows: tuple[tuple[str, str], ...]
) -> isl.Set:
    """What the caller of a body guarantees of its window: ``least <= l < u <= greatest + 1`` for every member.

    A range that is no single affine expression is left out, as it would only make isl's conditions longer.
    """
    for member, (lower, upper) in enumerate(windows):
        values = _values(domain, region, member)
        low, high = (parameter_value(context, name) for name in (lower, upper))
        context = context.intersect(low.lt_set(high))
        least, greatest = values.dim_min(0), values.dim_max(0)
        if least.n_piece() == 1:
            context = context.intersect(low.ge_set(least))
        if greatest.n_piece() == 1:
            context = context.intersect(high.le_set(greatest.add_constant_val(isl.Val.one(context.get_ctx()))))
    return context


def parameter_value(context: isl.Set, name: str) -> isl.PwAff:
    """A parameter as an expression, ``[p, name] -> { [(name)] }``."""
    space = isl.Space.params_alloc(context.get_ctx(), 1).set_dim_name(isl.dim_type.param, 0, name)
    local = isl.LocalSpace.from_space(space)
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.param, 0))


def _values(domain: isl.UnionSet, region: Region, member: int) -> isl.Set:
    """The values that a member of the region's band takes."""
    assert region.band is not None
    positions = isl.UnionMap.from_union_pw_aff(region.band.get_union_pw_aff(member))
    return isl.Set.from_union_set(domain.apply(positions)).coalesce()


def _ranges(domain: isl.UnionSet, region: Region, nonempty: isl.Set, names: _Names) -> tuple[TiledMember, ...]:
    """Per member of the band its least value and one more than its greatest, where there is any work."""
    build = _ast_build(nonempty, names, 0)
    members = []
    for member in range(region.depth):
        values = _values(domain, region, member)
        lower = convert_expression(build.expr_from_pw_aff(values.dim_min(0).gist(nonempty).coalesce()))
        upper = convert_expression(build.expr_from_pw_aff(values.dim_max(0).gist(nonempty).coalesce()))
        members.append(TiledMember(lower, add_constant(upper, 1)))
    return tuple(members)
