"""The most that integers may be which depend on data, as those that loops count: room for arrays of as many elements.

A variable is at most the greatest of what it is assigned, and what is added to it in all iterations of the loops
around.  Of other integers, as elements of arrays, nothing is known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import takewhile

from polytune.frontend.array_expressions.affine_arithmetic import (
    ONE,
    ZERO,
    add,
    constant_of,
    integer,
    maximum,
    minimum,
    quotient,
    subtract,
)
from polytune.frontend.array_expressions.data_subscripts import captured
from polytune.frontend.array_expressions.sizes import at_least, greatest, require
from polytune.frontend.array_expressions.values import Sum
from polytune.frontend.expression import (
    Binary,
    Cast,
    Compare,
    Constant,
    Element,
    Expression,
    Iterator,
    Logical,
    Select,
    Unary,
)
from polytune.frontend.lowering.frame import AssignedInteger, Frame, KernelWalk, LoopRange, NewKnowledgeError
from polytune.frontend.lowering.parameters import with_products
from polytune.frontend.promotion import Value, cast
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.jumps import ANY_NUMBER

_GREATEST = {"bool": 1, "uint8": 2**8 - 1, "int8": 2**7 - 1}
"""The greatest number of types that hold few."""

Most = Expression | None
"""The most that an integer may be, in terms of sizes; None where nothing says that."""


ROOM = 2**16
"""The least number of elements that there is room for where nothing says how many there may be."""

ROOM_PER_ELEMENT = 8
"""The number of further ones that there is room for, for each element of an argument."""


def size_of_data(frame: Frame, node: ast.AST, value: Value) -> Expression:
    """A variable that keeps an integer which depends on data, for an extent of a new array.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        value: the integer.
    """
    most = most_of(frame, value.expression)
    size = captured(frame, node, cast(value, "int64").expression)
    if most is None:
        most = room_by_arguments(frame)
        what = "an array has more elements than there is room for, as nothing says how great its extent may be"
        require(frame, node, Compare("<=", size, most), what, (), "pass the size as an integer argument")
        size = captured(frame, node, minimum(size, most))
        frame.kernel.sized_by_room.add(size)
    frame.kernel.most.setdefault(size, most)
    return size


def room_by_arguments(frame: Frame) -> Expression:
    """Return the number of elements that there is room for where nothing says how many there may be."""
    kernel = frame.kernel
    room: Expression = integer(ROOM)
    for array in list(kernel.arrays.values()):
        if array.role is ArrayRole.ARGUMENT:
            size: Most = ONE
            for place in range(array.ndim):
                size = product_of(frame, size, kernel.extents[array.name, place].expression)
            assert size is not None
            room = add(room, size, ROOM_PER_ELEMENT)
    return room


def most_of(frame: Frame, expression: Expression) -> Most:
    """The most that an integer may be where a frame is, in terms of sizes; None where nothing says that.

    Args:
        frame: the place.
        expression: the integer.
    """
    kernel = frame.kernel
    if kernel.affine.is_function(expression):
        return greatest(frame, expression)
    known = kernel.most.get(expression)
    if known is not None:
        return greatest(frame, known)
    match expression:
        case Element(name, ()):
            summed = kernel.sums.get(name)
            if summed is not None:
                return _most_of_sum(*summed)
            if name in kernel.asked:  # it depends on itself
                return None
            kernel.asked.add(name)
            most = _most_of_variable(frame, name)
            kernel.asked.discard(name)
            return most
        case Compare() | Logical() | Unary("not"):
            return ONE
        case Cast(operand):
            return most_of(frame, operand)
        case Element(dtype=dtype) if dtype in _GREATEST:
            return integer(_GREATEST[dtype])
        case Select(_, then, otherwise):
            return _combined(maximum, most_of(frame, then), most_of(frame, otherwise))
        case Binary():
            return _most_of_result(frame, expression)
    return None


def _most_of_result(frame: Frame, expression: Binary) -> Most:
    """The most that the result of an operation may be."""
    is_affine = frame.kernel.affine.is_function
    number = constant_of(expression.right)
    match expression:
        case Binary("min", left, right):
            sides = [side for side in (most_of(frame, left), most_of(frame, right)) if side is not None]
            return minimum(*sides) if len(sides) == 2 else next(iter(sides), None)
        case Binary("max", left, right):
            return _combined(maximum, most_of(frame, left), most_of(frame, right))
        case Binary("+", left, right):
            return _combined(add, most_of(frame, left), most_of(frame, right))
        case Binary("-", left, right) if is_affine(right):
            return _combined(subtract, most_of(frame, left), greatest(frame, right, least=True))
        case Binary("*", left, right):
            if number is None:
                left, right, number = right, left, constant_of(left)
            return product_of(frame, most_of(frame, left), right) if number is not None and number >= 0 else None
        case Binary("//", left) if number is not None and number > 0:
            most = most_of(frame, left)
            return None if most is None else quotient(most, number)
        case Binary("%", _, right) if is_affine(right):
            return maximum(ZERO, subtract(greatest(frame, right), ONE))
    return None


def _most_of_sum(frame: Frame, operand: Sum) -> Most:
    """The most that a sum without dimensions may be."""
    if operand.start is not None or operand.finish is not None:
        return None
    total: Most = ZERO
    for term in operand.terms:
        iterators = [Iterator(frame.kernel.fresh("term")) for _ in term.extents]
        value = term.value((), iterators).expression
        each: Most = ONE if _is_truth(value) and not term.is_negative else None
        for extent in term.extents:
            each = product_of(frame, each, greatest(frame, extent))
        total = _combined(add, total, each)
    return total


def _is_truth(expression: Expression) -> bool:
    """Return whether a number is that of a truth value."""
    match expression:
        case Cast(operand):
            return _is_truth(operand)
        case Select(_, Constant(then), Constant(otherwise)):
            return {then, otherwise} <= {0, 1}
    return expression.dtype == "bool"


def _combined(combine: Callable[[Expression, Expression], Expression], left: Most, right: Most) -> Most:
    return None if left is None or right is None else combine(left, right)


def product_of(frame: Frame, left: Most, right: Most) -> Most:
    """A product of sizes; None where one of them is not known.

    Args:
        frame: where it stands.
        left, right: the sizes.
    """
    if left is None or right is None:
        return None
    for factor, other in ((left, right), (right, left)):
        number = constant_of(factor)
        if number is not None:
            return add(ZERO, other, number)
    return with_products(frame, Value(Binary("*", left, right, "int64"), weak=True)).expression


def _most_of_variable(frame: Frame, name: str) -> Most:
    """The most that a variable may be, by all that is assigned to it until the frame is reached."""
    kernel = frame.kernel
    assigned = kernel.assigned_integers.get(name, [])
    first = _first_before(frame, assigned, len(assigned))
    if first is None or name in kernel.knowledge.changed_later:
        return None
    start = assigned[first]
    inside = (*frame.around, frame.nodes)[len(start.frame.around) + 1 :]
    if inside and _is_in_other_loop(frame, start.frame):
        most = _most_from(frame, assigned[first:])
        kernel.unchanged.append((start.variable, len(assigned), inside[0], most))
        return most
    return _most_from(frame, assigned[first:])


def most_until(frame: Frame, expression: Expression, position: int) -> Most:
    """The same when the whole function has been walked.

    Args:
        frame: the place.
        expression: the integer.
        position: how many assignments of the variable that it is had been walked at the place.
    """
    match expression:
        case Element(name, ()) if name in frame.kernel.assigned_integers:
            assigned = frame.kernel.assigned_integers[name]
            first = _first_before(frame, assigned, position)
            return None if first is None else _most_from(frame, assigned[first:])
    return most_of(frame, expression)


def _first_before(frame: Frame, assigned: Sequence[AssignedInteger], position: int) -> int | None:
    """The last of some assignments before which a variable may have been anything, for all that a place sees of it."""
    return next((place for place in reversed(range(position)) if _is_before(assigned[place], frame)), None)


def _most_from(frame: Frame, assigned: Sequence[AssignedInteger]) -> Most:
    """The most that a variable may be after the first of some assignments."""
    start = assigned[0]
    most = most_of(start.frame, start.value)
    for each in assigned[1:]:
        amount = _amount(each)
        if amount is None:
            most = _combined(maximum, most, most_of(each.frame, each.value))
            continue
        added = most_of(each.frame, amount)
        if added is not None and not at_least(frame, added, ZERO):
            added = maximum(ZERO, added)
        most = _combined(add, most, product_of(frame, added, times_between(start.frame, each.frame)))
    return most


def refuse_later_changes(kernel: KernelWalk) -> None:
    """See to it that variables are not changed in loops after places which have taken them for what is assigned before.

    Args:
        kernel: the walk, at its end.

    Raises:
        NewKnowledgeError: some is; the walk starts again, and takes nothing to be known of it.
    """
    for variable, position, nodes, most in kernel.unchanged:
        assigned = kernel.assigned_integers[variable.array]
        inside = [each.frame.is_in(nodes) for each in assigned]
        if any(inside[position:]) and not _stays_within(
            most, [each for each, is_inside in zip(assigned, inside, strict=True) if is_inside]
        ):
            kernel.knowledge.changed_later.add(variable.array)
            raise NewKnowledgeError


def _stays_within(most: Most, assigned: Sequence[AssignedInteger]) -> bool:
    """Return whether a variable that is no more than something before an iteration of a loop is so after it, too.

    Args:
        most: what it is not more than.
        assigned: its assignments in the loop.
    """
    for each in assigned:
        if most is None or _amount(each) not in (None, ZERO):
            return False
        kernel = each.frame.kernel
        before = kernel.most.get(each.variable)
        kernel.most[each.variable] = most
        after = most_of(each.frame, each.value)
        del kernel.most[each.variable]
        if before is not None:
            kernel.most[each.variable] = before
        if after is None or not at_least(each.frame, most, after):
            return False
    return True


def _is_in_other_loop(frame: Frame, outer: Frame) -> bool:
    """Return whether a place is in loops that another one, before it, is not in."""
    return len(outer.ranges) < len(frame.ranges) or outer.repeated < frame.repeated


def _is_before(assigned: AssignedInteger, frame: Frame) -> bool:
    """Return whether a variable has been assigned something new on each way that leads to a place."""
    return _amount(assigned) is None and frame.is_in(assigned.frame.nodes)


def _amount(assigned: AssignedInteger) -> Expression | None:
    """Return what an assignment adds to a variable; None for any other assignment."""
    match assigned.value:
        case Binary("+", left, right) if left == assigned.variable:
            return right
        case Binary("+", left, right) if right == assigned.variable:
            return left
        case Binary("-", left, right) if left == assigned.variable and (constant_of(right) or 0) > 0:
            return ZERO
    return None


def times_between(outer: Frame, inner: Frame) -> Most:
    """Return how often a place is reached at most while another one, in loops around it, is reached once.

    Args:
        outer: the other place.
        inner: the place.
    """
    if inner.repeated > outer.repeated:
        return None
    times: Most = ONE
    pairs = zip(inner.ranges, outer.ranges, strict=False)
    common = len(list(takewhile(lambda pair: pair[0].iterator == pair[1].iterator, pairs)))
    for each in inner.ranges[common:]:
        times = product_of(inner, times, _iterations(outer, inner, each))
    return times


def _iterations(outer: Frame, inner: Frame, loop: LoopRange) -> Most:
    """Return the most iterations that a loop has; None for one that stands for a ``while``.

    Args:
        outer: a place around it; inside, where it has an iteration, its bounds are known to be in order.
        inner: a place in it.
        loop: the loop.
    """
    distance = subtract(loop.stop, loop.start) if loop.step > 0 else subtract(loop.start, loop.stop)
    most = greatest(inner, distance)
    if (constant_of(most) or 0) >= ANY_NUMBER:
        return None
    most = most if at_least(outer, most, ZERO) else maximum(ZERO, most)
    size = abs(loop.step)
    return most if size == 1 else quotient(add(most, integer(size - 1)), size)
