"""Assignments of arrays: to parts of arrays, and to names."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polytune.frontend.array_expressions.affine_arithmetic import ZERO
from polytune.frontend.array_expressions.calls import Evaluate
from polytune.frontend.array_expressions.data_subscripts import with_captured_subscripts
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.gathering import gathered, scatter
from polytune.frontend.array_expressions.masks import masked_target, named, read_index, store_masked
from polytune.frontend.array_expressions.reading import is_element, mentions_arrays, number_reader
from polytune.frontend.array_expressions.sizes import are_equal
from polytune.frontend.array_expressions.slices import part_of, subscripts_of
from polytune.frontend.array_expressions.stores import store, update
from polytune.frontend.array_expressions.temporaries import kept, settled
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand, Selection, Sum
from polytune.frontend.array_expressions.views import in_memory, whole
from polytune.frontend.frame import ArrayBinding, Binding, Frame, Meaning, SelectionBinding, ViewBinding
from polytune.frontend.scop import ArrayRole


def is_part(frame: Frame, target: ast.expr) -> bool:
    """Return whether an assignment's target is a part of an array, and not a single element of an array in memory."""
    return isinstance(target, ast.Subscript) and mentions_arrays(frame, target.value) and not is_element(frame, target)


def assign_part(
    frame: Frame, node: ast.stmt, target: ast.Subscript, value: Operand, evaluate: Evaluate, symbol: str | None = None
) -> None:
    """``A[1:] = value``, or with a ``symbol`` ``A[1:] symbol= value``.

    Raises:
        UnsupportedSourceError: the shapes do not fit, or the target is no part of an array.
    """
    items = subscripts_of(target)
    if any(mentions_arrays(frame, item) for item in items if not isinstance(item, ast.Slice)):
        mask, evaluate = read_index(frame, target, evaluate)
        if mask is not None:
            store_masked(frame, node, masked_target(frame, target, mask, evaluate), value, symbol)
            return
        base = as_array(computed(frame, node, evaluate(frame, target.value)))
        found = gathered(frame, target, base, items, evaluate, number_reader(evaluate))
        if found.base is not base:
            raise frame.source.refusal(
                target,
                "an assignment by an array of subscripts to a part of an array",
                "the numbers in it are tested against the whole array",
                "assign to the array itself: A[index + 1] = ... for A[1:][index] = ...",
            )
        scatter(frame, node, found, value, symbol)
        return
    readable = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    part = _part(frame, readable, evaluate)
    if symbol is None:
        store(frame, node, part, value)
    else:
        update(frame, node, symbol, part, value)


def parts_of(frame: Frame, targets: Sequence[ast.expr], evaluate: Evaluate) -> list[ArrayValue] | None:
    """The parts of arrays that several targets are; None where some is something else."""
    parts = []
    for target in targets:
        if not isinstance(target, ast.Subscript) or not is_part(frame, target):
            return None
        if any(mentions_arrays(frame, item) for item in subscripts_of(target) if not isinstance(item, ast.Slice)):
            return None
        parts.append(_part(frame, target, evaluate))
    return parts


def _part(frame: Frame, node: ast.Subscript, evaluate: Evaluate) -> ArrayValue:
    """The part of an array that is assigned to, of no dimensions for a single element."""
    base = as_array(computed(frame, node, evaluate(frame, node.value)))
    return part_of(frame, node, base, subscripts_of(node), number_reader(evaluate))


def assign_name(frame: Frame, node: ast.stmt, target: ast.Name, operand: ArrayValue | Sum | Selection) -> None:
    """``name = array``: the name means what is assigned, a part of an array, or a new array.

    Where the name has an array already that later iterations or other branches see, its elements are assigned.

    Raises:
        UnsupportedSourceError: then, that is not possible.
    """
    name = target.id
    if isinstance(operand, Selection):
        frame.bindings[name] = SelectionBinding(named(frame, node, operand))
        return
    before = frame.bindings.get(name)
    if isinstance(before, ArrayBinding | ViewBinding) and (name in frame.pinned or frame.conditional):
        current = whole(frame, target, before.array) if isinstance(before, ArrayBinding) else before.view
        if operand is current or (isinstance(operand, ArrayValue) and operand.region == current.region):
            return
        if _is_own(frame, name, before, current, operand):
            store(frame, node, current, operand)
            return
        if name in frame.pinned:
            raise frame.source.refusal(
                node,
                f"the array {name!r} is another one after an iteration of the loop",
                "which array a name means must not depend on how often a loop has run, and its elements cannot be "
                "assigned, as the shape or type differs, or another name has the array too",
                f"make it before the loop, as {name} = {name}.copy(), and assign {name}[:] = ... in it",
            )
    if isinstance(operand, ArrayValue):
        refuse_detached(frame, node, operand, name)
    if isinstance(operand, ArrayValue):
        operand = with_captured_subscripts(frame, node, operand)
    wanted = _array_name(frame, name)
    result = settled(frame, node, operand, wanted) if isinstance(operand, Sum) else operand
    assert isinstance(result, ArrayValue)
    if result.region is None:
        result = kept(frame, node, result, wanted)
    frame.bindings[name] = binding_of(frame, result)
    if result.is_new and result.region is not None:
        frame.kernel.owners[result.region.array] = (id(frame.names), name)


def refuse_detached(frame: Frame, node: ast.AST, value: ArrayValue, name: str = "") -> None:
    """Refuse to keep what NumPy makes a view of an array that others can see, and that is a copy here.

    Raises:
        UnsupportedSourceError: the array has another name, or is an argument.
    """
    array = value.view_of
    if array is None:
        return
    others = (binding for other, binding in frame.bindings.items() if other != name)
    is_seen = frame.kernel.arrays[array].role is not ArrayRole.LOCAL or not frame.kernel.owners.get(array)
    if is_seen or any(_array_of(binding) == array for binding in others):
        raise frame.source.refusal(
            node,
            "an array in another shape gets a name",
            "in NumPy it may be a view, through which the array itself is changed; here it is a copy",
            "make the copy seen: A.reshape(...).copy(); to change the array, assign to it in its own shape",
        )


def _array_name(frame: Frame, name: str) -> str:
    """A name in the SCoP for an array that a name means: itself, where nothing else has it."""
    kernel = frame.kernel
    taken = {*kernel.arrays, *kernel.kinds, *kernel.knowledge.in_memory, *kernel.parameters}
    if frame.is_kernel and frame.assigned[name] == 1 and name not in taken and name not in kernel.signature_names:
        kernel.taken.discard(name)
        return name
    return f"{name}_value"


def binding_of(frame: Frame, value: ArrayValue) -> Meaning:
    """Return what a name means that stands for an array in memory."""
    region = value.region
    assert region is not None
    kernel = frame.kernel
    extents = tuple(kernel.extents[region.array, place].expression for place in range(len(region.axes)))
    is_whole = region.axes == tuple(Axis(ZERO, place) for place in range(len(region.axes)))
    if is_whole and value.shape == extents:
        return ArrayBinding(region.array)
    return ViewBinding(in_memory(kernel, region, value.shape))


def _is_own(frame: Frame, name: str, before: Binding, current: ArrayValue, operand: ArrayValue | Sum) -> bool:
    """Return whether elements can be assigned in place of the name: nobody else sees them, and shape and type are the
    same."""
    kernel, region = frame.kernel, current.region
    if region is None or kernel.arrays[region.array].role is not ArrayRole.LOCAL:
        return False
    others = (binding for other, binding in frame.bindings.items() if other != name)
    if kernel.owners.get(region.array) != (id(frame.names), name) or any(
        _array_of(binding) == region.array for binding in others
    ):
        return False
    same = len(current.shape) == len(operand.shape) and current.dtype == operand.dtype
    return same and all(are_equal(frame, left, right) for left, right in zip(current.shape, operand.shape, strict=True))


def _array_of(binding: Binding) -> str | None:
    match binding:
        case ArrayBinding(array):
            return array
        case ViewBinding(view) if view.region is not None:
            return view.region.array
    return None
