"""Device kernels in the loop IR, executed thread by thread.

Blocks, and threads of a block, run in random order, each of them all of its work in one go: no thread waits for another
one but where copies in shared memory are made, of arrays that the kernel does not write.  So two threads of a launch
never may touch an element that one of them writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from polytune.codegen.device.kernel import DeviceKernel, RegisterCopy, SharedCopy
from polytune.codegen.loops import Compute, For, Node
from polytune.frontend.expression import Assign
from tests.validation.execution import Execution
from tests.validation.memory import Cells, Point, all_places
from tests.validation.operations import Action

FAR = 2**20


@dataclass
class Registers(Cells):
    """What a thread keeps in registers: an element for each of its points, by their coordinates."""

    held: dict[Any, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values, self.strides = [], ()

    def number(self, index: Sequence[int]) -> Any:
        return tuple(index)

    def read(self, place: Any) -> int:
        value = self.held.get(place)
        return self._garbage(hash(place)) if value is None else value

    def write(self, place: Any, value: int) -> None:
        self.held[place] = value

    def element(self, place: Any) -> str:
        return f"{self.name} in a register"


@dataclass(frozen=True)
class Shape:
    """How a kernel is launched: threads of a block and points of a thread along each mapped member, points of a tile
    along a sequential one, and whether copies are in shared memory."""

    threads: tuple[int, ...]
    points: tuple[int, ...]
    depth: int
    shared: bool


class DeviceExecution(Execution):
    """A launch of a device kernel."""

    def launch(self, kernel: DeviceKernel, outer: Point, bounds: Sequence[tuple[int, int]], shape: Shape) -> None:
        """Run all blocks.

        Args:
            kernel: the kernel.
            outer: the values of the loops around its region.
            bounds: the range of each of its members.
            shape: how it is launched.

        Raises:
            AssertionError: it does what no kernel may do, whatever it computes.
        """
        self.kernel, self.shape = kernel, shape
        self.thread: dict[str, tuple[int, int, int, int]] = {}
        self.moves_registers = False
        self.translated: dict[int, Action] = {}
        self.names.update(zip(kernel.outer, outer, strict=True))
        for number, window in enumerate(kernel.windows):
            self.names[window.extent] = self._extent(number)
        self.clock.task += 1
        self.clock.since = self.clock.task
        origins = [range(*bounds[number], self._extent(number)) for number in range(kernel.sequential, len(bounds))]
        blocks = list(product(*origins))
        self.random.shuffle(blocks)
        for block in blocks:
            self.tile = (
                f"device kernel of region {kernel.region}{list(outer) if outer else ''}, block at {list(block)}: "
            )
            self._block(block, bounds)
        self.tile = ""

    def _extent(self, number: int) -> int:
        """The greatest extent of a tile along a member."""
        mapped = number - self.kernel.sequential
        return self.shape.depth if mapped < 0 else self.shape.threads[mapped] * self.shape.points[mapped]

    def _block(self, block: Point, bounds: Sequence[tuple[int, int]]) -> None:
        kernel, shape = self.kernel, self.shape
        mapped = range(kernel.sequential, len(bounds))
        for number, low in zip(mapped, block, strict=True):
            self._window(number, low, bounds)
        threads = list(product(*map(range, shape.threads)))
        self.random.shuffle(threads)
        tasks = {thread: self.clock.task + 1 + number for number, thread in enumerate(threads)}
        filling = self.clock.task = self.clock.task + len(threads) + 1
        own = {thread: self._own_of_thread() for thread in threads}
        around = dict(self.memory)

        def run(thread: Point, node: Node | None, copies: Mapping[str, Cells], moves_registers: bool = False) -> None:
            if node is None:
                return
            self.clock.task = tasks[thread]
            self.thread = {
                variable: (self.names[kernel.windows[number].lower], self._extent(number), count, own_number)
                for variable, number, count, own_number in zip(
                    kernel.mapped, mapped, shape.threads, thread, strict=True
                )
            }
            self.moves_registers = moves_registers
            self.memory.update({**own[thread], **copies})
            self._translated(node)()
            self.memory.clear()
            self.memory.update(around)

        for copy, thread in product(kernel.registers, threads):
            run(thread, copy.load, {}, moves_registers=True)
        for tile in product(*(range(*bounds[number], shape.depth) for number in range(kernel.sequential))):
            for number, low in enumerate(tile):
                self._window(number, low, bounds)
            self.clock.task = filling
            copies = {copy.name: self._filled(copy) for copy in kernel.shared} if shape.shared else {}
            for thread in threads:
                run(thread, kernel.shared_body if shape.shared else kernel.body, copies)
        for copy, thread in product(kernel.registers, threads):
            run(thread, copy.store, {}, moves_registers=True)
        self.clock.task = filling

    def _window(self, number: int, low: int, bounds: Sequence[tuple[int, int]]) -> None:
        window = self.kernel.windows[number]
        self.names[window.lower] = low
        self.names[window.upper] = min(low + self._extent(number), bounds[number][1])

    def _own_of_thread(self) -> dict[str, Cells]:
        """A thread's registers, variables and copies of arrays."""
        kernel = self.kernel
        found: dict[str, Cells] = {name: self._fresh(name) for name in (*kernel.local, *kernel.private)}
        found.update({copy.name: self._registers(copy) for copy in kernel.registers})
        return found

    def _registers(self, copy: RegisterCopy) -> Cells:
        return Registers(copy.name, (0,) * len(self.kernel.mapped), self.clock)

    def _filled(self, copy: SharedCopy) -> Cells:
        """A copy in shared memory of the elements that there are; garbage in place of others."""
        for name, origin in copy.origins:
            self.names[name] = self.expressions.index(origin)()
        least = [self.names[name] for name, _ in copy.origins]
        shape = tuple(self.expressions.index(extent)() for extent in copy.extents)
        filled, source = Cells(copy.name, shape, self.clock), self.memory[copy.array]
        for number, place in enumerate(all_places(shape)):
            index = [first + offset for first, offset in zip(least, place, strict=True)]
            if all(0 <= subscript < extent for subscript, extent in zip(index, source.shape, strict=True)):
                # Of a device's copy of the array, elements that no thread uses may not have been transferred.
                origin = source.number(index)
                filled.values[number] = None if source.values[origin] is None else source.read(origin)
        return filled

    def _translated(self, node: Node) -> Action:
        if id(node) not in self.translated:
            self.translated[id(node)] = self._action(node)
        return self.translated[id(node)]

    def _loop(self, loop: For) -> Action:
        """A loop; of one over a mapped member each thread has its own points."""
        if loop.variable not in self.kernel.mapped:
            return super()._loop(loop)
        start, stop = self.expressions.index(loop.start), self.expressions.index(loop.stop)
        body, names, variable = self._when_needed(loop.body), self.names, loop.variable

        def run() -> None:
            lower, extent, threads, own = self.thread[variable]
            wanted = range(start(), stop(), loop.step)
            for value in range(lower + own, lower + extent, threads):
                if value in wanted:
                    names[variable] = value
                    body()
            names.pop(variable, None)

        return run

    def _compute(self, node: Compute) -> Action:
        """An instance; or what moves elements between memory and registers, which is none."""
        if not self.moves_registers:
            return super()._compute(node)
        (operation,) = node.operations
        assert isinstance(operation, Assign)
        place, value = self.expressions.place(operation.target), self.expressions.value(operation.value)

        def move() -> None:
            element, (cells, number) = value(), place()
            if not isinstance(cells, Registers) and cells.values[number] == element:
                # A thread stores whatever it holds, its own element alone; what it has only read is as it was.
                cells.read(number)
                self.kept.setdefault(cells.name, set()).add(number)
            else:
                cells.write(number, element)

        return move
