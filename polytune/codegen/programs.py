"""Plan to program: one version of a kernel in the loop IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polytune.codegen.ast_conversion import convert_node, substitute
from polytune.codegen.loops import (
    LARGEST_TILE,
    For,
    If,
    Node,
    PrivateSum,
    Program,
    RegionCall,
    RegionCode,
    TiledMember,
    map_nodes,
    walk_nodes,
)
from polytune.codegen.tiles.copies import in_window, with_copies
from polytune.codegen.tiles.interior import interior_of
from polytune.codegen.tiles.windows import (
    WindowNames,
    ast_build,
    constrain,
    loops_of_schedule,
    range_or_nothing,
    ranges,
    schedule_depth,
    window_context,
)
from polytune.errors import UnprovenError
from polytune.frontend.expression import Expression, Iterator
from polytune.frontend.generated_names import generated
from polytune.frontend.scop import Scop
from polytune.schedule.analysis.instances import has_all_in_regions
from polytune.schedule.planning import in_point_order
from polytune.schedule.private_sums import summed_by
from polytune.schedule.regions import MARK, Plan, Region, RegionKind
from polytune.schedule.tiles.early_updates import early_updates_first
from polytune.schedule.unions import sets_of, union_of

Trees = dict[str, isl.AstNode]
"""isl's ASTs of the schedule trees that loops have been made of, by what they were made from: versions share regions,
and the AST of one takes as long as all that is done with it."""


def generate_program(plan: Plan, scop: Scop, trees: Trees | None = None) -> Program:
    """The loop IR of a plan: the code of every region, and the skeleton that calls them in order.

    Args:
        plan: the plan.
        scop: its kernel.
        trees: the ASTs that are known already, to which those made here are added; none where it is None.

    Raises:
        UnprovenError: it is not proven that the code executes each statement instance exactly once.
    """
    if not has_all_in_regions(plan):
        raise UnprovenError("it could not be proven that each statement instance is in one region")
    names, trees = WindowNames(), {} if trees is None else trees
    regions = tuple(_region_code(region, plan, scop, names, trees) for region in plan.regions)
    tiles = tuple(first_tile(_heaviest(plan, member), member) for member in range(plan.tile_depth))
    skeleton = _skeleton(plan, scop, names, trees)
    if {node.region for node in walk_nodes(skeleton) if isinstance(node, RegionCall)} != set(range(len(regions))):
        raise UnprovenError("a region has no instance for any arguments that a call may have")
    return Program(plan.recipe, _apart(skeleton, regions), regions, plan.team, tiles)


def first_tile(region: Region | None, member: int) -> int:
    """The tile size of a member to start from.

    Long in the direction of memory, for vectors, and short in the others, for the caches.  With sums in registers a
    tile of what all rows of a block share, 256 by 192 numbers, stays in the second cache; on diagonals there are to be
    many tiles, and where four members or more are tiled, few steps of the first one, time, reach far in all others, and
    rows, of arrays of three dimensions, are short enough to stay whole.
    Where points have copies of arrays, a tile has many of those computed together, few others.  Where numbers are added
    up one by one, there are to be many of them.
    """
    if region is not None and region.sums and region.statement_depth == 1:
        return LARGEST_TILE
    if region is not None and region.expansion is not None:
        return 192 if member == region.expansion.member else 4
    if region is not None and region.accumulated is not None and region.kind is RegionKind.WAVEFRONT:
        return 96
    if region is not None and region.kind is RegionKind.WAVEFRONT and region.depth > 3:
        return 16 if member == 0 else LARGEST_TILE if member == region.contiguous else 32
    if region is None or region.accumulated is None:
        return 512 if region is not None and member == region.contiguous else 32
    if region.depth == 2:
        # A matrix is swept, nothing of it is used again: the longer the pieces of its rows, the better.
        return 512
    return {region.accumulated: 256, region.contiguous: 192}.get(member, 96)


def _heaviest(plan: Plan, member: int) -> Region | None:
    """The region that does most of the work, by the loops around its innermost statement, of those that have a member;
    of equals, one with private sums, or else the one with more tiles."""

    def weight(region: Region) -> tuple[int, bool, int]:
        return region.statement_depth, bool(region.sums), region.depth

    return max((region for region in plan.regions if region.depth > member), key=weight, default=None)


def _skeleton(plan: Plan, scop: Scop, names: WindowNames, trees: Trees) -> Node:
    """Return what is around the regions: the plan's schedule with every execution of a region as a single instance.

    Without that isl would be free to generate the statements of a region apart, and with them several calls of it.
    """
    root = _as_single_instances(plan.schedule.get_root())
    return convert_node(_tree(scop.context, names, root.get_schedule(), trees), scop)


def _tree(context: isl.Set, names: WindowNames, schedule: isl.Schedule, trees: Trees) -> isl.AstNode:
    """isl's AST of a schedule tree, made where it is not known."""
    key = f"{context} {schedule}"
    tree = trees.get(key)
    if tree is None:
        build = ast_build(context, names, schedule_depth(schedule.get_root()))
        tree = trees[key] = loops_of_schedule(build, schedule)
    return tree


def _apart(skeleton: Node, regions: Sequence[RegionCode]) -> Node:
    """The skeleton with variables of its own, where a call gives a region's variable another value than that of the
    loop of the same name: what comes after it in the loop's iteration needs the loop's."""
    calls = [node for node in walk_nodes(skeleton) if isinstance(node, RegionCall)]
    if all(regions[call.region].outer == tuple(map(_name_of, call.prefix)) for call in calls):
        return skeleton
    own = {
        node.variable: Iterator(generated("around", node.variable))
        for node in walk_nodes(skeleton)
        if isinstance(node, For)
    }
    return _with_variables(skeleton, own)


def _name_of(value: Expression) -> str | None:
    return value.name if isinstance(value, Iterator) else None


def _with_variables(node: Node, own: Mapping[str, Iterator]) -> Node:
    match node:
        case For(variable, start, stop):
            bounds = substitute(start, own), substitute(stop, own)
            body = _with_variables(node.body, own)
            return replace(node, variable=own[variable].name, start=bounds[0], stop=bounds[1], body=body)
        case If(condition, then, otherwise):
            other = None if otherwise is None else _with_variables(otherwise, own)
            return If(substitute(condition, own), _with_variables(then, own), other)
        case RegionCall(prefix=prefix):
            return replace(node, prefix=tuple(substitute(value, own) for value in prefix))
        case _:
            return map_nodes(node, lambda child: _with_variables(child, own))


def _as_single_instances(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """The node, at the same position, with marks in its subtree replaced by the leaf of a statement
    ``region<k>[prefix]`` for all instances below with equal outer time."""
    if node.get_type() == isl.schedule_node_type.mark:
        return node.group(node.mark_get_id()).parent().cut()
    for position in range(node.n_children()):
        node = _as_single_instances(node.child(position)).parent()
    return node


def _region_code(region: Region, plan: Plan, scop: Scop, names: WindowNames, trees: Trees) -> RegionCode:
    """The code of a region.

    Its body is generated for the instances ``{ x in domain : prefix(x) = c, l <= band(x) < u }`` with c, l and u as
    parameters: affine, so that one body serves every tile size.  The skeleton calls a region only where there is
    any such instance.
    """
    outer = tuple(names.loop(level) for level in range(region.outer_depth))
    domain = region.domain.intersect_params(scop.context)
    if region.prefix is not None:
        for level, name in enumerate(outer):
            domain = constrain(domain, region.prefix.get_union_pw_aff(level), name, 0, 0)
    context = scop.context
    members: tuple[TiledMember, ...] = ()
    if region.band is not None:
        context = domain.params()
        members = ranges(domain, region, context, names)
    windows = tuple(names.window(member) for member in range(region.depth))
    context = window_context(domain, region, context, windows)
    inside = domain
    for member, (lower, upper) in enumerate(windows):
        assert region.band is not None
        position = region.band.get_union_pw_aff(member)
        inside = constrain(constrain(inside, position, lower, 0, None), position, upper, None, -1)
    interior = interior_of(inside, context, region, scop, names)
    whole = plan.schedule if interior is None else in_point_order(plan.schedule, region, scop)
    if region.early is not None:
        whole = early_updates_first(whole, f"{MARK}{region.index}", region.early, windows[-1][0])
    tree = _tree(context, names, whole.intersect_domain(inside), trees)
    if region.expansion is None:
        body = convert_node(tree, scop)
    else:
        body = in_window(convert_node(tree, with_copies(scop, region)), region, names)
    if interior is not None:
        body = If(interior.condition, interior.body, body)
    return RegionCode(
        **region.traits(),
        outer=outer,
        members=members,
        windows=windows,
        body=body,
        private=region.private if region.kind is not RegionKind.SERIAL else region.local,
        local=frozenset(name for name in region.local if scop.array(name).ndim == 0),
        independent=frozenset(names.loop(depth) for depth in region.independent),
        sums=tuple(private_sum(array, domain, scop, names) for array in sorted(region.sums)),
        descends=descends(region, plan),
        nested=frozenset(names.loop(len(outer) + depth) for depth in range(max(region.depth, region.nested))),
        unrolling=None if region.unrolling is None else (names.loop(region.unrolling.depth), region.unrolling.most),
    )


def descends(region: Region, plan: Plan) -> bool:
    """Return whether workers go through the tiles of a region from the last to the first: if in the region before it
    that accesses the same matrices they went the other way.

    What they accessed last then is still in a cache, where of a matrix that is larger than the cache nothing would be
    that they accessed first.  The tiles of a parallel region may run in any order.
    """
    if not _may_turn(region):
        return False
    matrices = _matrices(region, plan)
    before = (each for each in reversed(plan.regions[: region.index]) if _may_turn(each))
    last = next((each for each in before if _matrices(each, plan) & matrices), None)
    return last is not None and not descends(last, plan)


def _may_turn(region: Region) -> bool:
    return region.kind is RegionKind.PARALLEL and region.prefix is None


def _matrices(region: Region, plan: Plan) -> frozenset[str]:
    """The arrays of two dimensions or more that a region accesses."""
    scop = plan.dependences.scop
    statements = [scop.statement(part.get_tuple_name()) for part in sets_of(region.domain)]
    accessed = {access.array for statement in statements for access in statement.accesses}
    return frozenset(name for name in accessed if scop.array(name).ndim > 1)


def private_sum(array: str, domain: isl.UnionSet, scop: Scop, names: WindowNames) -> PrivateSum:
    """The elements of an array that some instances add to, which are all those between the least and the greatest.

    Args:
        array: an array that the instances only add to, all by one operator.
        domain: the instances of a region.
        scop: what they belong to.
        names: the names of the parameters that bound a tile.
    """
    inside = {part.get_tuple_name() for part in sets_of(domain)}
    (operator,) = {
        statement.reduction.operator
        for statement in scop.statements
        if statement.reduction is not None and statement.name in inside and summed_by(statement) == array
    }
    if not scop.array(array).ndim:
        return PrivateSum(array, operator, None)
    accesses = [access for statement in scop.statements for access in statement.accesses]
    writes = (isl.UnionMap.from_map(each.relation) for each in accesses if each.array == array and each.is_write)
    elements = isl.Set.from_union_set(domain.apply(union_of(writes, scop))).coalesce()
    return PrivateSum(array, operator, range_or_nothing(elements, domain.params(), names))
