"""Outer tiles: tiles of tiles along the diagonals of a factorisation, for matrices beyond the second cache.

Tiles of a wavefront run diagonal after diagonal.  In a factorisation, a tile reads what two others have computed and
updates a third; its neighbours, of which each needs two of these three again, are on the same diagonal, where other
workers may have them, or on the next one, between which and this one a worker goes through much of the matrix.  What
they share so comes from the last cache, or from memory where that does not hold the matrix.  In an outer tile they
follow one another, while it is in the second cache.  To make tiles larger instead does not do: one tile's operands have
to stay in that cache all through it.

Time-tiled stencils do not gain: a tile of them uses each element again for many steps, before it leaves the cache.  Nor
do parallel regions: the loop along which their tiles use the same elements runs inside a task.
"""

from __future__ import annotations

from dataclasses import replace

from polytune.codegen.loops import Program
from polytune.codegen.registers.tiles import REGISTERS
from polytune.codegen.transform import LoopTransform, Target
from polytune.frontend.scop import Scop

FACTOR = 2
"""The tiles of an outer tile along each shared member to start from: what two by two tiles read and update, 96 by 96
numbers each, is in the second cache."""


def outer_tiles(program: Program, scop: Scop, target: Target) -> Program | None:
    """The version of a program that accumulates whose tiles lie in outer tiles; None where no tiles run along diagonals
    of three members or more, so that each element that a tile reads is used several times there.

    Args:
        program: a version that accumulates.
        scop: its kernel.
        target: the processor; the same on all.
    """
    found = [region for region in program.regions if region.kind == "wavefront" and len(region.members) > 2]
    if not found:
        return None
    shared = max(region.shared for region in found)
    outer = tuple(FACTOR if member < shared else 1 for member in range(program.tile_depth))
    return replace(program, outer=outer, shares=program.function)


OUTER = LoopTransform(
    name="outer",
    meaning="with its tiles inside outer tiles",
    rewrite=outer_tiles,
    after=(REGISTERS,),
    is_for_first=True,
)
