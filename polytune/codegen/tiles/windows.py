"""Windows: the parts of a band that tiles are, as parameters of the code that is generated for one tile."""

from __future__ import annotations

import islpy as isl

from polytune.codegen.ast_conversion import add_constant, convert_expression
from polytune.codegen.loops import TiledMember
from polytune.errors import UnprovenError
from polytune.frontend.generated_names import generated
from polytune.frontend.polyhedral.affine import AffineBuilder
from polytune.schedule.analysis.instances import executes_each_once, lies_between, may_be_shifted
from polytune.schedule.regions import Region
from polytune.schedule.unions import isl_id, parameter


class WindowNames:
    """Names for loop variables and window bounds."""

    def loop(self, depth: int) -> str:
        return generated(f"c{depth}")

    def window(self, member: int) -> tuple[str, str]:
        return generated(f"l{member}"), generated(f"u{member}")

    def subscript(self, axis: int) -> str:
        """A subscript of an array that code runs over."""
        return generated(f"a{axis}")

    def extent(self, member: int) -> str:
        """The greatest extent of a tile along a member."""
        return generated(f"t{member}")


def ast_build(context: isl.Set, names: WindowNames, depth: int, first: int = 0) -> isl.AstBuild:
    """Return what makes an AST of nested loops.

    Args:
        context: what is known of the parameters.
        names: the names of loops.
        depth: how many loops there are at most, one in another.
        first: at which depth the outermost of them is, which its name follows from.
    """
    isl_context = context.get_ctx()
    isl_context.set_ast_build_detect_min_max(1)
    isl_context.set_ast_build_exploit_nested_bounds(1)
    iterators = isl.IdList.alloc(isl_context, depth)
    for level in range(depth):
        iterators = iterators.add(isl_id(isl_context, names.loop(first + level)))
    return isl.AstBuild.from_context(context).set_iterators(iterators)


def loops_of_schedule(build: isl.AstBuild, schedule: isl.Schedule) -> isl.AstNode:
    """isl's AST of a schedule tree: the one place where loops are made of trees.

    Raises:
        UnprovenError: it is not proven that they execute each instance of the tree's domain exactly once, or isl may
            change their order.
    """
    if not executes_each_once(schedule):
        raise UnprovenError("it could not be proven that each statement instance is executed exactly once")
    if may_be_shifted(schedule):
        raise UnprovenError("isl may change the order of iterations whose strides depend on outer loops")
    return build.node_from_schedule(schedule)


def schedule_depth(node: isl.ScheduleNode) -> int:
    """The largest number of band members above any leaf below a node."""
    if node.get_type() == isl.schedule_node_type.leaf:
        return node.get_schedule_depth()
    return max(schedule_depth(node.child(position)) for position in range(node.n_children()))


def constrain(
    domain: isl.UnionSet, position: isl.UnionPwAff, name: str, low: int | None, high: int | None
) -> isl.UnionSet:
    """``{ x in domain : low <= position(x) - name <= high }`` with the parameter ``name``.

    Args:
        domain: some instances.
        position: where each of them lies along a member.
        name: of the parameter.
        low, high: by how much the position may be off; None is no bound.
    """
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


def window_context(
    domain: isl.UnionSet, region: Region, context: isl.Set, windows: tuple[tuple[str, str], ...]
) -> isl.Set:
    """Return what the caller of a body guarantees of its window: ``least <= l < u <= greatest + 1`` for every member.

    A range that is no single affine expression is left out, as it would only make isl's conditions longer.

    Args:
        domain: the instances of the region.
        region: the region, with its band.
        context: what is known of the parameters.
        windows: per member the parameters l and u that bound a tile.
    """
    for member, (lower, upper) in enumerate(windows):
        values = values_of(domain, region, member)
        low, high = (parameter(context, name) for name in (lower, upper))
        context = context.intersect(low.lt_set(high))
        least, greatest = values.dim_min(0), values.dim_max(0)
        if least.n_piece() == 1:
            context = context.intersect(low.ge_set(least))
        if greatest.n_piece() == 1:
            context = context.intersect(high.le_set(greatest.add_constant_val(isl.Val.one(context.get_ctx()))))
    return context


def values_of(domain: isl.UnionSet, region: Region, member: int) -> isl.Set:
    """The values that a member of the region's band takes.

    Args:
        domain: the instances of the region.
        region: the region, with its band.
        member: the number of the member.
    """
    assert region.band is not None
    positions = isl.UnionMap.from_union_pw_aff(region.band.get_union_pw_aff(member))
    return isl.Set.from_union_set(domain.apply(positions)).coalesce()


def ranges(domain: isl.UnionSet, region: Region, nonempty: isl.Set, names: WindowNames) -> tuple[TiledMember, ...]:
    """The least value of each member of the band, and one more than its greatest, where there is any work.

    Args:
        domain: the instances of the region.
        region: the region, with its band.
        nonempty: the parameters for which there is an instance.
        names: the names of loops and windows.

    Raises:
        UnprovenError: it is not proven that an instance lies between them, as code has them.
    """
    found = tuple(range_of(values_of(domain, region, member), nonempty, names) for member in range(region.depth))
    affine = AffineBuilder(context=domain.get_ctx())
    for member, limits in enumerate(found):
        assert region.band is not None
        lower, upper = affine.function(limits.lower), affine.function(limits.upper)
        if not lies_between(domain, region.band.get_union_pw_aff(member), lower, upper):
            raise UnprovenError("it could not be proven that tiles leave out no statement instance")
    return found


def range_of(values: isl.Set, nonempty: isl.Set, names: WindowNames) -> TiledMember:
    """The least of some values ``{ [v] }``, and one more than the greatest, where there is any.

    Args:
        values: the values ``[p] -> { [v] }``.
        nonempty: the parameters p for which there is any.
        names: the names of loops and windows.
    """
    return _between(values.dim_min(0), values.dim_max(0), nonempty, names)


def range_or_nothing(values: isl.Set, context: isl.Set, names: WindowNames) -> TiledMember:
    """The least of some values and one more than the greatest; from 0 to 0 where there is none.

    Args:
        values: the values ``[p] -> { [v] }``.
        context: what is known of the parameters p, for some of which there may be none.
        names: the names of loops and windows.
    """
    least, greatest = values.dim_min(0), values.dim_max(0)
    none = context.subtract(values.params())
    if not none.is_empty():
        zero = isl.PwAff.from_aff(isl.Aff.zero_on_domain(isl.LocalSpace.from_space(none.get_space())))
        zero = zero.intersect_domain(none)
        least, greatest = least.union_add(zero), greatest.union_add(zero.add_constant_val(isl.Val(-1, none.get_ctx())))
    return _between(least, greatest, context, names)


def _between(least: isl.PwAff, greatest: isl.PwAff, context: isl.Set, names: WindowNames) -> TiledMember:
    build = ast_build(context, names, 0)
    lower = convert_expression(build.expr_from_pw_aff(least.gist(context).coalesce()))
    upper = convert_expression(build.expr_from_pw_aff(greatest.gist(context).coalesce()))
    return TiledMember(lower, add_constant(upper, 1))
