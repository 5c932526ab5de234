"""Index arrays that are tested before the kernel runs: those that it does not write, where it is known what it reads.

A subscript ``A[index[f(i)]]`` that every instance of a statement evaluates reads a certain part of the index array.
Where that is a box, the least and the greatest number in it say whether some subscript is out of range: a call is then
refused before anything is written, and the statement needs no test of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import islpy as isl

from polytune.frontend.expression import (
    Assign,
    Cast,
    Checked,
    Constant,
    Element,
    Expression,
    counted_from_either_end,
    walk,
)
from polytune.frontend.polyhedral.accesses import elements_in_order
from polytune.frontend.polyhedral.affine import AffineBuilder
from polytune.frontend.polyhedral.boxes import intervals_of
from polytune.frontend.polyhedral.budget import ARRAY_BUDGET, within_budget
from polytune.frontend.scop import Access, Array, ArrayRole, IndexCheck, Report, Statement


def check_before(
    statements: Sequence[Statement],
    arrays: Iterable[Array],
    reports: Sequence[Report],
    extents: dict[tuple[str, int], Expression],
    affine: AffineBuilder,
    context: isl.Set,
) -> tuple[tuple[Statement, ...], tuple[IndexCheck, ...]]:
    """The statements, without tests of subscripts that are checked before, and these checks.

    Args:
        statements: those of the SCoP, with tests of subscripts that depend on data.
        arrays: its arrays.
        reports: the places of these tests.
        extents: those of the arrays, by name and dimension.
        affine: what makes sets of expressions.
        context: what is known of the parameters.
    """
    written = {access.array for statement in statements for access in statement.accesses if access.is_write}
    fixed = {array.name for array in arrays if array.role is ArrayRole.ARGUMENT and array.name not in written}
    checks: list[IndexCheck] = []
    made: list[Statement] = []
    for statement in statements:
        own = _checks_of(statement, fixed, reports, extents, affine, context)
        if own is not None:
            checks += [check for check in own if not any(_is_same(check, other) for other in checks)]
            (test,) = statement.operations
            assert isinstance(test, Checked)
            statement = replace(statement, operations=(replace(test, violation=Constant(False, "bool")),))
        made.append(statement)
    return tuple(made), tuple(checks)


def _is_same(check: IndexCheck, other: IndexCheck) -> bool:
    if (check.array, check.extent, len(check.low)) != (other.array, other.extent, len(other.low)):
        return False
    pairs = zip((*check.low, *check.high), (*other.low, *other.high), strict=True)
    return all(one.is_equal(another) for one, another in pairs) and bool(check.executed.is_equal(other.executed))


def _checks_of(
    statement: Statement,
    fixed: set[str],
    reports: Sequence[Report],
    extents: dict[tuple[str, int], Expression],
    affine: AffineBuilder,
    context: isl.Set,
) -> list[IndexCheck] | None:
    """The checks that make the test of a statement needless; None where it has none, or none that is done before."""
    match statement.operations:
        case (Checked(body=(Assign() as assignment,), site=site),):
            pass
        case _:
            return None
    references = map(_identity, elements_in_order(statement.operations))
    accesses = dict(zip(references, statement.accesses, strict=True))
    found: list[IndexCheck] = []
    for element in (part for part in walk(assignment) if isinstance(part, Element)):
        access = accesses.get(_identity((element, element is assignment.target)))
        if access is None or not access.certain:
            return None
        for dimension, subscript in enumerate(element.subscripts):
            if affine.is_function(subscript):
                continue
            index = _index_of(subscript)
            read = None if index is None else accesses.get(_identity((index, False)))
            if index is None or read is None or read.array not in fixed or not read.certain:
                return None
            if not all(map(affine.is_function, index.subscripts)):
                return None  # The access is to all that might be read.
            box = within_budget(context.get_ctx(), ARRAY_BUDGET, partial(_box, read, context))
            if box is None:
                return None
            extent = extents[element.array, dimension]
            found.append(IndexCheck(read.array, *box, extent, reports[site - 1]))
    return found


def _identity(reference: tuple[Element, bool]) -> tuple[int, bool]:
    return id(reference[0]), reference[1]


def _index_of(subscript: Expression) -> Element | None:
    """The element of an index array that a subscript, which counts from either end, is; None for any other."""
    index = counted_from_either_end(subscript)
    match subscript:
        case Cast(Element(dtype="uint64") as read, "int64"):  # of an unsigned type, so that none is below 0
            index = read
    index = index.operand if isinstance(index, Cast) else index
    if not (isinstance(index, Element) and index.subscripts):
        return None
    # Of floats, the least and the greatest one say nothing of NaN, nor of what is left of them in integers.
    return None if index.dtype.startswith("float") else index


def _box(access: Access, context: isl.Set) -> tuple[isl.Set, tuple[isl.PwAff, ...], tuple[isl.PwAff, ...]] | None:
    """The parameters for which an access reads anything, and the first and last index along each axis; None where it
    does not read all between them."""
    read = access.relation.intersect_params(context).range()
    intervals = intervals_of(read)
    if intervals is None:
        return None
    low = tuple(interval.dim_min(0).coalesce() for interval in intervals)
    high = tuple(interval.dim_max(0).coalesce() for interval in intervals)
    return read.params().coalesce().gist(context), low, high
