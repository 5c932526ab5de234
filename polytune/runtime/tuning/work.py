"""The account of what a version has to do for a call: what its function ``work_<version>`` enters, loop by loop.

Loops are walked once, in the middle of their ranges, and so is the tile in the middle of a region, or a few where tiles
differ by their places: what is entered inside counts as often as the loops around it have iterations.  So triangles
count by their area, and what few iterations do otherwise counts as if none did.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import IntEnum, auto

import numpy as np

from polytune.records import dataclass
from polytune.runtime.tuning.footprints import LINE_BYTES, AccountedAccess, LoopStack, groups_of, pitch_of
from polytune.runtime.tuning.tile_places import windows_of

__all__ = ["Account", "Kind", "RegionAccount"]


class Kind(IntEnum):
    """The counts of an account."""

    VECTOR_OPERATIONS = 0
    VECTOR_ACCESSES = auto()
    GATHERED = auto()  # elements of vectors that do not lie next to one another
    VECTOR_DIVISIONS = auto()
    VECTOR_CALLS = auto()
    OPERATIONS = auto()
    ACCESSES = auto()
    DIVISIONS = auto()
    CALLS = auto()
    WAITS = auto()  # for an operation of the iteration before
    BRANCHES = auto()  # on data
    LOOPS = auto()  # that are started, innermost ones
    REGISTERS = auto()  # operations on vector registers
    LINES_2 = auto()  # of 64 bytes from the second cache
    LINES_3 = auto()
    LINES_4 = auto()  # from memory
    APART_2 = auto()  # lines of elements that lie apart from one iteration to the next
    APART_3 = auto()
    APART_4 = auto()
    TILES = auto()
    REGIONS = auto()  # that are begun, and waited for at their end
    ROWS = auto()  # vector operations of loops that store several elements of an array
    SUMS_IN_MEMORY = auto()  # sums that an iteration loads and stores, as the one before
    UNFORESEEN_3 = auto()  # lines at the beginning of rows, until the processor fetches ahead from the third cache


_FOLLOWED = 8  # rows that processors fetch ahead along at the same time
_UNFORESEEN_3 = 8  # lines at the beginning of a row, until it is fetched ahead from the third cache
_UNFORESEEN_4 = 12  # and from memory
_REGISTERS_OF_STEP = 2.0  # operations on vector registers for each product of two of them in NumPy's library
_REGISTERS_OF_ELEMENT = 85.0  # and for each vector of the matrices
_CALLS_OF_LIBRARY = 8000.0  # calls of mathematical functions that take as long as to reach it by way of Python
_ARITHMETIC_OF_VECTORS = 0.5  # the other operations load, store and splat


@dataclass
class RegionAccount:
    """The counts of one region, in all its executions.

    Attributes:
        counts: by `Kind`.
        pieces: into how many pieces workers share it out that need not wait for one another.
        members: how many loops over tiles it has.
        is_serial: whether one worker does all of it.
        by_library: whether it is work of NumPy's library, which has threads of its own.
        whole: how many whole pieces would be as much work as all of them, of which the last ones are smaller; 0 where
            they are taken to be of one size.
        extent: how many iterations the outermost loop has that is cut into these pieces; 0 as for `whole`.
        largest: for a wavefront, the part of a diagonal that one whole tile is.
        waves: the extents of the members that diagonals of tiles go through, one after the other; empty for others.
    """

    counts: list[float]
    pieces: float
    members: int
    is_serial: bool
    by_library: bool = False
    whole: float = 0.0
    extent: int = 0
    largest: float = 0.0
    waves: tuple[int, ...] = ()

    def part_of_busiest(self, workers: int) -> float:
        """Return what part of the work the worker does that has the most of it.

        Workers take pieces as long as there are any: all have as many whole ones, and one of them what is left, or some
        have one more than others, which have what is left.

        Args:
            workers: how many there are.
        """
        if workers <= 1:
            return 1.0
        if not self.whole:
            return min(1.0, math.ceil(self.pieces / workers) * max(self.largest, 1.0 / self.pieces))
        each, over = divmod(math.floor(self.whole), workers)
        most = each + 1 if over else each + self.whole % 1.0
        return most / self.whole


@dataclass
class Account:
    """The counts of one version for one call.

    Attributes:
        vector_bytes: the width of the processor's vectors.
        caches: the bytes of the first, second and third cache.
        regions: the regions, each once for each place that it is called from.
        arithmetic: how many operations on numbers there are, those on vectors counted lane by lane.
    """

    vector_bytes: int
    caches: tuple[int, ...]
    regions: list[RegionAccount] = field(default_factory=list)
    arithmetic: float = 0.0
    _loops: LoopStack = field(default_factory=LoopStack)
    _own: frozenset[str] = frozenset()
    _sizes: dict[str, float] = field(default_factory=dict)
    _windows: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    _fetched: dict[tuple[int, str], list[tuple[tuple[int, ...], float]]] = field(default_factory=dict)

    @property
    def counts(self) -> list[float]:
        """Return what is counted of all regions, by `Kind`."""
        return [sum(column) for column in zip(*(region.counts for region in self.regions), strict=True)]

    def loop(self, start: int, stop: int, step: int) -> Iterator[int]:
        """The middle of a loop's range; nothing where it is empty.

        Args:
            start, stop, step: as a range has them; the step is not 0.
        """
        trips = max(0, -((start - stop) // step))
        if not trips:
            return
        self._loops.push(float(trips), abs(step), abs(step), self._windows.get((start, stop + step - 1)))
        yield start + (trips // 2) * step
        self._loops.pop()

    def holds(self, array: str, size: int) -> None:
        """Enter how large an array is, in bytes: accesses that depend on data come from no more lines than it has."""
        self._sizes[array] = max(0, size)

    def share(self, part: float) -> Iterator[None]:
        """Yield once: what is entered meanwhile is done in a part of the iterations."""
        self._loops.push(part)
        yield None
        self._loops.pop()

    def tiles(
        self,
        kind: str,
        shared: int,
        copies: int,
        members: Sequence[tuple[int, ...]],
        own: Sequence[str] = (),
        compared: Sequence[tuple[int, int]] = (),
    ) -> Iterator[list[int]]:
        """The windows of tiles that stand for all of a region, lower and upper bound of each member: of the one in the
        middle, or, where they differ, of some in different places, each for its share.

        Args:
            kind: "parallel", "wavefront" or "serial".
            shared: how many leading members are shared out.
            copies: of how many arrays each worker has a copy to add up in.
            members: the lower bound, the upper bound and the size of a tile of each member, and how many tiles an
                outer one has.
            own: the memory of a worker that is used again for each tile, and so never comes from far away.
            compared: pairs of members that bounds compare, so that what is done in a tile depends on where it lies.
        """
        self._own = frozenset(own)
        counts = [max(0, -((lower - upper) // size)) for lower, upper, size, *_ in members]
        executions, tiles = self._loops.iterations(), float(math.prod(counts))
        waves, pieces, whole, extent, largest = executions, 1.0, 0.0, 0, 0.0
        extents = tuple(max(0, upper - lower) for lower, upper, *_ in members[:shared])
        if kind != "serial":
            pieces = float(math.prod(counts[:shared]))
            if kind == "wavefront" and shared:
                diagonals = max(1, sum(counts[:shared]) - shared + 1)
                waves, pieces = executions * diagonals, pieces / diagonals
                # A diagonal has a tile for each place in all members but one.
                parts = sorted(
                    min(1.0, member[2] / max(1, each)) for member, each in zip(members, extents, strict=False)
                )
                largest = math.prod(parts[1:])
            elif not compared:  # of triangles, pieces differ by their places
                whole = math.prod(
                    max(1.0, length / size) for length, (_, _, size, *_) in zip(extents, members, strict=False)
                )
                extent = extents[0] if extents else 0
        region = RegionAccount(
            [0.0] * len(Kind), max(1.0, pieces), len(members), kind == "serial", whole=whole, extent=extent
        )
        if kind == "wavefront":
            region.largest, region.waves = largest, extents
        region.counts[Kind.TILES] += executions * tiles
        region.counts[Kind.REGIONS] += waves
        self.regions.append(region)
        for window, share in windows_of(members, compared):
            self._windows.clear()
            self._fetched.clear()
            for number, (lower, upper, size, *_) in enumerate(members):
                if counts[number] > 1:
                    self._windows[window[2 * number], window[2 * number + 1]] = float(size), float(upper - lower)
                # The last tile is smaller: tiles count by what they hold.
                self._loops.push(max(0, upper - lower) / max(1, min(size, upper - lower)), span=size)
            before, arithmetic = {id(each): each.counts.copy() for each in self.regions}, self.arithmetic
            yield list(window)
            for each in self.regions if share < 1 else ():
                old = before.get(id(each), [0.0] * len(Kind))
                each.counts[:] = [was + share * (now - was) for was, now in zip(old, each.counts, strict=True)]
            self.arithmetic = arithmetic + share * (self.arithmetic - arithmetic)
            for _ in members:
                self._loops.pop()

    def add(
        self,
        counts: tuple[float, float, float, float, float],
        accesses: tuple[AccountedAccess, ...],
        is_vectorised: int,
        chain: int,
        position: int,
        sums: int = 0,
        gathered: int = 0,
    ) -> None:
        """Enter what one iteration of the loops around does.

        Args:
            counts: operations, divisions, calls, conditions on data, and operations on vector registers.
            accesses: of each the bytes of an element, the loop along which neighbours lie, the loops that it varies
                with, the array, how many vectors next to one another it is, where that is more than one, by how many
                bytes it moves along that loop in an iteration, where that is more than those of an element, and of
                each subscript that varies with several variables the loops, and by how much it moves in each of them.
            is_vectorised: whether several iterations of the innermost loop are computed at a time: 0 for no, 2 where
                several elements of one array are stored in each.
            chain: how many operations wait for one another from iteration to iteration.
            position: which of the loops around is the innermost one, less those that are written out; -1 for none.
            sums: how many sums it loads and stores, instead of keeping them in registers.
            gathered: how many elements of vectors that the code has do not lie next to one another.
        """
        times = self._loops.iterations()
        if not times:
            return
        kept = self.regions[-1].counts
        operations, divisions, calls, branches, vectors = counts
        is_inside = position >= 0
        trips = self._loops.trips[position] if is_inside else 1.0
        unrolled = 1.0
        for each in self._loops.trips[position + 1 :] if is_inside else ():
            unrolled *= each
        starts = times / trips / unrolled
        width = max((size for size, *_ in accesses), default=8)
        moving = [each for each in accesses if position in each[2]]
        near = sum(each[1] == position and pitch_of(each) == each[0] for each in moving)
        far = len(moving) - near
        if is_inside:
            kept[Kind.LOOPS] += starts
        if is_vectorised and trips >= 2:
            lanes = max(1.0, self.vector_bytes / width)
            cut = self._loops.cut[position] if self._loops.steps[position] == 1 else None
            steps = starts * unrolled * _steps_of(trips, lanes, cut)
            kept[Kind.ROWS if is_vectorised > 1 else Kind.VECTOR_OPERATIONS] += steps * operations
            kept[Kind.VECTOR_ACCESSES] += steps * near
            kept[Kind.GATHERED] += times * far
            kept[Kind.VECTOR_DIVISIONS] += steps * divisions * lanes / 4
            kept[Kind.VECTOR_CALLS] += steps * calls * lanes / 4
        else:
            kept[Kind.OPERATIONS] += times * operations
            kept[Kind.ACCESSES] += times * (near + far if is_inside else len(accesses))
            kept[Kind.DIVISIONS] += times * divisions
            kept[Kind.CALLS] += times * calls
            kept[Kind.WAITS] += times * chain
            kept[Kind.SUMS_IN_MEMORY] += times * sums
        lanes = self.vector_bytes / max(width, 1)
        self.arithmetic += times * (operations + divisions + calls + _ARITHMETIC_OF_VECTORS * vectors * lanes)
        kept[Kind.BRANCHES] += times * branches
        kept[Kind.REGISTERS] += times * vectors
        kept[Kind.GATHERED] += times * gathered
        self._traffic(kept, accesses, position if is_inside else len(self._loops.trips) - 1)

    def product(self, rows: int, inner: int, columns: int, dtype: str) -> None:
        """Enter a product of matrices by NumPy's library, which is more work for each element that matrices have than
        for each step: they are copied, and threads are started.

        Args:
            rows, inner, columns: the extents of its matrices.
            dtype: the type of their elements.
        """
        rows, inner, columns = max(0, rows), max(0, inner), max(0, columns)
        kind, times = np.dtype(dtype), self._loops.iterations()
        steps, elements = rows * inner * columns, rows * inner + inner * columns + rows * columns
        region = RegionAccount([0.0] * len(Kind), 1.0, 0, True, by_library=True)
        # Of two complex numbers there are four products, in vectors of twice as many numbers.
        vectors = times * kind.itemsize / self.vector_bytes * (2 if kind.kind == "c" else 1)
        region.counts[Kind.REGISTERS] = vectors * (_REGISTERS_OF_STEP * steps + _REGISTERS_OF_ELEMENT * elements)
        for level, cache in zip((Kind.LINES_2, Kind.LINES_3, Kind.LINES_4), self.caches, strict=False):
            if elements * kind.itemsize > cache:  # each matrix comes at least once
                region.counts[level] = times * elements * kind.itemsize / LINE_BYTES
        self.arithmetic += 2 * times * steps
        self.regions[-1].counts[Kind.CALLS] += _CALLS_OF_LIBRARY * times
        self.regions.insert(len(self.regions) - 1, region)

    def _traffic(self, kept: list[float], accesses: tuple[AccountedAccess, ...], last: int) -> None:
        """Count the lines that come from each cache: what is used again comes from the one that holds all that is used
        in between."""
        trips, depth = self._loops.trips, len(self._loops.trips)
        groups = groups_of(accesses)
        # By how many of the loops around are left out: the lines of each group, from all loops to none.
        lines = [self._lines(group) for group in groups]
        # What lies apart from one iteration to the next is not fetched ahead.
        apart = [last in group[0][2] and group[0][1] != last for group in groups]
        waited = -kept[Kind.APART_4]
        self._from_memory(kept, groups, lines, last)
        waited += kept[Kind.APART_4]
        for place, cache in enumerate(self.caches[:-1]):
            level = next(
                (outer for outer in range(depth + 1) if sum(each[outer] for each in lines) * LINE_BYTES <= cache), depth
            )
            if not level:
                continue
            # What an iteration of that loop leaves in the cache is there in the next one.
            level -= 1
            around = math.prod(trips[:level])
            unforeseen = 0.0
            for each, is_apart, group in zip(lines, apart, groups, strict=True):
                kept[(Kind.APART_2 if is_apart else Kind.LINES_2) + place] += around * each[level]
                if not is_apart and self._is_cut(group):
                    unforeseen += around * each[level] * self._unforeseen(group, level, _UNFORESEEN_3)
            if place:
                kept[Kind.UNFORESEEN_3] += max(0.0, unforeseen - waited)  # the others have come from memory

    def _lines(self, group: Sequence[AccountedAccess]) -> list[float]:
        """Return how many lines accesses of an array touch, by how many of the loops around are left out, from none to
        all: no more than it has, where it is known how large it is."""
        found = self._loops.lines(group)
        size = self._sizes.get(group[0][3])
        return found if size is None else [min(lines, math.ceil(size / LINE_BYTES)) for lines in found]

    def _from_memory(
        self, kept: list[float], groups: Sequence[Sequence[AccountedAccess]], lines: Sequence[list[float]], last: int
    ) -> None:
        """Count the lines that come from memory: each line that a pass over a part that the last cache does not hold
        touches, for arrays are larger than that.

        Processors fetch ahead along some rows at the same time, and not at once where a row begins: a tile of few long
        rows comes as fast as memory can give it, one of many short rows line by line.
        """
        trips, depth = self._loops.trips, len(self._loops.trips)
        shared = [(group, each) for group, each in zip(groups, lines, strict=True) if group[0][3] not in self._own]
        level = 0
        while level < depth and sum([each[level] for _, each in shared]) * LINE_BYTES > self.caches[-1]:
            level += 1
        if not level:
            return
        level -= 1
        around = math.prod(trips[:level])
        for group, each in shared:
            along, varying = group[0][1], group[0][2]
            is_apart = last in varying and along != last and trips[last] > _FOLLOWED
            # Of the lines those that are not fetched ahead.
            part = 1.0 if is_apart else self._unforeseen(group, level, _UNFORESEEN_4)
            self._fetch(kept, group[0][3], tuple(self._loops.places[:level]), around * each[level], part)

    def _is_cut(self, group: Sequence[AccountedAccess]) -> bool:
        """Return whether accesses go along tiles, so that rows end there; a row that is not cut goes on in the next."""
        return group[0][1] in group[0][2] and self._loops.cut[group[0][1]] is not None

    def _unforeseen(self, group: Sequence[AccountedAccess], level: int, begin: float) -> float:
        """Return the part of the lines of rows that is not fetched ahead, as it is where rows begin.

        Args:
            group: accesses of an array that vary with the same loops.
            level: how many of the loops around are left out.
            begin: the lines at the beginning of each row that are not.
        """
        pitch, along = pitch_of(group[0]), group[0][1]
        if along not in group[0][2] or along < level:
            return 0.0
        return min(1.0, begin / max(1.0, self._loops.trips[along] * self._loops.steps[along] * pitch / LINE_BYTES))

    def _fetch(self, kept: list[float], array: str, around: tuple[int, ...], lines: float, part: float) -> None:
        """Count lines of an array, as far as other work in the same loops has not brought them."""
        before = self._fetched.setdefault((len(self.regions), array), [])
        there = max((number for loops, number in before if loops[: len(around)] == around), default=0.0)
        fresh = max(0.0, lines - there)
        before.append((around, lines))
        kept[Kind.APART_4] += fresh * part
        kept[Kind.LINES_4] += fresh * (1.0 - part)


def _steps_of(trips: float, lanes: float, cut: tuple[float, float] | None) -> float:
    """Return how many operations on vectors a loop takes, of which those for what is left of the last one count half
    for each element.

    Args:
        trips: its iterations.
        lanes: how many of them a vector has.
        cut: where it goes along a tile, the size of that and the extent that is cut so: the last tile has its share.
    """

    def steps(length: float) -> float:
        whole = length // lanes
        return whole + 0.5 * (length - whole * lanes)

    if cut is None:
        return steps(trips)
    size, extent = cut
    return (extent // size * steps(size) + steps(extent % size)) / (extent / size)
