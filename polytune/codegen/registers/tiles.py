"""Register tiles: what is updated all through the innermost loop of a nest stays in vector registers meanwhile.

In a nest ``for u: for v: for k`` of a tiled band whose statements update elements that do not depend on k, as
``C[u, v] = C[u, v] + A[u, k] * B[k, v]``, blocks of some u and some v are computed at once: the elements of C that
belong to a block are loaded, updated in registers for all k, and stored.  Each vector of B then serves several rows,
each element of A several columns.

Lanes of a vector are consecutive v where arrays are contiguous along v.  Where they are contiguous along k, as in
``A[u, k] * A[v, k]``, lanes are sums over every so many k, added up at the end: that reassociates a sum.

Why that is right: the loops are members of one permutable band, so that its points may run in any order in which each
comes after all those that are greater in no member.  Blocks, the parts of a block before, in and after its common range
of k, and the iterations of k within are such an order.  Points of a block with equal k run together: each updates an
element of its own, which nothing else in the block accesses; where that is not certain, it is tested before the block
runs, and a block that fails runs point by point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property, partial, reduce

from polytune.codegen.ast_conversion import integer
from polytune.codegen.loops import (
    Buffer,
    Compute,
    For,
    If,
    Node,
    Program,
    RegionCode,
    Strip,
    block,
    map_nodes,
    perfect_nest,
    walk_nodes,
)
from polytune.codegen.registers.accumulation import accumulation_of
from polytune.codegen.registers.blocks import all_of, may_be_tiled
from polytune.codegen.registers.columns import tile_columns
from polytune.codegen.registers.packing import buffer_names, pack
from polytune.codegen.registers.point_nests import PointNest, point_nest_of
from polytune.codegen.registers.points import block_shape, tile_points
from polytune.codegen.registers.sums import tile_sums
from polytune.codegen.registers.sweeps import sweep_of, tile_sweep
from polytune.codegen.storage import contiguous_axis, used_in
from polytune.codegen.tiles.windows import WindowNames
from polytune.codegen.transform import VECTOR_TYPES, LoopTransform, Target
from polytune.codegen.vectors.lane_access import ContiguousAxis
from polytune.codegen.vectors.rows import RowLoop, row_loop_of, vectorise_row
from polytune.frontend.expression import Assign, Element, Expression, walk
from polytune.frontend.generated_names import generated
from polytune.frontend.scop import ArrayRole, Scop
from polytune.records import dataclass
from polytune.schedule.orders.summed import SUMMED
from polytune.schedule.plan_transform import ACCUMULATED, EARLY, EXPANDED, INTERLEAVED


def tile_registers(
    program: Program,
    scop: Scop,
    target: Target,
    *,
    accumulations: bool,
    packing: bool = False,
) -> Program | None:
    """The program with register tiles in its tiled bands; None where there is nothing to keep in registers.

    Args:
        program: the program.
        accumulations: whether accumulations are tiled, beside points that have variables of their own.
        scop: its kernel.
        target: the registers that there are.
        packing: whether what the rows of an accumulation share is copied into buffers first; None where it nowhere is.
    """
    regions = tuple(_Tiler(region, scop, target, accumulations, packing).tiled() for region in program.regions)
    if packing and not any(region.buffers for region in regions):
        return None
    return None if regions == program.regions else replace(program, regions=regions)


def pack_tiles(program: Program, scop: Scop, target: Target) -> Program | None:
    """The program with register tiles that read from buffers what their rows share; None where none do.

    Tiles start from sizes that suit it: two buffers of what a tile copies, 384 by 96 numbers, stay in the second cache,
    and there are many rows for which that is done, in whole blocks.

    Args:
        program: a version that accumulates.
        scop: its kernel.
        target: the processor, of whose vector registers blocks are made.
    """
    packed = tile_registers(program, scop, target, accumulations=True, packing=True)
    if packed is None:
        return None
    copied: dict[int, int] = {}
    for region in packed.regions:
        for buffer in region.buffers:
            inner, columns = buffer.members
            copied |= {inner: 384, columns: 96}
    return replace(packed, tiles=tuple(copied.get(member, 480) for member in range(len(program.tiles))))


REGISTERS = LoopTransform(
    name="registers",
    meaning="what the innermost loop updates again and again stays in vector registers",
    includes=(ACCUMULATED,),
    rewrite=partial(tile_registers, accumulations=True),
    needs=(VECTOR_TYPES,),
    after=(ACCUMULATED, SUMMED),
    unsaid_after=(SUMMED,),
)

PACKED = LoopTransform(
    name="packed",
    meaning="what rows share copied into buffers first",
    includes=(ACCUMULATED,),
    rewrite=pack_tiles,
    needs=(VECTOR_TYPES,),
    after=(ACCUMULATED, SUMMED),
)

POINTS = LoopTransform(
    name="registers",
    meaning="many points side by side in vector registers",
    rewrite=partial(tile_registers, accumulations=False),
    needs=(VECTOR_TYPES,),
    # Interleaved points have no band around the loops of their own.
    never_after=(ACCUMULATED, SUMMED, INTERLEAVED),
    unsaid_after=(EXPANDED, EARLY),
)


def _written_in(body: Node) -> frozenset[str]:
    """The arrays that statements may write to."""
    return frozenset(
        part.target.array
        for node in walk_nodes(body)
        if isinstance(node, Compute)
        for operation in node.operations
        for part in walk(operation)
        if isinstance(part, Assign)
    )


def elements_of(node: Node) -> list[Element]:
    """Return what a statement reads and writes."""
    operations = node.operations if isinstance(node, Compute) else ()
    return [part for operation in operations for part in walk(operation) if isinstance(part, Element)]


def _around(loops: Sequence[For], node: Node) -> Node:
    """A node inside loops, the outermost first."""
    return reduce(lambda body, loop: replace(loop, body=body), reversed(loops), node)


@dataclass(frozen=True)
class _Tiler:
    """Tiles the code of a region; the arguments are those of ``tile_registers``.

    ``buffers`` and ``strips`` are the memory that the code needs, as far as it has been tiled.
    """

    region: RegionCode
    scop: Scop
    target: Target
    accumulations: bool
    packing: bool
    buffers: list[Buffer] = field(default_factory=list)
    strips: list[Strip] = field(default_factory=list)

    def tiled(self) -> RegionCode:
        """The region with register tiles."""
        body = self.visit(self.region.body)
        return replace(self.region, body=body, buffers=tuple(self.buffers), strips=tuple(self.strips))

    @cached_property
    def coincident(self) -> bool:
        """Return whether all points of a tile are independent of one another."""
        region = self.region
        return region.kind == "parallel" and region.shared == len(region.members) and not region.sums

    @cached_property
    def around_points(self) -> frozenset[str]:
        """The variables of the loops over points that are independent of one another."""
        region, names = self.region, WindowNames()
        members = len(region.members) if region.expansion is None else region.expansion.coincident
        return frozenset(names.loop(len(region.outer) + member) for member in range(members))

    @cached_property
    def windows(self) -> tuple[tuple[str, str], ...]:
        """The bounds of a tile whose rows may share a copy; none where nothing is copied."""
        return self.region.windows if self.packing and self.region.kind == "parallel" else ()

    @cached_property
    def written(self) -> frozenset[str]:
        """The arrays that statements may write to."""
        return _written_in(self.region.body)

    def visit(self, node: Node) -> Node:
        """The node with every perfect nest of loops of the band, down to innermost loops, tiled if it can be."""
        if isinstance(node, For):
            nest = perfect_nest(node, self.region.nested)
            if len(nest) >= 2:
                return self.tile(nest) if self.accumulations else node
            points = self.point_nest(node)
            if points is not None:
                tiled = tile_points(self.in_strips(points), self.target)
                fits = [part for filling in points.fillings.values() for part in filling.fits]
                return If(all_of(fits), tiled, node) if fits else tiled
            row = self.row_loop(node)
            if row is not None:
                return vectorise_row(row, self.target)
        return map_nodes(node, self.visit)

    def point_nest(self, node: For) -> PointNest | None:
        """The nest of loops of a coincident band that begins here and has loops of each point's own inside."""
        if not (self.coincident and node.variable in self.around_points and node.step == 1):
            return None
        columns = node.body
        if isinstance(columns, For) and columns.variable in self.around_points:
            rows: For | None = node
        else:
            rows, columns = None, node
        if columns.step != 1:
            return None
        own, shared = self.region.local & used_in(columns).elements, self.region.copies - self.region.expanded
        constant = frozenset(array.name for array in self.scop.arrays) - self.written - self.region.local
        sizes = frozenset(parameter.name for parameter in self.scop.parameters)
        return point_nest_of(rows, columns, own, shared, constant, sizes, self.contiguous)

    def in_strips(self, nest: PointNest) -> PointNest:
        """The nest with strips in place of the arrays that its points alone use, where those lie across their rows, and
        of those that points read again and again there."""
        elements = [part.array for node in walk_nodes(self.region.body) for part in elements_of(node)]
        inside = [part.array for part in nest.elements]
        resident = self.region.resident - self.region.copies - self.region.local
        alone = frozenset(array for array in resident if elements.count(array) == inside.count(array))
        width = block_shape(nest, self.target).columns * self.target.lanes(nest.dtype)
        strips: dict[str, tuple[int, str]] = {}

        def add(array: str, axis: int, extents: Sequence[Expression]) -> None:
            name = generated(f"strip_{self.region.index}_{len(self.strips)}")
            self.strips.append(Strip(name, self.scop.array(array).dtype, (*extents, integer(width))))
            strips[array] = axis, name

        for array, axis in nest.across(alone).items():
            extents = self.scop.array(array).shape
            add(array, axis, (*extents[:axis], *extents[axis + 1 :]))
        for array, filling in nest.fillings.items():
            add(array, filling.apart.axis, filling.room)
        return replace(nest, strips=strips)

    def row_loop(self, node: For) -> RowLoop | None:
        """The loop, if it is one inside the band that carries no dependence, as one over a row."""
        if node.variable not in self.region.independent:
            return None
        arrays = frozenset(array.name for array in self.scop.arrays if array.role is ArrayRole.ARGUMENT)
        return row_loop_of(node, arrays, self.contiguous)

    @property
    def contiguous(self) -> ContiguousAxis:
        """Tells which subscript of an element walks through neighbours in memory."""
        return contiguous_axis(self.scop, self.region.copies)

    def tile(self, nest: list[For]) -> Node:
        packed = self.packed(nest) if self.windows else None
        if packed is not None:
            return packed
        reassociate = not self.scop.strict
        accumulation = accumulation_of(nest, self.contiguous, reassociate=reassociate)
        if accumulation is None or (accumulation.rows is None and not accumulation.sums):
            columns, rows = nest[-2:] if not self.region.sums else nest[:-3:-1]
            sweep = sweep_of(columns, rows, self.contiguous, reassociate=reassociate)
            if sweep is not None:
                return _around(nest[:-2], tile_sweep(sweep, self.target))
        if accumulation is None or not may_be_tiled(accumulation):
            return nest[0]
        tiled = (tile_sums if accumulation.sums else tile_columns)(accumulation, self.target)
        return _around(nest[: -2 if accumulation.rows is None else -3], tiled)

    def packed(self, nest: list[For]) -> Node | None:
        """A nest that reads what its rows share from buffers; None where that is not possible."""
        found = pack(
            nest, self.windows, self.written, self.contiguous, buffer_names(self.region.index), len(self.buffers)
        )
        if found is None:
            return None
        accumulation = accumulation_of(found.nest, self.contiguous, reassociate=not self.scop.strict)
        if accumulation is None or accumulation.rows is None or accumulation.sums or not may_be_tiled(accumulation):
            return None
        self.buffers.extend(found.buffers)
        return _around(nest[:-3], block(found.copies, tile_columns(accumulation, self.target)))
