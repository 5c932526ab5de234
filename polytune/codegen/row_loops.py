"""Loops over all elements of an array, row by row: a loop over places ``c`` that uses ``c // w`` and ``c % w`` becomes
one over rows ``q`` and one over the places in a row, which needs no divisions.

Such loops are those over ``A.reshape(-1)`` and ``A.ravel()``, and those that are written for one index, ``i, j =
k // m, k % m``.  A division takes as long as some twenty additions, and nobody but the loops says that what is read
lies along rows.

With ``{ c : start <= c < stop }`` and ``q = floor((c + r) / w)``, w > 0, the places of a row are ``{ c : q w <= c + r <
q w + w }``, and those of all rows from that of ``start`` to that of ``stop - 1`` are all places, in the same order:
nothing has to be legal but the loop itself.  Where w is no more than 0 the places are one row, whose body is as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from polytune.codegen.affine_range import as_sum, coefficient, mentions
from polytune.codegen.ast_conversion import integer, substitute
from polytune.codegen.loops import Compute, For, If, Node, Program, RegionCode, map_nodes, walk_nodes
from polytune.frontend.expression import (
    Binary,
    Branch,
    Compare,
    Constant,
    Expression,
    ParameterValue,
    Unary,
    map_children,
    walk,
)
from polytune.frontend.expression import Iterator as LoopVariable
from polytune.frontend.generated_names import generated
from polytune.records import dataclass

MOST_PARTS = 3_000
"""The most nodes of expressions that the body of a loop may have that is written twice."""

_INDEX_PARTS = LoopVariable | ParameterValue | Constant | Binary | Unary


@dataclass(frozen=True)
class RowPlaces:
    """The rows that places lie in: place c in row ``(c + before) // width``.  No loop inside changes either."""

    before: Expression
    width: Expression


def split_rows(program: Program) -> Program:
    """The program with loops over places in rows as two loops each.

    Args:
        program: as isl has made its loops; transforms come later.
    """
    return replace(program, regions=tuple(map(_in_region, program.regions)))


def _in_region(region: RegionCode) -> RegionCode:
    return replace(region, body=_in_node(region.body))


def _in_node(node: Node) -> Node:
    if isinstance(node, For) and node.step == 1:
        rows = _rows_of(node)
        if rows is not None:
            return _split(node, rows)
    return map_nodes(node, _in_node)


def _rows_of(loop: For) -> RowPlaces | None:
    """The rows that most divisions in a loop are for; None where there are none."""
    inner = {part.variable for part in walk_nodes(loop.body) if isinstance(part, For)}
    parts = list(_expressions(loop.body))
    if len(parts) > MOST_PARTS:
        return None
    found = Counter(
        rows
        for part in parts
        if isinstance(part, Binary) and (rows := _divided(part, loop.variable)) is not None
        if not mentions(rows.before, *inner) and not mentions(rows.width, *inner)
    )
    return found.most_common(1)[0][0] if found else None


def _expressions(node: Node) -> Iterator[Any]:
    for part in walk_nodes(node):
        if isinstance(part, If):
            yield from walk(part.condition)
        elif isinstance(part, Compute):
            yield from walk(Branch(Constant(True, "bool"), part.operations))


def _divided(part: Binary, variable: str) -> RowPlaces | None:
    """The rows that a quotient or a remainder of a loop's variable is of; None for any other.

    Rows of a constant number of places are left to compilers, which need no division for them.
    """
    if part.operator not in ("//", "%") or part.dtype != "int64" or isinstance(part.right, Constant):
        return None
    if not all(isinstance(each, _INDEX_PARTS) for each in walk(part)) or mentions(part.right, variable):
        return None
    if coefficient(part.left, variable) != 1:
        return None
    return RowPlaces(as_sum(substitute(part.left, {variable: integer(0)})), part.right)


def _split(loop: For, rows: RowPlaces) -> Node:
    row = LoopVariable(generated("row", loop.variable))
    first = Binary("//", _sum(loop.start, rows.before), rows.width, "int64")
    last = Binary("//", _sum(Binary("-", loop.stop, integer(1), "int64"), rows.before), rows.width, "int64")
    begin = Binary("-", Binary("*", row, rows.width, "int64"), rows.before, "int64")
    if rows.before == integer(0):
        begin = Binary("*", row, rows.width, "int64")
    end = Binary("+", begin, rows.width, "int64")
    places = replace(
        loop,
        start=Binary("max", loop.start, begin, "int64"),
        stop=Binary("min", loop.stop, end, "int64"),
        body=_with_rows(loop.body, loop.variable, rows, row),
    )
    by_rows = For(row.name, first, Binary("+", last, integer(1), "int64"), 1, places)
    some = Compare("<", loop.start, loop.stop)
    return If(some, If(Compare(">", rows.width, integer(0)), by_rows, loop))


def _sum(left: Expression, right: Expression) -> Expression:
    return left if right == integer(0) else Binary("+", left, right, "int64")


def _with_rows(node: Node, variable: str, rows: RowPlaces, row: LoopVariable) -> Node:
    """The body of a loop without divisions: the row is known, and the place in it is what lies before it taken away."""

    def change(part: Any) -> Any:
        if isinstance(part, Binary) and _divided(part, variable) == rows:
            if part.operator == "//":
                return row
            return Binary("-", part.left, Binary("*", row, rows.width, "int64"), "int64")
        return map_children(part, change)

    match node:
        case Compute(operations=operations):
            return replace(node, operations=tuple(map(change, operations)))
        case If(condition, then, otherwise):
            other = None if otherwise is None else _with_rows(otherwise, variable, rows, row)
            return If(change(condition), _with_rows(then, variable, rows, row), other)
        case For(start=start, stop=stop, body=body):
            inner = _with_rows(body, variable, rows, row)
            return replace(node, start=change(start), stop=change(stop), body=inner)
        case _:
            return map_nodes(node, lambda child: _with_rows(child, variable, rows, row))
