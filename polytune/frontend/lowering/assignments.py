"""Assignments: what becomes a statement, and what only gives a name another meaning."""

from __future__ import annotations

import ast
from dataclasses import replace

from polytune.frontend.array_expressions.assigning import assign_part, is_part, replace_by_product
from polytune.frontend.array_expressions.creation import display
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.flat import is_flat
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.stores import element_target, update
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Sum
from polytune.frontend.array_expressions.views import bound_array, whole
from polytune.frontend.lowering.allocation import allocate, is_allocation
from polytune.frontend.lowering.bindings import decided_side, meaning_of
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Binding,
    ObjectBinding,
    ShapeBinding,
    Stale,
    TupleBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.names import computed_type, lookup, outside_object
from polytune.frontend.lowering.shape_assignments import refused_shape
from polytune.frontend.lowering.stored_scalars import keep, reads_memory
from polytune.frontend.lowering.targets import assign_arrays, assign_number, bind_name, refuse_rebinding
from polytune.frontend.lowering.unpacking import assign_tuple
from polytune.frontend.promotion import Value, kind_of, kind_of_variable
from polytune.frontend.scalars.expressions import evaluate
from polytune.frontend.scalars.numbers import read
from polytune.frontend.scalars.objects import known_object
from polytune.frontend.scalars.operators import combined, operator_symbol
from polytune.frontend.scalars.subscripts import read_element
from polytune.frontend.scalars.tuples import inlined_call, item_of, read_shape, tuple_written_out
from polytune.frontend.syntax.comprehensions import placed


def assign_targets(frame: Frame, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> None:
    """Lower ``target = target = value``.

    Args:
        frame: where it stands.
        node: the assignment.
        targets: what is assigned to, in this order; one or more.
        value: the right side.
    """
    targets = [_all_of_flat(target) for target in targets]
    for target in targets:
        if isinstance(target, ast.Attribute) and target.attr == "shape":
            raise refused_shape(frame, target, frame.source.segment(target.value))
    side = decided_side(frame, value)
    if side is not None:
        assign_targets(frame, node, targets, side)
        return
    shape = read_shape(frame, value)
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple | ast.List):
        assign_tuple(frame, node, targets[0], value, shape)
        return
    if isinstance(targets[0], ast.Name) and len(targets) == 1 and _bind(frame, node, targets[0], value, shape):
        return
    operand = _operand(frame, node, targets, value)
    if operand is None:
        return
    if not isinstance(operand, Value) or any(is_part(frame, target) for target in targets):
        assign_arrays(frame, node, targets, operand)
        return
    result = operand
    if len(targets) > 1 and reads_memory(result):
        scalar = frame.unique(targets[0].id) if isinstance(targets[0], ast.Name) else None
        if scalar is not None and frame.kernel.knowledge.kinds.get(scalar) == kind_of_variable(kind_of(result)):
            # The first target holds the value unchanged, so that the others can be assigned from it.
            assign_number(frame, node, targets[0], result)
            result, targets = frame.kernel.scalar(scalar), targets[1:]
        else:
            result = keep(frame, node, result)
    for target in targets:
        assign_number(frame, node, target, result)


def _all_of_flat(target: ast.expr) -> ast.expr:
    """``A.flat[:]`` for ``A.flat``; any other target itself."""
    if not is_flat(target):
        return target
    assert isinstance(target, ast.Attribute)
    flat = ast.copy_location(ast.Attribute(target.value, "flat", ast.Load()), target)
    return ast.copy_location(ast.Subscript(flat, ast.Slice(), ast.Store()), target)


def _operand(frame: Frame, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> Operand | None:
    """Return what is assigned; None where the target has been bound to something else that a call returns."""
    are_parts = all(is_part(frame, target) for target in targets)
    if are_parts and isinstance(value, ast.List) and value.elts:
        return display(frame, value, evaluate)
    if are_parts and (written := tuple_written_out(frame, value)) is not None:
        return display(frame, written, evaluate)
    if not isinstance(value, ast.Call):
        return evaluate(frame, value)
    before = set(frame.kernel.arrays)
    returned = inlined_call(frame, value, alone=True)
    match returned:
        case ArrayBinding(array):
            return whole(frame, value, array, is_new=array not in before)
        case ViewBinding(view):
            return replace(view, is_new=view.region is not None and view.region.array not in before)
        case ValueBinding(result):
            return result
        case ShapeBinding() | TupleBinding() if isinstance(targets[0], ast.Name):
            bind_name(frame, node, targets[0], returned)
            return None
        case TupleBinding(items) if are_parts and items:
            name = frame.kernel.fresh("items")
            frame.bindings[name] = returned
            written = tuple_written_out(frame, placed(ast.Name(name, ast.Load()), value))
            assert written is not None
            return display(frame, written, evaluate)
    return evaluate(frame, value)


def _bind(frame: Frame, node: ast.stmt, target: ast.Name, value: ast.expr, shape: tuple[Value, ...] | None) -> bool:
    """Bind a name to something that is no number: a shape, a new array, a type or a function."""
    binding: Binding
    if shape is not None:
        binding = ShapeBinding(shape)
    elif (
        is_allocation(frame, value)
        and frame.is_top_level
        and frame.assigned[target.id] == 1
        and (array := allocate(frame, target, value)) is not None
    ):
        frame.kernel.owners[array] = (id(frame.names), target.id)
        binding = ArrayBinding(array)
    elif isinstance(value, ast.Tuple | ast.List):
        binding = meaning_of(frame, value)
    elif isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) and (part := item_of(frame, value)):
        binding = part
    elif (known := known_object(frame, value)) is not None:
        binding = ObjectBinding(known.value)
    else:
        named = lookup(frame, value) if isinstance(value, ast.Name) else None
        if isinstance(named, TupleBinding):
            binding = named
        else:
            is_type = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "type"
            is_thing = is_type or isinstance(value, ast.Name | ast.Attribute)
            thing = outside_object(frame, value) if is_thing else None
            if thing is None:
                thing = computed_type(frame, value)
            if thing is None or not callable(thing):
                return False
            binding = ObjectBinding(thing)
    bind_name(frame, node, target, binding)
    return True


def assign_augmented(frame: Frame, node: ast.AugAssign) -> None:
    """``target op= value``."""
    if isinstance(node.op, ast.MatMult) and mentions_arrays(frame, node.target):
        readable = ast.copy_location(_loaded(node.target), node.target)
        replace_by_product(frame, node, readable, evaluate)
        return
    if isinstance(node.target, ast.Name):
        if isinstance(frame.bindings.get(node.target.id), Stale):
            lookup(frame, _as_read(node.target))  # it is read, too, which may not be allowed
        array = bound_array(frame, node.target)
        if array is not None:
            update(frame, node, operator_symbol(frame, node, node.op), array, _beside_array(frame, node.value))
            return
        refuse_rebinding(frame, node, node.target)
    if isinstance(node.target, ast.Subscript) and is_part(frame, node.target):
        symbol = operator_symbol(frame, node, node.op)
        assign_part(frame, node, node.target, _beside_array(frame, node.value), evaluate, symbol)
        return
    operand = evaluate(frame, node.value)
    symbol = operator_symbol(frame, node, node.op)
    if isinstance(operand, Sum) and not operand.shape and isinstance(node.target, ast.Subscript):
        update(frame, node, symbol, element_target(frame, node.target, read_element(frame, node.target, read)), operand)
        return
    value = computed(frame, node, operand)
    if isinstance(value, ArrayValue):
        raise frame.source.refusal(
            node,
            f"an array is combined with the number {frame.source.segment(node.target)}, which would become an array",
            "what a name means must not change while the kernel runs",
            f"give the result a name of its own: result = {frame.source.segment(node.target)} + ...",
        )
    readable = ast.copy_location(_loaded(node.target), node.target)
    assign_number(frame, node, node.target, combined(frame, node, symbol, read(frame, readable), value))


def _beside_array(frame: Frame, node: ast.expr) -> Operand:
    """Return what an expression is beside an array, where a tuple is one."""
    written = tuple_written_out(frame, node)
    return evaluate(frame, node) if written is None else display(frame, written, evaluate)


def _loaded(target: ast.expr) -> ast.expr:
    return _as_read(target) if isinstance(target, ast.Name) else target


def _as_read(target: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(target.id, ast.Load()), target)
