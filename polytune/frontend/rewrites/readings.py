"""Places where a local array is read: whether they stay inside of it, and how often they read an element.

An array that one nest of loops writes may be left out where its values are computed at these places instead
(`forwarding.py`).  That needs two answers, and both are here.

*May the values stand there?*  A place that reads outside of the array is an error, which must remain one.  So each
subscript is proven to be within the extent, or what the value reads there is proven to be outside of its own array.
And where the places may read less than the nest writes, none of what the nest reads may be an error.

*Does it pay?*  Where loops go around the place that no subscript depends on, or several places read one element, a
value is computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polytune.frontend.array_expressions.affine_arithmetic import ZERO, coefficients, constant_of, normal, subtract
from polytune.frontend.expression import (
    Binary,
    Call,
    Cast,
    Compare,
    Element,
    Expression,
    Extent,
    Iterator,
    LibraryCall,
    Logical,
    ParameterValue,
    Unary,
    children,
    walk,
)
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.polyhedral.affine import NotAffineError, as_condition, as_index
from polytune.frontend.polyhedral.budget import QUESTION_BUDGET, within_budget
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.records import dataclass

__all__ = ["Reading", "is_each_read_once", "is_inside", "most_readings_of_an_element", "readings", "reads_inside"]


@dataclass(frozen=True)
class Reading:
    """A place where an array is read.

    Attributes:
        element: what is read.
        loops: the loops around it within its block, outermost first.
        statement: the number of the statement that it stands in.
        body: the nodes that this is one of.
    """

    element: Element
    loops: tuple[RangeLoop, ...]
    statement: int
    body: tuple[Node, ...]


def readings(nodes: Sequence[Node], array: str) -> tuple[Reading, ...] | None:
    """Return all places in nodes where an array is read; None where one is no operand of a statement.

    Args:
        nodes: neighbours in a block, which do not write the array.
        array: its name.
    """
    found: list[Reading] = []
    whole = tuple(nodes)
    number = 0

    def is_read(parts: Any) -> bool:
        return any(isinstance(each, Element) and each.array == array for part in parts for each in walk(part))

    def collect(node: Node, loops: tuple[RangeLoop, ...], around: tuple[Node, ...]) -> bool:
        nonlocal number
        match node:
            case RangeLoop(start=start, stop=stop, body=body):
                return not is_read((start, stop)) and all(collect(each, (*loops, node), body) for each in body)
            case Guard(condition=condition, then=then, otherwise=otherwise):
                sides = (then, otherwise)
                return not is_read((condition,)) and all(collect(each, loops, side) for side in sides for each in side)
        assert isinstance(node, Perform)
        number += 1
        for part in (part for operation in node.operations for part in walk(operation)):
            if isinstance(part, LibraryCall) and is_read((part,)):
                return False
            if isinstance(part, Element) and part.array == array:
                found.append(Reading(part, loops, number, around))
        return True

    return tuple(found) if all(collect(node, (), whole) for node in whole) else None


def _is_never(kernel: KernelWalk, loops: Sequence[RangeLoop], conditions: Sequence[Expression]) -> bool:
    """Return whether it is proven that conditions do not all hold in any iteration of loops, in calls that are right.

    Args:
        kernel: what the walk over the source has found.
        loops: those around the place, outermost first.
        conditions: affine ones, or nothing is proven.
    """
    affine = kernel.affine

    def may_hold() -> bool:
        found = affine.universe()
        for condition in conditions:
            found = found.intersect(affine.condition(as_condition(condition)))
        for loop in loops:
            if loop.step > 0:
                first = Compare("<=", loop.start, Iterator(loop.iterator))
                last = Compare("<", Iterator(loop.iterator), loop.stop)
                found = found.intersect(affine.condition(as_condition(Logical("and", (first, last)))))
        for parameter in kernel.parameters.values():
            if parameter.nonnegative:
                found = found.intersect(affine.condition(Compare(">=", ParameterValue(parameter.name), ZERO)))
        for size_condition in kernel.size_conditions:
            found = found.subtract(size_condition.violated)
        return not found.is_empty()

    try:
        return within_budget(affine.context, QUESTION_BUDGET, may_hold, needed=True) is False
    except NotAffineError:
        return False


def is_inside(
    kernel: KernelWalk, loops: Sequence[RangeLoop], reading: Reading, extents: Sequence[Expression], value: Expression
) -> bool:
    """Return whether it is proven that an array is read within its extents, but where its value is computed from what
    is outside of other arrays.

    Args:
        kernel: what the walk over the source has found.
        loops: those around the block.
        reading: the place.
        extents: those of the array.
        value: what the element there would have been assigned.
    """
    around = (*loops, *reading.loops)
    # What is executed in any case is accessed in any case; so is an error in it.
    inside = [
        _within(subscript, extent)
        for element in _always_read(value)
        for subscript, extent in zip(element.subscripts, _extents(kernel, element), strict=False)
    ]
    for subscript, extent in zip(reading.element.subscripts, extents, strict=True):
        outside = Unary("not", _within(subscript, extent), "bool")
        if not _is_never(kernel, around, (outside,)) and not _is_never(kernel, around, (outside, *inside)):
            return False
    return True


def _always_read(value: Expression) -> tuple[Element, ...]:
    """Return the elements that an expression reads whatever the data are."""
    match value:
        case Element():
            return (value,)
        case Unary() | Binary() | Call() | Cast() | Compare():
            return tuple(each for child in children(value) for each in _always_read(child))
    return ()


def reads_inside(kernel: KernelWalk, loops: Sequence[RangeLoop], value: Expression) -> bool:
    """Return whether it is proven that an expression reads nothing outside of an array.

    Args:
        kernel: what the walk over the source has found.
        loops: those around it.
        value: the expression.
    """
    for element in (each for each in walk(value) if isinstance(each, Element)):
        extents = _extents(kernel, element)
        if len(extents) != len(element.subscripts):
            return False
        for subscript, extent in zip(element.subscripts, extents, strict=True):
            if not _is_never(kernel, loops, (Unary("not", _within(subscript, extent), "bool"),)):
                return False
    return True


def _within(subscript: Expression, extent: Expression) -> Expression:
    return Logical("and", (Compare("<=", ZERO, subscript), Compare("<", subscript, extent)))


def _extents(kernel: KernelWalk, element: Element) -> tuple[Expression, ...]:
    """Return the extents of an element's array as parameters; none where some are unknown."""
    found: list[Expression] = []
    for extent in kernel.arrays[element.array].shape if element.array in kernel.arrays else ():
        if isinstance(extent, Extent):
            parameter = kernel.extents.get((extent.array, extent.dimension))
            if parameter is None:
                return ()
            found.append(as_index(parameter.expression))
        else:
            found.append(extent)
    return tuple(found)


def most_readings_of_an_element(places: Sequence[Reading], *, once_a_statement: bool) -> int | None:
    """Return how often the places may read an element of an array; None where there is no bound, or where places read
    neighbours of each other.

    Args:
        places: all that read it.
        once_a_statement: whether equal elements in one statement count as one.
    """
    distinct: list[tuple[_Form, int, Element]] = []
    for place in places:
        form = _form(place)
        if form is None:
            return None
        entry = (form, place.statement, place.element)
        if not (once_a_statement and entry in distinct):
            distinct.append(entry)
    forms = [form for form, _, _ in distinct]
    if any(_are_neighbours(form, other) for form in forms for other in forms if _may_meet(form, other)):
        return None
    return _most_of_one_element(forms)


def _most_of_one_element(forms: Sequence[_Form]) -> int:
    """Return how many of the places may read one element, any two of which may."""
    if not forms:
        return 0
    first, *others = forms
    with_first = 1 + _most_of_one_element([other for other in others if _may_meet(first, other)])
    return max(with_first, _most_of_one_element(others)) if len(others) >= with_first else with_first


_Form = tuple[tuple[bool, Expression], ...]
"""The form of subscripts: by dimension, whether an iterator of a loop within the block goes along it, and what is added
to that."""


def _form(place: Reading) -> _Form | None:
    """Return the subscripts of a place; None where they do not have each of its loops in exactly one of them, in steps
    of 1."""
    loops = {loop.iterator: constant_of(subtract(loop.stop, loop.start)) for loop in place.loops}
    along: list[str] = []
    found: list[tuple[bool, Expression]] = []
    for subscript in place.element.subscripts:
        terms, _ = coefficients(subscript)
        own = [leaf for leaf in terms if any(isinstance(each, Iterator) and each.name in loops for each in walk(leaf))]
        match own:
            case []:
                found.append((False, normal(subscript)))
            case [Iterator(name) as leaf] if terms[leaf] == 1 and name not in along:
                along.append(name)
                found.append((True, subtract(subscript, leaf)))
            case _:
                return None
    return tuple(found) if all(name in along or length == 1 for name, length in loops.items()) else None


def is_each_read_once(place: Reading) -> bool:
    """Return whether no two iterations of the loops around a place read one element there."""
    return _form(place) is not None


def _may_meet(first: _Form, second: _Form) -> bool:
    """Return whether places may read one element."""
    for (varies, one), (also_varies, other) in zip(first, second, strict=True):
        if not varies and not also_varies and constant_of(subtract(one, other)) not in (None, 0):
            return False
    return True


def _are_neighbours(first: _Form, second: _Form) -> bool:
    """Return whether places read elements beside each other, as in a stencil."""
    pairs = zip(first, second, strict=True)
    return any(varies and also_varies and one != other for (varies, one), (also_varies, other) in pairs)
