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

from collections.abc import Callable
from dataclasses import dataclass, replace

from polytune.codegen.accumulation import ContiguousAxis, accumulation_of
from polytune.codegen.ast_conversion import block
from polytune.codegen.loops import Block, For, If, Node, Program, RegionCode, walk_nodes
from polytune.codegen.register_blocks import may_be_tiled
from polytune.codegen.register_columns import tile_columns
from polytune.codegen.register_points import PointNest, point_nest_of, tile_points
from polytune.codegen.register_sums import tile_sums
from polytune.codegen.row_vectors import RowLoop, row_loop_of, vectorise_row
from polytune.codegen.storage import contiguous_axis, used_in
from polytune.codegen.target import Target
from polytune.frontend.scop import ArrayRole, Scop


def tile_registers(
    program: Program, scop: Scop, target: Target, loop_name: Callable[[int], str], *, accumulations: bool
) -> Program | None:
    """The program with register tiles in its tiled bands; None where there is nothing to keep in registers.

    Args:
        program: the program.
        accumulations: whether accumulations are tiled, beside points that have variables of their own.
        scop: its kernel.
        target: the registers that there are.
        loop_name: the name of the loop variable at a depth.
    """
    regions = tuple(_tile_region(region, scop, target, loop_name, accumulations) for region in program.regions)
    return None if regions == program.regions else replace(program, regions=regions)


def registers_name(version: str) -> str:
    """What a version with register tiles is called."""
    return f"{version}_registers"


def _tile_region(
    region: RegionCode, scop: Scop, target: Target, loop_name: Callable[[int], str], accumulations: bool
) -> RegionCode:
    first = len(region.outer)
    band = frozenset(loop_name(first + member) for member in range(len(region.members)))
    tiler = _Tiler(
        scop,
        target,
        accumulations,
        band,
        region.kind == "parallel" and region.shared == len(region.members),
        region.local,
        region.private - region.local if region.kind != "serial" else frozenset(),
        region.independent,
    )
    return replace(region, body=tiler.visit(region.body))


@dataclass(frozen=True)
class _Tiler:
    scop: Scop
    target: Target
    accumulations: bool
    band: frozenset[str]
    coincident: bool
    local: frozenset[str]
    copies: frozenset[str]
    independent: frozenset[str]

    def visit(self, node: Node) -> Node:
        """The node with every perfect nest of loops of the band, down to innermost loops, tiled if it can be."""
        match node:
            case Block(children):
                return block(*(self.visit(child) for child in children))
            case If(then=then, otherwise=otherwise):
                other = None if otherwise is None else self.visit(otherwise)
                return replace(node, then=self.visit(then), otherwise=other)
            case For(body=body):
                nest = self.perfect_nest(node)
                if len(nest) >= 2:
                    return self.tile(nest) if self.accumulations else node
                points = self.point_nest(node)
                if points is not None:
                    return tile_points(points, self.target)
                row = self.row_loop(node)
                return replace(node, body=self.visit(body)) if row is None else vectorise_row(row, self.target)
        return node

    def perfect_nest(self, node: Node) -> list[For]:
        """The loops of a perfect nest that are all of the band, if it ends in an innermost loop; else nothing."""
        loops: list[For] = []
        while isinstance(node, For) and node.variable in self.band and node.step == 1:
            loops.append(node)
            node = node.body
        return [] if any(isinstance(part, For) for part in walk_nodes(node)) else loops

    def point_nest(self, node: For) -> PointNest | None:
        """The nest of loops of a coincident band that begins here and has loops of each point's own inside."""
        if not (self.coincident and node.variable in self.band and node.step == 1):
            return None
        columns = node.body
        if isinstance(columns, For) and columns.variable in self.band:
            rows: For | None = node
        else:
            rows, columns = None, node
        if columns.step != 1:
            return None
        return point_nest_of(rows, columns, self.local & used_in(columns).elements, self.copies, self.contiguous)

    def row_loop(self, node: For) -> RowLoop | None:
        """The loop, if it is one inside the band that carries no dependence, as one over a row."""
        if node.variable not in self.independent:
            return None
        arrays = frozenset(array.name for array in self.scop.arrays if array.role is ArrayRole.ARGUMENT)
        return row_loop_of(node, arrays, self.contiguous)

    @property
    def contiguous(self) -> ContiguousAxis:
        """Tells which subscript of an element walks through neighbours in memory."""
        return contiguous_axis(self.scop, self.copies)

    def tile(self, nest: list[For]) -> Node:
        accumulation = accumulation_of(nest, self.contiguous, reassociate=not self.scop.strict)
        if accumulation is None or not may_be_tiled(accumulation):
            return nest[0]
        tiled = (tile_sums if accumulation.sums else tile_columns)(accumulation, self.target)
        inside = 2 if accumulation.rows is None else 3
        for loop in reversed(nest[:-inside]):
            tiled = replace(loop, body=tiled)
        return tiled
