"""The text of the loops over tiles: how a region's tiles are numbered as tasks, and what runs in a task.

A task is a tile along the shared members; the loops along the other members run inside it.  With two levels a
task is an *outer tile*: along each member so many whole tiles as a factor says, the last ones cut off where the
band ends, which run in the order of their coordinates.

Why outer tiles are right wherever tiles are: the members are one permutable band, whose dependences go backwards in
none of them, and any permutable band may be tiled at every level (Wolf and Lam, 1991).  Of two tiles t and t' with
t <= t' in every coordinate, the outer coordinates of t are not greater either, so that t comes first, in the same
outer tile or an earlier one.  Outer tiles with equal sums of coordinates are as independent as tiles are.
"""

from __future__ import annotations

from collections.abc import Callable

from polytune.codegen.loops import RegionCode
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.records import dataclass

CLAIM = "$claim($context, {}, $workers, $base, {})"
"""Claims a task for a worker, of a region of so many."""


@dataclass(frozen=True)
class TileLoops:
    """Writes the tasks of a tiled region.

    Attributes:
        writer: where to.
        region: the region.
        is_nested: whether tasks are outer tiles, of ``$outer_<member>`` iterations along each member.
        tasks: writes what claims and completes tasks, around what places the tile of a task.
        body: writes the work of one tile, whose window is set.
    """

    writer: SourceWriter
    region: RegionCode
    is_nested: bool
    tasks: Callable[[Callable[[], None]], None]
    body: Callable[[], None]

    def write(self) -> None:
        """Write the bounds of the members, and all tasks."""
        writer, region = self.writer, self.region
        for number, member in enumerate(region.members):
            writer.line(f"$lower_{number} = {expression_text(member.lower)}")
            writer.line(f"$upper_{number} = {expression_text(member.upper)}")
        for number in range(region.shared):
            extent, size = f"$upper_{number} - $lower_{number}", self.size(number)
            writer.line(f"$count_{number} = $quotient({extent} + {size} - 1, {size})")
        if region.kind == "parallel":
            writer.line(f"$total = {' * '.join(f'$count_{number}' for number in range(region.shared))}")
            self.tasks(self.place_in_box)
        else:
            self.waves()

    def waves(self) -> None:
        """Write the tiles with equal sums of tile coordinates, sum after sum.

        Tasks are the coordinates but the first one, which follows from them and the sum.  With three members or more
        some tasks have none.
        """
        writer, region = self.writer, self.region
        others = [f"$count_{number}" for number in range(2, region.shared)]
        waves = " + ".join(["$count_0", "$count_1", *others])
        with writer.indented(f"for $wave in $range({waves} - {region.shared - 1}):"):
            behind = " - ".join(["$wave", "$count_0", *others])
            writer.line(f"$first = $greatest(0, {behind} + {region.shared - 1})")
            number = "$least($count_1 - 1, $wave) - $first + 1"
            writer.line(f"$total = {' * '.join([f'({number})', *others]) if others else number}")
            self.tasks(self.place_on_wave)

    def place_in_box(self) -> None:
        """Write which tile a task is: tile coordinates counted with the last shared member fastest."""
        writer, region = self.writer, self.region
        # Where tiles descend the last one has the first task.
        task = "$total - 1 - ($task - $base)" if region.descends else "$task - $base"
        if region.shared == 1:
            writer.line(f"{self.start(0)} = $lower_0 + ({task}) * {self.size(0)}")
            self.task()
            return
        writer.line(f"$rest = {task}")
        for number in reversed(range(region.shared)):
            position = f"$remainder($rest, $count_{number})" if number else "$rest"
            writer.line(f"{self.start(number)} = $lower_{number} + {position} * {self.size(number)}")
            if number:
                writer.line(f"$rest = $quotient($rest, $count_{number})")
        self.task()

    def place_on_wave(self) -> None:
        """Write which tile a task is, if there is one: see ``waves``."""
        writer, region = self.writer, self.region
        rest = "$task - $base"
        for number in reversed(range(2, region.shared)):
            writer.line(f"$step_{number} = $remainder({rest}, $count_{number})")
            writer.line(f"$rest = $quotient({rest}, $count_{number})")
            rest = "$rest"
        writer.line(f"$step_1 = $first + {rest}")
        writer.line(f"$step_0 = {' - '.join(['$wave', *(f'$step_{number}' for number in range(1, region.shared))])}")

        def placed() -> None:
            for number in range(region.shared):
                writer.line(f"{self.start(number)} = $lower_{number} + $step_{number} * {self.size(number)}")
            self.task()

        if region.shared == 2:
            placed()
            return
        with writer.indented("if 0 <= $step_0 < $count_0:"):
            placed()

    def task(self) -> None:
        """Write the work of a task, whose first iterations along the shared members are set."""
        for number in range(self.region.shared):
            self.end(number)
        self.other_members(self.region.shared)

    def other_members(self, number: int) -> None:
        """Write the loops along members that are not shared, of the size of a task along the others."""
        if number == len(self.region.members):
            if self.is_nested:
                self.inner_tiles(0)
            else:
                self.body()
            return
        bounds = f"$lower_{number}, $upper_{number}, {self.size(number)}"
        with self.writer.indented(f"for {self.start(number)} in $range({bounds}):"):
            self.end(number)
            self.other_members(number + 1)

    def inner_tiles(self, number: int) -> None:
        """Write the loops over the tiles of an outer tile."""
        if number == len(self.region.members):
            self.body()
            return
        low, high = self.region.windows[number]
        with self.writer.indented(f"for {low} in $range($begin_{number}, $end_{number}, $tile_{number}):"):
            self.writer.line(f"{high} = $least({low} + $tile_{number}, $end_{number})")
            self.inner_tiles(number + 1)

    def size(self, number: int) -> str:
        """Return how many iterations of a member a task has."""
        return f"$outer_{number}" if self.is_nested else f"$tile_{number}"

    def start(self, number: int) -> str:
        """The first iteration of a member in a task."""
        return f"$begin_{number}" if self.is_nested else self.region.windows[number][0]

    def end(self, number: int) -> None:
        """Write one more than the last iteration of a member in a task."""
        name = f"$end_{number}" if self.is_nested else self.region.windows[number][1]
        self.writer.line(f"{name} = $least({self.start(number)} + {self.size(number)}, $upper_{number})")
