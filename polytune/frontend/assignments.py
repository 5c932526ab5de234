"""Assignments: what becomes a statement, and what only gives a name another meaning."""

from __future__ import annotations

import ast
from dataclasses import replace

from polytune.frontend import promotion
from polytune.frontend.affine import as_condition
from polytune.frontend.allocation import allocate, is_allocation
from polytune.frontend.array_expressions.assigning import assign_name, assign_part, is_part, parts_of
from polytune.frontend.array_expressions.calling import array_meaning
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.grids import grid_axes, is_grid
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.several import parts_along_first
from polytune.frontend.array_expressions.stores import element_target, store, store_in_all, update
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Sum
from polytune.frontend.array_expressions.views import bound_array, whole
from polytune.frontend.bindings import items_of, map_values, meaning_of
from polytune.frontend.expression import Assign, Constant, Element, Logical, walk
from polytune.frontend.expressions import (
    combined,
    evaluate,
    inlined_call,
    item_of,
    number,
    operator_symbol,
    read,
    read_shape,
)
from polytune.frontend.frame import (
    ArrayBinding,
    Binding,
    Frame,
    Meaning,
    ObjectBinding,
    ReconsiderError,
    ScalarBinding,
    SelectionBinding,
    ShapeBinding,
    Stale,
    TupleBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.names import lookup, outside_object
from polytune.frontend.parameters import derive
from polytune.frontend.program import Guard, Perform
from polytune.frontend.promotion import Value, convert, kind_of
from polytune.frontend.refusals import counted
from polytune.frontend.scop import ArrayRole
from polytune.frontend.subscripts import read_element


def assign_targets(frame: Frame, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> None:
    """Lower ``target = target = value``.

    Args:
        frame: where it stands.
        node: the assignment.
        targets: what is assigned to, in this order; one or more.
        value: the right side.
    """
    shape = read_shape(frame, value)
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple | ast.List):
        _assign_tuple(frame, node, targets[0], value, shape)
        return
    if isinstance(targets[0], ast.Name) and len(targets) == 1 and _bind(frame, node, targets[0], value, shape):
        return
    operand = _operand(frame, node, targets, value)
    if operand is None:
        return
    if not isinstance(operand, Value) or any(is_part(frame, target) for target in targets):
        _assign_arrays(frame, node, targets, operand)
        return
    result = promotion.number(operand)
    if len(targets) > 1 and _reads_memory(result):
        scalar = frame.unique(targets[0].id) if isinstance(targets[0], ast.Name) else None
        if scalar is not None and frame.kernel.knowledge.kinds.get(scalar) == kind_of(result):
            # The first target holds the value unchanged, so that the others can be assigned from it.
            _assign(frame, node, targets[0], result)
            result, targets = frame.kernel.scalar(scalar), targets[1:]
        else:
            result = keep(frame, node, result)
    for target in targets:
        _assign(frame, node, target, result)


def _operand(frame: Frame, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> Operand | None:
    """Return what is assigned; None where the target has been bound to something else that a call returns."""
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
            _bind_name(frame, node, targets[0], returned)
            return None
    return evaluate(frame, value)


def _assign_arrays(frame: Frame, node: ast.stmt, targets: list[ast.expr], operand: Operand) -> None:
    """``target = target = value`` where the value, or what it is assigned to, has dimensions."""
    if len(targets) > 1:
        parts = parts_of(frame, targets, evaluate)
        if parts is not None:
            store_in_all(frame, node, parts, operand)
            return
        value = computed(frame, node, operand)
        if isinstance(value, ArrayValue):
            operand = value if value.region is not None else kept(frame, node, value)
        else:
            operand = keep(frame, node, promotion.number(value))
    for target in targets:
        match target:
            case ast.Name() if not isinstance(operand, Value):
                if isinstance(operand, Sum) and not operand.shape:
                    total = computed(frame, node, operand)
                    assert isinstance(total, Value)
                    _assign(frame, node, target, total)
                    continue
                _refuse_number(frame, node, target)
                if isinstance(operand, ArrayValue) and not _is_read(frame, target.id):
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
                _assign(frame, node, target, promotion.number(operand))
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
    if not _reads_memory(first):
        return
    store_scalar(inner, node, frame.kernel.fresh("unused"), first)
    if open_tests:
        condition = open_tests[0] if len(open_tests) == 1 else Logical("and", tuple(open_tests))
        frame.nodes.append(Guard(as_condition(condition), tuple(inner.nodes), (), frame.source.location(node)))
    else:
        frame.nodes.extend(inner.nodes)


def _refuse_number(frame: Frame, node: ast.stmt, target: ast.Name) -> None:
    """Refuse an array for a name that is a number elsewhere."""
    name = frame.unique(target.id)
    is_number = isinstance(frame.bindings.get(target.id), ScalarBinding | ValueBinding)
    if is_number or name in frame.kernel.knowledge.in_memory or name in frame.kernel.by_value:
        raise frame.source.refusal(
            node,
            f"{target.id!r} is a number, and an array is assigned to it",
            "what a name means must not change while the kernel runs",
            "use a new name for the array",
        )


def _bind(frame: Frame, node: ast.stmt, target: ast.Name, value: ast.expr, shape: tuple[Value, ...] | None) -> bool:
    """Bind a name to something that is no number: a shape, a new array, a type or a function."""
    binding: Binding
    if shape is not None:
        binding = ShapeBinding(shape)
    elif is_allocation(frame, value) and frame.is_top_level and frame.assigned[target.id] == 1:
        array = allocate(frame, target, value)
        frame.kernel.owners[array] = (id(frame.names), target.id)
        binding = ArrayBinding(array)
    elif isinstance(value, ast.Tuple | ast.List):
        binding = meaning_of(frame, value)
    else:
        named = lookup(frame, value) if isinstance(value, ast.Name) else None
        if isinstance(named, TupleBinding):
            binding = named
        else:
            thing = outside_object(frame, value) if isinstance(value, ast.Name | ast.Attribute) else None
            if thing is None or not callable(thing):
                return False
            binding = ObjectBinding(thing)
    _bind_name(frame, node, target, binding)
    return True


def _bind_name(frame: Frame, node: ast.AST, target: ast.Name, binding: Meaning) -> None:
    """Bind a name to a shape, an array, a tuple or an object."""
    _refuse_rebinding(frame, node, target)
    if isinstance(binding, TupleBinding):
        if frame.assigned[target.id] != 1 or frame.unique(target.id) in frame.kernel.knowledge.in_memory:
            raise frame.source.refusal(
                node,
                f"{target.id!r} is a tuple or list here and is assigned elsewhere too, or read after its loop",
                "which values a tuple has must be seen in the source",
                "use a name of its own for the tuple",
            )
        binding = map_values(binding, lambda value: keep(frame, node, value))
    frame.bindings[target.id] = binding


def _assign_tuple(
    frame: Frame, node: ast.stmt, target: ast.Tuple | ast.List, value: ast.expr, shape: tuple[Value, ...] | None
) -> None:
    """``x, y = a, b``: all values are read before the first is assigned."""
    items = tuple(map(ValueBinding, shape)) if shape is not None else _items(frame, value, len(target.elts))
    if items is None:
        raise frame.source.refusal(
            value,
            "a single value is unpacked into several names",
            "how many numbers it holds must be seen in the source",
            "write the values as a tuple: x, y = A[0], A[1]",
        )
    if len(items) != len(target.elts):
        raise frame.source.refusal(
            node,
            f"{len(items)} values are unpacked into {len(target.elts)} names",
            "Python would raise an error here",
            "name as many variables as there are values",
        )
    flat = [part for element, item in zip(target.elts, items, strict=True) for part in _flat(element, item)]
    targets, values = [element for element, _ in flat], [item for _, item in flat]
    written: set[str] = set()
    for position, element in enumerate(targets):
        stored = _stored_in(frame, element)
        if stored is not None:  # as in A, B = B, A
            values[position + 1 :] = [_apart(frame, node, later, stored) for later in values[position + 1 :]]
        if any(_reads(later, written | _target_names(frame, element)) for later in values[position + 1 :]):
            kept = [map_values(later, lambda each: keep(frame, node, each)) for later in values[position + 1 :]]
            values = [*values[: position + 1], *kept]
        written |= _target_names(frame, element)
    for element, result in zip(targets, values, strict=True):
        _assign_meaning(frame, node, element, result)


def _flat(target: ast.expr, meaning: Meaning) -> list[tuple[ast.expr, Meaning]]:
    """Pairs of what is assigned to and what is assigned, in order, where tuples stand in tuples."""
    items = items_of(meaning)
    if not isinstance(target, ast.Tuple | ast.List) or items is None or len(items) != len(target.elts):
        return [(target, meaning)]
    return [part for element, item in zip(target.elts, items, strict=True) for part in _flat(element, item)]


def _items(frame: Frame, value: ast.expr, wanted: int) -> tuple[Meaning, ...] | None:
    """Return what is unpacked into a ``wanted`` number of names; None for what is no tuple."""
    if isinstance(value, ast.Tuple | ast.List):
        items = (meaning_of(frame, element) for element in value.elts)
        return tuple(map_values(item, promotion.number) for item in items)
    if isinstance(value, ast.Name):
        named = items_of(lookup(frame, value))
        if named is not None:
            return named
    if isinstance(value, ast.Subscript):
        item = item_of(frame, value)
        if item is not None:
            return items_of(item)
    if isinstance(value, ast.Call):
        returned = inlined_call(frame, value, alone=True)
        if returned is not None:
            return items_of(returned)
    grid = outside_object(frame, value.value) if isinstance(value, ast.Subscript) else None
    if is_grid(grid):
        axes = grid_axes(frame, value, grid, number)  # type: ignore[arg-type]
        return tuple(array_meaning(frame, value, axis) for axis in axes)
    array = computed(frame, value, evaluate(frame, value)) if mentions_arrays(frame, value) else None
    return parts_along_first(frame, value, array, wanted) if isinstance(array, ArrayValue) else None


def _assign_meaning(frame: Frame, node: ast.stmt, target: ast.expr, meaning: Meaning) -> None:
    """Assign what stands at one place of a tuple; what has a name that nothing reads, as ``_``, is left."""
    if isinstance(target, ast.Name) and not isinstance(meaning, ValueBinding) and not _is_read(frame, target.id):
        return
    match target, meaning:
        case _, ValueBinding(value):
            _assign(frame, node, target, value)
        case _, ArrayBinding(array):
            _assign_arrays(frame, node, [target], whole(frame, node, array))
        case _, ViewBinding(view):
            _assign_arrays(frame, node, [target], view)
        case ast.Name(), _:
            _bind_name(frame, node, target, meaning)
        case _:
            raise frame.source.refusal(
                target,
                f"{frame.source.segment(target)} is assigned something that is no number",
                "elements of arrays are numbers",
                "unpack the values: x, y = a, b",
            )


def _is_read(frame: Frame, name: str) -> bool:
    """Return whether the function reads a name anywhere."""
    nodes = list(ast.walk(frame.source.tree))
    updated = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    names = [node for node in (*nodes, *updated) if isinstance(node, ast.Name) and node.id == name]
    return any(not isinstance(node.ctx, ast.Store) or node in updated for node in names)


def _target_names(frame: Frame, target: ast.expr) -> set[str]:
    """The array that an element or a part of is assigned, itself or through a view of it, or the variable."""
    while isinstance(target, ast.Subscript):
        target = target.value
    if not isinstance(target, ast.Name):
        return set()
    binding = frame.bindings.get(target.id)
    array = None if binding is None else _array_in(binding)
    return {frame.unique(target.id) if array is None else array}


def _stored_in(frame: Frame, target: ast.expr) -> str | None:
    """The array of a name whose elements are assigned in place of the name."""
    binding = frame.bindings.get(target.id) if isinstance(target, ast.Name) else None
    if not isinstance(binding, ArrayBinding | ViewBinding) or not isinstance(target, ast.Name):
        return None
    if target.id not in frame.pinned and not frame.conditional:
        return None
    return _array_in(binding)


def _array_in(meaning: object) -> str | None:
    match meaning:
        case ArrayBinding(array):
            return array
        case ViewBinding(view) if view.region is not None:
            return view.region.array
    return None


def _apart(frame: Frame, node: ast.stmt, meaning: Meaning, array: str) -> Meaning:
    """A meaning with a copy in place of an array that is about to be changed."""
    if _array_in(meaning) != array:
        return meaning
    view = whole(frame, node, array) if isinstance(meaning, ArrayBinding) else meaning.view  # type: ignore[union-attr]
    return ViewBinding(kept(frame, node, view))


def _reads(meaning: Meaning, names: set[str]) -> bool:
    found = False

    def note(value: Value) -> Value:
        nonlocal found
        found |= any(isinstance(node, Element) and node.array in names for node in walk(value.expression))
        return value

    map_values(meaning, note)
    return found


def _reads_memory(value: Value) -> bool:
    return any(isinstance(node, Element) for node in walk(value.expression))


def keep(frame: Frame, node: ast.AST, value: Value, name: str = "temporary") -> Value:
    """Store a value in a new scalar, so that later writes do not change it; one that reads no memory stays as it is.

    Args:
        frame: where it stands.
        node: the expression, for its place.
        value: what is stored.
        name: what the scalar's name begins with.
    """
    if not _reads_memory(value):
        return value
    scalar = frame.kernel.fresh(name)
    return store_scalar(frame, node, scalar, value)


def store_scalar(frame: Frame, node: ast.AST, scalar: str, value: Value) -> Value:
    """Assign to a scalar in memory.  Return the scalar as a value.

    Args:
        frame: where it stands.
        node: the assignment, for its place.
        scalar: its name in the SCoP.
        value: what is assigned; the scalar's type becomes one that holds it.
    """
    location = frame.source.location(node)
    frame.kernel.widen(scalar, kind_of(value), location)
    target = frame.kernel.scalar(scalar)
    assert isinstance(target.expression, Element)
    frame.kernel.locations.record(target.expression, location)
    operation = Assign(target.expression, convert(value, target.dtype))
    frame.nodes.append(Perform((operation,), location, frame.source.segment(node)))
    return target


def _assign(frame: Frame, node: ast.stmt, target: ast.expr, value: Value) -> None:
    """Assign a value to a name or to an element."""
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
            operation = Assign(element, convert(value, element.dtype))
            frame.nodes.append(Perform((operation,), frame.source.location(node), frame.source.segment(node)))
        case _:
            raise frame.source.refusal(
                target,
                f"an assignment to {frame.source.segment(target)}",
                "a kernel assigns its own variables and elements of its arrays",
                "assign to a variable, or to an element A[i, j]",
            )


def _refuse_rebinding(frame: Frame, node: ast.AST, target: ast.Name) -> None:
    """Refuse to make something else of a name that is an array."""
    if isinstance(frame.bindings.get(target.id), ArrayBinding | ViewBinding | SelectionBinding):
        raise frame.source.refusal(
            node,
            f"the array name {target.id!r} is assigned",
            "a name that means an array must not be a number later",
            f"use a new name for what is assigned; to change the array itself, assign its elements: "
            f"{target.id}[:] = ...",
        )


def _assign_name(frame: Frame, node: ast.stmt, target: ast.Name, value: Value) -> None:
    """Bind the name to an affine value, or store the value in memory."""
    _refuse_rebinding(frame, node, target)
    kernel, name = frame.kernel, frame.unique(target.id)
    if name not in kernel.knowledge.in_memory:
        single = frame.assigned[target.id] == 1
        is_affine = value.is_integer and kernel.affine.is_function(value.expression)
        substitute: Value | None = None
        if is_affine or (single and value.constant is not None):
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
    store_scalar(frame, node, name, value)
    frame.bindings[target.id] = ScalarBinding(name)


def assign_augmented(frame: Frame, node: ast.AugAssign) -> None:
    """``target op= value``."""
    if isinstance(node.target, ast.Name):
        array = bound_array(frame, node.target)
        if array is not None:
            update(frame, node, operator_symbol(frame, node, node.op), array, evaluate(frame, node.value))
            return
        _refuse_rebinding(frame, node, node.target)
    if isinstance(node.target, ast.Subscript) and is_part(frame, node.target):
        symbol = operator_symbol(frame, node, node.op)
        assign_part(frame, node, node.target, evaluate(frame, node.value), evaluate, symbol)
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
    _assign(frame, node, node.target, combined(frame, symbol, read(frame, readable), value))


def _loaded(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return target
