"""Loops that NumPy runs as a whole: those in which arrays have other shapes from one iteration to the next.

What the shapes are in such a loop, as in ``Z = Z[kept]`` or ``y.reshape(r**i, -1)``, no model of array elements says.
The loop becomes one statement that calls a function of Python's, made of the loop's own text, on the arrays themselves:
reads of all that it mentions, reads and writes of all that it changes.  The statements around it are compiled and
scheduled as any others.  What it may mention is limited to what makes that right: NumPy's functions, numbers, arrays
and tuples of them, no other loops, and no names of new things that are read after it.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from polytune.errors import Obstacle
from polytune.frontend.array_expressions.library import in_place_call
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.array_expressions.views import whole
from polytune.frontend.lowering.frame import Frame, KernelWalk, NumPyLoopError, ShapesOfDataError
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Meaning,
    ObjectBinding,
    ScalarBinding,
    ShapeBinding,
    Stale,
    TupleBinding,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.promotion import Value
from polytune.frontend.scop import ArrayRole
from polytune.frontend.syntax.loop_names import (
    AnyLoop,
    arrays_changed,
    begins_new,
    is_left_behind,
    mentions,
    names_replaced,
)
from polytune.frontend.syntax.source import definition_of, meaning_outside
from polytune.records import dataclass
from polytune.syntax_trees import all_nodes, nodes_inside

__all__ = ["lower_by_numpy", "note_shapes", "restart_by_numpy", "without_shapes"]

_ALLOWED = (
    ast.For | ast.While | ast.If | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Break | ast.Continue
) | ast.Pass
_SCOPES = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.NamedExpr | ast.Await
_OBJECTS = ast.Yield | ast.YieldFrom | ast.Dict | ast.Set | ast.JoinedStr

_BUILTINS = (
    "abs all any bool complex divmod enumerate float int len max min pow range reversed round slice sum tuple zip"
)
_MODULES = {"numpy": np, "math": math}
_STATEFUL = "random", "seterr", "save", "savez", "savetxt", "load", "loadtxt", "memmap", "fromfile"
"""The parts of NumPy whose effects are not on arrays."""


def restart_by_numpy(frame: Frame, node: ast.AST) -> None:
    """Start the walk anew, with the innermost loop around a node run by NumPy, if that has not been tried.

    Args:
        frame: where the node stands.
        node: what has a shape that is not known, a statement.

    Raises:
        NumPyLoopError: the walk starts again.
    """
    around = _loops_around(frame, node)
    if around and (key := _key(frame, around[-1])) not in frame.kernel.knowledge.by_numpy:
        frame.kernel.knowledge.by_numpy.add(key)
        raise NumPyLoopError


def note_shapes(frame: Frame, node: ast.AST, error: ShapesOfDataError) -> None:
    """Note that NumPy cannot run the loop around a node, in which a shape is not known, unless that follows from a
    refused value.

    Args:
        frame: where the node stands.
        node: a statement.
        error: what is said of the shape.
    """
    kernel = frame.kernel
    loop: ast.AST = [node, *_loops_around(frame, node)][-1]
    names = {part.id for part in all_nodes(loop) if isinstance(part, ast.Name)}
    kernel.skipped += 1
    if not any(frame.unique(name) in kernel.knowledge.unknown for name in names):
        lines = range(frame.source.location(loop).line, frame.source.first_line + (_end(loop)[0] or 1))
        kernel.of_shapes.update((each, lines) for each in error.obstacles)
        kernel.obstacles += [each for each in error.obstacles if each not in kernel.obstacles]


def without_shapes(kernel: KernelWalk, obstacles: Sequence[Obstacle]) -> list[Obstacle]:
    """The obstacles without those that are shapes in loops where something else is refused: NumPy may be able to run
    the loops without that.

    Args:
        kernel: the walk that has found them.
        obstacles: all that is refused.
    """
    others = [each.location for each in obstacles if each not in kernel.of_shapes]

    def follows(each: Obstacle) -> bool:
        lines = kernel.of_shapes.get(each, range(0))
        return any(other.file == each.location.file and other.line in lines for other in others)

    return [each for each in obstacles if not follows(each)]


def lower_by_numpy(frame: Frame, node: ast.For | ast.While) -> bool:
    """Lower a loop as one call of NumPy's, if it is one that needs this, and can be.

    Args:
        frame: where it stands.
        node: the loop.

    Returns:
        Whether it has been lowered.
    """
    if _key(frame, node) not in frame.kernel.knowledge.by_numpy or frame.pure:
        return False
    loop = next((each for each in _loops_around(frame, node) if _place(each) == _place(node)), None)
    if loop is None or not _is_plain(loop):
        return False
    separated = frame.kernel.knowledge.separated.get(definition_of(frame.kernel.calls[-1]), ())
    if any(isinstance(each, ast.Name) and each.id in separated for each in nodes_inside([loop])):
        return False  # the source does not tell which of the variables is meant
    meaning = meaning_outside(frame.source, {*frame.assigned, *frame.bindings})
    given = _given(frame, loop, meaning)
    if given is None:
        return False
    replaced = names_replaced(loop, given.arrays)
    if not is_left_behind(frame.source.tree, loop, replaced):
        return False
    changed = [name for name in arrays_changed(loop, meaning) if name in given.arrays]
    if not all(_is_changeable(frame, given.arrays[name]) for name in changed):
        return False
    order = [*changed, *(name for name in given.values if name not in changed)]
    in_place_call(
        frame,
        node,
        _text(loop, order, given.lines),
        [given.arrays[name] for name in changed],
        [given.values[name] for name in order[len(changed) :]],
    )
    frame.bindings.update(dict.fromkeys(replaced, Stale(array=True)))
    return True


def _key(frame: Frame, node: ast.AST) -> tuple[str, int, int]:
    """The key of a loop: its file and its place there."""
    line, column = _place(node)
    return frame.source.file, frame.source.first_line + line, column


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0


def _loops_around(frame: Frame, node: ast.AST) -> list[AnyLoop]:
    """The loops of the source that a node is in, or is, outermost first."""
    found = [
        each
        for each in all_nodes(frame.source.tree)
        if isinstance(each, AnyLoop) and _place(each) <= _place(node) and _end(node) <= _end(each)
    ]
    return sorted(found, key=_place)


def _is_plain(loop: AnyLoop) -> bool:
    """Return whether a loop has no other loops in it, nothing that leaves the function, and no names of its own."""
    if loop.orelse:
        return False
    inside = nodes_inside([loop])
    return not any(
        (isinstance(node, ast.stmt) and not isinstance(node, _ALLOWED))
        or isinstance(node, _SCOPES | _OBJECTS)
        or (isinstance(node, AnyLoop) and node is not loop)
        or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
        for node in inside
    )


# What a loop is given


@dataclass(frozen=True)
class _Passed:
    """The names that a loop reads, and their values.

    Attributes:
        values: what is passed, by the names of the parameters.
        arrays: those of them that are arrays.
        lines: what is done before the loop, so that all names mean what they do in the source.
    """

    values: dict[str, ArrayValue | Value]
    arrays: dict[str, ArrayValue]
    lines: list[str]


def _given(frame: Frame, loop: AnyLoop, meaning: Any) -> _Passed | None:
    """The values that a loop is given; None where it mentions anything that cannot be passed on."""
    given = _Passed({}, {}, [])
    for name in dict.fromkeys(node.id for node in nodes_inside([loop]) if isinstance(node, ast.Name)):
        binding = frame.bindings.get(name)
        if name in frame.assigned or binding is not None:
            if binding is None or isinstance(binding, Stale):
                if not _is_set_first(name, loop):
                    return None
                continue
            if not _pass_on(frame, name, binding, given):
                return None
        elif (line := _outside(name, meaning(ast.Name(name)))) is None:
            return None
        elif line:
            given.lines.append(line)
    return given if _has_effects_on_arrays_alone(loop, meaning) else None


def _is_set_first(name: str, loop: AnyLoop) -> bool:
    """Return whether each iteration gives a name a meaning before it reads it."""
    if isinstance(loop, ast.For):
        if mentions(name, [loop.iter]):
            return False
        if mentions(name, [loop.target]):
            return True
    elif mentions(name, [loop.test]):
        return False
    return begins_new(name, loop.body)


def _pass_on(frame: Frame, name: str, binding: Any, given: _Passed) -> bool:
    """Pass what a local name means.  Return whether that can be done."""
    match binding:
        case ArrayBinding(array):
            given.values[name] = given.arrays[name] = whole(frame, ast.Name(name), array)
        case ViewBinding(view):  # one that is not in memory is computed before the loop, which must not change it
            given.values[name] = given.arrays[name] = view
        case ObjectBinding(value) if _is_written_out(value):
            given.lines.append(f"{name} = {value!r}")
        case ObjectBinding():
            return False
        case _:
            text = _number_or_tuple(frame, name, binding, given)
            if text is None:
                return False
            given.lines.append(f"{name} = {text}")
    return True


def _is_written_out(value: Any) -> bool:
    """Return whether the text of an object, in Python, is the object."""
    return value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))


def _number_or_tuple(frame: Frame, name: str, binding: Meaning, given: _Passed) -> str | None:
    """The text of a number, or of a tuple of numbers, that is passed; None for anything else."""
    match binding:
        case ValueBinding(value):
            given.values[name] = value
            return f"{name}.item()" if value.weak else f"{name}[()]"
        case ScalarBinding(scalar):
            return _number_or_tuple(frame, name, ValueBinding(frame.kernel.scalar(scalar)), given)
        case ShapeBinding(extents):
            return _number_or_tuple(frame, name, TupleBinding(tuple(map(ValueBinding, extents))), given)
        case TupleBinding(items, fields, is_list) if not fields:
            texts = [
                _number_or_tuple(frame, frame.kernel.fresh(f"{name}_item"), item, given)
                for item in items
                if isinstance(item, ValueBinding | ScalarBinding | ShapeBinding | TupleBinding)
            ]
            if len(texts) == len(items) and all(texts):
                inner = "".join(f"{text}, " for text in texts)
                return f"[{inner}]" if is_list else f"({inner})"
    return None


def _outside(name: str, value: Any) -> str | None:
    """The line that gives a name its meaning from outside of the kernel: empty where it has that anyway, None where no
    line can."""
    if isinstance(value, ModuleType):
        found = [module for module, known in _MODULES.items() if known is value]
        return f"import {found[0]} as {name}" if found else None
    if name in _BUILTINS.split() and value is getattr(builtins, name):
        return ""
    if _is_written_out(value):
        return f"{name} = {value!r}"
    own = getattr(value, "__name__", None)
    for module, known in _MODULES.items():
        if isinstance(own, str) and own not in _STATEFUL and getattr(known, own, None) is value:
            return f"from {module} import {own} as {name}"
    return None


def _has_effects_on_arrays_alone(loop: AnyLoop, meaning: Any) -> bool:
    """Return whether a loop uses no part of NumPy that reads or changes anything but arrays."""
    return not any(
        isinstance(node, ast.Attribute) and node.attr in _STATEFUL and meaning(node.value) is np
        for node in nodes_inside([loop])
    )


def _is_changeable(frame: Frame, array: ArrayValue) -> bool:
    region = array.region
    return region is not None and frame.kernel.arrays[region.array].role is not ArrayRole.CONSTANT


def _text(loop: AnyLoop, parameters: Sequence[str], lines: Sequence[str]) -> str:
    """The text of a function that runs a loop."""
    body = [*lines, *ast.unparse(loop).splitlines()]
    kind = "for" if isinstance(loop, ast.For) else "while"
    return "\n    ".join([f"def {kind}_by_numpy({', '.join(parameters)}):", *body])
