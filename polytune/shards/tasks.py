"""The tasks of a call: for each execution of a region its shards, and the chunks that are put together of what these
give."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from polytune.errors import ArgumentError
from polytune.records import dataclass
from polytune.runtime.partitioned.description import Partitioned
from polytune.runtime.partitioned.pieces import integers
from polytune.shards.array_tasks import ArrayTasks, Shard
from polytune.shards.blocks import Closure, Step, TimeLoop, cells_of, closure_of, estimated_seconds, find_loops
from polytune.shards.boxes import (
    Ranges,
    borders_of,
    hull,
    is_exact,
    overlapping,
    without_strides,
)
from polytune.shards.code import Output, Quoted, Taken, run_shard
from polytune.shards.cutting import Cut, cut_region
from polytune.shards.held import Held, Key, first_in
from polytune.shards.regions import Regions
from polytune.shards.simplification import is_shard, with_borders_together, without_unneeded

__all__ = ["MOST_TASKS", "Layer", "TaskBuilder"]

MOST_TASKS = 200_000
"""So many tasks a call may have: a scheduler takes a fifth of a millisecond for each, and a kilobyte of memory."""


@dataclass(frozen=True)
class Layer:
    """One execution of a region, or of the regions of several steps at once, for people: their numbers and the cut."""

    numbers: tuple[int, ...]
    cut: Cut


class TaskBuilder(ArrayTasks):
    """Makes the tasks of a call, region by region.

    Args:
        name: the kernel's name, of which the names of tasks are made.
        token: what tells the call from others.
        partitioned: the kernel's regions.
        parameters: its parameters.
        scalars: the arguments that are no arrays.
        held: the arrays.
        code: the key of the task that has the code.

    Attributes:
        layers: the regions in the order in which they run.
    """

    def __init__(
        self,
        name: str,
        token: str,
        partitioned: Partitioned,
        parameters: Sequence[int],
        scalars: Mapping[str, Any],
        held: Mapping[str, Held],
        code: Key,
    ):
        super().__init__(name, token, held)
        shapes = {name: each.shape for name, each in held.items()}
        self._regions = Regions(partitioned, parameters, shapes)
        self._scalars = dict(scalars)
        self._code = code
        self.layers: list[Layer] = []
        self._is_timed = False
        self._steps = list(islice(self._regions.steps(), MOST_TASKS + 1))
        self._loops = {loop.first: loop for loop in find_loops(self._regions, self._steps)}

    @property
    def has_loops(self) -> bool:
        """Return whether there are loops over time."""
        return bool(self._loops)

    @property
    def shards(self) -> int:
        """Return how many of the tasks are shards."""
        return sum(map(is_shard, self.tasks.values()))

    def estimates(self) -> dict[int, float]:
        """The seconds that a model expects of an iteration of the loop over time with most choices, by how many of them
        a shard makes at once; nothing where there is no choice.  The chunks are those before the call."""
        found: dict[int, float] = {}
        for loop in self._loops.values():
            divided = self._divided(loop)
            if divided is not None:
                of_loop = estimated_seconds(loop, self._regions, divided[1], self._itemsize, None)
                found = max(found, of_loop, key=len)
        return found

    def build(self, steps_per_exchange: int | None = None, *, is_timed: bool = False) -> None:
        """Make the tasks of all regions.

        Args:
            steps_per_exchange: how many iterations of loops over time a shard makes at once; None where a model
                chooses.
            is_timed: whether shards tell when they began and ended.

        Raises:
            ArgumentError: there would be too many.
        """
        steps, loops, self._is_timed = self._steps, self._loops, is_timed
        place = 0
        while place < len(steps):
            loop = loops.get(place)
            taken = 0 if loop is None else self._loop(place, loop, steps_per_exchange)
            if not taken:
                self._step(place, *steps[place])
            place += taken or 1
            self._check(place)
        self._simplify()

    def _simplify(self) -> None:
        """Leave out what nobody needs, and put together what is little."""
        results = [key for held in self.held.values() for key in held.keys.values()]
        tasks, renamed = without_unneeded(self.tasks, results)
        for held in self.held.values():
            held.keys = {index: renamed.get(key, key) for index, key in held.keys.items()}
        itemsizes = {self._borders_of(name): self._itemsize(name) for name in self.held}
        self.tasks = with_borders_together(tasks, itemsizes)

    def _check(self, steps: int) -> None:
        if len(self.tasks) > MOST_TASKS or steps > MOST_TASKS:
            raise ArgumentError(
                f"{self.prefix}: a call would be more than {MOST_TASKS} tasks, after {steps} of the steps that it "
                "takes one after another; use larger chunks (rechunk), or fewer steps a call"
            )

    # ---- one region

    def _step(self, step: int, number: int, around: tuple[int, ...]) -> None:
        """Make the tasks of one execution of a region."""
        arrays = {name: (each.chunks, each.nbytes) for name, each in self.held.items()}
        cut = cut_region(self._regions, number, around, arrays)
        if cut is None:
            return
        self.layers.append(Layer((number,), cut))
        reductions = dict(cut.reductions)
        whole = self._regions.written(number, around, self._regions.whole(number, around))
        sums = {name: whole[name] for name, _ in self._regions.part(number).sums if name in whole}
        shards: list[Shard] = []
        pieces = list(cut.pieces())
        given = [self._regions.written(number, around, limits) for limits in pieces]
        alone = self._alone(given)
        for place, (limits, hulls) in enumerate(zip(pieces, given, strict=True)):
            if not hulls:
                continue
            exact = self._regions.writes(number, around, limits)
            writes = {
                name: sums.get(name) or (box if name in reductions else alone.get((name, box), box))
                for name, box in hulls.items()
            }
            needed = {
                name: boxes
                for name, boxes in self._regions.reads(number, around, limits).items()
                if boxes and name not in reductions
            }
            for name, box in writes.items():
                if name not in reductions and not is_exact(exact[name], box):
                    needed[name] = [box, *needed.get(name, [])]
            windows = {name: hull([*needed.get(name, []), *_known(writes, name)]) for name in {**needed, **writes}}
            key = (f"{self.prefix}-region-{number}-{self.token}", step, place)
            runs = ((number, integers(around, limits)),)
            self._shard(key, runs, needed, windows, writes, reductions)
            outputs = tuple(Output(name, box) for name, box in writes.items())
            shards.append(Shard(key, outputs, {name: exact[name] for name in writes}))
        self._gather(step, shards, reductions)

    def _alone(self, given: Sequence[Mapping[str, Ranges]]) -> dict[tuple[str, Ranges], Ranges]:
        """The chunks in which one shard alone writes, by the array and the box that it writes.

        Such a shard gives the whole chunk, so that it need not be put together of what is new and what stays.
        """
        found: dict[tuple[str, tuple[int, ...]], list[tuple[Ranges, Ranges | None]]] = {}
        for boxes in given:
            for name, box in boxes.items():
                chunks = self.held[name].chunks
                places = [] if chunks is None else list(overlapping(box, chunks))
                for index, span in places:
                    found.setdefault((name, index), []).append((box, span if len(places) == 1 else None))
        return {
            (name, shards[0][0]): shards[0][1]
            for (name, _), shards in found.items()
            if len(shards) == 1 and shards[0][1] is not None
        }

    # ---- blocks of steps

    def _loop(self, first: int, loop: TimeLoop, asked: int | None) -> int:
        """Make the tasks of a loop over time, a block of its iterations at a time.

        Returns:
            How many steps these are; 0 where blocks are no better than single steps.
        """
        found = self._divided(loop)
        if found is None:
            return 0
        leader, cells = found
        estimates = estimated_seconds(loop, self._regions, cells, self._itemsize, asked)
        count = min(estimates, key=estimates.__getitem__, default=1)
        if count < 2:
            return 0
        place = first
        closures: dict[int, list[Closure | None]] = {}
        for start in range(0, len(loop.iterations), count):
            steps = [step for iteration in loop.iterations[start : start + count] for step in iteration]
            if len(steps) not in closures:
                closures[len(steps)] = [closure_of(self._regions, steps, cell) for cell in cells]
            known = [closure for closure in closures[len(steps)] if closure is not None]
            if len(known) < len(cells):
                return place - first
            self._block(place, leader, steps, known)
            place += len(steps)
            self._check(place)
        return place - first

    def _divided(self, loop: TimeLoop) -> tuple[str, list[dict[str, Ranges]]] | None:
        """The boxes that a loop writes, by the chunks that there are now; None where it cannot be divided."""
        chunks = {name: each.chunks for name, each in self.held.items()}
        shapes = {name: each.shape for name, each in self.held.items()}
        return cells_of(loop, self._regions, chunks, shapes)

    def _itemsize(self, name: str) -> int:
        """The bytes of an element of an array."""
        return int(np.dtype(self.held[name].dtype).itemsize)

    def _block(self, place: int, leader: str, steps: Sequence[Step], closures: Sequence[Closure]) -> None:
        """Make the tasks of a block of steps."""
        chunks = self.held[leader].chunks or ()
        cut = Cut(tuple(map(borders_of, chunks)), tuple((leader, axis) for axis in range(len(chunks))))
        self.layers.append(Layer(tuple(number for number, _ in steps), cut))
        shards = []
        name = "-".join(map(str, dict.fromkeys(number for number, _ in steps)))
        for shard, closure in enumerate(closures):
            runs = tuple(
                (number, integers(around, limits))
                for (number, around), limits in zip(steps, closure.limits, strict=True)
                if limits is not None
            )
            key = (f"{self.prefix}-region-{name}-{self.token}", place, shard)
            needed = {name: [box] for name, box in closure.needed.items()}
            self._shard(key, runs, needed, closure.windows, closure.core, {})
            outputs = tuple(Output(name, box) for name, box in closure.core.items())
            exact = {name: [without_strides(box)] for name, box in closure.core.items()}
            shards.append(Shard(key, outputs, exact))
        self._gather(place, shards, {})

    # ---- one shard

    def _shard(
        self,
        key: Key,
        runs: tuple[tuple[int, tuple[int, ...]], ...],
        needed: Mapping[str, Sequence[Ranges]],
        windows: Mapping[str, Ranges],
        writes: Mapping[str, Ranges],
        reductions: Mapping[str, str],
    ) -> None:
        """Make the task of a shard.

        Args:
            key: its key.
            runs: the parts of regions that it runs, each with the integers that say which part.
            needed: per array the boxes that it reads.
            windows: per array the box that it has memory for.
            writes: per array the box that it gives.
            reductions: the arrays that it adds up in copies of its own, with their operators.
        """
        blocks: list[Key] = []
        taken = []
        for name, box in windows.items():
            held = self.held[name]
            if name in reductions:
                taken.append(Taken(name, box, held.dtype, 0, reductions[name], (), True))
                continue
            pieces = []
            for piece, block in self._pieces(held, needed.get(name, [])):
                pieces.append((len(blocks), piece))
                blocks.append(block)
            # What is written in a block of steps, and not given, is written all the same.
            is_written = name in writes or len(runs) > 1
            taken.append(Taken(name, box, held.dtype, first_in(held, box), None, tuple(pieces), is_written))
        for name in dict.fromkeys(own for number, _ in runs for own in self._regions.part(number).own):
            if name not in windows:
                held = self.held[name]
                box = tuple((0, extent) for extent in held.shape)
                taken.append(Taken(name, box, held.dtype, first_in(held, box), None, (), True))
        taken += self._for_devices(runs, {each.name for each in taken})
        outputs = tuple(Output(name, box) for name, box in writes.items())
        self.tasks[key] = (
            run_shard,
            self._code,
            Quoted(runs),
            self._regions.parameters,
            self._scalars,
            Quoted(taken),
            Quoted(outputs),
            self.token if self._is_timed else "",
            *blocks,
        )

    def _for_devices(self, runs: Sequence[tuple[int, tuple[int, ...]]], known: Collection[str]) -> Iterator[Taken]:
        """The arrays that only kernels for devices name: those that each thread has a copy of, by which the extents are
        known, and an element of those of which the shard needs none."""
        codes = [code for number, _ in runs if (code := self._regions.part(number).device) is not None]
        private = {name for code in codes for name in code.private}
        for name in dict.fromkeys(name for code in codes for name in (*code.arrays, *code.private)):
            if name not in known:
                held = self.held[name]
                box = tuple((0, extent if name in private else 1) for extent in held.shape)
                yield Taken(name, box, held.dtype, 0, None, (), True)


def _known(boxes: Mapping[str, Ranges], name: str) -> list[Ranges]:
    return [boxes[name]] if name in boxes else []
