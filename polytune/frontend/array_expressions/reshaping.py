"""Arrays under names in another shape, which NumPy makes views: copies of which the elements are written back."""

from __future__ import annotations

import ast
from collections import Counter as Multiset
from collections.abc import Iterable, Iterator

from polytune.frontend.array_expressions.affine_arithmetic import ZERO
from polytune.frontend.array_expressions.row_major import in_shape
from polytune.frontend.array_expressions.stores import store
from polytune.frontend.array_expressions.values import ArrayValue, Axis
from polytune.frontend.expression import arrays_written
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ArrayBinding, ViewBinding
from polytune.frontend.program import Guard, Node, Perform, RangeLoop
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.source import enclosing_statement
from polytune.frontend.syntax.webs import name_in_source
from polytune.signature import ArrayType
from polytune.syntax_trees import all_nodes, nodes_inside


def reshaped_in_place(frame: Frame, node: ast.stmt, value: ArrayValue) -> bool:
    """Return whether a copy in another shape can stand for the array itself from a statement on, to the kernel's end.

    So it can where NumPy makes a copy as well, of an array whose columns are contiguous.  And so it can where rows are,
    and the array has no other use from there on, but that it is returned: then the copy's elements are written back.

    Args:
        frame: where it stands.
        node: the assignment of the copy to a name.
        value: the copy.
    """
    assert value.copied is not None
    shown, copy = value.copied
    if not (frame.is_kernel and frame.is_top_level) or frame.exits.returned is not None or shown.region is None:
        return False
    array = frame.kernel.arrays[shown.region.array]
    extents = tuple(frame.kernel.extents[array.name, place].expression for place in range(array.ndim))
    if shown.region.axes != tuple(Axis(ZERO, place) for place in range(array.ndim)) or shown.shape != extents:
        return False
    layout = "C"
    if array.role is ArrayRole.ARGUMENT:
        kind = frame.kernel.signature[array.name]
        assert isinstance(kind, ArrayType)
        layout = kind.layout
    if layout == "A" or array.role is ArrayRole.CONSTANT:
        return False
    if layout == "F":
        return True
    if _is_used_after(frame, node, array.name):
        return False
    frame.kernel.written_back.append((node, shown, copy))
    return True


def _is_used_after(frame: Frame, node: ast.stmt, array: str) -> bool:
    """Return whether a statement at the top of the function, after one, does anything with an array but return it, or
    a loop does that begins with the one."""
    statement = enclosing_statement(frame.source.tree, node)
    body = frame.source.tree.body
    if statement not in body:
        return True
    names = {name_in_source(name) for name, binding in frame.bindings.items() if _may_be(binding, array)}
    looped = statement.body + statement.orelse if isinstance(statement, ast.For) else []
    for following in (*looped, *body[body.index(statement) + 1 :]):
        if isinstance(following, ast.Return) and isinstance(following.value, ast.Name):
            continue
        if any(isinstance(each, ast.Name) and each.id in names for each in all_nodes(following)):
            return True
    return any(isinstance(each, ast.FunctionDef | ast.Lambda) for each in nodes_inside(body))


def _may_be(binding: object, array: str) -> bool:
    """Return whether a name may mean an array, or a part of it, or something with it."""
    match binding:
        case ArrayBinding(name):
            return name == array
        case ViewBinding(view):
            return view.region is None or view.region.array == array
    return hasattr(binding, "items")


def write_back(frame: Frame) -> None:
    """Write the elements of copies in other shapes to the arrays that they stand for, at the end of a kernel.

    Those that nothing has changed since they were made are as the array has them.
    """
    writers = Multiset(
        name
        for each in _performed(frame.nodes)
        for name in {name for operation in each.operations for name in arrays_written(operation)}
    )
    for node, shown, copy in frame.kernel.written_back:
        assert copy.region is not None
        if writers[copy.region.array] > 1:
            store(frame, node, shown, in_shape(frame, copy, shown.shape))


def _performed(nodes: Iterable[Node]) -> Iterator[Perform]:
    """The statements of a program."""
    for node in nodes:
        match node:
            case Perform():
                yield node
            case Guard(_, then, otherwise):
                yield from _performed((*then, *otherwise))
            case RangeLoop(body=body):
                yield from _performed(body)
