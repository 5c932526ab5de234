"""Lists that grow, as arrays: their types, their elements, and how much room they have.

An array has the type of all that is ever put in, so that the walk starts again where it learns of another one.  How
many elements there may be follows from the loops around what puts them in (``array_expressions/data_sizes.py``), or
else from the sizes of the arguments.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import replace

import numpy as np

from polytune.frontend import promotion
from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO, add, maximum
from polytune.frontend.array_expressions.data_sizes import most_until, room_by_arguments
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.sizes import at_least
from polytune.frontend.array_expressions.temporaries import assigned_element
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.expression import Element, Expression, ParameterValue
from polytune.frontend.lowering.frame import Frame, GrowingArray, KernelWalk, NewKnowledgeError
from polytune.frontend.lowering.meanings import ArrayBinding
from polytune.frontend.program import Perform
from polytune.frontend.promotion import ScalarKind, Value
from polytune.frontend.scalars.expressions import evaluate
from polytune.frontend.scalars.numbers import number, read
from polytune.frontend.scalars.subscripts import read_element
from polytune.frontend.scop import Array, ArrayRole, Parameter
from polytune.frontend.syntax.lists import GrowingList


def declare_lists(frame: Frame, node: ast.AST, growing: GrowingList) -> None:
    """Make the arrays of a list.

    Args:
        frame: the function's, at its beginning.
        node: the statement that stands for them.
        growing: the list.
    """
    kernel = frame.kernel
    room = kernel.fresh(f"{growing.count}_most")
    kernel.parameters[room] = Parameter(room, ZERO, nonnegative=True)
    for name in growing.items:
        array = frame.unique(name)
        kinds = kernel.knowledge.lists.get(array, frozenset())
        location = frame.source.location(node)
        extent = ParameterValue(room)
        kernel.arrays[array] = Array(array, _dtype(kinds), ArrayRole.LOCAL, (extent,), location=location)
        kernel.extents[array, 0] = Value(extent, weak=True)
        kernel.lists[array] = GrowingArray(room, is_weak=all(kind.weak for kind in kinds))
        frame.bindings[name] = ArrayBinding(array)


def _dtype(kinds: frozenset[ScalarKind]) -> str:
    return np.result_type(*(np.dtype(kind.dtype) for kind in kinds)).name if kinds else "int64"


def append(frame: Frame, node: ast.Assign, count: str) -> None:
    """Lower ``items[count] = value``, the first half of ``list.append(value)``.

    Args:
        frame: where it stands.
        node: the assignment.
        count: the variable that counts the elements.

    Raises:
        UnsupportedSourceError: the value is no number, or of a type that does not go with those of others.
        NewKnowledgeError: it is of a type that the list has not been known to have.
    """
    (target,) = node.targets
    assert isinstance(target, ast.Subscript)
    array = _array_of(frame, target)
    value = _number(frame, node)
    _note_kind(frame, node, array.name, value)
    index = number(frame, ast.copy_location(ast.Name(count, ast.Load()), node))
    position = len(frame.kernel.assigned_integers.get(frame.unique(count), ()))
    frame.kernel.lists[array.name].sites.append((frame, index.expression, position))
    _assign(frame, node, Element(array.name, (index.expression,), array.dtype), value)


def assign_element(frame: Frame, node: ast.stmt, target: ast.Subscript, value: Value) -> None:
    """Lower ``list[k] = value``.

    Args:
        frame: where it stands.
        node: the assignment.
        target: the element.
        value: the number.
    """
    element = read_element(frame, target, read)
    _note_kind(frame, node, element.array, value)
    _assign(frame, node, element, value)


def _assign(frame: Frame, node: ast.stmt, element: Element, value: Value) -> None:
    location = frame.source.location(node)
    frame.kernel.locations.record(element, location)
    frame.nodes.append(Perform((assigned_element(element, value),), location, frame.source.segment(node)))


def _number(frame: Frame, node: ast.Assign) -> Value:
    value = computed(frame, node, evaluate(frame, node.value))
    if not isinstance(value, ArrayValue):
        return value
    if not value.shape:
        return value.at(())
    raise frame.source.refusal(
        node,
        "an array is appended to a list",
        "a list that grows holds numbers, or tuples of numbers",
        "make an array with a row for each, rows = np.empty((n, m)), assign rows[count] and add to the count, and use "
        "rows[:count]",
    )


def _note_kind(frame: Frame, node: ast.stmt, array: str, value: Value) -> None:
    kind = promotion.kind_of(value)
    lists = frame.kernel.knowledge.lists
    kinds = lists.get(array, frozenset())
    if kind in kinds:
        return
    kinds |= {kind}
    in_order = sorted(kinds, key=lambda each: (each.weak, each.dtype))
    if len(kinds) > 1 and functools.reduce(promotion.join, in_order).dtype != _dtype(kinds):
        names = sorted({each.dtype for each in kinds})
        raise frame.source.refusal(
            node,
            f"a list of {' and '.join(names)}",
            "in Python each element has its own type, and here all of them have one",
            f"convert what is put in: np.{_dtype(kinds)}(x)",
        )
    lists[array] = kinds
    raise NewKnowledgeError


def _array_of(frame: Frame, node: ast.Subscript) -> Array:
    assert isinstance(node.value, ast.Name)
    binding = frame.bindings[node.value.id]
    assert isinstance(binding, ArrayBinding)
    return frame.kernel.arrays[binding.array]


def settle_room(frame: Frame) -> None:
    """Give the arrays of lists their extents, when all that is put in is known.

    Args:
        frame: the kernel's, when it has been walked.
    """
    kernel = frame.kernel
    rooms: dict[str, Expression | None] = {}
    for growing in kernel.lists.values():
        most = rooms.get(growing.room, ZERO)
        for site, count, position in growing.sites:
            before = most_until(site, count, position)
            most = None if most is None or before is None else _greater(frame, most, add(before, ONE))
        rooms[growing.room] = most
    for room, most in rooms.items():
        del kernel.parameters[room]
        source = room_by_arguments(frame) if most is None else most
        kernel.parameters[room] = Parameter(room, source, nonnegative=True)


def _greater(frame: Frame, left: Expression, right: Expression) -> Expression:
    if at_least(frame, left, right):
        return left
    return right if at_least(frame, right, left) else maximum(left, right)


def listed(kernel: KernelWalk, array: str) -> GrowingArray | None:
    """Return what is known of an array that is a list to Python; None for any other array."""
    return kernel.lists.get(array)


def copied_list(kernel: KernelWalk, array: str, copy: str) -> None:
    """Note that an array is a copy of a list, and a list to Python, too.

    Args:
        kernel: the walk.
        array: the list's.
        copy: the copy.
    """
    kernel.lists[copy] = replace(kernel.lists[array], sites=[])
