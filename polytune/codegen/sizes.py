"""The sizes that can be chosen of a kernel's versions for the processor: the one list of them."""

from __future__ import annotations

from collections.abc import Sequence

from polytune.codegen.loops import LARGEST_TILE, MOST_INNER_TILES, Program
from polytune.records import dataclass

__all__ = ["SizeChoice", "size_choices", "teams_of"]


@dataclass(frozen=True)
class SizeChoice:
    """A size that versions take as an argument, from 1 on, where ratios count and not differences.

    Attributes:
        name: the parameter's.
        most: the largest.
        first: where the search begins.
        versions: the versions that take it.
        unit: what it counts, in words.
    """

    name: str
    most: int
    first: int
    versions: tuple[str, ...]
    unit: str


def teams_of(programs: Sequence[Program]) -> tuple[str, ...]:
    """The versions that are shared out among threads, of which the number is chosen too."""
    return tuple(program.name for program in programs if program.team)


def size_choices(programs: Sequence[Program]) -> tuple[SizeChoice, ...]:
    """The sizes of tiles, and then of outer tiles, member by member.

    Args:
        programs: the versions, the most promising first: where a search begins, it says.
    """
    found = []
    for member in range(max((program.tile_depth for program in programs), default=0)):
        tiled = [program for program in programs if program.tile_depth > member]
        names = tuple(program.name for program in tiled)
        found.append(SizeChoice(f"tile_{member}", LARGEST_TILE, tiled[0].tiles[member], names, "iterations"))
    for member in range(max((len(program.outer) for program in programs), default=0)):
        nested = [program for program in programs if len(program.outer) > member]
        names = tuple(program.name for program in nested)
        found.append(SizeChoice(f"outer_{member}", MOST_INNER_TILES, nested[0].outer[member], names, "tiles"))
    return tuple(found)
