"""A program as Numba source: one function per version, which every worker of a team runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar, assert_never

from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    If,
    Let,
    Node,
    Prefetch,
    Program,
    RegionCall,
    RegionCode,
    Store,
    walk_nodes,
)
from polytune.codegen.private_sums import PrivateSums
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.storage import (
    PART,
    TILES,
    Storage,
    array_types,
    context_positions,
    copies_name,
    copy_name,
    expanded_name,
    private_name,
    shared_name,
    storage_of,
    summed_name,
    used_in,
)
from polytune.codegen.tiles.loops import CLAIM, TileLoops
from polytune.codegen.transform import BYTES
from polytune.codegen.vectors.expressions import VectorExpression
from polytune.codegen.vectors.source import prefetch_text, store_text, vector_text
from polytune.frontend.expression import (
    ArrayPart,
    Assign,
    Branch,
    Break,
    Checked,
    Constant,
    Continue,
    Counter,
    Element,
    Expression,
    Iterator,
    LibraryCall,
    Loop,
    Operation,
    While,
    map_children,
    walk,
)
from polytune.frontend.scop import ArrayRole, Scop
from polytune.records import dataclass


def write_version(
    writer: SourceWriter, program: Program, scop: Scop, part_words: int = 0, *, is_nested: bool = False
) -> None:
    """Write the function of one version, ``run_<version>(context)``, or ``run_<version>(context, worker, workers)``
    where a team runs it.

    It takes the address of a context (``polytune.runtime.context``), of which it unpacks what it uses, the number of
    the worker that runs it and how many there are.  Generated names are marked.

    Args:
        writer: where the module is written.
        program: the version.
        scop: its kernel.
        part_words: how many words contexts of the module have for the part of a region.
        is_nested: whether tiles lie in outer tiles, of so many tiles along each member as a context says behind the
            tile sizes; where it says none, of one.
    """
    _VersionWriter(writer, program, scop, part_words, is_nested).write()


_Part = TypeVar("_Part", Node, Operation)


def _calls_library(part: Node | Operation) -> bool:
    """Return whether a call of the library is made in a node or an operation."""
    if isinstance(part, Operation):
        return any(isinstance(each, LibraryCall) for each in walk(part))
    computed = (each for each in walk_nodes(part) if isinstance(each, Compute))
    return any(_calls_library(operation) for each in computed for operation in each.operations)


def _with_counters(node: Any, values: Mapping[str, int]) -> Any:
    """An expression with numbers in place of counters."""
    if isinstance(node, Counter) and node.name in values:
        return Constant(values[node.name], "int64")
    return map_children(node, lambda child: _with_counters(child, values))


@dataclass(frozen=True)
class _StatementPlace:
    """The ways in which code at some place refers to memory: scalars that are variables there, arrays of which it uses
    a copy, those of which it uses one copy for each point of a tile, and those that it adds up in a copy of."""

    local: frozenset[str] = frozenset()
    copies: frozenset[str] = frozenset()
    expanded: frozenset[str] = frozenset()
    summed: frozenset[str] = frozenset()

    def text(self, node: Element | VectorExpression) -> str:
        if not isinstance(node, Element):
            return vector_text(node, self)
        if node.array in self.local:
            return node.array
        if not node.subscripts:
            own = private_name if node.array in self.copies else shared_name
            own = summed_name if node.array in self.summed else own
            return f"{own(node.array)}[0]"
        return f"{self.array(node)}[{', '.join(self.subscripts(node))}]"

    def array(self, element: Element) -> str:
        """The view through which an element is accessed."""
        if element.array in self.expanded:
            return expanded_name(element.array)
        if element.array in self.summed:
            return summed_name(element.array)
        return private_name(element.array) if element.array in self.copies else element.array

    def subscripts(self, element: Element) -> list[str]:
        return [expression_text(subscript, self.text) for subscript in element.subscripts]


BYTES_OF_COPIES = 1 << 20
"""The memory that a worker's copies of one array may have, if it is not more for one copy: the second cache's."""

MOST_PACKED = 512
"""The greatest extent of a tile that is copied before it is worked on: a buffer is to stay in a cache."""


class _VersionWriter:
    def __init__(self, writer: SourceWriter, program: Program, scop: Scop, part_words: int, is_nested: bool):
        self.writer, self.program, self.scop, self.part_words = writer, program, scop, part_words
        self.is_nested = is_nested
        self.shares_calls = False  # whether workers share a region with calls of the library, which none may just leave
        self.storage: Storage = storage_of(scop)
        self.copies = frozenset().union(*(self.worker_copies(region) for region in program.regions))
        self.expansions = {
            array: region.expansion.member
            for region in program.regions
            if region.expansion is not None
            for array in sorted(region.expanded)
        }
        self.summed = frozenset().union(*(region.summed for region in program.regions))
        self.buffers = [buffer for region in program.regions for buffer in region.buffers]
        self.strips = [strip for region in program.regions for strip in region.strips]

    @property
    def own_memory(self) -> tuple[str, ...]:
        """The buffers and strips that each worker has."""
        return (*(buffer.name for buffer in self.buffers), *(strip.name for strip in self.strips))

    def worker_copies(self, region: RegionCode) -> frozenset[str]:
        """The arrays and scalars of which each worker needs one copy in memory for a region."""
        if region.kind == "serial":
            return frozenset()
        return (region.private - region.local - region.expanded) & used_in(region.body).elements

    def write(self) -> None:
        writer = self.writer
        writer.line("@$njit(cache=$CACHE, **$OPTIONS)")
        worker = ", $worker, $workers" if self.program.team else ""
        with writer.indented(f"def $run_{self.program.name}($context{worker}):"):
            self.unpack()
            if self.program.team:
                writer.line("$base = 0")
                self.node(self.program.skeleton, _StatementPlace())
            else:
                self.body(self.program.regions[0])
                self.leave(self.program.regions[0].body)
            for name in sorted(self.copies):
                writer.line(f"$keep_alive({copy_name(name)})")
            for name in self.expansions:
                writer.line(f"$keep_alive({copies_name(name)})")
            for name in self.own_memory:
                writer.line(f"$keep_alive({name}_copy)")
        writer.line()
        writer.line()

    # What comes in

    def unpack(self) -> None:
        """Views of the arrays, and the scalars, parameters and tile sizes, as far as the version uses them."""
        writer = self.writer
        positions = context_positions(self.storage, self.scop, self.part_words)
        used = [used_in(region.body) for region in self.program.regions]
        elements = frozenset().union(*(part.elements for part in used))
        arguments = frozenset().union(*(part.arguments for part in used))
        local = frozenset.intersection(*(region.local for region in self.program.regions))
        kinds = array_types(self.storage, self.scop)
        for name in self.storage.memory:
            if name in elements and name not in local:
                where = f'$context, {positions[name]}, "{kinds[name]}"'
                variable = name if self.scop.array(name).ndim else shared_name(name)
                writer.line(f'{variable} = $attach({where}, "{name}", "{self.scopes()}")')
        for name in self.storage.scalars:
            if name in arguments:
                writer.line(f'{name} = $number($context, {positions[name]}, "{self.scop.signature[name].dtype}")')
        for name in self.storage.parameters:
            writer.line(f"{name} = $integer($context, {positions[name]})")
        for member in range(self.program.tile_depth):
            writer.line(f"$tile_{member} = $integer($context, {positions[TILES] + member})")
        for number, name in enumerate(self.program.part):
            writer.line(f"{name} = $integer($context, {positions[PART] + number})")
        for name in sorted(self.copies):
            copy, private = copy_name(name), private_name(name)
            writer.line(f"{copy} = $np.empty({self.shape(name)}, $np.{self.scop.array(name).dtype})")
            writer.line(f'{private} = $view({copy}, "{private}", "{self.scopes()}")')
        for name, member in self.expansions.items():
            # So many copies as fit into a cache: what the first loop over them computes is there for the next one.
            size = " * ".join(f"({extent})" for extent in self.extents(name))
            most = f"$quotient({BYTES_OF_COPIES // BYTES.get(self.scop.array(name).dtype, 1)}, $greatest(1, {size}))"
            writer.line(f"$tile_{member} = $least($tile_{member}, $greatest(1, {most}))")
        for name, member in self.expansions.items():
            copies, points = copies_name(name), expanded_name(name)
            shape = ", ".join((f"$tile_{member}", *self.extents(name)))
            writer.line(f"{copies} = $np.empty(({shape}), $np.{self.scop.array(name).dtype})")
            writer.line(f'{points} = $view({copies}, "{points}", "{self.scopes()}")')

        for member in sorted({member for buffer in self.buffers for member in buffer.members}):
            writer.line(f"$tile_{member} = $least($tile_{member}, {MOST_PACKED})")
        for buffer in self.buffers:
            shape = ", ".join(f"$tile_{member}" for member in buffer.members)
            writer.line(f"{buffer.name}_copy = $np.empty(({shape}), $np.{buffer.dtype})")
            writer.line(f'{buffer.name} = $view({buffer.name}_copy, "{buffer.name}", "{self.scopes()}")')
        if self.is_nested:
            depth = self.program.tile_depth
            for member in range(depth):
                inner = f"$integer($context, {positions[TILES] + depth + member})"
                writer.line(f"$outer_{member} = $tile_{member} * $greatest(1, {inner})")
        for strip in self.strips:
            shape = ", ".join(f"$greatest(0, {expression_text(extent)})" for extent in strip.shape)
            writer.line(f"{strip.name}_copy = $np.empty(({shape},), $np.{strip.dtype})")
            writer.line(f'{strip.name} = $view({strip.name}_copy, "{strip.name}", "{self.scopes()}")')

    def scopes(self) -> str:
        copies = [private_name(name) for name in sorted(self.copies)]
        copies += [expanded_name(name) for name in self.expansions]
        copies += [summed_name(name) for name in sorted(self.summed)]
        return " ".join((*self.storage.memory, *copies, *self.own_memory))

    def shape(self, name: str) -> str:
        array = self.scop.array(name)
        return "1" if array.role is ArrayRole.SCALAR else f"({', '.join(self.extents(name))},)"

    def extents(self, name: str) -> list[str]:
        """The extents of an array."""
        return [f"$greatest(0, {expression_text(extent)})" for extent in self.scop.array(name).shape]

    # Loops and statements

    def node(self, node: Node, place: _StatementPlace) -> None:
        writer = self.writer
        match node:
            case Block(children):
                self.in_turn(children, lambda child: self.node(child, place))
            case For(variable, start, stop, step, body):
                bounds = [expression_text(start, place.text), expression_text(stop, place.text)]
                if step != 1:
                    bounds.append(str(step))
                with writer.indented(f"for {variable} in $range({', '.join(bounds)}):"):
                    if self.scatters(variable, body, place):
                        writer.line("$one_by_one()")
                    self.node(body, place)
                    self.end_loop(body)
            case If(condition, then, otherwise):
                with writer.indented(f"if {expression_text(condition, place.text)}:"):
                    self.node(then, place)
                if otherwise is not None:
                    with writer.indented("else:"):
                        self.node(otherwise, place)
            case Compute(operations=operations):
                self.operations(operations, place)
            case Let(name, value):
                writer.line(f"{name} = {expression_text(value, place.text)}")
            case Store():
                writer.line(store_text(node, place))
            case Prefetch(element):
                writer.line(prefetch_text(element, place))
            case RegionCall():
                self.region(node)
            case _:
                assert_never(node)

    def scatters(self, variable: str, body: Node, place: _StatementPlace) -> bool:
        """Return whether an innermost loop stores to elements that are not next to one another."""
        parts = list(walk_nodes(body))
        if any(isinstance(part, For) for part in parts):
            return False
        operations = [operation for part in parts if isinstance(part, Compute) for operation in part.operations]
        targets = [operation.target for operation in operations if isinstance(operation, Assign)]
        return any(
            isinstance(leaf, Iterator) and leaf.name == variable
            for target in targets
            if target.array not in place.local
            for subscript in self.far_subscripts(target)
            for leaf in walk(subscript)
        )

    def far_subscripts(self, element: Element) -> tuple[Expression, ...]:
        """The subscripts along which elements do not lie next to one another."""
        kinds = array_types(self.storage, self.scop)
        own_layout = element.array in kinds and element.array not in self.copies
        if own_layout and kinds[element.array].layout == "F":
            return element.subscripts[1:]
        return element.subscripts[:-1]

    def operations(self, operations: Sequence[Operation], place: _StatementPlace) -> None:
        self.in_turn(operations, lambda operation: self.operation(operation, place))

    def in_turn(self, parts: Sequence[_Part], write: Callable[[_Part], None]) -> None:
        """Write parts one after the other, those that follow a call of the library under the test that it has not
        failed.  (Who does a region alone has left it then.)"""
        with ExitStack() as tests:
            for number, part in enumerate(parts):
                write(part)
                if self.shares_calls and number + 1 < len(parts) and _calls_library(part):
                    tests.enter_context(self.writer.indented("if not $has_failed($context):"))

    def end_loop(self, *body: Node | Operation) -> None:
        """End a loop of a region that is shared out where a call of the library in it has failed: what the call should
        have computed may be what the loop waits for."""
        if self.shares_calls and any(map(_calls_library, body)):
            with self.writer.indented("if $has_failed($context):"):
                self.writer.line("break")

    def operation(self, operation: Operation, place: _StatementPlace) -> None:
        match operation:
            case Assign(target, value):
                self.writer.line(f"{place.text(target)} = {expression_text(value, place.text)}")
            case Branch(condition, then, otherwise):
                with self.writer.indented(f"if {expression_text(condition, place.text)}:"):
                    self.operations(then, place)
                if otherwise:
                    with self.writer.indented("else:"):
                        self.operations(otherwise, place)
            case While(condition, body):
                with self.writer.indented(f"while {expression_text(condition, place.text)}:"):
                    self.operations(body, place)
                    self.end_loop(*body)
            case Loop(counter, start, stop, step, body):
                bounds = ", ".join((*(expression_text(each, place.text) for each in (start, stop)), str(step)))
                with self.writer.indented(f"for {counter} in $range({bounds}):"):
                    self.operations(body, place)
                    self.end_loop(*body)
            case Break():
                self.writer.line("break")
            case Continue():
                self.writer.line("continue")
            case Checked(Constant(False), body=body):
                self.operations(body, place)
            case Checked(violation, report, site, body, leaves):
                with self.writer.indented(f"if {expression_text(violation, place.text)}:"):
                    self.writer.line(f"{place.text(report)} = {site}")
                    if leaves:
                        self.writer.line("break")
                with self.writer.indented("else:"):
                    self.operations(body, place)
            case LibraryCall(function, results, arguments, report):
                memory = [f"$memory_of({shared_name(report.array)}, (0,), (), ())"]
                memory += [self.part(part, place) for part in (*results, *arguments)]
                self.writer.line(f"$call_library($context, {function!r}, {len(results)}, ({', '.join(memory)},))")
                if not self.shares_calls:
                    with self.writer.indented("if $has_failed($context):"):
                        if self.program.team:
                            self.writer.line("$complete($context)")
                        self.writer.line("return")

    def part(self, part: ArrayPart, place: _StatementPlace) -> str:
        """Return where a part of an array is, for a call of the library: its first element, the next one along each of
        its dimensions, and its extents."""
        ends = [dict.fromkeys(part.counters, 0)]
        ends += [{counter: int(counter is each) for counter in part.counters} for each in part.counters]
        places = []
        for values in ends:
            element = _with_counters(part.element, {counter.name: value for counter, value in values.items()})
            places.append(f"({', '.join(place.subscripts(element))},)")
        extents = "".join(f"{expression_text(extent, place.text)}, " for extent in part.extents)
        steps = "".join(f"{step}, " for step in places[1:])
        return f"$memory_of({place.array(part.element)}, {places[0]}, ({steps}), ({extents}))"

    # Regions

    def region(self, call: RegionCall) -> None:
        region = self.program.regions[call.region]
        for name, value in zip(region.outer, call.prefix, strict=True):
            text = expression_text(value)
            if text != name:
                self.writer.line(f"{name} = {text}")
        writer = self.writer
        if region.kind == "serial":
            with writer.indented(f"if {CLAIM.format('$worker', '1')} == $base:"):
                self.body(region)
                writer.line("$complete($context)")
            self.finish("1")
            self.leave(region.body)
            return

        def tasks(place: Callable[[], None]) -> None:
            self.tasks(region, place)

        def body() -> None:
            self.body(region)

        TileLoops(writer, region, self.is_nested, tasks, body).write()
        self.leave(region.body)

    def tasks(self, region: RegionCode, place: Callable[[], None]) -> None:
        """Claims and completes the tasks of a region, around what places and runs the tile of one."""
        sums = PrivateSums(self.writer, region.sums, self.scop, self.scopes())
        sums.allocate()
        self.claim(region)
        sums.clear()
        with self.writer.indented("while $task < $base + $total:"):
            place()
            self.writer.line("$claimed += 1" if region.sums else "$complete($context)")
            self.claim(region)
        sums.add_up()
        self.finish("$total")

    def body(self, region: RegionCode) -> None:
        self.shares_calls = region.kind != "serial" and _calls_library(region.body)
        for name in sorted(region.local & used_in(region.body).elements):
            self.writer.line(f"{name} = $np.{self.scop.array(name).dtype}(0)")
        self.node(
            region.body, _StatementPlace(region.local, self.worker_copies(region), region.expanded, region.summed)
        )
        self.shares_calls = False

    def claim(self, region: RegionCode) -> None:
        """Write what claims the next task; where tiles descend, from the share that has the worker's tiles then."""
        worker = "$workers - 1 - $worker" if region.descends else "$worker"
        self.writer.line(f"$task = {CLAIM.format(worker, '$total')}")

    def leave(self, body: Node) -> None:
        """Write what ends the work after a call of the library that has failed: who does a region alone ends at the
        call, and each other worker sees that when the work is done that the call was part of."""
        if _calls_library(body):
            with self.writer.indented("if $has_failed($context):"):
                self.writer.line("return")

    def finish(self, total: str) -> None:
        self.writer.line(f"$base += {total}")
        self.writer.line("$wait($context, $base)")
