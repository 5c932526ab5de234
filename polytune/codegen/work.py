"""The work of versions as functions of the sizes: the text that a model of their time is computed from.

For each version the module has a function that walks its loops once, in the middle of their ranges, and enters what one
iteration of each does into an account (``polytune.runtime.tuning.work``): operations, accesses by how they go along the
innermost loop, starts of loops, tiles and regions.  Bounds are the loops' own expressions, so that what is entered
follows the sizes of tiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import assert_never

import numpy as np

from polytune.codegen.auto_vectorisation import AutoVectorisation
from polytune.codegen.iteration_work import IterationReader, IterationWork, is_of_data
from polytune.codegen.loop_place import LoopPlace
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
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.storage import array_types, storage_of
from polytune.codegen.vectors.expressions import Shifted, VectorExpression
from polytune.frontend.expression import (
    MATRIX_PRODUCT,
    Assign,
    Binary,
    Branch,
    Break,
    Checked,
    Constant,
    Continue,
    Element,
    Expression,
    Iterator,
    LibraryCall,
    Loop,
    Operation,
    ParameterValue,
    Unary,
    While,
    walk,
)
from polytune.frontend.scop import Scop

__all__ = ["write_works"]

_SHORT_ROW = 32  # elements, from which on a row has lines of its own
_GUESSED_TRIPS = 8
"""The iterations that a loop inside of a statement is taken to have where its bounds depend on data."""

_UNTIL_END = 100
"""The most iterations that a loop is taken to have that may end early."""

_WAITS_OF_SCAN = 40
"""The operations that the beginning of a scan waits for: the element before the row, which may just have been stored
under a mask and then has to reach the cache before it is loaded, and a shift and a multiplication for each of the sums
of the first vector.  Rows of 32 elements take some 10 ns more for it each."""

_OF_SIZES = (Constant, ParameterValue, Binary, Unary)
"""The parts of bounds of loops that follow from sizes alone."""


def write_works(writer: SourceWriter, programs: Sequence[Program], scop: Scop) -> None:
    """Write ``work_<version>(account, parameters..., tile sizes...)`` of each version.

    Args:
        writer: where to.
        programs: the versions.
        scop: the kernel, with the arrays of all versions.
    """
    layouts = {name: kind.layout for name, kind in array_types(storage_of(scop), scop).items()}
    reader = IterationReader(scop.strict, layouts, _short_rows(scop, layouts))
    for program in programs:
        _write_work(writer, program, scop, reader)


def _write_work(writer: SourceWriter, program: Program, scop: Scop, reader: IterationReader) -> None:
    sizes = [f"$tile_{member}" for member in range(program.tile_depth)]
    sizes += [f"$outer_{member}" for member in range(len(program.outer))]
    names = ["$account", *(parameter.name for parameter in scop.parameters), *sizes]
    with writer.indented(f"def $work_{program.name}({', '.join(names)}):"):
        writer.line(f'"""What {program.name} has to do."""')
        for name, size in _sizes_of_scattered(program, scop):
            writer.line(f"$account.holds({name!r}, {size})")
        _WorkWriter(writer, program, reader).node(program.skeleton, LoopPlace())
    writer.line()
    writer.line()


class _WorkWriter:
    def __init__(self, writer: SourceWriter, program: Program, reader: IterationReader):
        self.writer, self.program, self.reader = writer, program, reader
        self.vectorisation = AutoVectorisation(reader.strict, reader.layouts)

    def node(self, node: Node, place: LoopPlace) -> None:
        writer = self.writer
        match node:
            case Block(children):
                computed = [child for child in children if isinstance(child, Compute | Let | Store | Prefetch)]
                if computed:
                    self.straight(computed, place)
                for child in children:
                    if not isinstance(child, Compute | Let | Store | Prefetch):
                        self.node(child, place)
            case For(variable, start, stop, step, body):
                last = (
                    _text(stop) if node.ending is None else f"min({_text(stop)}, {_text(start)} + {_UNTIL_END * step})"
                )
                bounds = f"{_text(start)}, {last}, {step}"
                with writer.indented(f"for {variable} in $account.loop({bounds}):"):
                    self.node(body, place.inside(node))
            case If(condition, then, otherwise):
                if any(isinstance(part, Element) for part in walk(condition)):
                    self.share(then, place)
                    if otherwise is not None:
                        self.share(otherwise, place)
                    return
                with writer.indented(f"if {_text(condition)}:"):
                    self.node(then, place)
                if otherwise is not None:
                    with writer.indented("else:"):
                        self.node(otherwise, place)
            case Compute() | Let() | Store() | Prefetch():
                self.straight([node], place)
            case RegionCall():
                self.region(node, place)
            case _:
                assert_never(node)

    def share(self, node: Node, place: LoopPlace) -> None:
        """Enter what is done in some iterations, nobody knows how many."""
        with self.writer.indented("for $_ in $account.share(0.5):"):
            self.node(node, place)

    def region(self, call: RegionCall, place: LoopPlace) -> None:
        writer, region = self.writer, self.program.regions[call.region]
        for name, value in zip(region.outer, call.prefix, strict=True):
            text = _text(value)
            if text != name:
                writer.line(f"{name} = {text}")
        loops = place.loops
        members = []
        for number, member in enumerate(region.members):
            size = f"$tile_{number}"
            if self.program.outer:
                members.append(f"({_text(member.lower)}, {_text(member.upper)}, {size}, $outer_{number})")
            else:
                members.append(f"({_text(member.lower)}, {_text(member.upper)}, {size})")
            loops = (*loops, frozenset(region.windows[number]) | _driven_by(region, number))
        copies = len(region.sums)
        described = f"{region.kind.value!r}, {region.shared}, {copies}, ({''.join(f'{each}, ' for each in members)})"
        own = [*(buffer.name for buffer in region.buffers), *(strip.name for strip in region.strips)]
        if own:
            described += f", ({''.join(f'{name!r}, ' for name in own)})"
        if compared := _compared_members(region):
            described += f"{'' if own else ', ()'}, {compared!r}"
        windows = [name for pair in region.windows for name in pair]
        target = ", ".join(windows) if windows else "$only_tile"
        with writer.indented(f"for {target} in $account.tiles({described}):"):
            self.node(region.body, LoopPlace(loops, region))

    def straight(self, nodes: Sequence[Node], place: LoopPlace) -> None:
        """Enter what nodes without loops do in an iteration of the loops around them."""
        guarded = _under_one_condition(nodes, place)
        if guarded is not None:  # compilers decide before the loop whether it runs
            with self.writer.indented("for $_ in $account.share(0.5):"):
                self.straight(guarded, place)
            return
        for node in nodes:
            if isinstance(node, Let) and node.value.dtype == "int64":  # loops may begin or end there
                self.writer.line(f"{node.name} = {_text(node.value)}")
        it = self.reader.work_of_nodes(nodes, place)
        is_vector, chain = self.vectorisation.is_vectorised(nodes, place), self.vectorisation.chained(nodes, place)
        chain += _WAITS_OF_SCAN * sum(isinstance(node, Let) and isinstance(node.value, Shifted) for node in nodes)
        self.add(it, is_vector, chain, place.position, self.vectorisation.sums_in_memory(nodes, place))
        for node in nodes:
            if isinstance(node, Compute):
                for operation in node.operations:
                    self.inner_loops(operation, place)

    def add(self, it: IterationWork, is_vector: int, chain: int, position: int, sums: int = 0) -> None:
        """Write the line that enters an iteration into the account.

        Args:
            it: what it does.
            is_vector: whether compilers can be expected to take several at a time.
            chain: how many operations it waits for of the iteration before.
            position: which of the loops around it is innermost.
            sums: how many sums it loads and stores.
        """
        accesses = ", ".join(map(repr, it.described)) + ("," if it.accesses else "")
        counts = ", ".join(f"{each:g}" for each in (it.operations, it.divisions, it.calls, it.branches, it.vectors))
        stored = f", {sums}" if sums or it.gathered else ""
        stored += f", {it.gathered:g}" if it.gathered else ""
        self.writer.line(f"$account.add(({counts}), ({accesses}), {is_vector}, {chain}, {position}{stored})")

    def inner_loops(self, operation: Operation, place: LoopPlace) -> None:
        """Enter the loops inside of a statement, whose bounds may depend on data."""
        match operation:
            case Loop(_, _, _, _, body) | While(_, body):
                with self.writer.indented(f"for $_ in $account.loop({_inner_range(operation, place)}):"):
                    inside = place.inside(None)
                    self.add(self.reader.work_of_operations(body, inside), False, 1, len(place.loops))
                    for part in body:
                        self.inner_loops(part, inside)
            case Branch(_, then, otherwise):
                for part in (*then, *otherwise):
                    self.inner_loops(part, place)
            case Checked(body=body):
                for part in body:
                    self.inner_loops(part, place)
            case LibraryCall(function, (result,), (left, right)) if function == MATRIX_PRODUCT:
                extents = ", ".join(_text(extent) for extent in (*left.extents, right.extents[1]))
                self.writer.line(f"$account.product({extents}, {result.element.dtype!r})")
            case Assign() | Break() | Continue() | LibraryCall():
                pass
            case _:
                assert_never(operation)


def _inner_range(loop: Loop | While, place: LoopPlace) -> str:
    """The range of a loop inside of a statement, as far as sizes and the loops around say it."""
    if isinstance(loop, Loop):
        around = {name for names in place.loops for name in names}
        leaves = (*walk(loop.start), *walk(loop.stop))
        if all(leaf.name in around if isinstance(leaf, Iterator) else isinstance(leaf, _OF_SIZES) for leaf in leaves):
            start, stop = _text(loop.start), _text(loop.stop)
            if _may_break(loop.body):
                most = f"{start} + {_UNTIL_END * loop.step}"
                stop = f"{'min' if loop.step > 0 else 'max'}({stop}, {most})"
            return f"{start}, {stop}, {loop.step}"
    return f"0, {_GUESSED_TRIPS}, 1"


def _may_break(operations: Sequence[Operation]) -> bool:
    """Return whether operations may end the loop that they are the body of."""
    for operation in operations:
        match operation:
            case Break():
                return True
            case Branch(_, then, otherwise) if _may_break((*then, *otherwise)):
                return True
            case Checked(body=body, leaves=leaves) if leaves or _may_break(body):
                return True
    return False


def _under_one_condition(nodes: Sequence[Node], place: LoopPlace) -> list[Node] | None:
    """The nodes without the condition that they are under, which comes out the same in all iterations of
    the innermost loop; None where they are not all under one.

    The condition is over elements of arrays: variables may have another value in each iteration, and so may elements
    of places that depend on data.
    """
    conditions: set[Expression] = set()
    found: list[Node] = []
    for node in nodes:
        match node:
            case Compute(operations=(Branch(condition, then, ()),)):
                conditions.add(condition)
                found.append(replace(node, operations=then))
            case _:
                return None
    if len(conditions) != 1 or place.innermost is None or place.position in place.positions(*conditions):
        return None
    elements = [part for part in walk(*conditions) if isinstance(part, Element)]
    is_fixed = all(each.subscripts and not is_of_data(each) for each in elements)
    return found if elements and is_fixed else None


def _text(expression: VectorExpression) -> str:
    """The text of a bound; what depends on data or on addresses counts as nothing in it."""
    return expression_text(expression, lambda _: "0", compiled=False)


def _driven_by(region: RegionCode, number: int) -> frozenset[str]:
    """The variables of loops whose range is that of a tile along a member: of loops that begin or end where it does,
    or that depend on it where they begin and end with no tile."""
    window, windows = set(region.windows[number]), {name for pair in region.windows for name in pair}
    found = set()
    for node in walk_nodes(region.body):
        if isinstance(node, For):
            limits = (_limits(node.start) | _limits(node.stop)) & windows
            named = {
                leaf.name for bound in (node.start, node.stop) for leaf in walk(bound) if isinstance(leaf, Iterator)
            }
            if window & (limits or named):
                found.add(node.variable)
    return frozenset(found)


def _limits(bound: Expression) -> set[str]:
    """The variables that a bound is the least or the greatest of."""
    match bound:
        case Binary("min" | "max", left, right):
            return _limits(left) | _limits(right)
        case Iterator(name):
            return {name}
        case _:
            return set()


def _compared_members(region: RegionCode) -> tuple[tuple[int, int], ...]:
    """Return the pairs of members that bounds or conditions compare, as those of triangles do: tiles differ by where
    they lie along these."""
    member_of = {name: number for number, pair in enumerate(region.windows) for name in pair}
    for number in range(len(region.windows)):
        member_of.update(dict.fromkeys(_driven_by(region, number) - member_of.keys(), number))
    found: set[tuple[int, int]] = set()
    for node in walk_nodes(region.body):
        leaves: tuple[Expression, ...] = ()
        if isinstance(node, For):
            leaves = (*walk(node.start), *walk(node.stop))
        elif isinstance(node, If):
            leaves = tuple(walk(node.condition))
        members = {member_of[leaf.name] for leaf in leaves if isinstance(leaf, Iterator) and leaf.name in member_of}
        found.update(combinations(sorted(members), 2))
    return tuple(sorted(found))


def _sizes_of_scattered(program: Program, scop: Scop) -> list[tuple[str, str]]:
    """The arrays that are accessed by subscripts that depend on data, and the text of how many bytes they have; those
    alone of which the parameters say it."""
    nodes = [node for region in program.regions for node in walk_nodes(region.body) if isinstance(node, Compute)]
    scattered = {
        part.array
        for node in nodes
        for operation in node.operations
        for part in walk(operation)
        if isinstance(part, Element) and is_of_data(part)
    }
    parameters = {parameter.source: ParameterValue(parameter.name) for parameter in scop.parameters}
    found = []
    for array in scop.arrays:
        extents = [parameters.get(extent, extent) for extent in array.shape]
        leaves = [part for extent in extents for part in walk(extent)]
        if array.name in scattered and all(
            isinstance(leaf, ParameterValue | Constant | Binary | Unary) for leaf in leaves
        ):
            size = " * ".join(f"max(0, {_text(extent)})" for extent in extents)
            found.append((array.name, f"{np.dtype(array.dtype).itemsize} * {size}"))
    return found


def _short_rows(scop: Scop, layouts: Mapping[str, str]) -> dict[str, int]:
    """Return of the arrays of which a few elements next to one another are used, whatever the sizes, how many.

    An access ``[p] -> { S[i] -> A[a] }`` has no larger last subscript than the maximum of its range, whatever
    the parameters are.
    """
    known = {array.name: array for array in scop.arrays if array.ndim > 1}
    found: dict[str, int] = {}
    for access in (access for statement in scop.statements for access in statement.accesses):
        array = known.get(access.array)
        if array is None:
            continue
        largest = access.relation.range().dim_max_val(0 if layouts.get(array.name, "C") == "F" else array.ndim - 1)
        if not largest.is_int() or largest.to_python() >= _SHORT_ROW:
            del known[array.name]
            found.pop(array.name, None)
            continue
        found[array.name] = max(found.get(array.name, 1), largest.to_python() + 1)
    return found
