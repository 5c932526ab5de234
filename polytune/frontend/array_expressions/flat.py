"""``A.flat``: the elements of an array in the order of their subscripts, by their numbers in it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polytune.frontend.array_expressions.affine_arithmetic import add, product
from polytune.frontend.array_expressions.data_subscripts import from_either_end
from polytune.frontend.array_expressions.gathering import Gathered
from polytune.frontend.array_expressions.readers import Number
from polytune.frontend.array_expressions.rearrangements import size_of
from polytune.frontend.array_expressions.row_major import divided
from polytune.frontend.array_expressions.sizes import extent
from polytune.frontend.array_expressions.slices import in_part, sliced
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.expression import Expression
from polytune.frontend.lowering.frame import Frame


def is_flat(node: ast.AST) -> bool:
    """Return whether an expression is ``A.flat``."""
    return isinstance(node, ast.Attribute) and node.attr == "flat"


def flat_part(
    frame: Frame, node: ast.Subscript, base: ArrayValue, items: Sequence[ast.expr], number: Number
) -> Gathered:
    """``A.flat[k]`` and ``A.flat[a:b:c]``.

    Args:
        frame: where it stands.
        node: the whole expression.
        base: A.
        items: the subscripts.
        number: reads an expression that is a number.

    Raises:
        UnsupportedSourceError: there are several.
    """
    if len(items) != 1:
        raise frame.source.refusal(
            node, "several subscripts of .flat", "it has one dimension, and NumPy raises an error here", "write one"
        )
    length = extent(frame, size_of(frame, base.shape))
    if isinstance(items[0], ast.Slice):
        first, step, count = sliced(frame, items[0], length, number)
        return Gathered(base, (count,), lambda given: _places(base, add(first, product(step, given[0]))))
    index = number(frame, items[0])
    place = in_part(from_either_end(index, length, is_unsigned=index.dtype == "uint64"), length)
    return Gathered(base, (), lambda given: _places(base, place))


def _places(base: ArrayValue, position: Expression) -> list[Expression]:
    """The subscripts of the element of this number."""
    places: list[Expression] = []
    for size in reversed(base.shape[1:]):
        places.append(divided("%", position, size))
        position = divided("//", position, size)
    return [position, *reversed(places)]
