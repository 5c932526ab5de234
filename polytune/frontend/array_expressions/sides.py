"""Arrays that a name means after a branch, one for both of its sides, which each side copies its own into; and after a
loop, that of the last iteration."""

from __future__ import annotations

import ast
from collections.abc import Collection

from polytune.frontend.array_expressions.assigning import array_name, array_of, is_never_changed, names_of
from polytune.frontend.array_expressions.sizes import are_equal, require, shape_text
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.temporaries import allocate
from polytune.frontend.array_expressions.values import ArrayValue, Shape
from polytune.frontend.array_expressions.views import in_memory, whole
from polytune.frontend.expression import Compare, Counter, Element, Expression, Iterator, Select, walk
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ArrayBinding, ViewBinding
from polytune.frontend.polyhedral.affine import as_index
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.sharing import CALLER


def make_common(
    frame: Frame, node: ast.stmt, sides: tuple[Frame, Frame], names: Collection[str], test: Expression
) -> None:
    """Make one array for each name that has got a new one on both sides of a branch, or on one side if it is read
    later.

    Each side copies its own into it, so that which array the name means does not depend on what has run.  Its extents
    are those of the side that runs.  Where an array has another name too, or is the caller's, and the copy could be
    told from it, or the shapes may differ in a way that depends on data, all stays as it is.

    Args:
        frame: where the branch stands.
        node: it.
        sides: the frames of its sides, with all that stands in them.
        names: those that are looked at.
        test: the condition of the branch.
    """
    for name in names:
        if sides[0].bindings.get(name) == sides[1].bindings.get(name):
            continue
        is_read = branch_key(frame, node, name) in frame.kernel.knowledge.read_after
        own = [each for side in sides if (each := _own_side(side, node, name, is_read=is_read)) is not None]
        if len(own) < 2 or own[0].dtype != own[1].dtype or own[0].ndim != own[1].ndim:
            continue
        shape = _common_shape(frame, node, name, (own[0].shape, own[1].shape), test, is_read=is_read)
        if shape is None:
            continue
        region = allocate(frame, node, tuple(map(as_index, shape)), own[0].dtype, array_name(frame, name))
        for side, value in zip(sides, own, strict=True):
            store(side, node, in_memory(frame.kernel, region, value.shape, is_new=True), value)
            side.bindings[name] = ArrayBinding(region.array)
        frame.kernel.owners[region.array] = (id(frame.names), name)


def _common_shape(
    frame: Frame, node: ast.stmt, name: str, shapes: tuple[Shape, Shape], test: Expression, *, is_read: bool
) -> Shape | None:
    """The shape of the array for both sides; None where it depends on data.

    Where a side is taken by data, and the name is read after the branch, each call is checked to have the same shape on
    both sides.

    Args:
        frame: where the branch stands.
        node: it.
        name: the name of the array.
        shapes: those of the sides' own arrays.
        test: the condition of the branch.
        is_read: whether the name is read after the branch.

    Raises:
        UnsupportedSourceError: the shapes differ for all sizes.
    """
    kernel = frame.kernel
    pairs = list(zip(*shapes, strict=True))
    common = tuple(
        left if are_equal(frame, left, right) else Select(test, left, right, "int64") for left, right in pairs
    )
    if all(map(kernel.affine.is_function, common)):
        return common
    if not is_read or not all(kernel.affine.is_function(extent) for shape in shapes for extent in shape):
        return None
    texts = [shape_text(kernel, shape) for shape in shapes]
    what = f"the array {name!r} has the shape {texts[0]} on one side of a branch, {texts[1]} on the other"
    reason = "which side runs depends on data, and an array has one shape"
    for left, right in pairs:
        require(frame, node, Compare("==", left, right), what, (), "use a name of its own for each", reason=reason)
    return shapes[0]


def branch_key(frame: Frame, node: ast.stmt, name: str) -> tuple[str, int, int, str]:
    """The key of a name after a branch: the branch's file, its place there, and the name.

    Args:
        frame: where the branch stands.
        node: it.
        name: the name.
    """
    return frame.source.file, frame.source.first_line + node.lineno, node.col_offset, name


def _own_side(side: Frame, node: ast.stmt, name: str, *, is_read: bool) -> ArrayValue | None:
    """The array that a name means at the end of a branch's side; None where a copy will not do in its place.

    Args:
        side: the frame of the side.
        node: the branch.
        name: the name.
        is_read: whether the name is read after the branch, so that arrays are copied that others have, too.
    """
    binding = side.bindings.get(name)
    if not isinstance(binding, ArrayBinding | ViewBinding):
        return None
    array = array_of(binding)
    if array is None:
        return None
    owner, _ = side.kernel.owners.get(array, (None, ""))
    is_own = owner == id(side.names) and side.kernel.arrays[array].role is ArrayRole.LOCAL
    is_last = is_own and name in side.kernel.results  # nothing of the function comes after its result
    if not is_last and not (isinstance(binding, ArrayBinding) and _is_new(side, name, array)):
        names = {name, *names_of(side, array)}
        if not is_own:
            names.add(CALLER)
        if not is_read or not is_never_changed(side, node, names, before=False):
            return None
    return whole(side, node, array) if isinstance(binding, ArrayBinding) else binding.view


def _is_new(frame: Frame, name: str, array: str) -> bool:
    """Return whether an array was made for a name, and nothing else has it."""
    is_local = frame.kernel.arrays[array].role is ArrayRole.LOCAL
    return is_local and frame.kernel.owners.get(array) == (id(frame.names), name) and names_of(frame, array) == {name}


def is_of_all(frame: Frame, name: str, binding: ArrayBinding) -> bool:
    """Return whether an array that the body of a loop makes for a name, and for no other, has the same extents in all
    iterations: then the name means it after the loop.

    Args:
        frame: that of the body, at its end.
        name: the name.
        binding: what it means there.
    """
    array = binding.array
    if array in frame.kernel.lists or not _is_new(frame, name, array):
        return False
    parts = (part for extent in frame.kernel.arrays[array].shape for part in walk(extent))
    return not any(isinstance(part, Iterator | Counter | Element) for part in parts)
