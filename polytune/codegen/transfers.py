"""The data that a part of a region reads and writes, as functions that list boxes of arrays for the actual split.

After Pfaffe, Grosser and Tillmann (ICS 2019), section 3.2: only what a partition accesses is moved, and only what it
writes is moved back, since another partition may write the elements beside it at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import islpy as isl

from polytune.codegen.ast_conversion import add_constant, convert_condition, convert_expression, scan
from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    If,
    Let,
    Node,
    Prefetch,
    RegionCall,
    RegionCode,
    Store,
    walk_nodes,
)
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.tiles.windows import WindowNames, constrain, window_context
from polytune.frontend.expression import Assign, Element, Expression, Iterator, walk
from polytune.frontend.generated_names import MARK
from polytune.frontend.scop import AccessKind, Scop
from polytune.records import dataclass
from polytune.schedule.regions import Region


@dataclass(frozen=True)
class SubscriptRange:
    """Subscripts along one axis: from ``start`` to before ``stop`` in steps."""

    start: Expression
    stop: Expression
    step: int = 1


@dataclass(frozen=True)
class Box:
    """Elements ``{ A[a] }`` with every subscript in the range of its axis, accessed where ``condition`` holds."""

    array: str
    condition: Expression
    axes: tuple[SubscriptRange, ...]


@dataclass(frozen=True)
class Rows:
    """Elements that are no box: loops over them, with an assignment to each element inside."""

    array: str
    loops: Node


@dataclass(frozen=True)
class RegionTransfers:
    """The data that a part of a region, ``lower <= member < upper`` for its shared members, needs and gives.

    Attributes:
        reads: what it may read, and what it may but need not overwrite: per array boxes that hold all of it.
        writes: exactly what it may write.
    """

    reads: tuple[Box, ...]
    writes: tuple[Box | Rows, ...]


def find_transfers(region: Region, code: RegionCode, limited: int, scop: Scop) -> RegionTransfers:
    """The transfers of a region, of which a part is bounded along its leading members.

    For every access ``{ S[i] -> A[a] }`` the image of ``{ S[i] : prefix(i) = c, l <= band(i) < u }``, with c, l and u
    as parameters.  Reads are moved as the box around them: reading more changes nothing.  Writes are exact: a box if
    the image is one, else loops over its rows.

    Args:
        region: the region, with its band.
        code: what was generated of it, whose names for loops and windows the parameters have.
        limited: how many members, the first ones, a part is bounded along.
        scop: the kernel.
    """
    names = WindowNames()
    domain = region.domain.intersect_params(scop.context)
    if region.prefix is not None:
        for level, name in enumerate(code.outer):
            domain = constrain(domain, region.prefix.get_union_pw_aff(level), name, 0, 0)
    windows = code.windows[:limited]
    context = window_context(domain, region, domain.params(), windows)
    for member, (lower, upper) in enumerate(windows):
        assert region.band is not None
        position = region.band.get_union_pw_aff(member)
        domain = constrain(constrain(domain, position, lower, 0, None), position, upper, None, -1)
    accessed: dict[str, isl.Set] = {}
    reads: dict[str, list[isl.Set]] = {}
    writes: dict[str, list[isl.Set]] = {}
    for statement in scop.statements:
        for access in statement.accesses:
            if access.array in code.private or access.array in code.local:
                continue
            everything = access.relation.range().intersect_params(scop.context)
            accessed[access.array] = accessed.get(access.array, everything).union(everything)
            image = isl.UnionMap.from_map(access.relation).intersect_domain(domain).range()
            if image.is_empty():
                continue
            elements = isl.Set.from_union_set(image).gist_params(context).coalesce()
            if access.kind is not AccessKind.MUST_WRITE:
                reads.setdefault(access.array, []).append(elements)
            if access.is_write:
                writes.setdefault(access.array, []).append(elements)
    return RegionTransfers(
        tuple(
            _hull(array, elements, context, _eased(elements, accessed[array]))
            for array, sets in reads.items()
            for elements in _largest(sets)
        ),
        tuple(
            _exact(array, elements, context, names, scop)
            for array, sets in writes.items()
            for elements in _largest(sets)
        ),
    )


def _largest(sets: Sequence[isl.Set]) -> list[isl.Set]:
    """The sets without those that lie in another one."""
    kept: list[isl.Set] = []
    for candidate in sets:
        if not any(candidate.is_subset(other) for other in kept):
            kept = [other for other in kept if not other.is_subset(candidate)] + [candidate]
    return kept


def _eased(elements: isl.Set, accessed: isl.Set) -> isl.Set:
    """A superset of elements whose bounds are far easier to find: without integer divisions.

    The elements themselves if they have none but strides along axes, or if their superset might leave the array, of
    which the kernel is known to access the given part.
    """
    superset = elements.remove_divs()
    aligned = superset
    for axis in range(elements.dim(isl.dim_type.set)):
        aligned = aligned.intersect(isl.Set(_only(elements, axis).affine_hull()))
    if aligned.is_subset(elements):
        return elements
    moved = superset.intersect_params(elements.params())
    for axis in range(elements.dim(isl.dim_type.set)):
        if not _only(moved, axis).is_subset(_filled(_only(accessed, axis), axis)):
            return elements
    return superset


def _filled(elements: isl.Set, axis: int) -> isl.Set:
    """``{ [..., y, ...] : exists x, z: [..., x, ...] and [..., z, ...] in elements and x <= y <= z }``"""
    count = elements.dim(isl.dim_type.set)
    space = elements.get_space().map_from_set()
    same = isl.Map.universe(space)
    for other in range(count):
        if other != axis:
            same = same.equate(isl.dim_type.in_, other, isl.dim_type.out, other)
    above = same.order_le(isl.dim_type.in_, axis, isl.dim_type.out, axis)
    below = same.order_ge(isl.dim_type.in_, axis, isl.dim_type.out, axis)
    return elements.apply(above).intersect(elements.apply(below))


def _stride(elements: isl.Set, axis: int) -> int:
    """The stride along an axis alone; isl's own is that for given subscripts along the others."""
    return _only(elements, axis).get_stride(axis).to_python()


def _hull(array: str, elements: isl.Set, context: isl.Set, bounding: isl.Set | None = None) -> Box:
    """The least box with strides that holds a set of elements; or, if that is given, a superset of them."""
    nonempty = elements.params()
    bounding = elements if bounding is None else bounding
    known = bounding.params()
    # All is simplified by what is known already; a build that knows it as well takes ten times as long.
    build = isl.AstBuild.from_context(isl.Set.universe(context.get_space()))
    condition = build.expr_from_set(nonempty.gist(context).coalesce())
    axes = []
    for dimension in range(elements.dim(isl.dim_type.set)):
        least = convert_expression(build.expr_from_pw_aff(bounding.dim_min(dimension).gist(known).coalesce()))
        greatest = convert_expression(build.expr_from_pw_aff(bounding.dim_max(dimension).gist(known).coalesce()))
        axes.append(SubscriptRange(least, add_constant(greatest, 1), _stride(bounding, dimension)))
    return Box(array, convert_condition(condition), tuple(axes))


def _exact(array: str, elements: isl.Set, context: isl.Set, names: WindowNames, scop: Scop) -> Box | Rows:
    if _is_box(elements):
        return _hull(array, elements, context)
    variables = tuple(names.subscript(axis) for axis in range(elements.dim(isl.dim_type.set)))
    element = Element(array, tuple(Iterator(variable) for variable in variables), scop.array(array).dtype)
    return Rows(array, scan(elements, context, variables, (Assign(element, element),), scop))


def _is_box(elements: isl.Set) -> bool:
    """Return whether a set is the product of its projections to the axes, and each of those has no holes but its
    stride.

    May say no for a box whose bounds are not convex in the parameters.
    """
    product = isl.Set.universe(elements.get_space()).intersect_params(elements.params())
    for dimension in range(elements.dim(isl.dim_type.set)):
        projection = _only(elements, dimension)
        filled = isl.Set(projection.simple_hull()).intersect(isl.Set(projection.affine_hull()))
        if not filled.is_subset(projection):
            return False
        product = product.intersect(projection)
    return product.is_subset(elements)


def _only(elements: isl.Set, dimension: int) -> isl.Set:
    """The elements with all subscripts but one replaced by any."""
    count = elements.dim(isl.dim_type.set)
    for other in range(count):
        if other != dimension:
            elements = elements.eliminate(isl.dim_type.set, other, 1)
    return elements


def write_transfers(writer: SourceWriter, name: str, parameters: Sequence[str], boxes: Sequence[Box | Rows]) -> None:
    """Write a function that lists arrays and boxes: ``[(array, ((start, stop, step), ...)), ...]``.

    Args:
        writer: where the module is written.
        name: the function's.
        parameters: the names that the boxes are computed from, which are its parameters.
        boxes: boxes, and loops over rows, in the order in which they are listed.
    """
    with writer.indented(f"def {name}({', '.join(parameters)}):"):
        writer.line(f"{MARK}boxes = []")
        for part in boxes:
            match part:
                case Box(array, condition, axes):
                    text = expression_text(condition, compiled=False)
                    if text == "1":
                        _write_box(writer, array, axes)
                    else:
                        with writer.indented(f"if {text}:"):
                            _write_box(writer, array, axes)
                case Rows(array, loops):
                    _write_rows(writer, array, loops, {})
        writer.line(f"return {MARK}boxes")
    writer.line()
    writer.line()


def _write_box(writer: SourceWriter, array: str, axes: Sequence[SubscriptRange]) -> None:
    def text(expression: Expression) -> str:
        return expression_text(expression, compiled=False)

    ranges = [f"({text(axis.start)}, {text(axis.stop)}, {axis.step})" for axis in axes] or ["(0, 1, 1)"]
    writer.line(f"{MARK}boxes.append(({array!r}, ({', '.join(ranges)},)))")


def _write_rows(writer: SourceWriter, array: str, node: Node, axes: dict[str, SubscriptRange]) -> None:
    """Write loops over rows; a loop whose variable is nothing but a subscript becomes an axis of the box.

    Args:
        writer: where to.
        array: whose elements they are.
        node: the rest of the loops.
        axes: by loop variable, the axes so far.
    """
    match node:
        case Block(children):
            for child in children:
                _write_rows(writer, array, child, axes)
        case If(condition, then, otherwise):
            with writer.indented(f"if {expression_text(condition, compiled=False)}:"):
                _write_rows(writer, array, then, axes)
            if otherwise is not None:
                with writer.indented("else:"):
                    _write_rows(writer, array, otherwise, axes)
        case For(variable, start, stop, step, body):
            if _is_only_a_subscript(variable, body):
                _write_rows(writer, array, body, {**axes, variable: SubscriptRange(start, stop, step)})
                return
            bounds = [expression_text(start, compiled=False), expression_text(stop, compiled=False)]
            with writer.indented(f"for {variable} in {MARK}range({', '.join(bounds)}, {step}):"):
                _write_rows(writer, array, body, axes)
        case Compute(operations=(Assign(target),)):
            single = [SubscriptRange(subscript, add_constant(subscript, 1)) for subscript in target.subscripts]
            named = [subscript.name if isinstance(subscript, Iterator) else "" for subscript in target.subscripts]
            _write_box(writer, array, [axes.get(name, one) for name, one in zip(named, single, strict=True)])
        case Compute() | Let() | Store() | Prefetch() | RegionCall():
            raise AssertionError(f"what is transferred has no {type(node).__name__}")
        case _:
            assert_never(node)


def _is_only_a_subscript(variable: str, body: Node) -> bool:
    """Return whether a loop variable occurs in the body only as one whole subscript of the element."""
    for part in walk_nodes(body):
        match part:
            case For(start=start, stop=stop):
                expressions = [start, stop]
            case If(condition=condition):
                expressions = [condition]
            case Compute(operations=(Assign(target),)):
                alone = [subscript for subscript in target.subscripts if subscript == Iterator(variable)]
                if len(alone) != 1:
                    return False
                expressions = [subscript for subscript in target.subscripts if subscript != alone[0]]
            case _:
                continue
        for expression in expressions:
            if any(isinstance(leaf, Iterator) and leaf.name == variable for leaf in walk(expression)):
                return False
    return True
