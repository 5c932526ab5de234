"""The tasks of a call: for each execution of a region its shards, and the chunks that are put together of what these
give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from polytune.errors import ArgumentError
from polytune.records import dataclass
from polytune.runtime.partitioned.description import Part, Partitioned, Transfer
from polytune.runtime.partitioned.pieces import Limits, integers
from polytune.shards.assembly import add_to, add_up, cut_out, item_of, put_together
from polytune.shards.boxes import (
    Chunks,
    Ranges,
    Strided,
    hull,
    is_exact,
    meet,
    merged,
    overlapping,
    size_of,
    slices,
    spans,
    strided_in,
    strided_slices,
    without_strides,
)
from polytune.shards.code import Output, Quoted, Taken, run_shard
from polytune.shards.cutting import Cut, cut_region

__all__ = ["MOST_TASKS", "Held", "Layer", "TaskBuilder", "keys_of"]

MOST_TASKS = 200_000
"""So many tasks a call may have: a scheduler takes a fifth of a millisecond for each, and a kilobyte of memory."""

FAN_IN = 8
"""How many partial sums a task adds up."""

Key = tuple[Any, ...]


@dataclass
class Held:
    """An array between two regions.

    Attributes:
        name: its name.
        dtype: the type of its elements.
        shape: its extents; (1,) for a number.
        first: what elements begin with that nothing has written; the array itself where it is constant.
        chunks: how it is divided; None where nothing has been written to it yet.
        keys: per chunk the key of the task that has it; those are missing that nothing has been written to.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    first: Any
    chunks: Chunks | None
    keys: dict[tuple[int, ...], Key]

    @property
    def nbytes(self) -> int:
        """The bytes of all of it."""
        return size_of(tuple((0, extent) for extent in self.shape)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Layer:
    """One execution of a region, for people: the region, the loops around it and how it is cut."""

    number: int
    around: tuple[int, ...]
    cut: Cut


@dataclass(frozen=True)
class _Shard:
    key: Key
    outputs: tuple[Output, ...]
    exact: Mapping[str, list[Strided]]

    def box(self, name: str) -> Ranges:
        return next(output.box for output in self.outputs if output.name == name)


class TaskBuilder:
    """Makes the tasks of a call, region by region.

    Args:
        name: the kernel's name, of which the names of tasks are made.
        token: what tells the call from others.
        partitioned: the kernel's regions.
        parameters: its parameters.
        scalars: the arguments that are no arrays.
        held: the arrays.
        code: the key of the task that has the code.
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
        self.prefix, self.token = name, token
        self._partitioned = partitioned
        self._parameters, self._scalars = tuple(parameters), dict(scalars)
        self.held, self._code = dict(held), code
        self.layer = f"{name}-{token}"
        self.tasks: dict[Key, Any] = {}
        self.layers: list[Layer] = []
        self._sliced: dict[tuple[Key, Ranges], Key] = {}

    def build(self) -> None:
        """Make the tasks of all regions.

        Raises:
            ArgumentError: there would be too many.
        """
        for step, (number, around) in enumerate(self._partitioned.steps(*self._parameters)):
            part = self._partitioned.parts[number]
            arrays = {name: (each.chunks, each.nbytes) for name, each in self.held.items()}
            cut = cut_region(part, self._parameters, around, arrays)
            if cut is None:
                continue
            self.layers.append(Layer(number, around, cut))
            self._region(step, number, part, around, cut)
            if len(self.tasks) > MOST_TASKS:
                raise ArgumentError(
                    f"{self.prefix}: a call would be more than {MOST_TASKS} tasks, after {step + 1} of the steps that "
                    "it takes one after another; use larger chunks (rechunk), or fewer steps a call"
                )

    # ---- one region

    def _region(self, step: int, number: int, part: Part, around: tuple[int, ...], cut: Cut) -> None:
        reductions = dict(cut.reductions)
        whole = self._whole_sums(part, around, cut)
        shards: list[_Shard] = []
        for place, limits in enumerate(cut.pieces()):
            shard = self._shard(step, number, part, around, limits, place, reductions, whole)
            if shard is not None:
                shards.append(shard)
        written = dict.fromkeys(output.name for shard in shards for output in shard.outputs)
        for name in written:
            mine = [shard for shard in shards if name in shard.exact]
            keys = {id(shard): self._given(shard, name) for shard in mine}
            if name in reductions:
                boxes = [(shard.box(name), keys[id(shard)]) for shard in mine]
                self._add_up(step, name, reductions[name], boxes)
            else:
                self._put_together(step, name, mine, keys)

    def _whole_sums(self, part: Part, around: tuple[int, ...], cut: Cut) -> dict[str, Ranges]:
        """The boxes of all that a region as a whole adds up, for arrays of which the code goes over all of that."""
        limits = part.ranges(*self._parameters, *around)[: part.shared]
        sums = dict(part.sums)
        found = _hulls(part.writes(*self._parameters, *integers(around, limits)), self.held)
        return {name: box for name, box in found.items() if name in sums and name in dict(cut.reductions)}

    def _shard(
        self,
        step: int,
        number: int,
        part: Part,
        around: tuple[int, ...],
        limits: Limits,
        place: int,
        reductions: Mapping[str, str],
        whole: Mapping[str, Ranges],
    ) -> _Shard | None:
        arguments = integers(around, limits)
        exact = _by_name(part.writes(*self._parameters, *arguments))
        writes = _hulls(part.writes(*self._parameters, *arguments), self.held) | {
            name: box for name, box in whole.items() if name in exact
        }
        if not writes:
            return None
        reads = _by_name(part.reads(*self._parameters, *arguments))
        blocks: list[Key] = []
        taken = []
        for name in dict.fromkeys((*reads, *writes)):
            held = self.held[name]
            needed = [ranges for box in reads.get(name, []) if (ranges := _ranges(box, held.shape)) is not None]
            if name in writes and not is_exact(exact[name], writes[name]):
                needed = [writes[name], *needed]
            if name in reductions:
                taken.append(Taken(name, writes[name], held.dtype, 0, reductions[name], (), True))
                continue
            if not needed and name not in writes:
                continue
            box = hull([*needed, *([writes[name]] if name in writes else [])])
            pieces = []
            for piece, key in self._pieces(held, needed):
                pieces.append((len(blocks), piece))
                blocks.append(key)
            taken.append(Taken(name, box, held.dtype, _first_in(held, box), None, tuple(pieces), name in writes))
        outputs = tuple(Output(name, box) for name, box in writes.items())
        key = (f"{self.prefix}-region-{number}-{self.token}", step, place)
        self.tasks[key] = (
            run_shard,
            self._code,
            number,
            arguments,
            self._parameters,
            self._scalars,
            Quoted(taken),
            Quoted(outputs),
            *blocks,
        )
        return _Shard(key, outputs, {name: exact[name] for name in writes})

    def _pieces(self, held: Held, needed: Sequence[Ranges]) -> list[tuple[Ranges, Key]]:
        """The boxes of chunks that a shard needs, those that are in one another left out, and what has them."""
        if held.chunks is None:
            return []
        found: dict[tuple[int, ...], list[Ranges]] = {}
        spans_of: dict[tuple[int, ...], Ranges] = {}
        for box in needed:
            for index, span in overlapping(box, held.chunks):
                common = meet(box, span)
                if common is not None and index in held.keys:
                    found.setdefault(index, []).append(common)
                    spans_of[index] = span
        pieces = []
        for index, boxes in found.items():
            span = spans_of[index]
            for box in merged(boxes):
                key = held.keys[index]
                pieces.append((box, key if box == span else self._slice(held.name, key, span, box)))
        return pieces

    def _slice(self, name: str, key: Key, span: Ranges, box: Ranges) -> Key:
        """The task that cuts a box out of a chunk."""
        found = self._sliced.get((key, box))
        if found is None:
            found = (f"{self.prefix}-border-{name}-{self.token}", len(self._sliced))
            self._sliced[key, box] = found
            self.tasks[found] = (cut_out, key, slices(box, [start for start, _ in span]))
        return found

    def _given(self, shard: _Shard, name: str) -> Key:
        """The key of what a shard gives of an array."""
        if len(shard.outputs) == 1:
            return shard.key
        position = next(k for k, output in enumerate(shard.outputs) if output.name == name)
        key = (f"{self.prefix}-{name}-{self.token}", *shard.key[1:])
        self.tasks[key] = (item_of, shard.key, position)
        return key

    # ---- what becomes of arrays

    def _put_together(self, step: int, name: str, shards: Sequence[_Shard], keys: Mapping[int, Key]) -> None:
        """Make the chunks of an array after a region: of what shards have written, and of what was there before."""
        held = self.held[name]
        if held.chunks is None:
            held.chunks = _chunks_of([shard.box(name) for shard in shards], held.shape)
        written: dict[tuple[int, ...], list[_Shard]] = {}
        for shard in shards:
            for index, _ in overlapping(shard.box(name), held.chunks):
                written.setdefault(index, []).append(shard)
        after = dict(held.keys)
        for index, span in spans(held.chunks):
            here = written.get(index, [])
            if not here:
                continue
            if len(here) == 1 and here[0].box(name) == span:
                after[index] = keys[id(here[0])]
                continue
            pieces: list[tuple[tuple[slice, ...], tuple[slice, ...]]] = []
            blocks: list[Key] = []
            common = [(shard, box) for shard in here if (box := meet(shard.box(name), span)) is not None]
            apart = not any(
                meet(box, other) is not None for k, (_, box) in enumerate(common) for _, other in common[:k]
            )
            origin = [start for start, _ in span]
            for shard, box in common:
                given, own = keys[id(shard)], shard.box(name)
                block = given if box == own else self._slice(name, given, own, box)
                exact = (
                    [without_strides(box)]
                    if apart
                    else [inside for each in shard.exact[name] if (inside := strided_in(each, box)) is not None]
                )
                for each in exact:
                    pieces.append((strided_slices(each, origin), strided_slices(each, [start for start, _ in box])))
                    blocks.append(block)
            if not blocks:
                continue
            covered = apart and sum(size_of(box) for _, box in common) == size_of(span)
            key: Key = (f"{self.prefix}-{name}-{self.token}", step, *index, "whole")
            before = None if covered else held.keys.get(index)
            unique = list(dict.fromkeys(blocks))
            numbers = [unique.index(block) for block in blocks]
            shape = tuple(stop - start for start, stop in span)
            self.tasks[key] = (
                put_together,
                shape,
                held.dtype,
                held.first,
                before,
                Quoted([(number, *piece) for number, piece in zip(numbers, pieces, strict=True)]),
                *unique,
            )
            after[index] = key
        held.keys = after

    def _add_up(self, step: int, name: str, operator: str, partial: list[tuple[Ranges, Key]]) -> None:
        """Add up what shards have added up of an array, as a tree, and add that to what was there before."""
        held = self.held[name]
        box = hull([each for each, _ in partial])
        level, stage = partial, 0
        while len(level) > 1 or level[0][0] != box:
            above = []
            for start in range(0, len(level), FAN_IN):
                group = level[start : start + FAN_IN]
                inside = box if len(level) <= FAN_IN else hull([each for each, _ in group])
                key: Key = (f"{self.prefix}-sum-{name}-{self.token}", step, stage, start)
                boxes = Quoted((operator, inside, [each for each, _ in group]))
                self.tasks[key] = (add_up, boxes, *[key for _, key in group])
                above.append((inside, key))
            level, stage = above, stage + 1
        if held.chunks is None:
            held.chunks = tuple((extent,) for extent in held.shape)
        total = level[0][1]
        after = dict(held.keys)
        for index, span in overlapping(box, held.chunks):
            common = meet(box, span)
            if common is None:
                continue
            piece = total if common == box else self._slice(name, total, box, common)
            key = (f"{self.prefix}-{name}-{self.token}", step, *index, "sum")
            shape = tuple(stop - start for start, stop in span)
            where = Quoted((operator, slices(common, [start for start, _ in span])))
            self.tasks[key] = (add_to, shape, held.dtype, held.first, held.keys.get(index), where, piece)
            after[index] = key
        held.keys = after


def _by_name(transfers: Sequence[Transfer]) -> dict[str, list[Strided]]:
    found: dict[str, list[Strided]] = {}
    for name, box in transfers:
        if all(start < stop for start, stop, _ in box):
            found.setdefault(name, []).append(tuple(box))
    return found


def _ranges(box: Sequence[tuple[int, int, int]], shape: Sequence[int]) -> Ranges | None:
    """A box without its strides, as far as it lies in the array; None where it is empty."""
    ranges = tuple((max(start, 0), min(stop, extent)) for (start, stop, _), extent in zip(box, shape, strict=True))
    return ranges if all(start < stop for start, stop in ranges) else None


def _hulls(transfers: Sequence[Transfer], held: Mapping[str, Held]) -> dict[str, Ranges]:
    found = {}
    for name, boxes in _by_name(transfers).items():
        inside = [ranges for box in boxes if (ranges := _ranges(box, held[name].shape)) is not None]
        if inside:
            found[name] = hull(inside)
    return found


def _first_in(held: Held, box: Ranges) -> Any:
    """The first values of the elements of a box."""
    if isinstance(held.first, np.ndarray):
        return held.first[slices(box, [0] * len(box))]
    return held.first


def _chunks_of(boxes: Sequence[Ranges], shape: Sequence[int]) -> Chunks:
    """Chunks of an array that has none yet: they begin where boxes do."""
    chunks = []
    for axis, extent in enumerate(shape):
        starts = sorted({box[axis][0] for box in boxes})[1:]
        borders = [0, *starts, extent]
        chunks.append(tuple(after - before for before, after in pairwise(borders)))
    return tuple(chunks)


def keys_of(held: Held) -> dict[tuple[int, ...], Key | None]:
    """The key of what has each chunk of an array; None where nothing has been written to it."""
    assert held.chunks is not None
    return {index: held.keys.get(index) for index, _ in spans(held.chunks)}
