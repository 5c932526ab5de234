"""A mapped region as a device kernel in the loop IR, and the shared memory that one of its blocks needs, by the extents
of its tile: known before the kernel is compiled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

import islpy as isl

from polytune.codegen.ast_conversion import add_constant, convert_expression, convert_node, scan
from polytune.codegen.loops import Block, Compute, For, If, Let, Node, Prefetch, RegionCall, Store, TiledMember
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.tiles.windows import (
    WindowNames,
    ast_build,
    constrain,
    loops_of_schedule,
    ranges,
    schedule_depth,
    window_context,
)
from polytune.frontend.expression import Assign, Binary, Element, Expression, Iterator, Operation, map_children
from polytune.frontend.expression import map_children as map_below
from polytune.frontend.generated_names import generated, without_marks
from polytune.frontend.scop import Scop, Statement
from polytune.records import dataclass
from polytune.schedule.platforms.mapping import Mapping
from polytune.schedule.platforms.promotion import (
    Accumulator,
    SharedTile,
    Window,
    accesses_of,
    find_accumulators,
    find_shared_tiles,
)
from polytune.schedule.tiles.interchange import select_members


@dataclass(frozen=True)
class SharedCopy:
    """A copy of part of an array in shared memory.

    Attributes:
        name: the copy's name.
        array: the array.
        origins: names of the variables that hold its least subscripts, with their values per tile.
        extents: its extents, expressions of the tile's greatest extents.
    """

    name: str
    array: str
    origins: tuple[tuple[str, Expression], ...]
    extents: tuple[Expression, ...]


@dataclass(frozen=True)
class RegisterCopy:
    """The elements of an array that a thread holds in registers, one per point.

    Attributes:
        name: the copy's name; its subscripts are the thread's own counters of its points.
        array: the array.
        dtype: the type of its elements.
        load: loops over the points that fill it, None where nothing is read.
        store: loops over the points that write it back.
    """

    name: str
    array: str
    dtype: str
    load: Node | None
    store: Node


@dataclass(frozen=True)
class DeviceKernel:
    """The device code of one region.

    Attributes:
        region: the region's number in its plan.
        outer: names of the loop variables around the region.
        members: the ranges of the band's members, the sequential ones first, then the mapped ones, x last.
        windows: per member the names of the tile's lower and upper bound, and of its greatest extent.
        sequential: how many members are sequential.
        mapped: the loop variables of the mapped members, in the same order.
        body: the work of a tile, all arrays in device memory but those in registers.
        shared_body: the same with what ``shared`` holds read from there.
        shared: what a block copies to shared memory.
        registers: what threads keep in registers.
        local: scalars that are variables of a thread.
        private: arrays of which each thread has a copy in device memory.
    """

    region: int
    outer: tuple[str, ...]
    members: tuple[TiledMember, ...]
    windows: tuple[Window, ...]
    sequential: int
    mapped: tuple[str, ...]
    body: Node
    shared_body: Node
    shared: tuple[SharedCopy, ...]
    registers: tuple[RegisterCopy, ...]
    local: frozenset[str]
    private: frozenset[str]

    @property
    def axes(self) -> int:
        """Return how many members are mapped to blocks and threads."""
        return len(self.mapped)


def generate_kernel(mapping: Mapping, scop: Scop) -> DeviceKernel:
    """The device kernel of a mapped region.

    Its body is generated for a window of the band, as for a processor; the loops over mapped members are shared out
    among a block's threads when they are printed, wherever they stand in the body.
    """
    region = replace(mapping.region, band=mapping.band)
    names = WindowNames()
    outer = tuple(names.loop(level) for level in range(region.outer_depth))
    domain = region.domain.intersect_params(scop.context)
    if region.prefix is not None:
        for level, name in enumerate(outer):
            domain = constrain(domain, region.prefix.get_union_pw_aff(level), name, 0, 0)
    nonempty = domain.params()
    members = ranges(domain, region, nonempty, names)
    windows = tuple(Window(*names.window(member), names.extent(member)) for member in range(mapping.members))
    context = window_context(domain, region, nonempty, tuple((window.lower, window.upper) for window in windows))
    of_block = _within(domain, mapping, windows, range(mapping.sequential, mapping.members))
    of_tile = _within(of_block, mapping, windows, range(mapping.sequential))
    accumulators = find_accumulators(mapping, of_block, accesses_of(mapping, of_block, scop))
    tiles = find_shared_tiles(mapping, windows, accesses_of(mapping, of_tile, scop), context, scop)
    depth = schedule_depth(mapping.schedule.get_root())
    mapped = tuple(names.loop(len(outer) + member) for member in range(mapping.sequential, mapping.members))
    held = {accumulator.array: generated(f"r{number}") for number, accumulator in enumerate(accumulators)}
    copies = {tile: generated(f"s{number}") for number, tile in enumerate(tiles)}

    def body(shared: bool) -> Node:
        redirected = replace(
            scop,
            statements=tuple(
                _redirect(statement, copies if shared else {}, held, mapped, mapping)
                for statement in scop.statements
                if not of_tile.intersect(isl.UnionSet.from_set(statement.domain)).is_empty()
            ),
        )
        tree = loops_of_schedule(ast_build(context, names, depth), mapping.schedule.intersect_domain(of_tile))
        return in_mapped_loops(convert_node(tree, redirected), mapped)

    return DeviceKernel(
        region.index,
        outer,
        members,
        windows,
        mapping.sequential,
        mapped,
        body(False),
        body(True),
        tuple(_shared_copy(tile, name, context, names) for tile, name in copies.items()),
        tuple(
            _register_copy(accumulator, held[accumulator.array], context, mapped, scop) for accumulator in accumulators
        ),
        frozenset(name for name in region.local if scop.array(name).ndim == 0),
        frozenset(name for name in region.private if scop.array(name).ndim or name not in region.local),
    )


def _within(domain: isl.UnionSet, mapping: Mapping, windows: tuple[Window, ...], members: range) -> isl.UnionSet:
    """``{ x in domain : lower <= member(x) < upper }`` for some members of the band."""
    for member in members:
        position = mapping.band.get_union_pw_aff(member)
        domain = constrain(domain, position, windows[member].lower, 0, None)
        domain = constrain(domain, position, windows[member].upper, None, -1)
    return domain


def _redirect(
    statement: Statement,
    copies: dict[SharedTile, str],
    held: dict[str, str],
    mapped: tuple[str, ...],
    mapping: Mapping,
) -> Statement:
    """The statement with elements of copied arrays replaced by elements of the copies.

    A reference within a copied group is at ``subscript - origin`` of the copy; one to an array in registers is at the
    thread's own counters, which the printer knows by the names of the mapped loops.
    """
    places: dict[Element, Element] = {}
    for access, element in zip(statement.accesses, _elements(statement), strict=True):
        if access.array in held:
            counters = tuple(Iterator(name) for name in mapped)
            places[element] = Element(held[access.array], counters, element.dtype)
        for tile, name in copies.items():
            if access.reference in tile.references:
                shifted = tuple(
                    Binary("-", subscript, Iterator(origin_name(name, dimension)), "int64")
                    for dimension, subscript in enumerate(element.subscripts)
                )
                places[element] = Element(name, shifted, element.dtype)

    def change(part: Expression | Operation) -> Expression | Operation:
        if isinstance(part, Element) and part in places:
            return places[part]
        changed: Expression | Operation = map_below(part, change)
        return changed

    changed = tuple(change(operation) for operation in statement.operations)
    return replace(statement, operations=(_position(_mapped_values(statement, mapping)), *changed))  # type: ignore[arg-type]


def _mapped_values(statement: Statement, mapping: Mapping) -> tuple[Expression, ...]:
    """The values of the mapped members, in terms of a statement's iterators."""
    positions = tuple(range(mapping.sequential, mapping.members))
    schedule = isl.UnionMap.from_multi_union_pw_aff(select_members(mapping.band, positions))
    inside = schedule.intersect_domain(isl.UnionSet.from_set(statement.domain))
    return values_of(isl.Map.from_union_map(inside), statement.iterators)


def _elements(statement: Statement) -> list[Element]:
    """The references of a statement in the order of its accesses."""
    from polytune.frontend.polyhedral.accesses import elements_in_order

    return [element for element, _ in elements_in_order(statement.operations)]


def origin_name(copy: str, dimension: int) -> str:
    """The variable that holds the least subscript of a shared copy along a dimension."""
    return f"{copy}_{dimension}"


def _shared_copy(tile: SharedTile, name: str, context: isl.Set, names: WindowNames) -> SharedCopy:
    build = ast_build(context, names, 0)
    origins = tuple(
        (origin_name(name, dimension), convert_expression(build.expr_from_pw_aff(least.gist(context).coalesce())))
        for dimension, least in enumerate(tile.origin)
    )
    universe = isl.Set.universe(tile.extents[0].domain().get_space())
    plain = isl.AstBuild.from_context(universe)
    extents = tuple(convert_expression(plain.expr_from_pw_aff(_for_tiles(extent))) for extent in tile.extents)
    return SharedCopy(name, tile.array, origins, extents)


def _for_tiles(extent: isl.PwAff) -> isl.PwAff:
    """An extent simplified for tiles that have any points: every parameter is at least one."""
    allowed = isl.Set.universe(extent.domain().get_space())
    one = isl.Val.one(extent.get_ctx())
    for position in range(allowed.dim(isl.dim_type.param)):
        allowed = allowed.lower_bound_val(isl.dim_type.param, position, one)
    return extent.gist(allowed).coalesce()


def _register_copy(
    accumulator: Accumulator, name: str, context: isl.Set, mapped: tuple[str, ...], scop: Scop
) -> RegisterCopy:
    """Loops over the points of a block, ``mapped`` their variables, that move each point's element."""
    array = scop.array(accumulator.array)
    element = Element(array.name, values_of(accumulator.element, mapped), array.dtype)
    copy = Element(name, tuple(Iterator(variable) for variable in mapped), array.dtype)

    def moving(target: Element, source: Element) -> Node:
        operations = (_position(tuple(Iterator(variable) for variable in mapped)), Assign(target, source))
        loops = scan(accumulator.element.domain(), context, mapped, operations, scop)
        return in_mapped_loops(loops, mapped)

    load = moving(copy, element) if accumulator.is_read else None
    return RegisterCopy(name, array.name, array.dtype, load, moving(element, copy))


def values_of(relation: isl.Map, names: tuple[str, ...]) -> tuple[Expression, ...]:
    """``{ [x] -> [f(x)] }``, single-valued, as expressions of x, whose dimensions are named."""
    first = relation.dim(isl.dim_type.param)
    relation = relation.insert_dims(isl.dim_type.param, first, len(names))
    for position, name in enumerate(names):
        relation = relation.set_dim_name(isl.dim_type.param, first + position, name)
        relation = relation.equate(isl.dim_type.in_, position, isl.dim_type.param, first + position)
    images = relation.range()
    known = images.params()
    values = images.lexmin_pw_multi_aff()
    build = isl.AstBuild.from_context(known)
    return tuple(
        convert_expression(build.expr_from_pw_aff(values.get_pw_aff(dimension).gist(known).coalesce()))
        for dimension in range(images.dim(isl.dim_type.set))
    )


_POSITION = "position"


def _position(values: tuple[Expression, ...]) -> Assign:
    """A mark that carries the values of the mapped members at a statement through isl's code generation."""
    place = Element(_POSITION, values, "int64")
    return Assign(place, place)


def in_mapped_loops(node: Node, mapped: tuple[str, ...], around: frozenset[str] = frozenset()) -> Node:
    """The node with the positions taken out, and every statement inside a loop over each mapped member.

    isl leaves out a loop of one iteration whose value is an affine expression; but every statement has to be run by
    the one thread whose point it is, and only by it.

    Args:
        node: the code of a tile, each statement of which begins with an assignment of the values of the mapped members:
            its position.
        mapped: the loop variables of the mapped members, the outermost first.
        around: those that loops around the node have already.
    """
    match node:
        case Block(children):
            return Block(tuple(in_mapped_loops(child, mapped, around) for child in children))
        case For(variable, body=body):
            return replace(node, body=in_mapped_loops(body, mapped, around | {variable}))
        case If(then=then, otherwise=otherwise):
            other = None if otherwise is None else in_mapped_loops(otherwise, mapped, around)
            return replace(node, then=in_mapped_loops(then, mapped, around), otherwise=other)
        case Compute(operations=(Assign(Element(_, values)), *operations)):
            inner: Node = replace(node, operations=tuple(operations))
            for variable, value in reversed(list(zip(mapped, values, strict=True))):
                if variable not in around:
                    inner = For(variable, value, add_constant(value, 1), 1, inner)
            return inner
        case Compute() | Let() | Store() | Prefetch() | RegionCall():
            raise AssertionError(f"a device kernel has no {type(node).__name__}")
        case _:
            assert_never(node)


AXES = "xyz"

_BYTES = {"int32": 4, "int64": 8, "float32": 4, "float64": 8, "bool": 4}
"""The bytes of an element, in the types of ``c_expressions.C_TYPES``."""


def shared_memory_text(kernel: DeviceKernel, scop: Scop) -> str:
    """The bytes of a kernel's copies in shared memory, with the last extents odd as ``kernel_source`` makes them.

    Returns:
        A Python expression with places ``{x}``, ``{y}`` and ``{z}`` for the points of a block along the axes, and
        ``{depth}`` for those of a tile along a sequential member; empty text for a kernel without copies.
    """
    places = ["depth"] * kernel.sequential + list(reversed(AXES[: kernel.axes]))
    named = {window.extent: f"{{{place}}}" for window, place in zip(kernel.windows, places, strict=True)}

    def text(extent: Expression) -> str:
        written = without_marks(expression_text(_renamed(extent, named), compiled=False))
        return f"({written})" if " " in written else written

    sizes = []
    for copy in kernel.shared:
        *others, last = map(text, copy.extents)
        factors = [str(_BYTES[scop.array(copy.array).dtype]), *others, f"({last} // 2 * 2 + 1)"]
        sizes.append(" * ".join(factors))
    return " + ".join(sizes)


def _renamed(expression: Expression, names: dict[str, str]) -> Expression:
    """The expression with variables renamed."""
    if isinstance(expression, Iterator) and expression.name in names:
        return replace(expression, name=names[expression.name])
    renamed: Expression = map_children(expression, lambda part: _renamed(part, names))
    return renamed
