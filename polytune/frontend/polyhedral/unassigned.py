"""The parameters for which a kernel would read a variable that nothing has assigned: what a call is checked for before
it writes.

Python raises UnboundLocalError there; compiled code would find some number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import islpy as isl

from polytune.errors import Obstacle, SourceLocation, UnsupportedSourceError
from polytune.frontend.expression import Element, Logical, Select, children
from polytune.frontend.polyhedral.budget import ARRAY_BUDGET, within_budget
from polytune.frontend.promotion import is_inexact
from polytune.frontend.results import (
    Result,
    ReturnedArray,
    ReturnedChoice,
    ReturnedError,
    ReturnedList,
    ReturnedNothing,
    ReturnedPart,
    ReturnedTuple,
)
from polytune.frontend.scop import Access, ArrayRole, Scop, Statement
from polytune.records import dataclass


@dataclass(frozen=True)
class UnassignedRead:
    """A set of parameter values for which a variable is read that nothing has assigned.

    Attributes:
        variable: its name in the source.
        dtype: its type.
        violated: ``[p] -> { : ... }``, simplified under the context.
        location: where the first such read stands.
    """

    variable: str
    dtype: str
    violated: isl.Set
    location: SourceLocation

    @property
    def remedy(self) -> str:
        """Return what to write instead."""
        return f"assign it before the loops: {self.variable} = {'0.0' if is_inexact(self.dtype) else '0'}"


def unassigned_reads(scop: Scop) -> tuple[UnassignedRead, ...]:
    """The conditions under which a call must be refused, in source order.

    They hold what is certain whatever the data are: an assignment that depends on data counts as one, a read that does
    as none.  So does a variable for which isl finds nothing within its budget: unlike bounds, what it would be found
    out for is an error of the program that Python shows, too.

    Raises:
        UnsupportedSourceError: a variable is read unassigned for all parameters.
    """
    found: list[UnassignedRead] = []
    for array in scop.arrays:
        if array.role is ArrayRole.SCALAR and array.initial is None:
            reads = within_budget(scop.context.get_ctx(), ARRAY_BUDGET, partial(_unassigned, scop, array.name))
            found += reads or ()
    found.sort(key=lambda read: (read.location.line, read.location.column))
    always = [_refused(read) for read in found if scop.context.is_subset(read.violated)]
    if always:
        raise UnsupportedSourceError.of(always)
    return tuple(found)


def _refused(read: UnassignedRead) -> Obstacle:
    return Obstacle(
        read.location,
        f"the variable {read.variable!r} is read before anything has assigned it",
        "no iteration of the loops that assign it comes before, and Python would raise UnboundLocalError",
        read.remedy,
    )


def _unassigned(scop: Scop, variable: str) -> list[UnassignedRead]:
    """The conditions of one variable; one that another implies is left out."""
    accesses = [each for statement in scop.statements for each in statement.accesses if each.array == variable]
    writes = [access for access in accesses if access.is_write]
    written = isl.UnionMap.empty(scop.context.get_space())
    for write in writes:
        written = written.union(isl.UnionMap.from_map(write.relation))
    reads = [
        access
        for statement in scop.statements
        for access in _certain_reads(statement, variable)
        if not any(_precedes(scop, write, access) for write in writes)
    ]
    found: list[UnassignedRead] = []
    if reads and not _without_source(scop, reads, written).is_empty():
        for access in reads:
            _note(scop, found, variable, _without_source(scop, [access], written), access.location)
    if scop.result is not None and variable in _certain_variables(scop.result):
        never = scop.context.subtract(written.domain().params())
        _note(scop, found, variable, never, scop.result_location or scop.location)
    return found


def _certain_reads(statement: Statement, variable: str) -> Iterator[Access]:
    """The reads of a variable that happen whatever the data are, before the statement itself may have assigned it."""
    for access in statement.accesses:
        if access.array == variable:
            if access.is_write:
                return
            if access.certain:
                yield access


def _precedes(scop: Scop, write: Access, read: Access) -> bool:
    """Return whether a write stands before a read in the same iteration of all loops around the write, and is there
    whenever the read is: the usual case, which is cheap to see."""
    order = [statement.name for statement in scop.statements]
    if order.index(write.statement) >= order.index(read.statement):
        return False
    around = [loop for loop in scop.loops if write.statement in loop.statements]
    if any(read.statement not in loop.statements for loop in around):
        return False
    places = read.relation.domain()
    inner = places.dim(isl.dim_type.set) - len(around)
    places = places.project_out(isl.dim_type.set, len(around), inner).set_tuple_name(write.statement)
    return bool(places.is_subset(write.relation.domain()))


def _certain_variables(result: Result) -> Iterator[str]:
    """The variables that are read for a result whatever the data are."""
    match result:
        case Element(array):
            yield array
        case Select(condition) | ReturnedChoice(condition):
            yield from _certain_variables(condition)
        case ReturnedTuple(items) | ReturnedList(items):
            for item in items:
                yield from _certain_variables(item)
        case ReturnedArray() | ReturnedNothing() | ReturnedError():
            pass
        case ReturnedPart(_, axes):
            for axis in axes:
                yield from _certain_variables(axis.start)
                if axis.size is not None:
                    yield from _certain_variables(axis.size)
        case Logical(_, (first, *_)):
            yield from _certain_variables(first)
        case _:
            for child in children(result):
                yield from _certain_variables(child)


def _without_source(scop: Scop, reads: Sequence[Access], written: isl.UnionMap) -> isl.Set:
    """The parameters for which one of some reads has no write before it."""
    sinks = isl.UnionMap.from_map(reads[0].relation)
    for access in reads[1:]:
        sinks = sinks.union(isl.UnionMap.from_map(access.relation))
    information = isl.UnionAccessInfo.from_sink(sinks).set_must_source(written).set_schedule(scop.schedule)
    return information.compute_flow().get_must_no_source().domain().params().intersect(scop.context)


def _note(scop: Scop, found: list[UnassignedRead], variable: str, violated: isl.Set, location: SourceLocation) -> None:
    if violated.is_empty() or any(violated.is_subset(read.violated.intersect(scop.context)) for read in found):
        return
    name = location.text[location.column : location.end_column]
    if not name.isidentifier():
        name = variable
    dtype = scop.array(variable).dtype
    found.append(UnassignedRead(name, dtype, violated.coalesce().gist(scop.context).coalesce(), location))
