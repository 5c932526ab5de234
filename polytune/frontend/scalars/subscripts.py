"""References to elements of arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable

from polytune.frontend.array_expressions.data_subscripts import from_either_end
from polytune.frontend.array_expressions.negative_subscripts import counted_from_the_end
from polytune.frontend.array_expressions.slices import in_part, refused_truth
from polytune.frontend.expression import Element, Expression
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ArrayBinding, ObjectBinding, TupleBinding, ValueBinding
from polytune.frontend.lowering.names import lookup
from polytune.frontend.lowering.parameters import with_products
from polytune.frontend.polyhedral.affine import NotAffineError, as_index
from polytune.frontend.promotion import Value, binary, cast, compare, constant, number, select
from polytune.frontend.scalars.constants import constant_array
from polytune.frontend.scalars.subscript_ranges import is_never_negative
from polytune.frontend.syntax.lists import count_of
from polytune.signature import UNSIGNED_TYPES

Reader = Callable[[Frame, ast.expr], Value]


def read_element(frame: Frame, node: ast.Subscript, read: Reader) -> Element:
    """The element that ``A[i, j]`` or ``A[i][j]`` refers to.

    Args:
        frame: where it stands.
        node: the whole expression.
        read: reads a subscript.

    Raises:
        UnsupportedSourceError: a subscript is no integer, or what is subscripted is no array.
    """
    count = count_of(node)
    if count is not None:
        return element_of_list(frame, node, count, read)
    base, subscripts = _flatten(node)
    while isinstance(base, ast.Attribute) and base.attr == "T":  # the element of the array with its axes swapped
        base, subscripts = base.value, subscripts[::-1]
    if not isinstance(base, ast.Name):
        raise frame.source.refusal(
            node,
            f"{frame.source.segment(base)} is subscripted",
            "only arrays that are arguments, or made in the kernel, can be accessed",
            "give the array a name of its own, as an argument of the kernel",
        )
    binding = lookup(frame, base)
    is_tuple = isinstance(binding, TupleBinding)
    if isinstance(binding, TupleBinding):
        binding = ArrayBinding(_array_of(frame, base, binding))
    if isinstance(binding, ObjectBinding) and isinstance(binding.value, list | tuple | dict):
        kind = type(binding.value).__name__
        raise frame.source.refusal(
            base,
            f"{base.id!r}, a {kind} from outside of the kernel, is subscripted",
            "what is from outside is a constant in the kernel: a number, an array, or a list or tuple of numbers",
            f"add an argument {base.id} to the kernel and pass an array of what is needed",
        )
    if not isinstance(binding, ArrayBinding):
        raise frame.source.refusal(
            base,
            f"{base.id!r} is subscripted but is not an array",
            "in the types that the kernel is compiled for it is no array",
            "pass a NumPy array for it, or use it without a subscript",
        )
    array = frame.kernel.arrays[binding.array]

    def numbers(frame: Frame, node: ast.expr) -> Value:
        return number(read(frame, node)) if is_tuple else read(frame, node)  # truth values select items of tuples

    indices = tuple(
        _index(frame, subscript, array.name, dimension, numbers) for dimension, subscript in enumerate(subscripts)
    )
    return frame.kernel.locations.record(Element(array.name, indices, array.dtype), frame.source.location(node))


def element_of_list(frame: Frame, node: ast.Subscript, count: str, read: Reader) -> Element:
    """An element of a list: one that is out of range of the list is out of range of its array.

    Args:
        frame: where it stands.
        node: the element, of the list's array.
        count: the variable with the number of elements; empty where the list is known to have the element.
        read: reads an expression.
    """
    assert isinstance(node.value, ast.Name)
    binding = frame.bindings[node.value.id]
    assert isinstance(binding, ArrayBinding)
    array = frame.kernel.arrays[binding.array]
    index = number(read(frame, node.slice))
    if not index.is_integer:
        raise frame.source.refusal(
            node,
            "a list is subscripted by what is no integer",
            "Python raises an error here",
            "use // in place of /, an int in place of a float argument, or int(x)",
        )
    subscript = index.expression
    if count:
        length = read(frame, ast.copy_location(ast.Name(count, ast.Load()), node)).expression
        subscript = in_part(from_either_end(index, length, is_unsigned=index.dtype == "uint64"), length)
    element = Element(array.name, (subscript,), array.dtype)
    return frame.kernel.locations.record(element, frame.source.location(node))


def _array_of(frame: Frame, node: ast.Name, binding: TupleBinding) -> str:
    """The constant array of a tuple of numbers of which a subscript selects one."""
    numbers = [item.value.constant for item in binding.items if isinstance(item, ValueBinding)]
    if len(numbers) != len(binding.items) or any(number is None for number in numbers) or not numbers:
        raise frame.source.refusal(
            node,
            f"{node.id!r}, a tuple, is subscripted by what is only known while the kernel runs",
            "only the constants of a tuple can be told apart then",
            f"use a constant subscript, as {node.id}[0], or an array: t = np.empty(n)",
        )
    return constant_array(frame, node, node.id, binding)


def _flatten(node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]]:
    """The base and all subscripts of a chain such as ``A[i][j, k]``."""
    base: ast.expr = node
    chain: list[ast.expr] = []
    while isinstance(base, ast.Subscript):
        chain = [*(base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]), *chain]
        base = base.value
    return base, chain


def _index(frame: Frame, node: ast.expr, array: str, dimension: int, read: Reader) -> Expression:
    value = read(frame, node)
    if value.dtype == "bool":
        raise refused_truth(frame, node)
    known = value.constant
    is_counted = value.is_integer and known is not None and known < 0
    if is_counted:
        value = binary("+", frame.kernel.extents[array, dimension], value)
    value = with_products(frame, value)
    try:
        frame.kernel.affine.function(value.expression)
        extent = as_index(frame.kernel.extents[array, dimension].expression)
        subscript = as_index(value.expression)
        # What is below 0 then is out of range; an unsigned integer below 0 is one beyond any end.
        if is_counted or value.dtype in UNSIGNED_TYPES:
            return subscript
        return counted_from_the_end(frame, subscript, extent)
    except NotAffineError as error:
        if error.is_wrong:
            raise frame.source.refusal(
                node,
                f"the subscript {frame.source.segment(node)} of {array} {error}",
                "Python would raise an error here",
                "divide by a constant other than 0",
            ) from None
    if value.is_integer:
        return _from_either_end(value, frame.kernel.extents[array, dimension])
    raise frame.source.refusal(
        node,
        f"the subscript {frame.source.segment(node)} of {array} is no integer",
        "elements are counted by integers, and Python would raise an error here",
        "use // in place of /, an int in place of a float argument, or int(x)",
    )


def _from_either_end(value: Value, extent: Value) -> Expression:
    """A subscript that depends on data; a negative one counts from the end, as in NumPy."""
    index = cast(value, "int64")
    # That of an index array stays as it is, as its numbers may be tested before the kernel runs.
    is_read = any(isinstance(part, Element) and part.subscripts for part in (index.expression, value.expression))
    if not is_read and is_never_negative(index.expression, as_index(extent.expression)):
        return index.expression
    if value.dtype == "uint64":  # what is beyond int64, and negative when it is cast, is beyond any end
        return index.expression
    negative = compare("<", index, constant(0))
    return select(negative, binary("+", index, cast(extent, "int64")), index).expression
