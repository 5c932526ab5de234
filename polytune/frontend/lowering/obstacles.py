"""Reading on after a refusal, so that all that stands in the way of a kernel is said at once.

A statement that is refused is left out, and what it would have assigned is unknown from then on: what uses that is
skipped too, and not refused for it.  Of a loop or branch whose first line is refused the body is still read, as if it
stood in a loop of unknown bounds or under an unknown condition.  Of other statements the parts are read that have a
value of their own, so that a line with two obstacles shows both.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from polytune.errors import Obstacle, UnsupportedSourceError
from polytune.frontend.expression import Compare, Constant, ParameterValue
from polytune.frontend.inlining.outside_calls import unknown_call
from polytune.frontend.loops.numpy_loops import note_shapes, restart_by_numpy
from polytune.frontend.lowering.frame import Frame, KernelWalk, ShapesOfDataError, UnknownNameError, assigned_names
from polytune.frontend.lowering.items import is_by_tuple
from polytune.frontend.lowering.meanings import ArrayBinding, ObjectBinding, Stale, Unknown, ValueBinding, ViewBinding
from polytune.frontend.lowering.slice_objects import with_slices_written
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.expressions import evaluate
from polytune.frontend.scalars.tuples import inlined_call
from polytune.frontend.scop import Parameter
from polytune.syntax_trees import all_nodes, nodes_inside

LowerOne = Callable[[Frame, ast.stmt], None]

_Inside = ast.For | ast.While | ast.If | ast.With | ast.Try
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def read_on(frame: Frame, statement: ast.stmt, lower: LowerOne) -> None:
    """Lower a statement; where it is refused, note why, and what stands in the way in the rest of it.

    Args:
        frame: where it stands.
        statement: the statement.
        lower: lowers one statement, and raises an ``UnsupportedSourceError`` or ``UnknownNameError`` where it cannot.
    """
    kernel, nodes = frame.kernel, len(frame.nodes)
    is_tried, is_shape = True, False
    calls, before = len(kernel.calls), dict(frame.bindings)
    try:
        if not isinstance(statement, ast.For | ast.While | ast.If | ast.FunctionDef):
            _look_for_unknown(frame, statement)
        lower(frame, statement)
        return
    except ShapesOfDataError as error:
        restart_by_numpy(frame, statement)
        note_shapes(frame, statement, error)
        is_shape = True  # what reads the array may be refused for something else
    except UnsupportedSourceError as error:
        note(kernel, error.obstacles)
    except UnknownNameError:
        kernel.skipped += 1
        is_tried = False
    del kernel.calls[calls:], frame.nodes[nodes:]
    for expression in _expressions(with_slices_written(frame, statement)):
        for part in _parts(expression) if is_tried else [expression]:
            _read_part(frame, part)
    if isinstance(statement, _Inside):
        frame.bindings.clear()
        frame.bindings.update(before)
        _read_inside(frame, statement, lower)
        return
    for name in _assigned(statement):
        is_array = isinstance(before.get(name), ArrayBinding | ViewBinding)
        if not (is_array and (is_shape or isinstance(statement, ast.AugAssign))):
            frame.bindings[name] = Unknown()
            kernel.knowledge.unknown.add(frame.unique(name))


def note(kernel: KernelWalk, obstacles: Iterable[Obstacle]) -> None:
    """Add obstacles to those of a walk, each once."""
    found = list(obstacles)
    kernel.skipped += len(found)
    kernel.obstacles += [each for each in found if each not in kernel.obstacles]


def in_source_order(obstacles: Sequence[Obstacle], file: str) -> list[Obstacle]:
    """Obstacles by their places: those in the kernel's own file, then those in files of functions that it calls."""

    def place(obstacle: Obstacle) -> tuple[bool, str, int, int]:
        location = obstacle.location
        return location.file != file, location.file, location.line, location.column

    return sorted(obstacles, key=place)


def _look_for_unknown(frame: Frame, statement: ast.stmt | ast.expr) -> None:
    """Raise ``UnknownNameError`` where a statement or expression reads a name that a refused one was to assign."""
    for node in nodes_inside([statement]):
        if (
            isinstance(node, ast.Name)
            and isinstance(frame.bindings.get(node.id), Unknown)
            and (isinstance(node.ctx, ast.Load) or isinstance(statement, ast.AugAssign))
        ):
            raise UnknownNameError(node.id)


def _is_from_outside(frame: Frame, call: ast.Call) -> bool:
    """Return whether what is called has a name of the module's, as ``np.sort``."""
    owner = call.func
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(owner, ast.Name) and owner.id not in frame.bindings and owner.id not in frame.assigned


def _assigned(statement: ast.stmt) -> list[str]:
    """The names that a refused statement would have given a meaning."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [statement.name]
    inside = {
        id(node)
        for comprehension in all_nodes(statement)
        if isinstance(comprehension, _COMPREHENSIONS)
        for generator in comprehension.generators
        for node in all_nodes(generator.target)
    }
    return [
        node.id
        for node in nodes_inside([statement])
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in inside
    ]


def _read_inside(frame: Frame, statement: ast.stmt, lower: LowerOne) -> None:
    """Read the bodies of a statement whose first line is refused."""
    match statement:
        case ast.For():
            _read_loop(frame, statement, lower)
        case ast.While(_, body):
            _stand_in(frame, statement, ast.While(_unknown_condition(frame), body, []), lower)
        case ast.If(_, then, otherwise):
            _stand_in(frame, statement, ast.If(_unknown_condition(frame), then, otherwise), lower)
            for name in assigned_names([*then, *otherwise]):  # the test may have said which of two meanings it has
                if isinstance(frame.bindings.get(name), Stale):
                    frame.bindings[name] = Unknown()
                    frame.kernel.knowledge.unknown.add(frame.unique(name))
        case ast.With(items, body):
            for item in items:
                if item.optional_vars is not None:
                    _make_unknown(frame, item.optional_vars)
            _read_block(frame, body, lower)
        case ast.Try(body, handlers, otherwise, final):
            _read_block(frame, [*body, *otherwise], lower)
            aside = frame.inside(conditional=True)
            for handler in handlers:
                if handler.name is not None:
                    aside.bindings[handler.name] = Unknown()
                _read_block(aside, handler.body, lower)
            _read_block(frame, final, lower)


def _read_block(frame: Frame, statements: Sequence[ast.stmt], lower: LowerOne) -> None:
    for statement in statements:
        read_on(frame, statement, lower)


def _read_loop(frame: Frame, statement: ast.For, lower: LowerOne) -> None:
    """Read the body of a loop over what is refused, as one over a range that nothing is known of."""
    kernel, target = frame.kernel, statement.target
    names = [kernel.fresh("unknown") for _ in range(2)]
    for name in names:
        kernel.parameters[name] = Parameter(name, Constant(0, "int64"))
        frame.bindings[name] = ValueBinding(Value(ParameterValue(name), weak=True))
    called = kernel.fresh("range")
    frame.bindings[called] = ObjectBinding(range)
    counter: ast.expr = target
    subscripted = [node.value for node in nodes_inside(statement.body) if isinstance(node, ast.Subscript)]
    is_number = isinstance(target, ast.Name) and not any(
        isinstance(node, ast.Name) and node.id == target.id for node in subscripted
    )
    if not is_number:
        counter = ast.Name(kernel.fresh("position"), ast.Store())
        _make_unknown(frame, target)
    bounds: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
    loop = ast.For(counter, ast.Call(ast.Name(called, ast.Load()), bounds, []), statement.body, [])
    loop.is_sequential = getattr(statement, "is_sequential", False)  # type: ignore[attr-defined]
    _stand_in(frame, statement, loop, lower)


def _make_unknown(frame: Frame, target: ast.expr) -> None:
    """Forget what the names in a target mean."""
    for node in all_nodes(target):
        if isinstance(node, ast.Name):
            frame.bindings[node.id] = Unknown()


def _stand_in(frame: Frame, statement: ast.stmt, other: ast.stmt, lower: LowerOne) -> None:
    """Lower a loop or branch in place of one that is refused; what it makes is of no use."""
    for node in all_nodes(other):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, statement)
    try:
        lower(frame, other)
    except (UnsupportedSourceError, UnknownNameError):  # what follows from the first line
        for name in _assigned(statement):
            frame.bindings[name] = Unknown()


def _unknown_condition(frame: Frame) -> ast.expr:
    """A name for a condition on data."""
    name = frame.kernel.fresh("unknown")
    data = frame.kernel.scalar(name)
    frame.bindings[name] = ValueBinding(Value(Compare("!=", data.expression, Constant(0, "int64"))))
    return ast.Name(name, ast.Load())


_WITH_A_VALUE = ast.BinOp | ast.BoolOp | ast.Call | ast.Compare | ast.IfExp | ast.Subscript | ast.UnaryOp
"""Parts of expressions that mean the same on their own."""


def _expressions(statement: ast.stmt) -> list[ast.expr]:
    """The expressions of a statement, without those of statements inside of it."""
    match statement:
        case ast.Assign(targets, value):
            return [*targets, value]
        case ast.AugAssign(target, _, value) | ast.AnnAssign(target, _, ast.expr() as value):
            return [target, value]
        case ast.Return(ast.expr() as value) | ast.Expr(value) | ast.If(value) | ast.While(value):
            return [value]
        case ast.For(_, ast.Call(_, arguments)):
            return arguments
    return []


def _parts(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression that can be read on their own."""
    children: list[ast.expr] = []
    match node:
        case ast.BinOp(left, _, right):
            children = [left, right]
        case ast.BoolOp(_, operands) | ast.Tuple(operands) | ast.List(operands):
            children = operands
        case ast.UnaryOp(_, operand):
            children = [operand]
        case ast.Compare(left, _, comparators):
            children = [left, *comparators]
        case ast.IfExp(test, then, otherwise):
            children = [test, then, otherwise]
        case ast.Call(function, arguments):
            children = [*([function.value] if isinstance(function, ast.Attribute) else []), *arguments]
        case ast.Subscript(value, index):
            children = [value, *(index.elts if isinstance(index, ast.Tuple) else [index])]
            bounds = [part for each in children if isinstance(each, ast.Slice) for part in (each.lower, each.upper)]
            children += [bound for bound in bounds if bound is not None]
    return [child for child in children if isinstance(child, _WITH_A_VALUE)]


def _read_part(frame: Frame, node: ast.expr) -> None:
    """Note what stands in the way of an expression; what it is computed by is left out."""
    kernel = frame.kernel
    calls = len(kernel.calls)
    if is_by_tuple(frame, node):
        return
    if any(is_by_tuple(frame, part) for part in all_nodes(node)):
        pass  # it has no value on its own
    elif isinstance(node, _WITH_A_VALUE) and not isinstance(getattr(node, "ctx", None), ast.Store):
        try:
            _look_for_unknown(frame, node)
            aside = replace(frame.inside(), conditional=True)
            if not (isinstance(node, ast.Call) and inlined_call(aside, node, alone=True) is not None):
                evaluate(aside, node)
            return
        except UnsupportedSourceError as error:
            note(kernel, error.obstacles)
        except UnknownNameError:
            refused = (
                unknown_call(frame, node) if isinstance(node, ast.Call) and _is_from_outside(frame, node) else None
            )
            note(kernel, refused.obstacles if refused is not None else ())
        del kernel.calls[calls:]
    for part in _parts(node):
        _read_part(frame, part)
