"""Assignments of arrays: to parts of arrays, and to names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

import numpy as np

from polytune.frontend.array_expressions.affine_arithmetic import ZERO
from polytune.frontend.array_expressions.data_subscripts import is_of_data, with_captured_subscripts
from polytune.frontend.array_expressions.elementwise import as_array, computed
from polytune.frontend.array_expressions.flat import flat_part, is_flat
from polytune.frontend.array_expressions.gathering import gathered, scatter
from polytune.frontend.array_expressions.masks import (
    is_chosen,
    masked_target,
    named,
    reading_once,
    selected,
    store_masked,
)
from polytune.frontend.array_expressions.readers import Evaluate
from polytune.frontend.array_expressions.reading import is_element, mentions_arrays, number_reader
from polytune.frontend.array_expressions.reshaping import reshaped_in_place
from polytune.frontend.array_expressions.shapes import agree
from polytune.frontend.array_expressions.shorter import note_shorter
from polytune.frontend.array_expressions.sizes import are_equal, require, shape_text
from polytune.frontend.array_expressions.slices import part_of, subscripts_of
from polytune.frontend.array_expressions.stores import store, update
from polytune.frontend.array_expressions.temporaries import kept, settled
from polytune.frontend.array_expressions.values import ArrayValue, Axis, Operand, Selection, Sum
from polytune.frontend.array_expressions.views import in_memory, whole
from polytune.frontend.expression import Binary, Compare, Constant, Expression, ParameterValue
from polytune.frontend.lowering.frame import Frame, ShapesOfDataError
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Binding,
    Meaning,
    SelectionBinding,
    TupleBinding,
    ViewBinding,
)
from polytune.frontend.lowering.names import outside_object
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.argument_effects import effects_of
from polytune.frontend.syntax.refusals import counted
from polytune.frontend.syntax.sharing import CALLER, UNKNOWN, Effects, may_be_copied
from polytune.frontend.syntax.source import enclosing_statement, inlinable
from polytune.frontend.syntax.stencils import is_of_stencil
from polytune.frontend.syntax.webs import name_in_source
from polytune.syntax_trees import nodes_inside


def is_part(frame: Frame, target: ast.expr) -> bool:
    """Return whether an assignment's target is a part of an array, and not a single element of an array in memory."""
    return isinstance(target, ast.Subscript) and mentions_arrays(frame, target.value) and not is_element(frame, target)


def assign_part(
    frame: Frame, node: ast.stmt, target: ast.Subscript, value: Operand, evaluate: Evaluate, symbol: str | None = None
) -> None:
    """Lower ``A[1:] = value``, or with a symbol ``A[1:] symbol= value``.

    Args:
        frame: where it stands.
        node: the assignment.
        target: what is assigned to.
        value: the right side.
        evaluate: reads an expression.
        symbol: the operator of an update; None for a plain assignment.

    Raises:
        UnsupportedSourceError: the shapes do not fit, or the target is no part of an array.
    """
    items = subscripts_of(target)
    if is_flat(target.value):
        assert isinstance(target.value, ast.Attribute)
        base = as_array(computed(frame, node, evaluate(frame, target.value.value)))
        scatter(
            frame,
            node,
            flat_part(frame, target, base, items, number_reader(evaluate, is_subscript=True)),
            value,
            symbol,
        )
        return
    if any(mentions_arrays(frame, item) for item in items if not isinstance(item, ast.Slice)):
        base = as_array(computed(frame, node, evaluate(frame, target.value)))
        evaluate = reading_once(frame, target, evaluate)
        numbers = number_reader(evaluate), number_reader(evaluate, is_subscript=True)
        selection = selected(frame, target, base, evaluate, *numbers)
        masked = None if selection is None else masked_target(selection)
        if masked is not None and is_chosen(masked, value):
            store_masked(frame, node, masked, value, symbol)
            return
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
    """The parts of arrays that several targets are; None where some is something else.

    Args:
        frame: where they stand.
        targets: what is assigned to.
        evaluate: reads an expression.
    """
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
    return part_of(
        frame, node, base, subscripts_of(node), number_reader(evaluate), number_reader(evaluate, is_subscript=True)
    )


def replace_by_product(frame: Frame, node: ast.AugAssign, target: ast.expr, evaluate: Evaluate) -> None:
    """Lower ``target @= value``, for a target that is a matrix or a stack of matrices.

    Args:
        frame: where it stands.
        node: the assignment.
        target: what is assigned to, as an expression that is read.
        evaluate: reads an expression.

    Raises:
        UnsupportedSourceError: the product has another number of dimensions or another type, of which NumPy makes none.
    """
    old = as_array(computed(frame, node, evaluate(frame, target)))
    product = evaluate(frame, ast.copy_location(ast.BinOp(target, ast.MatMult(), node.value), node))
    shape = product.shape if isinstance(product, Sum | ArrayValue) else ()
    if old.region is None or len(shape) != old.ndim or not np.can_cast(product.dtype, old.dtype, "same_kind"):
        raise frame.source.refusal(
            node,
            f"a product of {counted(len(shape), 'dimension')} and of type {product.dtype} in place of an array of "
            f"{counted(old.ndim, 'dimension')} and of type {old.dtype}",
            "NumPy raises an error here",
            "give the product a name of its own; or convert it, A[:] = (A @ B).astype(A.dtype)",
        )
    for before, after in zip(old.shape, shape, strict=True):
        agree(frame, node, before, after, (old.shape, shape), "an array and the product that replaces it,")
    store(frame, node, old, product)


def assign_name(frame: Frame, node: ast.stmt, target: ast.Name, operand: ArrayValue | Sum | Selection) -> None:
    """Lower ``name = array``: the name means what is assigned, a part of an array, or a new array.

    Where the name has an array already that later iterations or other branches see, its elements are assigned.

    Args:
        frame: where it stands.
        node: the assignment.
        target: the name.
        operand: the right side.

    Raises:
        UnsupportedSourceError: then, that is not possible.
    """
    name = target.id
    if isinstance(operand, Selection) and not operand.is_of_elements:
        found = computed(frame, node, operand)
        assert isinstance(found, ArrayValue)
        operand = found
    if isinstance(operand, Selection):
        if name in frame.pinned:
            raise _is_another_one(frame, node, name)
        frame.bindings[name] = SelectionBinding(named(frame, node, operand))
        return
    before = frame.bindings.get(name)
    if isinstance(before, ArrayBinding | ViewBinding) and (name in frame.pinned or frame.conditional):
        current = whole(frame, target, before.array) if isinstance(before, ArrayBinding) else before.view
        if operand is current or (isinstance(operand, ArrayValue) and operand.region == current.region):
            return
        if _is_own(frame, node, name, current, operand) and _may_be_copied(frame, node, name, operand):
            store(frame, node, current, operand)
            return
        if name in frame.pinned:
            note_shorter(frame, node, name, current, operand)
            raise _is_another_one(frame, node, name)
    if isinstance(operand, ArrayValue) and operand.copied is not None and reshaped_in_place(frame, node, operand):
        operand = operand.copied[1]
    if isinstance(operand, ArrayValue):
        refuse_detached(frame, node, operand, name)
    if isinstance(operand, ArrayValue):
        operand = with_captured_subscripts(frame, node, operand)
    wanted = array_name(frame, name)
    if isinstance(operand, ArrayValue) and _is_replaced_later(frame, node, name, operand):
        operand = kept(frame, node, operand, wanted)
    result = settled(frame, node, operand, wanted) if isinstance(operand, Sum) else operand
    assert isinstance(result, ArrayValue)
    if result.region is None:
        result = kept(frame, node, result, wanted)
    frame.bindings[name] = binding_of(frame, result)
    if result.is_new and result.region is not None:
        frame.kernel.owners[result.region.array] = (id(frame.names), name)


def _is_another_one(frame: Frame, node: ast.stmt, name: str) -> ShapesOfDataError:
    """The error for a name that means an array after an iteration of a loop whose elements cannot be assigned to the
    one before."""
    return ShapesOfDataError(
        frame.source.location(node),
        f"the array {name!r} is another one after an iteration of the loop",
        "which array a name means must not depend on how often a loop has run, and its elements cannot be "
        "assigned, as the shape or type differs, or another name has the array too",
        f"make it before the loop, as {name} = {name}.copy(), and assign {name}[:] = ... in it; where fewer "
        f"elements are left each time, count those: {name}[:n] = kept, with n = len(kept)",
    )


def refuse_detached(frame: Frame, node: ast.AST, value: ArrayValue, name: str = "") -> None:
    """Refuse to keep what NumPy makes a view of an array that others can see, and that is a copy here.

    It is kept where nothing changes elements of the array, or of the view, from there on.

    Args:
        frame: where it stands.
        node: the expression, for the message.
        value: the array that is kept.
        name: what it is assigned to, which may mean the array until then; empty where it is passed on or returned.

    Raises:
        UnsupportedSourceError: the array has another name, or is an argument.
        ShapesOfDataError: so it is, and the shape is one that data or loops decide on.
    """
    array = value.view_of
    if array is None:
        return
    others = (binding for other, binding in frame.bindings.items() if other != name)
    is_seen = frame.kernel.arrays[array].role is not ArrayRole.LOCAL or not frame.kernel.owners.get(array)
    is_shared = is_seen or any(array_of(binding) == array for binding in others)
    if is_shared and not stays_equal(frame, node, {name, *names_of(frame, array)}):
        error = frame.source.refusal(
            node,
            "an array in another shape gets a name" if value.copied else "a view of an array gets a name",
            "in NumPy it may be a view, through which the array itself is changed; here it is a copy",
            "make the copy seen: A.reshape(...).copy(); to change the array, assign to it in its own shape"
            if value.copied
            else f"make the copy seen: {frame.source.segment(node)}.copy()",
        )
        if any(is_of_data(frame, extent) for extent in value.shape):  # a loop whose shapes differ may be NumPy's
            raise ShapesOfDataError(error.location, error.what, error.reason, error.remedy)
        raise error


def stays_equal(frame: Frame, node: ast.AST, names: set[str]) -> bool:
    """Return whether an array and a copy of it, which these names mean, are the same from an expression on.

    Args:
        frame: where it stands.
        node: the expression.
        names: those of the array, and that of the copy.
    """
    statement = enclosing_statement(frame.source.tree, node)
    return statement is not None and is_never_changed(frame, statement, names, before=True)


def array_name(frame: Frame, name: str) -> str:
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


def _is_own(frame: Frame, node: ast.stmt, name: str, current: ArrayValue, operand: ArrayValue | Sum) -> bool:
    """Return whether elements can be assigned in place of the name: nobody else sees them, and shape and type are the
    same."""
    kernel, region = frame.kernel, current.region
    if region is None or kernel.arrays[region.array].role is not ArrayRole.LOCAL:
        return False
    if kernel.owners.get(region.array) != (id(frame.names), name) or names_of(frame, region.array) - {name}:
        return False
    if len(current.shape) != len(operand.shape) or current.dtype != operand.dtype:
        return False
    pairs = list(zip(current.shape, operand.shape, strict=True))
    if all(are_equal(frame, left, right) for left, right in pairs):
        return True
    return name in frame.pinned and _require_equal(frame, node, name, pairs)


def _require_equal(frame: Frame, node: ast.stmt, name: str, pairs: Sequence[tuple[Expression, Expression]]) -> bool:
    """Have each call checked for an array of the same shape in each iteration.  Return whether a call can have
    it."""
    if not all(_is_given(extent) for pair in pairs for extent in pair):
        return False  # what is computed, as the extent of A[1:], differs for a reason
    text = f"the array {name!r} has another shape after an iteration of the loop"
    shapes = [shape_text(frame.kernel, tuple(pair[side] for pair in pairs)) for side in (0, 1)]
    for left, right in pairs:
        if not are_equal(frame, left, right):
            require(
                frame,
                node,
                Compare("==", left, right),
                f"{text}, {shapes[1]} after {shapes[0]}",
                (),
                "pass arguments for which they are one",
                reason="which shape an array has must not depend on how often a loop has run",
            )
    return True


def _is_given(extent: Expression) -> bool:
    """Return whether an extent is one of the numbers that a call gives: an argument, or the extent of one, as
    ``range(n)`` has it too, or the lesser of several, as ``A[:n]`` has it."""
    match extent:
        case ParameterValue() | Constant():
            return True
        case Binary("min" | "max", left, right):
            return _is_given(left) and _is_given(right)
    return False


def _is_replaced_later(frame: Frame, node: ast.stmt, name: str, operand: ArrayValue) -> bool:
    """Return whether a name gets the array of another one whose elements a loop around assigns, as in
    ``old = x; x = f(x)``, and a copy will do."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name) or operand.region is None:
        return False
    other = node.value.id
    owner = frame.kernel.owners.get(operand.region.array)
    is_pinned = other != name and other in frame.pinned and owner == (id(frame.names), other)
    return is_pinned and _may_be_copied(frame, node, name, operand)


def _may_be_copied(frame: Frame, node: ast.stmt, name: str, operand: ArrayValue | Sum) -> bool:
    """Return whether nobody can tell a copy from the array that the name has in Python, which other names may
    have too."""
    if not isinstance(operand, ArrayValue) or operand.region is None or operand.is_new:
        return True
    others = names_of(frame, operand.region.array)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):  # as A, B = B, A
        if len({ast.dump(each) for each in node.value.elts}) < len(node.value.elts):
            return False
        others -= {each for target in node.targets for each in _names_in(target)}
    elif isinstance(node, ast.Assign):  # what a call gives may have the array at several places
        others |= {each for target in node.targets for each in _names_in(target)} - {name}
    return not others or is_never_changed(frame, node, {name, *others}, before=False)


def is_never_changed(frame: Frame, node: ast.stmt, names: set[str], *, before: bool) -> bool:
    """Return whether no elements of an array are changed while several names have it, see ``may_be_copied``.

    Args:
        frame: where the statement stands.
        node: from where on the names have it in common.
        names: the names.
        before: whether they have it before the statement, not only after it.
    """

    def effects(call: ast.Call) -> Effects | None:
        root = call.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in frame.assigned and root.id not in frame.bindings:
            # What has no meaning yet is none of the user's modules.
            return UNKNOWN if root is call.func else None
        called = outside_object(frame, call.func)
        function = None if is_of_stencil(called) else inlinable(called)
        return None if function is None else effects_of(function)

    names = set(map(name_in_source, names))
    return may_be_copied(frame.source.tree, node, names, effects, before=before, to_the_end=frame.is_kernel)


def make_own(frame: Frame, node: ast.stmt, body: Sequence[ast.stmt], names: Collection[str]) -> None:
    """Make, before a loop, copies of arrays in place of which their names are given others in it.

    So the elements of these can be assigned there, where the name has its array alone.  An array stays as it is where
    the copy could be told from it.

    Args:
        frame: where the loop stands.
        node: it.
        body: its statements.
        names: those that are looked at, of the names that the statements assign.
    """
    if not frame.is_kernel or frame.pure:
        return
    for name in _assigned(body):
        binding = frame.bindings.get(name)
        array = array_of(binding)
        if array is None or name not in names:
            continue
        assert isinstance(binding, ArrayBinding | ViewBinding)
        others = names_of(frame, array)
        if frame.kernel.arrays[array].role is ArrayRole.LOCAL and others == {name}:
            frame.kernel.owners[array] = (id(frame.names), name)
            continue
        if not is_never_changed(frame, node, {name, CALLER, *others}, before=True):
            continue
        current = whole(frame, node, array) if isinstance(binding, ArrayBinding) else binding.view
        copy = kept(frame, node, current, array_name(frame, name))
        assert copy.region is not None
        frame.bindings[name] = binding_of(frame, copy)
        frame.kernel.owners[copy.region.array] = (id(frame.names), name)


def _assigned(body: Sequence[ast.stmt]) -> dict[str, None]:
    """The names that statements give something new, in the order of the source."""
    assigned = [node for node in nodes_inside(body) if isinstance(node, ast.Assign)]
    targets = [part for node in assigned for target in node.targets for part in _names_in(target)]
    return dict.fromkeys(targets)


def _names_in(target: ast.expr) -> list[str]:
    match target:
        case ast.Name(name):
            return [name]
        case ast.Tuple(items) | ast.List(items):
            return [name for item in items for name in _names_in(item)]
    return []


def names_of(frame: Frame, array: str) -> set[str]:
    """The names of an array, of parts of it, and of tuples with it."""
    return {name for name, binding in frame.bindings.items() if array in _arrays_of(binding)}


def _arrays_of(binding: Binding) -> set[str | None]:
    if isinstance(binding, TupleBinding):
        return {array for item in binding.items for array in _arrays_of(item)}
    return {array_of(binding)}


def array_of(binding: Binding | None) -> str | None:
    """The array that a name is, or is a part of; None where it means something else."""
    match binding:
        case ArrayBinding(array):
            return array
        case ViewBinding(view) if view.region is not None:
            return view.region.array
    return None
