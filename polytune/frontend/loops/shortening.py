"""Loops in which arrays become shorter by as many elements each time.

``v = p * v[:-1] + q * v[1:]`` in a loop, as in binomial trees, de Casteljau's algorithm and repeated differences, gives
``v`` another array each time, of one element less.  All of them have room in the first one: with n elements before
``for i in range(a, b)``, there are ``n - c * (i - a)`` before iteration i, and the loop becomes

    for i in range(a, b):
        v[: n - c * (i - a) - c] = p * v[: n - c * (i - a)][:-1] + q * v[: n - c * (i - a)][1:]
    v = v[: n - c * max(b - a, 0)]

with 0 for numbers less than that, where all extents are affine, and all iterations are scheduled as those of any other
loop.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Sequence

from polytune.frontend.array_expressions.assigning import array_of, make_own, names_of
from polytune.frontend.array_expressions.shorter import key_of, place_of
from polytune.frontend.expression import Element, walk
from polytune.frontend.lowering.frame import Frame, Shorter, assigned_names
from polytune.frontend.lowering.meanings import ArrayBinding, ValueBinding, ViewBinding
from polytune.frontend.lowering.names import outside_object
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.numbers import read
from polytune.frontend.syntax.comprehensions import placed
from polytune.records import dataclass
from polytune.syntax_trees import nodes_inside

__all__ = ["with_lengths"]

_REWRITTEN = "has_lengths"
"""The attribute of loops that have been rewritten."""


def with_lengths(frame: Frame, node: ast.stmt) -> list[ast.stmt] | None:
    """The statements in place of a loop in which arrays become shorter; None for any other statement.

    Args:
        frame: where it stands.
        node: the statement.
    """
    if not isinstance(node, ast.For) or getattr(node, _REWRITTEN, False):
        return None
    known = frame.kernel.knowledge.shorter.get(key_of(frame, node), {})
    counted = _counted(frame, node) if known else None
    if counted is None:
        return None
    found = [_shortened(frame, node, name, shorter) for name, shorter in known.items()]
    arrays = [each for each in found if each is not None]
    return _rewritten(node, arrays, counted) if len(arrays) == len(known) else None


@dataclass(frozen=True)
class _Counted:
    """A loop that counts.

    Attributes:
        done: how many iterations have been, in each one.
        all: how many there are.
    """

    done: ast.expr
    all: ast.expr


@dataclass(frozen=True)
class _Shortened:
    """An array that becomes shorter.

    Attributes:
        name: its name.
        axis: along which axis.
        elements: by how many each time.
        place: which statement of the loop gives the name the shorter one.
        length: the name of how many there are at first.
    """

    name: str
    axis: int
    elements: int
    place: int
    length: str

    def part(self, iterations: ast.expr, context: ast.expr_context, *, after: bool) -> ast.Subscript:
        """The part of the first array that is left after some iterations, or after one more."""
        less = ast.BinOp(ast.Constant(self.elements), ast.Mult(), copy.deepcopy(iterations))
        left = ast.BinOp(ast.Name(self.length, ast.Load()), ast.Sub(), less)
        if after:
            left = ast.BinOp(left, ast.Sub(), ast.Constant(self.elements))
        extent = ast.Call(ast.Name("max", ast.Load()), [ast.Constant(0), left], [])
        index: list[ast.expr] = [*(ast.Slice() for _ in range(self.axis)), ast.Slice(upper=extent)]
        return ast.Subscript(
            ast.Name(self.name, ast.Load()), index[0] if len(index) == 1 else ast.Tuple(index, ast.Load()), context
        )


def _counted(frame: Frame, loop: ast.For) -> _Counted | None:
    """The iterations of a loop over a range by one or minus one, between bounds that it cannot change."""
    match loop:
        case ast.For(ast.Name(variable), ast.Call(function, [*bounds], []), orelse=[]) if 1 <= len(bounds) <= 3:
            pass
        case _:
            return None
    step = bounds[2] if len(bounds) == 3 else ast.Constant(1)
    match step:
        case ast.Constant(1):
            forwards = True
        case ast.UnaryOp(ast.USub(), ast.Constant(1)):
            forwards = False
        case _:
            return None
    if outside_object(frame, function) is not builtins.range or variable in assigned_names(loop.body):
        return None
    if outside_object(frame, ast.Name("max", ast.Load())) is not builtins.max:
        return None
    names = []
    for what, bound in (
        ("start", ast.Constant(0) if len(bounds) == 1 else bounds[0]),
        ("stop", bounds[len(bounds) > 1]),
    ):
        value = read(frame, placed(copy.deepcopy(bound), loop))
        if any(isinstance(part, Element) for part in walk(value.expression)):
            return None
        names.append(_named(frame, f"{variable}_{what}", value))
    start, stop = (ast.Name(name, ast.Load()) for name in names)
    counter = ast.Name(variable, ast.Load())
    done, every = (counter, start), (stop, start)
    if not forwards:
        done, every = (start, counter), (start, stop)
    length = ast.BinOp(every[0], ast.Sub(), every[1])
    some = ast.Call(ast.Name("max", ast.Load()), [ast.Constant(0), length], [])
    return _Counted(ast.BinOp(done[0], ast.Sub(), done[1]), some)


def _named(frame: Frame, like: str, value: Value) -> str:
    name = frame.fresh(like)
    frame.bindings[name] = ValueBinding(value)
    return name


def _shortened(frame: Frame, loop: ast.For, name: str, shorter: Shorter) -> _Shortened | None:
    """An array as it is before a loop in which it becomes shorter, if all that the loop assigns to its name can be
    assigned to elements, and nobody else sees these."""
    if not isinstance(frame.bindings.get(name), ArrayBinding | ViewBinding):
        return None
    make_own(frame, loop, loop.body, {name})
    array = array_of(frame.bindings[name])
    if array is None or frame.kernel.owners.get(array) != (id(frame.names), name) or names_of(frame, array) != {name}:
        return None
    inside = nodes_inside(loop.body)
    stores = sum(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store) for node in inside)
    assigned = [target for node in inside for target in _targets(node) if isinstance(target, ast.Name)]
    if stores != sum(target.id == name for target in assigned):
        return None
    places = [place_of(statement) for statement in loop.body]
    if shorter.place not in places:
        return None
    extent = ast.Subscript(
        ast.Attribute(ast.Name(name, ast.Load()), "shape", ast.Load()), ast.Constant(shorter.axis), ast.Load()
    )
    length = _named(frame, f"{name}_length", read(frame, placed(extent, loop)))
    return _Shortened(name, shorter.axis, shorter.elements, places.index(shorter.place), length)


def _targets(node: ast.AST) -> list[ast.expr]:
    """The one target of an assignment, which may be one of elements in its place."""
    match node:
        case ast.Assign([target]) | ast.AugAssign(target):
            return [target]
    return []


def _rewritten(loop: ast.For, arrays: Sequence[_Shortened], counted: _Counted) -> list[ast.stmt]:
    """The loop on parts of arrays, and what has to be behind it."""
    made = copy.deepcopy(loop)
    setattr(made, _REWRITTEN, True)
    made.body = [_Parts(arrays, counted.done, number).visit(statement) for number, statement in enumerate(made.body)]
    behind: list[ast.stmt] = []
    for each in arrays:
        behind.append(ast.Assign([ast.Name(each.name, ast.Store())], each.part(counted.all, ast.Load(), after=False)))
    return [placed(statement, loop) for statement in (made, *behind)]


class _Parts(ast.NodeTransformer):
    """Puts parts of the first arrays in place of those that become shorter.

    Args:
        arrays: those.
        done: how many iterations have been.
        number: of the statement in the loop.
    """

    def __init__(self, arrays: Sequence[_Shortened], done: ast.expr, number: int):
        self._arrays = {each.name: each for each in arrays}
        self._done, self._number = done, number

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Put the part that is left then in the place of an array."""
        array = self._arrays.get(node.id)
        if array is None:
            return node
        is_stored = isinstance(node.ctx, ast.Store)
        after = self._number > array.place or (is_stored and self._number == array.place)
        return placed(array.part(self._done, node.ctx, after=after), node)
