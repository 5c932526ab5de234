"""One version in the loop IR, executed in an order that is as unfavourable as its regions allow.

Tiles of a parallel region, and those on one diagonal of a wavefront, run in random order; before each of them the
arrays of which its worker has a copy have garbage in them.  Which worker runs a tile is random, and so is how many
there are: that matters to the copies in which workers add up.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    If,
    Let,
    Node,
    Prefetch,
    PrivateSum,
    Program,
    RegionCall,
    RegionCode,
    Store,
)
from polytune.codegen.vectors.expressions import VECTOR, Lanes, Variable
from polytune.frontend.expression import Element, walk
from polytune.frontend.scop import ArrayRole, Scop
from polytune.signature import ArrayType
from tests.validation import field
from tests.validation.memory import Cells, Clock, Point, SharedCells
from tests.validation.operations import Action, Operations, Write
from tests.validation.reference import Instance, Kind, Reference

MOST_WORKERS = 3


@dataclass(frozen=True)
class Kinds:
    """How the statements of a version correspond to those of the source.

    Attributes:
        of: the kind of each statement.
        copies: the instances of statements that the source does not have, which only copy values.
        whole: by their names, the instances of the source that statements stand for which are many of them at once.
    """

    of: Mapping[str, Kind]
    copies: Mapping[Instance, int]
    whole: Mapping[str, Sequence[Instance]] = dataclasses.field(default_factory=dict)


class Execution:
    """One run of a version.

    Attributes:
        memory: what all workers see.
        counts: how often each element is written, in whatever copy of its array.
        stored: the elements of arrays, by their numbers, that were stored by no instance of a statement but in vectors.
        kept: the elements that were loaded, held, and stored as they were, which is not to write them.
        executed: how often each instance of a statement was executed.
        has_vectors: whether instances were executed that no node names.
    """

    def __init__(
        self,
        program: Program,
        scop: Scop,
        reference: Reference,
        kinds: Kinds,
        tiles: Sequence[int],
        outer: Sequence[int],
        seed: int,
    ):
        self.program, self.scop, self.reference, self.kinds = program, scop, reference, kinds
        self.tiles, self.outer, self.random = tuple(tiles), tuple(outer), random.Random(seed)
        self.clock = Clock()
        self.expressions = reference.expressions()
        self.expressions.contiguous = self._contiguous_axis
        self.operations = Operations(self.expressions)
        self.names, self.memory = self.expressions.names, self.expressions.memory
        self.counts: dict[str, list[int]] = {}
        self.stored: dict[str, set[int]] = {}
        self.kept: dict[str, set[int]] = {}
        self.executed: Counter[Instance] = Counter()
        self.has_vectors = False
        self.shapes: dict[str, Point] = {}
        self.instance = ""
        self.tile = ""
        self._own: frozenset[str] = frozenset()
        self.loaded: dict[str, Element | None] = {}
        self._bodies: dict[int, Action] = {}
        for array in scop.arrays:
            given = reference.initial.get(array.name)
            content = list(reference.content(array) if given is None else given)
            self.shapes[array.name] = reference.extents.get(array.name) or reference.shape(array)
            self.counts[array.name] = [0] * len(content)
            self.memory[array.name] = SharedCells(
                array.name, self.shapes[array.name], self.clock, content, self.counts[array.name]
            )
        self._roles = {array.name: array.role for array in scop.arrays}

    def run(self, values: Mapping[str, int] | None = None) -> None:
        """Execute everything once.

        Args:
            values: the integers that say which part of a region is meant, for a program that is one region.

        Raises:
            AssertionError: it does what no version may do, whatever it computes.
        """
        self.names.update(values or {})
        self._action(self.program.skeleton)()

    def where(self) -> str:
        """What is being executed, as text."""
        return f"{self.tile}{self.instance}"

    # Memory

    def _contiguous_axis(self, name: str) -> int | None:
        """The axis along which elements of an array are neighbours; workers' own memory is dense."""
        if self._roles.get(name) is not ArrayRole.ARGUMENT or name in self._own:
            return -1
        kind = self.scop.signature[name]
        assert isinstance(kind, ArrayType)
        return {"C": -1, "F": 0}.get(kind.layout)

    def _fresh(self, name: str, *before: int) -> Cells:
        """A copy of an array, or of so many, with garbage in it."""
        return Cells(name, (*before, *self.shapes[name]), self.clock)

    # Nodes

    def _action(self, node: Node) -> Action:
        """A function that executes a node."""
        match node:
            case Block(children):
                actions = [self._action(child) for child in children]

                def all_of_them() -> None:
                    for action in actions:
                        action()

                return all_of_them
            case For():
                return self._loop(node)
            case If(condition, then, otherwise):
                test = self.expressions.value(condition)
                yes, no = self._when_needed(then), None if otherwise is None else self._when_needed(otherwise)

                def choose() -> None:
                    if test():
                        yes()
                    elif no is not None:
                        no()

                return choose
            case Compute():
                return self._compute(node)
            case Let(_, value):
                # What is computed of it may be stored nowhere, as there is nothing to store to.
                self.has_vectors = self.has_vectors or value.dtype == VECTOR
                return self._let(node)
            case Store():
                return self._store(node)
            case Prefetch():
                return lambda: None
            case RegionCall(region, prefix):
                prefixes = [self.expressions.index(value) for value in prefix]
                code = self.program.regions[region]
                return lambda: self._region(code, tuple(value() for value in prefixes))
        raise AssertionError(f"no node: {node!r}")

    def _when_needed(self, node: Node) -> Action:
        """A function that translates a node when it is first executed: much code is for larger problems."""
        known: list[Action] = []

        def run() -> None:
            if not known:
                known.append(self._action(node))
            known[0]()

        return run

    def _loop(self, loop: For) -> Action:
        start, stop = self.expressions.index(loop.start), self.expressions.index(loop.stop)
        body, names, variable, step = self._when_needed(loop.body), self.names, loop.variable, loop.step
        assert step > 0, f"the loop over {variable} goes by steps of {step}"

        def run() -> None:
            for value in range(start(), stop(), step):
                names[variable] = value
                body()
            # Nobody may count on what it is after the loop.
            names.pop(variable, None)

        return run

    def _compute(self, node: Compute) -> Action:
        kind, name = self.kinds.of[node.statement], node.statement
        count = len(self.scop.statement(name).iterators)
        assert len(node.instance) == count, f"statement {name} has {count} iterators: {node.instance}"
        coordinates = [self.expressions.index(value) for value in node.instance]
        actions = self.operations.actions(node.operations)
        operations, executed, copies = self.operations, self.executed, self.kinds.copies
        whole = self.kinds.whole.get(name, ())
        known, is_update = self.reference.instances, kind in self.reference.reductions

        def compute() -> None:
            point = tuple([coordinate() for coordinate in coordinates])
            key = (kind, point)
            self.instance = f"instance {name}{list(point)}: "
            times = executed[key] = executed[key] + 1
            expected = known.get(key)
            if times > (copies.get(key, 0) if expected is None else len(expected)):
                times = times - 1
                problem = f"it is executed {times + 1} times" if times else "it is executed, and is none of the source"
                raise AssertionError(problem)
            operations.written = written = []
            for action in actions:
                action()
            executed.update(whole)
            for each in whole:
                assert executed[each] <= len(known[each]), f"{each[0]}{list(each[1])} is executed again"
            if expected is not None and not is_update:
                self._hold(written, expected)
            self.instance = ""

        return compute

    def _hold(self, written: list[Write], expected: list[tuple[Write, ...]]) -> None:
        """Hold what an instance has written against what instances of its kind write in the source."""
        values = [value for _, _, value in written]
        if any([value for _, _, value in writes] == values for writes in expected):
            return
        wrong = next((write for write, own in zip(written, expected[0], strict=False) if write != own), None)
        name, number, _ = wrong or written[0] if written else ("nothing", 0, 0)
        place = self.memory[name].element(number) if name in self.memory else name
        raise AssertionError(
            f"it writes to {place} what it does not write in the source order: it has read what others have written"
        )

    def _store(self, node: Store) -> Action:
        """A store to memory, of a vector or of a scalar."""
        value, updates = self.expressions.value(node.value), self._updates(node)
        stored, kept = self.stored, self.kept
        self.has_vectors = True

        def note(cells: Cells, place: int, element: int) -> None:
            unchanged = cells.values[place] == element and updates()
            cells.write(place, element)
            if cells.counts is not None:
                (kept if unchanged else stored).setdefault(cells.name, set()).add(place)
                cells.counts[place] -= unchanged

        if not node.is_vector:
            scalar = self.expressions.place(node.element)

            def store_one() -> None:
                element = value()
                note(*scalar(), element)

            return store_one
        names, mask, places = self.names, node.mask, self.expressions.lanes(node.element, node.apart)

        def store() -> None:
            lanes = value()
            cells, indices = places(len(lanes))
            chosen = [True] * len(lanes) if mask is None else names[mask]
            for index, lane, there in zip(indices, lanes, chosen, strict=True):
                if there:
                    note(cells, cells.number(index), lane)

        return store

    def _let(self, node: Let) -> Action:
        """A variable, of which it is noted which element it was loaded from, if it has only been updated since."""
        compute, names, loaded, name = (
            self.expressions.variable(node.name, node.value),
            self.names,
            self.loaded,
            node.name,
        )
        loads = node.value.element if isinstance(node.value, Lanes) else node.value
        origin = loads if isinstance(loads, Element) else None
        is_update = any(isinstance(part, Variable) and part.name == name for part in walk(node.value))

        def let() -> None:
            names[name] = compute()
            if not is_update:
                loaded[name] = origin

        return let

    def _updates(self, node: Store) -> Callable[[], bool]:
        """Whether what is stored is what was loaded from the same place, and then updated."""
        parts, loaded, own = list(walk(node.value)), self.loaded, node.element
        held = [part.name for part in parts if isinstance(part, Variable)]
        if own in parts:
            return lambda: True
        return lambda: any(loaded.get(name) == own for name in held)

    # Regions

    def _region(self, region: RegionCode, outer: Point) -> None:
        before = dict(self.names)
        self.names.update(zip(region.outer, outer, strict=True))
        bounds = []
        for member in region.members:
            low, high = self.expressions.index(member.lower)(), self.expressions.index(member.upper)()
            bounds.append((low, high))
            if low >= high:
                self.tile = f"region {region.index}{list(outer) if outer else ''}: "
                raise AssertionError(f"it is started where it has nothing to do: its members run over {bounds}")
        self._run_tasks(region, outer, bounds)
        # What comes after it waits for it.
        self.clock.task += 1
        self.clock.since = self.clock.task
        self.names.clear()
        self.names.update(before)

    def _run_tasks(self, region: RegionCode, outer: Point, bounds: list[tuple[int, int]]) -> None:
        """All tasks of a region, those of one diagonal after those of another."""
        for wave in self._waves(region, bounds):
            self.clock.since = self.clock.task + 1
            workers: dict[int, dict[str, Cells]] = {}
            most = self.random.randint(1, MOST_WORKERS)
            for task in wave:
                self.clock.task += 1
                self.tile = f"region {region.index}{list(outer) if outer else ''}, tile at {list(task)}: "
                worker = self.random.randrange(most)
                if worker not in workers:
                    workers[worker] = {own.array: self._cleared(own) for own in region.sums}
                shared = dict(self.memory)
                self.memory.update(self._own_memory(region) | workers[worker])
                self._task(region, task, bounds)
                self.memory.clear()
                self.memory.update(shared)
            if region.sums:
                # A worker adds what it has collected while others may still work.
                self.tile = f"region {region.index}, where workers' sums are added up: "
                self.clock.task += 1
                for copies in workers.values():
                    for own in region.sums:
                        self._add_up(own, copies[own.array])
        self.tile = ""

    def _body(self, region: RegionCode) -> Action:
        self._own = (region.private if region.kind != "serial" else frozenset()) | region.summed
        if region.index not in self._bodies:
            self._bodies[region.index] = self._action(region.body)
        return self._bodies[region.index]

    def _own_memory(self, region: RegionCode) -> dict[str, Cells]:
        """The memory that a worker has for one task."""
        found: dict[str, Cells] = {}
        if region.kind != "serial":
            found = {name: self._fresh(name) for name in region.private - region.local if name in self.shapes}
        if region.expansion is not None:
            copies = self.tiles[region.expansion.member]
            found.update({name: self._fresh(name, copies) for name in region.expanded})
        for buffer in region.buffers:
            shape = tuple(self.tiles[member] for member in buffer.members)
            found[buffer.name] = Cells(buffer.name, shape, self.clock)
        for strip in region.strips:
            shape = tuple(max(0, self.expressions.index(extent)()) for extent in strip.shape)
            found[strip.name] = Cells(strip.name, shape, self.clock)
        for cells in found.values():
            # What is written to a copy is written for the array that it is a copy of.
            if cells.name in self.counts and cells.shape == self.shapes[cells.name]:
                cells.counts = self.counts[cells.name]
        return found

    def _cleared(self, own: PrivateSum) -> Cells:
        """A copy to add up in: what changes nothing, where something may be added, and garbage elsewhere."""
        copy = self._fresh(own.array)
        for place in self._summed(own):
            copy.values[place] = field.neutral(own.operator)
        copy.counts = self.counts[own.array]
        return copy

    def _summed(self, own: PrivateSum) -> range:
        """The numbers of the elements that a private sum is of."""
        if own.elements is None:
            return range(1)
        low, high = self.expressions.index(own.elements.lower)(), self.expressions.index(own.elements.upper)()
        assert low >= 0 and high <= self.shapes[own.array][0], f"{own.array} has no elements from {low} to {high - 1}"
        return range(low, high)

    def _add_up(self, own: PrivateSum, copy: Cells) -> None:
        shared = self.memory[own.array]
        join = field.binary(own.operator, self.scop.array(own.array).dtype, False)
        for place in self._summed(own):
            shared.write(place, join(shared.read(place), copy.read(place)))
            if shared.counts is not None:
                shared.counts[place] -= 1

    # Tiles

    def _sizes(self, count: int) -> list[int]:
        """How many iterations of each member a task has."""
        outer = (*self.outer, *(1,) * count)
        return [self.tiles[member] * outer[member] for member in range(count)]

    def _waves(self, region: RegionCode, bounds: list[tuple[int, int]]) -> list[list[Point]]:
        """The first iterations of tasks along the shared members: sequences of tasks that may run at once, in
        random order."""
        if region.kind == "serial":
            return [[()]]
        assert region.shared, f"region {region.index} is {region.kind}, and shares nothing out"
        shared = list(zip(bounds[: region.shared], self._sizes(region.shared), strict=True))
        waves: dict[int, list[Point]] = {}
        for steps in product(*(range(len(range(low, high, size))) for (low, high), size in shared)):
            task = tuple(low + step * size for step, ((low, _), size) in zip(steps, shared, strict=True))
            waves.setdefault(sum(steps) if region.kind == "wavefront" else 0, []).append(task)
        for wave in waves.values():
            self.random.shuffle(wave)
        return [waves[number] for number in sorted(waves)]

    def _task(self, region: RegionCode, task: Point, bounds: list[tuple[int, int]]) -> None:
        """The work of one task: the tiles along the other members, one after another."""
        sizes, body, local = self._sizes(len(bounds)), self._body(region), sorted(region.local)
        rest = [range(*pair, size) for pair, size in list(zip(bounds, sizes, strict=True))[region.shared :]]
        for begins in product(*([begin] for begin in task), *rest):
            ends = [min(begin + size, high) for begin, size, (_, high) in zip(begins, sizes, bounds, strict=True)]
            inner = [range(*pair, self.tiles[member]) for member, pair in enumerate(zip(begins, ends, strict=True))]
            for lows in product(*inner):
                for member, low in enumerate(lows):
                    names = region.windows[member]
                    self.names[names[0]] = low
                    self.names[names[1]] = min(low + self.tiles[member], ends[member])
                # Variables of the code of a tile.
                self.memory.update({name: self._fresh(name) for name in local})
                body()
