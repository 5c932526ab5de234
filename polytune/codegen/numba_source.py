"""A program as Numba source: one function per version, which every worker of a team runs, with the copies in which a
worker adds up sums of its own, and how these are added to what they are copies of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from polytune.codegen.load_order import arrays_in_order
from polytune.codegen.loops import Node, PrivateSum, Program, RegionCall, RegionCode
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.statement_source import StatementPlace, StatementWriter, has_library_call
from polytune.codegen.storage import (
    PART,
    TILES,
    Storage,
    added_name,
    array_types,
    context_positions,
    copies_name,
    copy_name,
    expanded_name,
    private_name,
    shared_name,
    storage_of,
    summed_name,
    used_in,
    written_in,
)
from polytune.codegen.tiles.loops import CLAIM, TileLoops
from polytune.codegen.transform import BYTES
from polytune.codegen.usual_loops import OUTSIDE
from polytune.frontend.scop import ArrayRole, Scop
from polytune.records import dataclass


def write_version(
    writer: SourceWriter, program: Program, scop: Scop, part_words: int = 0, *, is_nested: bool = False
) -> None:
    """Write the function of one version, ``run_<version>(context)``, or ``run_<version>(context, worker, workers)``
    where a team runs it.

    It takes the address of a context (``polytune.runtime.teams.context``), of which it unpacks what it uses, the number
    of the worker that runs it and how many there are.  Generated names are marked.

    Args:
        writer: where the module is written.
        program: the version.
        scop: its kernel.
        part_words: how many words contexts of the module have for the part of a region.
        is_nested: whether tiles lie in outer tiles, of so many tiles along each member as a context says behind the
            tile sizes; where it says none, of one.
    """
    _VersionWriter(writer, program, scop, part_words, is_nested).write()


BYTES_OF_COPIES = 1 << 20
"""The memory that a worker's copies of one array may have, if it is not more for one copy: the second cache's."""

MOST_PACKED = 512
"""The greatest extent of a tile that is copied before it is worked on: a buffer is to stay in a cache."""


class _VersionWriter:
    def __init__(self, writer: SourceWriter, program: Program, scop: Scop, part_words: int, is_nested: bool):
        self.writer, self.program, self.scop, self.part_words = writer, program, scop, part_words
        self.is_nested = is_nested
        self.storage: Storage = storage_of(scop)
        self.copies = frozenset().union(*(self.worker_copies(region) for region in program.regions))
        self.statements = StatementWriter(
            writer, scop, self.storage, self.copies, is_team=program.team, write_region=self.region
        )
        self.expansions = {
            array: region.expansion.member
            for region in program.regions
            if region.expansion is not None
            for array in sorted(region.expanded)
        }
        self.summed = frozenset().union(*(region.summed for region in program.regions))
        self.in_order = arrays_in_order(region.body for region in program.regions)
        self.buffers = [buffer for region in program.regions for buffer in region.buffers]
        self.strips = [strip for region in program.regions for strip in region.strips]

    @property
    def own_memory(self) -> tuple[str, ...]:
        """The buffers and strips that each worker has."""
        return (*(buffer.name for buffer in self.buffers), *(strip.name for strip in self.strips))

    def worker_copies(self, region: RegionCode) -> frozenset[str]:
        """The arrays and scalars of which each worker needs one copy in memory for a region."""
        if region.kind == "serial":
            return frozenset()
        return (region.private - region.local - region.expanded) & used_in(region.body).elements

    def write(self) -> None:
        writer = self.writer
        writer.line("@$njit(cache=$CACHE, **$OPTIONS)")
        worker = ", $worker, $workers" if self.program.team else ""
        with writer.indented(f"def $run_{self.program.name}($context{worker}):"):
            self.unpack()
            if any(self.statements.counts_outside(region.body, region.local) for region in self.program.regions):
                writer.line(f"{OUTSIDE} = 0")
            if self.program.team:
                writer.line("$base = 0")
                self.statements.node(self.program.skeleton, StatementPlace())
            else:
                self.body(self.program.regions[0])
                self.leave(self.program.regions[0].body)
            for name in sorted(self.copies):
                writer.line(f"$keep_alive({copy_name(name)})")
            for name in self.expansions:
                writer.line(f"$keep_alive({copies_name(name)})")
            for name in self.own_memory:
                writer.line(f"$keep_alive({name}_copy)")
        writer.line()
        writer.line()

    # What comes in

    def unpack(self) -> None:
        """Write what takes the version's arguments from the context, and makes the memory that each worker has."""
        positions = context_positions(self.storage, self.scop, self.part_words)
        self.arguments(positions)
        self.worker_memory()
        self.packed_buffers()
        if self.is_nested:
            depth = self.program.tile_depth
            for member in range(depth):
                inner = f"$integer($context, {positions[TILES] + depth + member})"
                self.writer.line(f"$outer_{member} = $tile_{member} * $greatest(1, {inner})")
        self.strip_memory()

    def arguments(self, positions: Mapping[str, int]) -> None:
        """Views of the arrays, and the scalars, parameters and tile sizes, as far as the version uses them."""
        writer = self.writer
        used = [used_in(region.body) for region in self.program.regions]
        elements = frozenset().union(*(part.elements for part in used))
        arguments = frozenset().union(*(part.arguments for part in used))
        local = frozenset.intersection(*(region.local for region in self.program.regions))
        kinds = array_types(self.storage, self.scop)
        for name in self.storage.memory:
            if name in elements and name not in local:
                where = f'$context, {positions[name]}, "{kinds[name]}"'
                variable = name if self.scop.array(name).ndim else shared_name(name)
                writer.line(f'{variable} = $attach({where}, "{name}", "{self.scopes()}"{self.order(name)})')
        for name in self.storage.scalars:
            if name in arguments:
                writer.line(f'{name} = $number($context, {positions[name]}, "{self.scop.signature[name].dtype}")')
        for name in self.storage.parameters:
            writer.line(f"{name} = $integer($context, {positions[name]})")
        for member in range(self.program.tile_depth):
            writer.line(f"$tile_{member} = $integer($context, {positions[TILES] + member})")
        for number, name in enumerate(self.program.part):
            writer.line(f"{name} = $integer($context, {positions[PART] + number})")

    def order(self, name: str) -> str:
        """The argument that asks a view to keep the order of loads and stores of an array."""
        return ', "in order"' if name in self.in_order else ""

    def worker_memory(self) -> None:
        """Make the copies of arrays that a worker has: one of each, or one for each point of a tile."""
        writer = self.writer
        for name in sorted(self.copies):
            copy, private = copy_name(name), private_name(name)
            writer.line(f"{copy} = $np.empty({self.shape(name)}, $np.{self.scop.array(name).dtype})")
            writer.line(f'{private} = $view({copy}, "{private}", "{self.scopes()}"{self.order(name)})')
        for name, member in self.expansions.items():
            # So many copies as fit into a cache: what the first loop over them computes is there for the next one.
            size = " * ".join(f"({extent})" for extent in self.extents(name))
            most = f"$quotient({BYTES_OF_COPIES // BYTES.get(self.scop.array(name).dtype, 1)}, $greatest(1, {size}))"
            writer.line(f"$tile_{member} = $least($tile_{member}, $greatest(1, {most}))")
        for name, member in self.expansions.items():
            copies, points = copies_name(name), expanded_name(name)
            shape = ", ".join((f"$tile_{member}", *self.extents(name)))
            writer.line(f"{copies} = $np.empty(({shape}), $np.{self.scop.array(name).dtype})")
            writer.line(f'{points} = $view({copies}, "{points}", "{self.scopes()}"{self.order(name)})')

    def packed_buffers(self) -> None:
        """Make the memory into which what rows share is copied, and tiles no larger than that."""
        writer = self.writer
        for member in sorted({member for buffer in self.buffers for member in buffer.members}):
            writer.line(f"$tile_{member} = $least($tile_{member}, {MOST_PACKED})")
        for buffer in self.buffers:
            shape = ", ".join(f"$tile_{member}" for member in buffer.members)
            writer.line(f"{buffer.name}_copy = $np.empty(({shape}), $np.{buffer.dtype})")
            writer.line(f'{buffer.name} = $view({buffer.name}_copy, "{buffer.name}", "{self.scopes()}")')

    def strip_memory(self) -> None:
        """Make the memory of strips."""
        writer = self.writer
        for strip in self.strips:
            shape = ", ".join(f"$greatest(0, {expression_text(extent)})" for extent in strip.shape)
            writer.line(f"{strip.name}_copy = $np.empty(({shape},), $np.{strip.dtype})")
            writer.line(f'{strip.name} = $view({strip.name}_copy, "{strip.name}", "{self.scopes()}")')

    def scopes(self) -> str:
        copies = [private_name(name) for name in sorted(self.copies)]
        copies += [expanded_name(name) for name in self.expansions]
        copies += [summed_name(name) for name in sorted(self.summed)]
        return " ".join((*self.storage.memory, *copies, *self.own_memory))

    def shape(self, name: str) -> str:
        array = self.scop.array(name)
        return "1" if array.role is ArrayRole.SCALAR else f"({', '.join(self.extents(name))},)"

    def extents(self, name: str) -> list[str]:
        """The extents of an array."""
        return [f"$greatest(0, {expression_text(extent)})" for extent in self.scop.array(name).shape]

    # Regions

    def region(self, call: RegionCall) -> None:
        region = self.program.regions[call.region]
        for name, value in zip(region.outer, call.prefix, strict=True):
            text = expression_text(value)
            if text != name:
                self.writer.line(f"{name} = {text}")
        writer = self.writer
        if region.kind == "serial":
            with writer.indented(f"if {CLAIM.format('$worker', '1')} == $base:"):
                self.body(region)
                writer.line("$complete($context)")
            self.finish("1")
            self.leave(region.body)
            return

        def tasks(place: Callable[[], None]) -> None:
            self.tasks(region, place)

        def body() -> None:
            self.body(region)

        TileLoops(writer, region, self.is_nested, tasks, body).write()
        self.leave(region.body)

    def tasks(self, region: RegionCode, place: Callable[[], None]) -> None:
        """Claims and completes the tasks of a region, around what places and runs the tile of one."""
        sums = PrivateSums(self.writer, region.sums, self.scop, self.scopes())
        sums.allocate()
        self.claim(region)
        sums.clear()
        with self.writer.indented("while $task < $base + $total:"):
            place()
            self.writer.line("$claimed += 1" if region.sums else "$complete($context)")
            self.claim(region)
        sums.add_up()
        self.finish("$total")

    def body(self, region: RegionCode) -> None:
        for name in sorted(region.local & used_in(region.body).elements):
            self.writer.line(f"{name} = $np.{self.scop.array(name).dtype}(0)")
        kept = self.kept_scalars(region)
        for name in kept:
            self.writer.line(f"{name} = {shared_name(name)}[0]")
        local = region.local.union(kept)
        place = StatementPlace(local, self.worker_copies(region), region.expanded, region.summed)
        self.statements.region_body(region.body, place, region.local, is_shared=region.kind != "serial")
        written = written_in(region.body)
        for name in kept:
            if name in written:
                self.store(name, is_shared=region.kind != "serial")

    def store(self, name: str, is_shared: bool) -> None:
        """Write what stores a variable that was kept; where others work too, only what has failed, so that each has the
        cache line of the report as long as nothing has."""
        if is_shared:
            with self.writer.indented(f"if {name} != 0:"):
                self.writer.line(f"{shared_name(name)}[0] = {name}")
        else:
            self.writer.line(f"{shared_name(name)}[0] = {name}")

    def kept_scalars(self, region: RegionCode) -> list[str]:
        """The scalars in memory that are variables while a region runs, which one worker does alone, or while a tile of
        it does: there, the one that says where a subscript was out of range.

        Compilers take few of them out of memory themselves, as a loop that may end at once must not write.  A call of
        the library may end the version inside.
        """
        if has_library_call(region.body):
            return []
        used = used_in(region.body).elements - region.local
        scalars = [
            array for array in map(self.scop.array, self.storage.memory) if array.name in used and not array.ndim
        ]
        return [each.name for each in scalars if region.kind == "serial" or each.role is ArrayRole.REPORT]

    def claim(self, region: RegionCode) -> None:
        """Write what claims the next task; where tiles descend, from the share that has the worker's tiles then."""
        worker = "$workers - 1 - $worker" if region.descends else "$worker"
        self.writer.line(f"$task = {CLAIM.format(worker, '$total')}")

    def leave(self, body: Node) -> None:
        """Write what ends the work after a call of the library that has failed: who does a region alone ends at the
        call, and each other worker sees that when the work is done that the call was part of."""
        if has_library_call(body):
            with self.writer.indented("if $has_failed($context):"):
                self.writer.line("return")

    def finish(self, total: str) -> None:
        self.writer.line(f"$base += {total}")
        self.writer.line("$wait($context, $base)")


@dataclass(frozen=True)
class PrivateSums:
    """Writes what is around the tasks of a region; nothing where it has no private sums.

    ``polytune.runtime.intrinsics.private_sums`` says what the operations of a team mean here.  ``scopes`` names all
    views of the function.
    """

    writer: SourceWriter
    sums: Sequence[PrivateSum]
    scop: Scop
    scopes: str

    def allocate(self) -> None:
        """Memory for the copies, with the subscripts of what they are copies of."""
        for number, own in enumerate(self.sums):
            copy, name, dtype = added_name(own.array), summed_name(own.array), self.scop.array(own.array).dtype
            if own.elements is None:
                extent = "1"
            else:
                self.writer.line(f"$sum_from_{number} = {expression_text(own.elements.lower)}")
                self.writer.line(f"$sum_to_{number} = {expression_text(own.elements.upper)}")
                extent = f"$sum_to_{number}"
            self.writer.line(f"{copy} = $np.empty({extent}, $np.{dtype})")
            self.writer.line(f'{name} = $view({copy}, "{name}", "{self.scopes}")')
        if self.sums:
            self.writer.line("$claimed = 0")

    def clear(self) -> None:
        """Write what puts into all copies what adds nothing, if there is a task: zeros, or what any other number is
        less, or greater, than."""
        if not self.sums:
            return
        with self.writer.indented("if $task < $base + $total:"):
            for number, own in enumerate(self.sums):
                zero = _neutral(own.operator, self.scop.array(own.array).dtype)
                if own.elements is None:
                    self.writer.line(f"{summed_name(own.array)}[0] = {zero}")
                    continue
                with self.writer.indented(f"for $element in $range($sum_from_{number}, $sum_to_{number}):"):
                    self.writer.line(f"{summed_name(own.array)}[$element] = {zero}")

    def add_up(self) -> None:
        """Add the copies to what they are copies of, piece by piece, and complete all tasks of the worker."""
        if not self.sums:
            return
        writer = self.writer
        with writer.indented("if $claimed > 0:"):
            with writer.indented("for $turn in $range($pieces($workers)):"):
                writer.line("$piece = $enter($context, $worker, $workers, $turn)")
                for number, own in enumerate(self.sums):
                    self.add(number, own)
                writer.line("$leave($context, $piece)")
            writer.line("$complete_all($context, $claimed)")
        for own in self.sums:
            writer.line(f"$keep_alive({added_name(own.array)})")

    def add(self, number: int, own: PrivateSum) -> None:
        """Add what belongs to a piece; a scalar belongs to the first one."""
        if own.elements is None:
            place, added = f"{shared_name(own.array)}[0]", f"{summed_name(own.array)}[0]"
            with self.writer.indented("if $piece == 0:"):
                self.writer.line(f"{place} = {_joined(own.operator, place, added)}")
            return
        first, last = (
            f"$sum_from_{number} + $quotient(($sum_to_{number} - $sum_from_{number}) * {piece}, $pieces($workers))"
            for piece in ("$piece", "($piece + 1)")
        )
        with self.writer.indented(f"for $element in $range({first}, {last}):"):
            place = f"{own.array}[$element]"
            added = f"{summed_name(own.array)}[$element]"
            self.writer.line(f"{place} = {_joined(own.operator, place, added)}")


def _neutral(operator: str, dtype: str) -> str:
    """The number of a type that changes no result of an operator."""
    if operator == "+":
        return f"$np.{dtype}(0)"
    is_least = operator.startswith("min")
    if dtype.startswith("float"):
        return f"$np.{dtype}({'' if is_least else '-'}$np.inf)"
    limits = np.iinfo(dtype)
    # The least number of 64 bits is no literal, but the negative of one that does not fit.
    return f"$np.{dtype}({limits.max if is_least else f'{limits.min + 1} - 1'})"


def _joined(operator: str, first: str, second: str) -> str:
    """An operation on what is in an element and what a copy has collected for it."""
    if operator == "+":
        return f"{first} + {second}"
    name = {"min": "least", "max": "greatest"}.get(operator, f"np.{operator}")
    return f"${name}({first}, {second})"
