"""The source order in the loop IR, made of the source's own loops: the version that needs nothing of isl."""

from __future__ import annotations

from collections.abc import Mapping

from polytune.codegen.ast_conversion import add_constant, integer, statement_code, substitute
from polytune.codegen.loops import Block, For, If, Node, Program, RegionCall, RegionCode, block
from polytune.codegen.tiles.windows import WindowNames
from polytune.frontend.expression import Binary, Expression, Iterator
from polytune.frontend.scop import Scop
from polytune.frontend.source_order import SourceBranch, SourceLoop, SourceNode
from polytune.schedule.regions import Plan


def source_program(plan: Plan, scop: Scop) -> Program:
    """The program of a serial plan in the source order: loops and conditions are those of the source, as they stand.

    Args:
        plan: one region of serial work, which says what arrays are local to it.
        scop: its kernel.
    """
    (region,) = plan.regions
    body = source_loops(scop)
    scalars = frozenset(name for name in region.local if scop.array(name).ndim == 0)
    code = RegionCode(**region.traits(), body=body, private=region.local, local=scalars)
    return Program(plan.recipe, RegionCall(0, ()), (code,), False, ())


def source_loops(scop: Scop) -> Node:
    """The loops and conditions of a kernel's source, as they stand."""
    return _sequence(scop.nodes, {}, 0, WindowNames(), scop)


def _sequence(
    nodes: tuple[SourceNode, ...], values: Mapping[str, Expression], depth: int, names: WindowNames, scop: Scop
) -> Node:
    return block(*(_node(node, values, depth, names, scop) for node in nodes))


def _node(node: SourceNode, values: Mapping[str, Expression], depth: int, names: WindowNames, scop: Scop) -> Node:
    """A node inside so many loops, the iterators of which have these values."""
    match node:
        case SourceLoop(iterator, start, stop, step, body):
            first, end = substitute(start, values), substitute(stop, values)
            variable = names.loop(depth)
            value: Expression = Iterator(variable)
            if step < 0:
                # Iteration c of range(first, end, -s) has the value first - s * c; there are ceil((first - end) / s).
                size = integer(-step)
                distance = add_constant(Binary("-", first, end, "int64"), -step - 1)
                value = Binary("-", first, Binary("*", size, value, "int64"), "int64")
                first, end, step = integer(0), Binary("//", distance, size, "int64"), 1
            inside = _sequence(body, {**values, iterator: value}, depth + 1, names, scop)
            return For(variable, first, end, step, inside)
        case SourceBranch(condition, then, otherwise):
            test = substitute(condition, values)
            sides = (_sequence(side, values, depth, names, scop) for side in (then, otherwise))
            yes, no = sides
            return If(test, yes, None if no == Block(()) else no)
        case str():
            statement = scop.statement(node)
            return statement_code(statement, [values[iterator] for iterator in statement.iterators])
