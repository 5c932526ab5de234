"""Arrays one after the other, or as parts of one with one dimension more: concatenated and stacked."""

from __future__ import annotations

import ast
from collections.abc import Iterator as Iterating
from collections.abc import Sequence

import numpy as np

from polytune.frontend.array_expressions.affine_arithmetic import ONE, ZERO, add
from polytune.frontend.array_expressions.calls import ArrayCall, compiles, written_out
from polytune.frontend.array_expressions.elementwise import as_array, cast_array, computed
from polytune.frontend.array_expressions.shapes import agree
from polytune.frontend.array_expressions.temporaries import allocate, assigned, emit, over, perform
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand
from polytune.frontend.array_expressions.views import in_memory, permuted, rearranged
from polytune.frontend.expression import Expression, Iterator
from polytune.frontend.program import Node


def joined_operands(call: ArrayCall, name: str) -> list[ArrayValue]:
    """The arrays of an argument that is a list of them."""
    node = written_out(call.frame, call.argument(name))
    given = node.elts if isinstance(node, ast.Tuple | ast.List) else ()
    if not given:
        raise call.refusal(f"{call.name} of something other than a list of arrays", "write the arrays: (A, B)")
    return [as_array(computed(call.frame, call.node, call.evaluate(call.frame, each))) for each in given]


def joined(call: ArrayCall, arrays: Sequence[ArrayValue], axis: int) -> ArrayValue:
    """The arrays one after the other along an axis, in a new array.

    Args:
        call: where it stands.
        arrays: with as many dimensions each, which agree in all extents but one; one array at least.
        axis: the dimension along which they are joined, counted from the front.
    """
    frame, node = call.frame, call.node
    dtype = arrays[0].dtype
    size: Expression = ZERO
    offsets = []
    for array in arrays:
        if array.dtype != dtype:
            dtype = np.promote_types(dtype, array.dtype).name
        if array.ndim != arrays[0].ndim:
            raise call.refusal("arrays of different numbers of dimensions are joined", "give them as many: A[None]")
        for place, (left, right) in enumerate(zip(arrays[0].shape, array.shape, strict=True)):
            if place != axis:
                agree(frame, node, left, right, (arrays[0].shape, array.shape), "arrays that are joined,")
        offsets.append(size)
        size = add(size, array.shape[axis])
    shape = (*arrays[0].shape[:axis], size, *arrays[0].shape[axis + 1 :])
    region = allocate(frame, node, shape, dtype)
    for array, offset in zip(arrays, offsets, strict=True):
        source = as_array(computed(frame, node, cast_array(frame, node, array, dtype)))

        def body(
            iterators: tuple[Iterator, ...], source: ArrayValue = source, offset: Expression = offset
        ) -> Sequence[Node]:
            target = [*iterators[:axis], add(offset, iterators[axis]), *iterators[axis + 1 :]]
            return (perform(frame, node, assigned(frame, region, target, source.at(iterators))),)

        emit(frame, node, over(frame, node, array.shape, body))
    return in_memory(frame.kernel, region, shape, is_new=True)


@compiles(np.concatenate, "arrays", "axis")
def _concatenate(call: ArrayCall) -> Operand:
    arrays = joined_operands(call, "arrays")
    return joined(call, arrays, call.axis("axis", arrays[0].ndim, 0) or 0)


def _comprehension(call: ArrayCall) -> ArrayValue | None:
    """The arrays that a comprehension gives, as one array along whose first dimension they are; None where the
    argument is something else."""
    return call.array("arrays") if isinstance(call.argument("arrays"), ast.ListComp) else None


@compiles(np.hstack, "arrays")
def _hstack(call: ArrayCall) -> Operand:
    arrays = joined_operands(call, "arrays")
    return joined(call, arrays, 0 if arrays[0].ndim == 1 else 1)


@compiles(np.stack, "arrays", "axis")
def _stack(call: ArrayCall) -> Operand:
    found = _comprehension(call)
    if found is not None:
        place = call.axis("axis", found.ndim, 0) or 0
        order = [*range(1, place + 1), 0, *range(place + 1, found.ndim)]
        return permuted(call.frame.kernel, found, order) if place else found
    arrays = joined_operands(call, "arrays")
    place = call.axis("axis", arrays[0].ndim + 1, 0) or 0
    return joined(call, [_with_dimension(call, array, place) for array in arrays], place)


@compiles(np.vstack, "arrays")
def _vstack(call: ArrayCall) -> Operand:
    found = _comprehension(call)
    if found is not None and found.ndim == 2:
        return found
    arrays = joined_operands(call, "arrays")
    if arrays[0].ndim == 1:
        arrays = [_with_dimension(call, array, 0) for array in arrays]
    return joined(call, arrays, 0)


def _with_dimension(call: ArrayCall, array: ArrayValue, place: int) -> ArrayValue:
    axes = [Axis(ZERO, dimension + (dimension >= place)) for dimension in range(array.ndim)]
    return rearranged(call.frame.kernel, array, axes, (*array.shape[:place], ONE, *array.shape[place:]))


@compiles(np.block, "arrays")
def _block(call: ArrayCall) -> Operand:
    """Blocks beside one another where they are in one innermost list, and these lists below one another."""
    node = written_out(call.frame, call.argument("arrays"))
    depth = _depth(call, node)
    blocks = _blocks(call, node)
    most = max(depth, *(block.ndim for block in blocks))
    return _joined_blocks(call, node, iter(blocks), depth, most)


def _depth(call: ArrayCall, node: ast.expr) -> int:
    """Return how many lists are around each of the blocks."""
    if not isinstance(node, ast.List):
        return 0
    depths = {_depth(call, each) for each in node.elts}
    if len(depths) != 1:
        raise call.refusal("np.block of lists that are empty or of different depths", "write as many lists around each")
    return depths.pop() + 1


def _blocks(call: ArrayCall, node: ast.expr) -> list[ArrayValue]:
    """The blocks in the order of the source."""
    if isinstance(node, ast.List):
        return [block for each in node.elts for block in _blocks(call, each)]
    return [as_array(computed(call.frame, call.node, call.evaluate(call.frame, node)))]


def _joined_blocks(call: ArrayCall, node: ast.expr, blocks: Iterating[ArrayValue], depth: int, most: int) -> ArrayValue:
    """Join the blocks of a list, those of inner lists first.

    Args:
        call: where it stands.
        node: the list, or a block.
        blocks: those that are left, from the first one of the list on.
        depth: how many lists are around the blocks in it.
        most: how many dimensions all blocks get.
    """
    if not isinstance(node, ast.List):
        block = next(blocks)
        while block.ndim < most:
            block = _with_dimension(call, block, 0)
        return block
    parts = [_joined_blocks(call, each, blocks, depth - 1, most) for each in node.elts]
    return joined(call, parts, most - depth)
