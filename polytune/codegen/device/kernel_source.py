"""A device kernel as text, in the words of ``polytune.runtime.devices.backend``.

What is decided when a kernel is compiled are macros: ``BLOCK_X`` (``_Y``, ``_Z``) threads of a block and ``POINTS_X``
(``_Y``, ``_Z``) points of a thread along each axis, ``DEPTH`` points of a tile along a sequential member, ``SHARED``
whether tiles of what is read are kept in shared memory, ``UNROLLED_TILE`` and ``UNROLLED_COPY`` the pragmas, or
nothing, before the loops over a tile's points and over the copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from polytune.codegen.device.c_expressions import C_TYPES, Context, c_name, c_text, extent_name, origin_name
from polytune.codegen.device.kernel import DeviceKernel, SharedCopy
from polytune.codegen.loops import Block, Compute, For, If, Let, Node, Prefetch, RegionCall, Store, walk_nodes
from polytune.codegen.source_writer import CWriter
from polytune.codegen.storage import Storage, array_types, storage_of, used_in
from polytune.frontend.expression import (
    Assign,
    Binary,
    Branch,
    Break,
    Checked,
    Continue,
    Element,
    Expression,
    Iterator,
    LibraryCall,
    Loop,
    Operation,
    While,
    walk,
)
from polytune.frontend.generated_names import without_marks
from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.schedule.platforms.promotion import Window

AXES = "XYZ"


@dataclass(frozen=True)
class KernelArguments:
    """The arguments that a kernel is launched with, in order.

    Attributes:
        arrays: arrays and scalars in memory: a buffer each.
        written: those of them that the kernel writes.
        private: arrays of which each thread has a copy: a buffer each, of the array's size times all threads.
        extents: (array, dimension) pairs: an int64 each.
        origins: of arrays that are parts of others, (array, dimension) pairs: an int64 each, the first subscript.
        scalars: scalar arguments, each of its own type.
        parameters: the SCoP's parameters, then the loop variables around the region: an int64 each.
        members: how many members have a lower and an upper bound: two int64 each.
    """

    arrays: tuple[str, ...]
    written: frozenset[str]
    private: tuple[str, ...]
    extents: tuple[tuple[str, int], ...]
    scalars: tuple[str, ...]
    parameters: tuple[str, ...]
    members: int
    origins: tuple[tuple[str, int], ...] = ()


def kernel_arguments(kernel: DeviceKernel, scop: Scop, *, in_windows: bool = False) -> KernelArguments:
    """The arguments of a kernel.

    Args:
        kernel: the region in the loop IR.
        scop: the kernel of Python that it is a part of.
        in_windows: whether of each array it is given a box, from subscripts on that are arguments too.
    """
    storage = storage_of(scop)
    used, kinds = used_in(kernel.body), array_types(storage, scop)
    held = {copy.array for copy in kernel.registers}
    elements = (used.elements | held) - kernel.local
    private = tuple(name for name in storage.scratch if name in elements and name in kernel.private)
    arrays = tuple(name for name in storage.memory if name in elements and name not in private)
    return KernelArguments(
        arrays,
        frozenset(held | _written(kernel.body)) & frozenset(arrays),
        private,
        tuple((name, axis) for name in (*arrays, *private) for axis in range(kinds[name].ndim)),
        tuple(name for name in storage.scalars if name in used.arguments),
        (*storage.parameters, *kernel.outer),
        len(kernel.members),
        tuple((name, axis) for name in arrays for axis in range(kinds[name].ndim)) if in_windows else (),
    )


def _written(node: Node) -> set[str]:
    """The arrays that the statements of a node write."""
    found: set[str] = set()

    def visit(operations: Sequence[Operation]) -> None:
        for operation in operations:
            match operation:
                case Assign(target):
                    found.add(target.array)
                case Branch(_, then, otherwise):
                    visit(then)
                    visit(otherwise)
                case While(_, body):
                    visit(body)
                case Break() | Continue():
                    pass
                case Loop() | Checked() | LibraryCall():
                    raise AssertionError("devices have no versions of kernels with such operations")
                case _:
                    assert_never(operation)

    for part in walk_nodes(node):
        if isinstance(part, Compute):
            visit(part.operations)
    return found


def kernel_text(kernel: DeviceKernel, scop: Scop, name: str, *, in_windows: bool = False) -> str:
    """The text of a kernel, without prelude and macros.

    Args:
        kernel: the region in the loop IR.
        scop: the kernel of Python that it is a part of.
        name: what it is called in the text.
        in_windows: whether of each array it is given a box, from subscripts on that are arguments too.
    """
    return _KernelWriter(kernel, scop, in_windows=in_windows).write(name)


class _KernelWriter:
    def __init__(self, kernel: DeviceKernel, scop: Scop, *, in_windows: bool):
        self.kernel, self.scop = kernel, scop
        self.storage: Storage = storage_of(scop)
        self.arguments = kernel_arguments(kernel, scop, in_windows=in_windows)
        self.origins = frozenset(self.arguments.origins)
        self.writer = CWriter()
        self.kinds = array_types(self.storage, scop)
        self.axis_of = dict(zip(kernel.mapped, reversed(AXES[: kernel.axes]), strict=True))
        self.axes = AXES[: kernel.axes]
        self.copies = {copy.name for copy in kernel.shared}

    def write(self, name: str) -> str:
        writer, kernel = self.writer, self.kernel
        writer.line(f"PT_KERNEL(BLOCK_X, BLOCK_Y, BLOCK_Z) {name}({', '.join(self.parameters())})")
        with writer.braces(""):
            self.declare()
            for copy in kernel.registers:
                if copy.load is not None:
                    self.node(copy.load)
            self.tiles(0)
            for copy in kernel.registers:
                self.node(copy.store)
        return without_marks(writer.text())

    def parameters(self) -> list[str]:
        """The declarations of the kernel's arguments."""
        arguments, found, place = self.arguments, [], Context()
        for name in (*arguments.arrays, *arguments.private):
            constant = "" if name in arguments.written or name in arguments.private else "const "
            found.append(f"PT_GLOBAL {constant}{self.c_type(name)} *PT_RESTRICT {c_name(name)}")
        found += [f"i64 {extent_name(name, axis)}" for name, axis in arguments.extents]
        found += [f"i64 {origin_name(name, axis)}" for name, axis in arguments.origins]
        found += [f"{C_TYPES[self.scop.signature[name].dtype]} {c_name(name)}" for name in arguments.scalars]
        found += [f"i64 {place.name(name)}" for name in arguments.parameters]
        for member in range(arguments.members):
            found += [f"i64 lower_{member}", f"i64 upper_{member}"]
        return found

    def c_type(self, array: str) -> str:
        return C_TYPES[self.scop.array(array).dtype]

    # What a block and a thread have

    def declare(self) -> None:
        """Declare the tile's extents, the block's window, copies in shared memory and in registers, and variables."""
        writer, kernel = self.writer, self.kernel
        extents = [f"{window.extent} = DEPTH" for window in kernel.windows[: kernel.sequential]]
        for window, axis in zip(kernel.windows[kernel.sequential :], reversed(self.axes), strict=True):
            extents.append(f"{window.extent} = BLOCK_{axis} * POINTS_{axis}")
        writer.line(f"enum {{ {', '.join(extents)}, threads_of_block = BLOCK_X * BLOCK_Y * BLOCK_Z }};")
        if kernel.shared:
            with writer.conditional("SHARED"):
                for copy in kernel.shared:
                    writer.line(f"PT_SHARED {self.c_type(copy.array)} {copy.name}{self.shared_shape(copy)};")
        for number, axis in enumerate(reversed(self.axes)):
            member = kernel.sequential + number
            window = kernel.windows[member]
            writer.line(f"const i64 {window.lower} = lower_{member} + (i64)PT_BLOCK_{axis} * {window.extent};")
            writer.line(f"const i64 {window.upper} = pt_least({window.lower} + {window.extent}, upper_{member});")
        points = "".join(f"[POINTS_{axis}]" for axis in reversed(self.axes))
        for register in kernel.registers:
            writer.line(f"{C_TYPES[register.dtype]} {register.name}{points};")
        used = used_in(kernel.body).elements
        for name in sorted(kernel.local & used):
            writer.line(f"{self.c_type(name)} {c_name(name)} = 0;")
        if kernel.shared or self.arguments.private:
            writer.line("const int thread = (PT_THREAD_Z * BLOCK_Y + PT_THREAD_Y) * BLOCK_X + PT_THREAD_X;")
        if self.arguments.private:
            writer.line("const i64 block = ((i64)PT_BLOCK_Z * PT_GRID_Y + PT_BLOCK_Y) * PT_GRID_X + PT_BLOCK_X;")
            writer.line("const i64 all_threads = (i64)PT_GRID_X * PT_GRID_Y * PT_GRID_Z * threads_of_block;")
            writer.line("const i64 this_thread = block * threads_of_block + thread;")

    def shared_shape(self, copy: SharedCopy) -> str:
        """The extents of a copy, the last one odd, so that a column's elements lie in different banks."""
        place = Context(constant=True)
        extents = [c_text(extent, place) for extent in copy.extents]
        return "".join(f"[{extent}]" for extent in extents[:-1]) + f"[{extents[-1]} | 1]"

    # Tiles

    def tiles(self, member: int) -> None:
        """Write the loops over the tiles of the sequential members, and the work of one."""
        writer, kernel = self.writer, self.kernel
        if member < kernel.sequential:
            window = kernel.windows[member]
            low, extent = window.lower, window.extent
            with writer.braces(f"for (i64 {low} = lower_{member}; {low} < upper_{member}; {low} += {extent}) "):
                writer.line(f"const i64 {window.upper} = pt_least({low} + {extent}, upper_{member});")
                self.tiles(member + 1)
            return
        if not kernel.shared:
            self.node(kernel.body)
            return
        with writer.conditional("SHARED"):
            for copy in kernel.shared:
                self.copy(copy)
            writer.line("PT_BARRIER();")
            self.node(kernel.shared_body)
            if kernel.sequential:
                writer.line("PT_BARRIER();")
            writer.alternative()
            self.node(kernel.body)

    def copy(self, copy: SharedCopy) -> None:
        """Write how all threads of the block fill a copy, neighbours from neighbouring elements."""
        writer = self.writer
        place = Context(constant=True)
        for name, value in copy.origins:
            writer.line(f"const i64 {name} = {self.index(value)};")
        extents = [c_text(extent, place) for extent in copy.extents]
        total = " * ".join(extents)
        writer.line("UNROLLED_COPY")
        with writer.braces(f"for (int j = 0; j < ({total} + threads_of_block - 1) / threads_of_block; j++) "):
            writer.line("const int k = j * threads_of_block + thread;")
            rest, inside = "k", [f"k < {total}"]
            places: list[str] = []
            for axis in reversed(range(len(extents))):
                places.insert(0, f"{rest} % {extents[axis]}" if axis else rest)
                rest = f"({rest} / {extents[axis]})"
            subscripts = []
            for axis, offset in enumerate(places):
                origin = copy.origins[axis][0]
                writer.line(f"const int k{axis} = {offset};")
                place_of = self.within(copy.array, axis, f"{origin} + k{axis}")
                writer.line(f"const i64 a{axis} = {place_of};")
                inside.append(f"a{axis} >= 0 && a{axis} < {extent_name(copy.array, axis)}")
                subscripts.append(f"a{axis}")
            target = "".join(f"[k{axis}]" for axis in range(len(extents)))
            linear = self.linear(copy.array, subscripts)
            writer.line(f"if ({' && '.join(inside)}) {copy.name}{target} = {c_name(copy.array)}[{linear}];")

    # Loops and statements

    def node(self, node: Node) -> None:
        writer = self.writer
        match node:
            case Block(children):
                for child in children:
                    self.node(child)
            case For() if node.variable in self.axis_of:
                self.shared_out(node)
            case For(variable, start, stop, step, body):
                if not any(isinstance(part, For) and part.variable not in self.axis_of for part in walk_nodes(body)):
                    writer.line("UNROLLED_TILE")
                bound = self.index(stop)
                with writer.braces(
                    f"for (i64 {variable} = {self.index(start)}; {variable} < {bound}; {variable} += {step}) "
                ):
                    self.node(body)
            case If(condition, then, otherwise):
                with writer.braces(f"if ({self.index(condition)}) "):
                    self.node(then)
                if otherwise is not None:
                    with writer.braces("else "):
                        self.node(otherwise)
            case Compute(operations=operations):
                for operation in operations:
                    self.operation(operation)
            case Let() | Store() | Prefetch() | RegionCall():
                raise AssertionError(f"a device kernel has no {type(node).__name__}")
            case _:
                assert_never(node)

    def shared_out(self, loop: For) -> None:
        """Write a loop over a mapped member: each thread takes the points that are its own."""
        writer, axis = self.writer, self.axis_of[loop.variable]
        window = self.kernel.windows[self.kernel.sequential + self.kernel.mapped.index(loop.variable)]
        counter, variable = f"j_{axis}", loop.variable
        writer.line("PT_UNROLL")
        with writer.braces(f"for (int {counter} = 0; {counter} < POINTS_{axis}; {counter}++) "):
            writer.line(f"const i64 {variable} = {window.lower} + PT_THREAD_{axis} + {counter} * BLOCK_{axis};")
            if self.may_overrun(loop, window):
                self.node(loop.body)
                return
            conditions = [f"{variable} < {self.index(loop.stop)}"]
            if loop.start != Iterator(window.lower):
                conditions.insert(0, f"{variable} >= {self.index(loop.start)}")
            if loop.step != 1:
                conditions.append(f"({variable} - {self.index(loop.start)}) % {loop.step} == 0")
            with writer.braces(f"if ({' && '.join(conditions)}) "):
                self.node(loop.body)

    def may_overrun(self, loop: For, window: Window) -> bool:
        """Return whether a thread may as well compute for points that the tile lacks at its upper end.

        It may where only registers change, which are not stored for such points, and only registers, scalars and copies
        in shared memory are read, the latter at subscripts that no point of a whole tile takes out of the copy: those
        that grow with the mapped members.  A test of every point would cost more than the few that are for nothing.
        """
        whole = loop.start == Iterator(window.lower) and loop.stop == Iterator(window.upper) and loop.step == 1
        operations = [op for part in walk_nodes(loop.body) if isinstance(part, Compute) for op in part.operations]
        plain = [op for op in operations if isinstance(op, Assign)]
        registers = {copy.name for copy in self.kernel.registers}
        if not whole or len(plain) < len(operations) or any(op.target.array not in registers for op in plain):
            return False
        return all(
            leaf.array in registers or (leaf.array in self.copies and all(map(self.grows, leaf.subscripts)))
            for op in plain
            for leaf in walk(op)
            if isinstance(leaf, Element)
        )

    def grows(self, subscript: Expression) -> bool:
        """Return whether a subscript does not become smaller with any mapped loop's variable."""
        match subscript:
            case Binary("+", left, right):
                return self.grows(left) and self.grows(right)
            case Binary("-", left, right):
                return self.grows(left) and not self.depends_on_point(right)
            case _:
                return isinstance(subscript, Iterator) or not self.depends_on_point(subscript)

    def depends_on_point(self, expression: Expression) -> bool:
        """Return whether an expression contains a mapped loop's variable."""
        return any(isinstance(part, Iterator) and part.name in self.axis_of for part in walk(expression))

    def operation(self, operation: Operation) -> None:
        writer = self.writer
        match operation:
            case Assign(target, value):
                writer.line(f"{self.element(target)} = {self.value(value)};")
            case Branch(condition, then, otherwise):
                with writer.braces(f"if ({self.value(condition)}) "):
                    for part in then:
                        self.operation(part)
                if otherwise:
                    with writer.braces("else "):
                        for part in otherwise:
                            self.operation(part)
            case While(condition, body):
                with writer.braces(f"while ({self.value(condition)}) "):
                    for part in body:
                        self.operation(part)
            case Break():
                writer.line("break;")
            case Continue():
                writer.line("continue;")
            case Loop() | Checked() | LibraryCall():
                raise AssertionError("devices have no versions of kernels with such operations")
            case _:
                assert_never(operation)

    # Expressions

    def value(self, expression: Expression) -> str:
        return c_text(expression, Context(self.element))

    def index(self, expression: Expression) -> str:
        return c_text(expression, Context(self.element, index=True))

    def element(self, element: Element) -> str:
        name = element.array
        if any(name == copy.name for copy in self.kernel.registers):
            return name + "".join(f"[j_{self.axis_of[variable]}]" for variable in self.kernel.mapped)
        subscripts = [self.index(subscript) for subscript in element.subscripts]
        if any(name == copy.name for copy in self.kernel.shared):
            return name + "".join(f"[{subscript}]" for subscript in subscripts)
        if name in self.arguments.private:
            return f"{c_name(name)}[({self.linear(name, subscripts)}) * all_threads + this_thread]"
        if name in self.kernel.local:
            return c_name(name)
        there = [self.within(name, axis, subscript) for axis, subscript in enumerate(subscripts)]
        return f"{c_name(name)}[{self.linear(name, there)}]"

    def within(self, array: str, axis: int, subscript: str) -> str:
        """A subscript of an array, counted from where what there is of it begins."""
        return f"{subscript} - {origin_name(array, axis)}" if (array, axis) in self.origins else subscript

    def linear(self, array: str, subscripts: Sequence[str]) -> str:
        """The place of an element in an array that is dense in C order."""
        if not subscripts:
            return "0"
        text = subscripts[0]
        for axis, subscript in enumerate(subscripts[1:], 1):
            text = f"({text}) * {extent_name(array, axis)} + {subscript}"
        return text
