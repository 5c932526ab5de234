"""Assignment to several names at once: all values are read before the first of them is assigned."""

from __future__ import annotations

import ast
from collections import Counter as Multiset
from collections.abc import Collection, Iterator

from polytune.frontend.array_expressions.calling import array_meaning
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.grids import grid_axes, is_grid
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.several import parts_along_first
from polytune.frontend.array_expressions.temporaries import kept
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.array_expressions.views import whole
from polytune.frontend.expression import Element, walk
from polytune.frontend.lowering.bindings import items_of, map_values, meaning_of
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ArrayBinding, Meaning, TupleBinding, ValueBinding, ViewBinding
from polytune.frontend.lowering.names import lookup, outside_object
from polytune.frontend.lowering.stored_scalars import keep
from polytune.frontend.lowering.targets import assign_arrays, assign_number, bind_name, is_read
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.expressions import evaluate
from polytune.frontend.scalars.numbers import number
from polytune.frontend.scalars.tuples import inlined_call, item_of, unstarred
from polytune.frontend.syntax.refusals import counted
from polytune.frontend.syntax.tuple_variables import fits


def assign_tuple(
    frame: Frame, node: ast.stmt, target: ast.Tuple | ast.List, value: ast.expr, shape: tuple[Value, ...] | None
) -> None:
    """Lower ``x, y = a, b``.

    Args:
        frame: where it stands.
        node: the assignment.
        target: the tuple of what is assigned to.
        value: the right side.
        shape: the extents that the right side stands for; None where it is no shape.

    Raises:
        UnsupportedSourceError: the right side is no tuple of as many values.
    """
    before = set(frame.kernel.arrays)
    starred = [place for place, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
    items = (
        _items_of_variable(frame, node, target, value)
        if hasattr(target, "variable")
        else tuple(map(ValueBinding, shape))
        if shape is not None
        else _items(frame, value, None if starred else len(target.elts))
    )
    if len(starred) == 1 and items is not None and len(items) >= len(target.elts) - 1:
        target, items = _gathered(target, items, starred[0])
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
            f"{counted(len(items), 'value')} {'is' if len(items) == 1 else 'are'} unpacked into "
            f"{counted(len(target.elts), 'name')}",
            "Python would raise an error here",
            "name as many variables as there are values",
        )
    flat = [part for element, item in zip(target.elts, items, strict=True) for part in _flat(element, item)]
    targets, values = [element for element, _ in flat], [item for _, item in flat]
    places = Multiset(array for item in values for array in _arrays_in(item))
    own = {array for array, count in places.items() if count == 1 and array not in before}
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
        _assign_meaning(frame, node, element, result, own)


def _items_of_variable(
    frame: Frame, node: ast.stmt, target: ast.Tuple | ast.List, value: ast.expr
) -> tuple[Meaning, ...] | None:
    """The items of a tuple that is assigned to a variable, which holds others as well."""
    meaning = meaning_of(frame, value, alone=True)
    if not fits(target, meaning):
        raise frame.source.refusal(
            node,
            "a variable is assigned tuples of different kinds, or something else than a tuple",
            "how many values a variable holds, and of which class, must be seen in the source",
            "use a name of its own for each",
        )
    return items_of(meaning)


def _gathered(
    target: ast.Tuple | ast.List, items: tuple[Meaning, ...], place: int
) -> tuple[ast.Tuple | ast.List, tuple[Meaning, ...]]:
    """``x, *rest = a, b, c`` with a list for the starred name, which is no longer starred."""
    element = target.elts[place]
    assert isinstance(element, ast.Starred)
    stop = len(items) - (len(target.elts) - place - 1)
    elements = [*target.elts[:place], element.value, *target.elts[place + 1 :]]
    plain = ast.copy_location(type(target)(elements, target.ctx), target)
    return plain, (*items[:place], TupleBinding(items[place:stop], is_list=True), *items[stop:])


def _flat(target: ast.expr, meaning: Meaning) -> list[tuple[ast.expr, Meaning]]:
    """Pairs of what is assigned to and what is assigned, in order, where tuples stand in tuples."""
    items = items_of(meaning)
    if not isinstance(target, ast.Tuple | ast.List) or items is None or len(items) != len(target.elts):
        return [(target, meaning)]
    if not fits(target, meaning):
        return [(target, meaning)]
    return [part for element, item in zip(target.elts, items, strict=True) for part in _flat(element, item)]


def _items(frame: Frame, value: ast.expr, wanted: int | None) -> tuple[Meaning, ...] | None:
    """Return what is unpacked into a ``wanted`` number of names, or any; None for what is no tuple."""
    if isinstance(value, ast.Tuple | ast.List):
        return tuple(meaning_of(frame, element) for element in unstarred(frame, value.elts))
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


def _assign_meaning(frame: Frame, node: ast.stmt, target: ast.expr, meaning: Meaning, own: Collection[str]) -> None:
    """Assign what stands at one place of a tuple; what has a name that nothing reads, as ``_``, is left.

    Args:
        frame: where the assignment stands.
        node: it.
        target: what is assigned to.
        meaning: what is assigned.
        own: the arrays that have been made for one place of the tuple.
    """
    if isinstance(target, ast.Name) and not isinstance(meaning, ValueBinding) and not is_read(frame, target.id):
        return
    match target, meaning:
        case ast.Tuple() | ast.List(), _:
            raise frame.source.refusal(
                node,
                f"{frame.source.segment(target)} is assigned something else than a tuple of as many numbers",
                "how many values a variable holds, and of which class, must be seen in the source",
                "use a name of its own for each",
            )
        case _, ValueBinding(value):
            assign_number(frame, node, target, value)
        case _, ArrayBinding(array):
            assign_arrays(frame, node, [target], whole(frame, node, array, is_new=array in own))
        case _, ViewBinding(view):
            assign_arrays(frame, node, [target], view)
        case ast.Name(), _:
            bind_name(frame, node, target, meaning)
        case _:
            raise frame.source.refusal(
                target,
                f"{frame.source.segment(target)} is assigned something that is no number",
                "elements of arrays are numbers",
                "unpack the values: x, y = a, b",
            )


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


def _arrays_in(meaning: Meaning) -> Iterator[str]:
    """The arrays that something is, or has at some place of a tuple."""
    array = _array_in(meaning)
    if array is not None:
        yield array
    for item in items_of(meaning) or ():
        yield from _arrays_in(item)


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
