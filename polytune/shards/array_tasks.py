"""The tasks that arrays are made of, of what shards give: boxes that are cut out of chunks, and chunks that are put
together of boxes or added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polytune.records import dataclass
from polytune.shards.assembly import add_to, add_up, cut_out, item_of, put_together
from polytune.shards.boxes import (
    Ranges,
    Strided,
    hull,
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
from polytune.shards.code import Output, Quoted
from polytune.shards.held import Held, Key, chunks_of

__all__ = ["ArrayTasks", "Shard"]

FAN_IN = 8
"""The number of partial sums that a task adds up."""


@dataclass(frozen=True)
class Shard:
    """A shard, as what becomes of arrays follows from it.

    Attributes:
        key: the key of its task.
        outputs: the boxes that it gives.
        exact: by array, what it writes of them.
    """

    key: Key
    outputs: tuple[Output, ...]
    exact: Mapping[str, list[Strided]]

    def box(self, name: str) -> Ranges:
        """The box that it gives of an array."""
        return next(output.box for output in self.outputs if output.name == name)


class ArrayTasks:
    """Makes the tasks that arrays are made of.

    Args:
        name: the kernel's name, of which the names of tasks are made.
        token: what tells the call from others.
        held: the arrays.

    Attributes:
        token: what tells the call from others.
        held: the arrays as they are after what has been built.
        tasks: by their keys.
    """

    def __init__(self, name: str, token: str, held: Mapping[str, Held]):
        self.prefix, self.token = name, token
        self.held = dict(held)
        self.tasks: dict[Key, Any] = {}
        self._sliced: dict[tuple[Key, Ranges], Key] = {}

    @property
    def layer(self) -> str:
        """Return what all tasks together are called."""
        return f"{self.prefix}-{self.token}"

    def _borders_of(self, name: str) -> str:
        """The beginning of the keys of tasks that cut boxes out of chunks of an array."""
        return f"{self.prefix}-border-{name}-{self.token}"

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
            found = (self._borders_of(name), len(self._sliced))
            self._sliced[key, box] = found
            self.tasks[found] = (cut_out, key, slices(box, [start for start, _ in span]))
        return found

    # ---- what shards have given

    def _gather(self, step: int, shards: Sequence[Shard], reductions: Mapping[str, str]) -> None:
        """Make what arrays are after all shards of a step, or of a block of steps, have run."""
        for name in dict.fromkeys(output.name for shard in shards for output in shard.outputs):
            mine = [shard for shard in shards if name in shard.exact]
            keys = {id(shard): self._given(shard, name) for shard in mine}
            if name in reductions:
                boxes = [(shard.box(name), keys[id(shard)]) for shard in mine]
                self._add_up(step, name, reductions[name], boxes)
            else:
                self._put_together(step, name, mine, keys)

    def _given(self, shard: Shard, name: str) -> Key:
        """The key of what a shard gives of an array."""
        if len(shard.outputs) == 1:
            return shard.key
        position = next(k for k, output in enumerate(shard.outputs) if output.name == name)
        key = (f"{self.prefix}-{name}-{self.token}", *shard.key[1:])
        self.tasks[key] = (item_of, shard.key, position)
        return key

    def _put_together(self, step: int, name: str, shards: Sequence[Shard], keys: Mapping[int, Key]) -> None:
        """Make the chunks of an array after a region: of what shards have written, and of what was there before."""
        held = self.held[name]
        if held.chunks is None:
            held.chunks = chunks_of([shard.box(name) for shard in shards], held.shape)
        written: dict[tuple[int, ...], list[Shard]] = {}
        for shard in shards:
            for index, _ in overlapping(shard.box(name), held.chunks):
                written.setdefault(index, []).append(shard)
        after = dict(held.keys)
        for index, span in spans(held.chunks):
            here = written.get(index, [])
            if len(here) == 1 and here[0].box(name) == span:
                after[index] = keys[id(here[0])]
            elif here:
                made = self._chunk((step, *index), span, held, here, keys)
                if made is not None:
                    after[index] = made
        held.keys = after

    def _chunk(
        self, place: tuple[int, ...], span: Ranges, held: Held, shards: Sequence[Shard], keys: Mapping[int, Key]
    ) -> Key | None:
        """Make a chunk of what several shards have written in it, and of what was there before.

        Args:
            place: the number of the step, and the indices of the chunk.
            span: where the chunk is.
            held: its array.
            shards: those that write boxes that reach into it.
            keys: what has given these boxes, by the identity of the shard.

        Returns:
            Its key; None where nothing in it was written.
        """
        name, origin = held.name, [start for start, _ in span]
        common = [(shard, box) for shard in shards if (box := meet(shard.box(name), span)) is not None]
        apart = not any(meet(box, other) is not None for k, (_, box) in enumerate(common) for _, other in common[:k])
        pieces: list[tuple[tuple[slice, ...], tuple[slice, ...]]] = []
        blocks: list[Key] = []
        for shard, box in common:
            given, own = keys[id(shard)], shard.box(name)
            block = given if box == own else self._slice(name, given, own, box)
            for each in [without_strides(box)] if apart else _written_in(box, shard.exact[name]):
                pieces.append((strided_slices(each, origin), strided_slices(each, [start for start, _ in box])))
                blocks.append(block)
        if not blocks:
            return None
        covered = apart and sum(size_of(box) for _, box in common) == size_of(span)
        key: Key = (f"{self.prefix}-{name}-{self.token}", *place, "whole")
        before = None if covered else held.keys.get(place[1:])
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
        return key

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


def _written_in(box: Ranges, exact: Sequence[Strided]) -> list[Strided]:
    """The parts of boxes with strides that lie in a box."""
    return [inside for each in exact if (inside := strided_in(each, box)) is not None]
