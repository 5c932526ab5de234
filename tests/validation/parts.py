"""The version that is shared among platforms, its regions cut at random, each part with memory of its own.

A part finds in its memory what its transfers say that it reads, and garbage elsewhere; and what they say that it writes
is all that is taken from there.  So a box that is too small leads to other values.  Parts of a region run at the same
time: what one writes no other one touches, but for reductions, which some do in copies that are added at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from polytune.codegen.loops import Block, Compute, For, If, Node, RegionCall
from polytune.codegen.partitioned import PartitionedProgram, PartitionedRegion
from polytune.codegen.transfers import Box, Rows
from polytune.frontend.expression import Assign
from polytune.frontend.scop import Scop
from tests.validation import field
from tests.validation.device import DeviceExecution, Shape
from tests.validation.execution import Execution, Kinds
from tests.validation.memory import Cells, Point, SharedCells
from tests.validation.operations import Action
from tests.validation.reference import Reference

SIZES = (1, 2, 3, 5)

Limits = tuple[tuple[int, int], ...]
Elements = dict[str, set[int]]


@dataclass
class Piece:
    """A part of a region for one platform.

    Attributes:
        execution: what has run it.
        writes: what its transfers say that it writes.
        reductions: the arrays, with their operators, that it updates in copies of its own.
    """

    execution: Execution
    writes: Elements
    reductions: dict[str, str]


class PartitionedExecution(Execution):
    """One run of the version that is shared among platforms."""

    def __init__(self, partitioned: PartitionedProgram, scop: Scop, reference: Reference, kinds: Kinds, seed: int):
        super().__init__(partitioned.parts[0].program, scop, reference, kinds, (), (), seed)
        self.partitioned = partitioned

    def run(self, values: Mapping[str, int] | None = None) -> None:
        self._action(self.partitioned.skeleton)()

    def _action(self, node: Node) -> Action:
        match node:
            case RegionCall(number, prefix):
                prefixes = [self.expressions.index(value) for value in prefix]
                part = self.partitioned.parts[number]
                return lambda: self._step(number, part, tuple(value() for value in prefixes))
        return super()._action(node)

    def _step(self, number: int, part: PartitionedRegion, outer: Point) -> None:
        """All parts of a region."""
        before = dict(self.names)
        self.names.update(zip(part.outer, outer, strict=True))
        ranges = []
        for member in part.members:
            ranges.append((self.expressions.index(member.lower)(), self.expressions.index(member.upper)()))
        pieces = [self._piece(part, outer, ranges, limits, own) for limits, own in self._cuts(part, ranges)]
        self.tile = f"parts of region {number}{list(outer) if outer else ''}: "
        self._hold_apart(pieces)
        self._join(pieces)
        self.tile = ""
        self.names.clear()
        self.names.update(before)

    def _cuts(self, part: PartitionedRegion, ranges: list[tuple[int, int]]) -> Iterator[tuple[Limits, dict[str, str]]]:
        """The limits of parts, cut at random, and the reductions that they do in copies."""
        depth = self.random.randint(0, len(part.splits)) if part.kernel is not None else 0
        limited = ranges[: len(part.limits)]
        sides: list[list[tuple[tuple[int, int], dict[str, str]]]] = []
        for member, (start, stop) in enumerate(limited):
            if member < depth:
                middle = self.random.randint(start, stop)
                upper = dict(part.splits[member].reductions)
                sides.append([((start, middle), {}), ((middle, stop), upper)])
            else:
                sides.append([((start, stop), {})])
        for chosen in product(*sides):
            limits = tuple(pair for pair, _ in chosen)
            if all(start < stop for start, stop in limits):
                yield limits, {name: operator for _, own in chosen for name, operator in own.items()}

    def _piece(
        self,
        part: PartitionedRegion,
        outer: Point,
        ranges: list[tuple[int, int]],
        limits: Limits,
        reductions: dict[str, str],
    ) -> Piece:
        for (low, high), pair in zip(part.limits, limits, strict=True):
            self.names[low], self.names[high] = pair
        reads, writes = self._elements(part.transfers.reads), self._elements(part.transfers.writes)
        on_device = part.kernel is not None and self.random.random() < 0.6
        tiles = tuple(self.random.choice(SIZES) for _ in part.members)
        execution = (DeviceExecution if on_device else Execution)(
            part.program,
            self.scop,
            self.reference,
            self.kinds,
            tiles,
            (),
            self.random.random(),  # type: ignore[arg-type]
        )
        execution.executed = self.executed
        for name, cells in execution.memory.items():
            shared = self.memory[name]
            cells.values[:] = [None] * len(cells.values)
            for place in reads.get(name, ()):
                cells.values[place] = shared.values[place]
            if name in reductions:
                cells.values[:] = [field.neutral(reductions[name])] * len(cells.values)
        try:
            if isinstance(execution, DeviceExecution):
                assert part.kernel is not None
                every = [*limits, *ranges[len(limits) :]]
                execution.launch(
                    part.kernel, outer, [every[position] for position in part.positions], self._shape(part)
                )
            else:
                integers = (*outer, *(limit for pair in limits for limit in pair))
                execution.run(dict(zip(part.program.part, integers, strict=True)))
        except Exception:
            self.tile = f"part {limits} on {'a device' if on_device else 'the processor'}, {execution.where()}"
            raise
        finally:
            self._note(execution)
        return Piece(execution, writes, reductions)

    def _shape(self, part: PartitionedRegion) -> Shape:
        assert part.kernel is not None
        axes = range(part.kernel.axes)
        threads, points = (tuple(self.random.choice((1, 2, 3)) for _ in axes) for _ in range(2))
        return Shape(threads, points, self.random.choice(SIZES), self.random.random() < 0.7)

    def _note(self, execution: Execution) -> None:
        """Take over what a part has counted."""
        self.has_vectors = self.has_vectors or execution.has_vectors
        self.clock.garbage += execution.clock.garbage
        self.clock.first_garbage = self.clock.first_garbage or execution.clock.first_garbage
        for name in execution.memory:
            self.stored.setdefault(name, set()).update(execution.stored.get(name, ()))
            self.kept.setdefault(name, set()).update(execution.kept.get(name, ()))
        for name, counts in execution.counts.items():
            self.counts[name][:] = map(int.__add__, self.counts[name], counts)

    def _hold_apart(self, pieces: list[Piece]) -> None:
        """Hold that parts do not touch what others write, and write what their transfers say."""
        for piece in pieces:
            for name, cells in piece.execution.memory.items():
                assert isinstance(cells, SharedCells)
                for place in cells.written() - piece.writes.get(name, set()):
                    raise AssertionError(f"{cells.element(place)} is written by a part whose transfers do not say so")
                for other in pieces:
                    if other is piece or name in piece.reductions or name in other.reductions:
                        continue
                    theirs = other.execution.memory[name]
                    assert isinstance(theirs, SharedCells)
                    for place in cells.written() & (theirs.written() | theirs.read_places()):
                        raise AssertionError(
                            f"a race: {cells.element(place)} is written by one part, and another's too"
                        )

    def _join(self, pieces: list[Piece]) -> None:
        """Take what parts have written, and then add what they have collected."""
        for piece in sorted(pieces, key=lambda piece: bool(piece.reductions)):
            for name, places in piece.writes.items():
                shared, own = self.memory[name], piece.execution.memory[name]
                operator = piece.reductions.get(name)
                for place in places:
                    if operator is not None:
                        join = field.binary(operator, self.scop.array(name).dtype, False)
                        shared.values[place] = join(shared.values[place], own.values[place])
                    elif own.values[place] is None:
                        raise AssertionError(f"{own.element(place)} is to be written by a part that does not have it")
                    else:
                        shared.values[place] = own.values[place]

    # Transfers

    def _elements(self, transfers: tuple[Box | Rows, ...]) -> Elements:
        """The elements that transfers name, for the limits that are set."""
        found: Elements = {}
        for transfer in transfers:
            cells, own = self.memory[transfer.array], found.setdefault(transfer.array, set())
            if isinstance(transfer, Rows):
                self._visit(transfer.loops, cells, own)
            elif self.expressions.index(transfer.condition)():
                axes = [
                    range(self.expressions.index(axis.start)(), self.expressions.index(axis.stop)(), axis.step)
                    for axis in transfer.axes
                ]
                own.update(cells.number(index) for index in product(*axes))
        return found

    def _visit(self, node: Node, cells: Cells, found: set[int]) -> None:
        index: Any = self.expressions.index
        match node:
            case Block(children):
                for child in children:
                    self._visit(child, cells, found)
            case For(variable, start, stop, step, body):
                for value in range(index(start)(), index(stop)(), step):
                    self.names[variable] = value
                    self._visit(body, cells, found)
            case If(condition, then, otherwise):
                chosen = then if index(condition)() else otherwise
                if chosen is not None:
                    self._visit(chosen, cells, found)
            case Compute(operations=(Assign(target),)):
                found.add(cells.number([index(subscript)() for subscript in target.subscripts]))
            case _:
                raise AssertionError(f"no transfer: {node!r}")
