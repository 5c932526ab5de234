"""Assignment of what is known to one target: a name, an element, or a part of an array."""

from __future__ import annotations

import ast

from polytune.frontend import promotion
from polytune.frontend.array_expressions.assigning import assign_name, assign_part, is_part, parts_of
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.sizes import require_range
from polytune.frontend.array_expressions.stores import element_target, store, store_in_all
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Sum
from polytune.frontend.expression import Assign, Constant, Element, Logical, walk
from polytune.frontend.lowering.bindings import map_values
from polytune.frontend.lowering.frame import Frame, ReconsiderError, UnknownNameError
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Meaning,
    ScalarBinding,
    SelectionBinding,
    Stale,
    TupleBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.parameters import derive
from polytune.frontend.lowering.stored_scalars import keep, reads_memory, separate, store_scalar, store_variable
from polytune.frontend.polyhedral.affine import as_condition
from polytune.frontend.program import Guard, Perform
from polytune.frontend.promotion import Value, convert
from polytune.frontend.scalars.expressions import evaluate
from polytune.frontend.scalars.numbers import read
from polytune.frontend.scalars.subscripts import read_element
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.refusals import counted
from polytune.frontend.syntax.tuple_variables import note_variable
from polytune.frontend.syntax.webs import name_in_source
from polytune.syntax_trees import all_nodes


def assign_number(frame: Frame, node: ast.stmt, target: ast.expr, value: Value) -> None:
    """Assign a number to a name, an element, or all elements of a part of an array.

    Args:
        frame: where it stands.
        node: the assignment.
        target: what is assigned to.
        value: the number.

    Raises:
        UnsupportedSourceError: the target cannot be assigned to.
    """
    match target:
        case ast.Name():
            _assign_name(frame, node, target, value)
        case ast.Subscript() if is_part(frame, target):
            assign_part(frame, node, target, value, evaluate)
        case ast.Subscript():
            element = read_element(frame, target, read)
            if frame.kernel.arrays[element.array].role is ArrayRole.CONSTANT:
                raise frame.source.refusal(
                    target,
                    f"{frame.source.segment(target)} is assigned, an element of what is from outside of the kernel",
                    "arrays, lists and tuples from outside are constants in a kernel",
                    "pass the array as an argument",
                )
            require_range(frame, node, value, element.dtype)
            operation = Assign(element, convert(value, element.dtype))
            frame.nodes.append(Perform((operation,), frame.source.location(node), frame.source.segment(node)))
        case _:
            raise frame.source.refusal(
                target,
                f"an assignment to {frame.source.segment(target)}",
                "a kernel assigns its own variables and elements of its arrays",
                "assign to a variable, or to an element A[i, j]",
            )


def _assign_name(frame: Frame, node: ast.stmt, target: ast.Name, value: Value) -> None:
    """Bind the name to an affine value, or store the value in memory."""
    refuse_rebinding(frame, node, target)
    kernel, name = frame.kernel, frame.unique(target.id)
    if name not in kernel.knowledge.in_memory:
        single = frame.assigned[target.id] == 1
        is_truth = value.dtype == "bool"
        is_affine = (is_truth and kernel.affine.is_condition(value.expression)) or (
            value.is_integer and kernel.affine.is_function(value.expression)
        )
        substitute: Value | None = None
        if is_affine or (value.constant is not None and (single or is_truth)):
            substitute = value
        elif single:
            substitute = derive(frame, name, value)
        if substitute is not None:
            kernel.by_value.add(name)
            frame.bindings[target.id] = ValueBinding(substitute)
            return
        if name in kernel.by_value or isinstance(frame.bindings.get(target.id), ValueBinding | Stale):
            raise ReconsiderError(name)
        kernel.knowledge.in_memory.add(name)
    store_variable(frame, node, target.id, value)
    frame.bindings[target.id] = ScalarBinding(name)


def assign_arrays(frame: Frame, node: ast.stmt, targets: list[ast.expr], operand: Operand) -> None:
    """``target = target = value`` where the value, or what it is assigned to, has dimensions.

    Args:
        frame: where it stands.
        node: the assignment.
        targets: what is assigned to, in this order.
        operand: what is assigned.

    Raises:
        UnsupportedSourceError: a target cannot be assigned an array.
    """
    if len(targets) > 1:
        parts = parts_of(frame, targets, evaluate)
        if parts is not None:
            store_in_all(frame, node, parts, operand)
            return
        value = computed(frame, node, operand)
        if isinstance(value, ArrayValue):
            operand = value if value.region is not None else kept(frame, node, value)
        else:
            operand = keep(frame, node, value)
    for target in targets:
        match target:
            case ast.Name() if not isinstance(operand, Value):
                if isinstance(operand, Sum) and not operand.shape:
                    total = computed(frame, node, operand)
                    assert isinstance(total, Value)
                    assign_number(frame, node, target, total)
                    continue
                _refuse_number(frame, node, target)
                if isinstance(operand, ArrayValue) and not is_read(frame, target.id):
                    _touch(frame, node, operand)
                assign_name(frame, node, target, operand)
            case ast.Subscript() if is_part(frame, target):
                assign_part(frame, node, target, operand, evaluate)
            case ast.Subscript() if not isinstance(operand, Value):
                if operand.shape:
                    raise frame.source.refusal(
                        node,
                        f"an array of {counted(len(operand.shape), 'dimension')} is assigned to a single element",
                        "an element holds one number",
                        "assign to as many elements, A[i, :] = ..., or reduce the array to a number: np.sum(...)",
                    )
                store(frame, node, element_target(frame, target, read_element(frame, target, read)), operand)
            case _ if isinstance(operand, Value):
                assign_number(frame, node, target, operand)
            case _:
                raise frame.source.refusal(
                    target,
                    f"an array is assigned to {frame.source.segment(target)}",
                    "an array is assigned to a name, or to a part of an array",
                    "assign it to a name, and what is needed of it from there",
                )


def _touch(frame: Frame, node: ast.stmt, array: ArrayValue) -> None:
    """Read the first element, where there is one, of an array that nobody reads: its subscripts may be out of range."""
    tests = [promotion.compare(">=", Value(extent), promotion.constant(1)) for extent in array.shape]
    open_tests = [test.expression for test in tests if test.constant is None]
    is_affine = all(frame.kernel.affine.is_condition(test) for test in open_tests) and not any(
        isinstance(part, Element) for test in open_tests for part in walk(test)
    )
    if not is_affine or any(test.constant is not None and not test.constant for test in tests):
        return
    inner = frame.inside(conditional=True)
    first = array.at((Constant(0, "int64"),) * array.ndim)
    if not reads_memory(first):
        return
    store_scalar(inner, node, frame.kernel.fresh("unused"), first)
    if open_tests:
        condition = open_tests[0] if len(open_tests) == 1 else Logical("and", tuple(open_tests))
        frame.nodes.append(Guard(as_condition(condition), tuple(inner.nodes), (), frame.source.location(node)))
    else:
        frame.nodes.extend(inner.nodes)


def is_read(frame: Frame, name: str) -> bool:
    """Return whether the function reads a name anywhere."""
    name = name_in_source(name)
    nodes = all_nodes(frame.source.tree)
    updated = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    names = [node for node in (*nodes, *updated) if isinstance(node, ast.Name) and node.id == name]
    return any(not isinstance(node.ctx, ast.Store) or node in updated for node in names)


def _refuse_number(frame: Frame, node: ast.stmt, target: ast.Name) -> None:
    """Refuse an array for a name that is a number elsewhere."""
    name = frame.unique(target.id)
    is_number = isinstance(frame.bindings.get(target.id), ScalarBinding | ValueBinding)
    if is_number or name in frame.kernel.knowledge.in_memory or name in frame.kernel.by_value:
        separate(frame, target.id)
        raise frame.source.refusal(
            node,
            f"{target.id!r} is a number, and an array is assigned to it",
            "what a name means must not change while the kernel runs",
            "use a new name for the array",
        )


def bind_name(frame: Frame, node: ast.AST, target: ast.Name, binding: Meaning) -> None:
    """Bind a name to a shape, an array, a tuple or an object.

    Args:
        frame: where it stands.
        node: the assignment.
        target: the name.
        binding: what it is to mean.

    Raises:
        UnsupportedSourceError: the name means an array, or may mean several tuples.
        TupleVariableError: it means several tuples of numbers.
        UnknownNameError: a refused statement was to assign it, too.
    """
    refuse_rebinding(frame, node, target)
    if isinstance(binding, TupleBinding):
        if frame.assigned[target.id] != 1 or frame.unique(target.id) in frame.kernel.knowledge.in_memory:
            if frame.unique(target.id) in frame.kernel.knowledge.unknown:  # what it is elsewhere is refused
                raise UnknownNameError(target.id)
            note_variable(frame, target.id, binding)
            raise frame.source.refusal(
                node,
                f"{target.id!r} is a tuple or list here and is assigned elsewhere too, or read after its loop",
                "which values a tuple has must be seen in the source",
                "use a name of its own for the tuple",
            )
        binding = map_values(binding, lambda value: keep(frame, node, value))
    frame.bindings[target.id] = binding


def refuse_rebinding(frame: Frame, node: ast.AST, target: ast.Name) -> None:
    """Refuse to make something else of a name that is an array.

    Args:
        frame: where it stands.
        node: the assignment.
        target: the name.

    Raises:
        NewKnowledgeError: it was not known that the name stands for several variables.
        UnsupportedSourceError: the name means an array.
    """
    if isinstance(frame.bindings.get(target.id), ArrayBinding | ViewBinding | SelectionBinding):
        separate(frame, target.id)
        raise frame.source.refusal(
            node,
            f"the array name {target.id!r} is assigned",
            "a name that means an array must not be a number later",
            f"use a new name for what is assigned; to change the array itself, assign its elements: "
            f"{target.id}[:] = ...",
        )
