"""Blocks of steps of a loop over time, of which a shard makes all before it exchanges anything.

A shard of one step needs a halo that its neighbours have computed in the step before.  A shard of several steps begins
with a wider halo and computes in each step, beside its own elements, those of the halo that the next step needs:
redundant work in place of tasks and messages (overlapped tiling; Krishnamoorthy and others, PLDI 2007).

What each step has to compute is found backwards, by boxes.  Let N be a box of each array that is needed after a step.
The step runs the iterations between limits L, the least ones that write all of N that the step writes at all; before it
are needed what L reads, and N, unless L writes all of it.  By induction the values in N are those of the whole loop:
what L writes it computes of values that are, and what of N it does not write the step leaves as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from math import prod

from polytune.records import dataclass
from polytune.runtime.partitioned.pieces import Limits
from polytune.shards.boxes import Chunks, Ranges, Strided, borders_of, hull, meet, size_of, spans
from polytune.shards.cutting import MemberAxis, written_axes
from polytune.shards.regions import Regions

__all__ = ["Closure", "TimeLoop", "cells_of", "closure_of", "estimated_seconds", "find_loops"]

MOST_STEPS = 64
"""So many steps a block may have."""

SECONDS_PER_TASK = 1e-3
SECONDS_PER_MOVED_BYTE = 1 / 500e6
SECONDS_PER_COPIED_BYTE = 1 / 5e9
SECONDS_PER_ACCESS = 0.3e-9
"""The times by which the number of steps is chosen: Dask's own figure for a task, a network of four gigabits a second,
and a core of the last years."""

Step = tuple[int, tuple[int, ...]]
"""A region, and the values of the loops around it."""


@dataclass(frozen=True)
class TimeLoop:
    """Iterations of a loop around regions that are all the same.

    Attributes:
        first: which of the call's steps is its first one.
        iterations: per iteration the steps in it.
    """

    first: int
    iterations: tuple[tuple[Step, ...], ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The regions of an iteration."""
        return tuple(number for number, _ in self.iterations[0])


@dataclass(frozen=True)
class Closure:
    """The work of a shard of several steps.

    Attributes:
        limits: per step the part of its region that it runs; None where it needs nothing of it.
        needed: per array the box that is read before the first step.
        windows: per array the box that it has memory for.
        core: per array the box that it gives.
    """

    limits: tuple[Limits | None, ...]
    needed: Mapping[str, Ranges]
    windows: Mapping[str, Ranges]
    core: Mapping[str, Ranges]


def find_loops(regions: Regions, steps: Sequence[Step]) -> list[TimeLoop]:
    """The loops over time among the steps of a call: two iterations or more, all alike, of regions that can be cut.

    Args:
        regions: the call's regions.
        steps: its steps.
    """
    loops: list[TimeLoop] = []
    current: list[tuple[Step, ...]] = []
    first = place = 0
    for value, group in groupby(steps, key=lambda step: step[1][:1]):
        iteration = tuple(group)
        usable = bool(value) and all(
            regions.is_uniform(number) and regions.part(number).shared and not regions.part(number).sums
            for number, _ in iteration
        )
        alike = current and [step[0] for step in current[-1]] == [step[0] for step in iteration]
        if not (usable and alike):
            if len(current) > 1:
                loops.append(TimeLoop(first, tuple(current)))
            current, first = [], place
        if usable:
            current.append(iteration)
        place += len(iteration)
    if len(current) > 1:
        loops.append(TimeLoop(first, tuple(current)))
    return loops


def closure_of(regions: Regions, steps: Sequence[Step], core: Mapping[str, Ranges]) -> Closure | None:
    """Find what a shard of some steps has to compute; None where boxes do not tell.

    Args:
        regions: the call's regions.
        steps: the steps, each of a region that is the same in all of them.
        core: per array the box that the shard gives.
    """
    needed, windows = dict(core), dict(core)
    limits: list[Limits | None] = []
    for number, around in reversed(steps):
        whole = regions.whole(number, around)
        if any(start >= stop for start, stop in regions.ranges(number, around)):
            limits.append(None)
            continue
        written = regions.written(number, around, whole)
        wanted = {
            name: common
            for name, box in needed.items()
            if name in written and (common := meet(box, written[name])) is not None
        }
        if not wanted:
            limits.append(None)
            continue
        part = _limits_of(wanted, whole, written_axes(regions, number, around))
        exact = regions.writes(number, around, part)
        if not all(_is_covered(common, exact.get(name, [])) for name, common in wanted.items()):
            return None
        for name, boxes in exact.items():
            windows[name] = hull([regions.written(number, around, part)[name], *_known(windows, name)])
            if name in needed and _is_covered(needed[name], boxes):
                del needed[name]
        for name, read in regions.reads(number, around, part).items():
            if read:
                needed[name] = hull([*read, *_known(needed, name)])
        for name, box in needed.items():
            windows[name] = hull([box, *_known(windows, name)])
        limits.append(part)
    return Closure(tuple(reversed(limits)), needed, windows, dict(core))


def _known(boxes: Mapping[str, Ranges], name: str) -> list[Ranges]:
    return [boxes[name]] if name in boxes else []


def _is_covered(box: Ranges, exact: Sequence[Strided]) -> bool:
    """Return whether a box lies in one of some boxes without strides."""
    return any(
        all(
            step == 1 and start <= low and high <= stop
            for (start, stop, step), (low, high) in zip(each, box, strict=True)
        )
        for each in exact
    )


def _limits_of(wanted: Mapping[str, Ranges], whole: Limits, axes: Sequence[MemberAxis]) -> Limits:
    """The limits between which iterations write boxes: along members that go along axes, as far as these reach."""
    limits = []
    for member, (start, stop) in enumerate(whole):
        ranges = []
        for axis in axes:
            if axis.member == member and axis.array in wanted:
                low, high = wanted[axis.array][axis.axis]
                ends = sorted(((low - axis.offset) / axis.factor, (high - 1 - axis.offset) / axis.factor))
                ranges.append((int(-(-ends[0] // 1)), int(ends[1] // 1) + 1))
        if not ranges:
            limits.append((start, stop))
            continue
        low, high = min(first for first, _ in ranges), max(last for _, last in ranges)
        limits.append((max(start, low), min(stop, high)))
    return tuple(limits)


def cells_of(
    loop: TimeLoop, regions: Regions, chunks: Mapping[str, Chunks | None], shapes: Mapping[str, tuple[int, ...]]
) -> tuple[str, list[dict[str, Ranges]]] | None:
    """Divide what a loop writes among shards, by the chunks of the largest array that it writes.

    Args:
        loop: the loop.
        regions: the call's regions.
        chunks: per array its chunks; None where it has none yet.
        shapes: per array its shape.

    Returns:
        The array whose chunks they are, and per shard the box of each array that it gives; None where the arrays have
        not all the same number of axes.
    """
    written: dict[str, list[Ranges]] = {}
    for number, around in loop.iterations[0]:
        for name, box in regions.written(number, around, regions.whole(number, around)).items():
            written.setdefault(name, []).append(box)
    divided = [name for name in written if chunks[name] is not None]
    if not divided or len({len(shapes[name]) for name in written}) > 1:
        return None
    leader = max(divided, key=lambda name: (prod(len(each) for each in chunks[name] or ()), prod(shapes[name])))
    grid = chunks[leader] or ()
    ends = [borders_of(extents)[-1] for extents in grid]

    def cell(span: Ranges) -> dict[str, Ranges]:
        """The boxes that the shard of a chunk gives."""
        found = {}
        for name, boxes in written.items():
            reaching = tuple(
                (start, max(extent, stop) if stop == end else stop)
                for (start, stop), end, extent in zip(span, ends, shapes[name], strict=True)
            )
            common = meet(reaching, hull(boxes))
            if common is not None:
                # All of a chunk: then it need not be put together of what is new and what stays.
                whole = meet(reaching, tuple((0, extent) for extent in shapes[name]))
                found[name] = common if whole is None or chunks[name] != grid else whole
        return found

    return leader, [found for _, span in spans(grid) if (found := cell(span))]


def estimated_seconds(
    loop: TimeLoop,
    regions: Regions,
    cells: Sequence[Mapping[str, Ranges]],
    itemsize: Callable[[str], int],
    asked: int | None,
) -> dict[int, float]:
    """Estimate for numbers of iterations that a block may have how long a shard takes for each iteration.

    Args:
        loop: the loop.
        regions: the call's regions.
        cells: per shard the box of each array that it gives.
        itemsize: the bytes of an element of an array.
        asked: the only number that is looked at; None for powers of two.

    Returns:
        Seconds by number, in the order of the numbers; without those of which blocks are not known to be right.
    """
    most = min(len(loop.iterations), MOST_STEPS if asked is None else asked)
    middle = cells[len(cells) // 2]
    found: dict[int, float] = {}
    counts = [2**power for power in range(most.bit_length())] if asked is None else []
    for count in dict.fromkeys((*counts, most)):
        steps = [step for iteration in loop.iterations[:count] for step in iteration]
        if any(closure_of(regions, steps, cell) is None for cell in (middle, cells[0], cells[-1])):
            break
        found[count] = _seconds(regions, steps, middle, itemsize) / count
    return found


def _seconds(
    regions: Regions, steps: Sequence[Step], core: Mapping[str, Ranges], itemsize: Callable[[str], int]
) -> float:
    """Estimate how long a shard takes, with the tasks that bring it what it needs."""
    closure = closure_of(regions, steps, core)
    assert closure is not None
    moved = copied = 0
    tasks = 1 + (len(core) if len(core) > 1 else 0)
    for name, box in closure.needed.items():
        own = core.get(name)
        common = None if own is None else meet(own, box)
        inside = size_of(common) if common is not None else 0
        moved += (size_of(box) - inside) * itemsize(name)
        tasks += sum((low < first) + (last < high) for (low, high), (first, last) in zip(box, own or box, strict=True))
    for name, box in closure.windows.items():
        copied += size_of(box) * itemsize(name)
    accesses = 0
    for (number, around), limits in zip(steps, closure.limits, strict=True):
        if limits is not None:
            inner = regions.ranges(number, around)[len(limits) :]
            boxes = sum(len(each) for each in regions.reads(number, around, limits).values())
            boxes += sum(len(each) for each in regions.writes(number, around, limits).values())
            accesses += boxes * prod(stop - start for start, stop in (*limits, *inner))
    return (
        tasks * SECONDS_PER_TASK
        + moved * SECONDS_PER_MOVED_BYTE
        + copied * SECONDS_PER_COPIED_BYTE
        + accesses * SECONDS_PER_ACCESS
    )
