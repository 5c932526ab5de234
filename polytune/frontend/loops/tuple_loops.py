"""Loops over tuples, whose values are seen in the source, written out: one iteration after the other."""

from __future__ import annotations

import ast
import builtins
import copy

from polytune.frontend.lowering.bindings import items_of
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import Meaning, ShapeBinding, TupleBinding, ValueBinding
from polytune.frontend.lowering.names import is_of_numba, lookup, outside_object
from polytune.frontend.scalars.numbers import number
from polytune.frontend.scalars.tuples import constant_slice
from polytune.frontend.syntax.comprehensions import placed
from polytune.frontend.syntax.jumps import own_jumps
from polytune.syntax_trees import all_nodes, nodes_inside

_MOST_PLACES = 16
"""The most iterations that are written out of a loop that counts, as code is made for each."""


def written_out(frame: Frame, node: ast.For) -> list[list[ast.stmt]] | None:
    """The iterations of a loop over a tuple, or over tuples by ``zip`` and its like, each with its assignment; None
    for any other loop."""
    texts = _elements(frame, node.iter)
    if texts is None:
        texts = _places(frame, node)
    if texts is None:
        return None
    if own_jumps(node.body):
        raise frame.source.refusal(
            node,
            "break or continue in a loop over a tuple",
            "such a loop is written out, one iteration after the other",
            "loop over range(len(...)) of an array with these values",
        )
    made: list[list[ast.stmt]] = []
    for element in texts:
        assignment = ast.copy_location(ast.Assign([node.target], element), node)
        made.append([assignment, *_with_own_returns(frame, node.body)])
    return made


def _places(frame: Frame, node: ast.For) -> list[ast.expr] | None:
    """The numbers that a loop counts, where its variable selects arrays and values of a tuple; None for any other
    loop."""
    match node:
        case ast.For(ast.Name(variable), ast.Call(function, [bound], [])):
            if outside_object(frame, function) is not builtins.range and not is_of_numba(
                outside_object(frame, function), "prange"
            ):
                return None
        case _:
            return None
    if not any(_selects(frame, part, variable) for part in nodes_inside(node.body)):
        return None
    length = number(frame, bound).constant
    if not isinstance(length, int) or length > _MOST_PLACES:
        return None
    return [placed(ast.Constant(place), node.iter) for place in range(length)]


def _selects(frame: Frame, node: ast.AST, variable: str) -> bool:
    """Return whether a node is an item of a tuple by a place that follows from a variable."""
    match node:
        case ast.Subscript(ast.Name() as base, index) if not isinstance(index, ast.Tuple | ast.Slice):
            items = _items(frame, base)
            if items is None or all(
                isinstance(item, ValueBinding) and item.value.constant is not None for item in items
            ):
                return False
            return any(isinstance(part, ast.Name) and part.id == variable for part in all_nodes(index))
    return False


def _is_constant(item: Meaning) -> bool:
    return isinstance(item, ValueBinding) and item.value.constant is not None


def _items(frame: Frame, node: ast.Name) -> tuple[Meaning, ...] | None:
    """The items of what a name means, where that is a tuple."""
    binding = frame.bindings.get(node.id)
    return items_of(binding) if isinstance(binding, TupleBinding | ShapeBinding) else None


def _with_own_returns(frame: Frame, body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of one of several iterations, whose ``return`` gives something else in each: under a number of its own,
    which is negative, as those of the source are not."""
    if frame.exits.returned is None or not any(isinstance(node, ast.Return) for node in nodes_inside(body)):
        return body
    own, numbers = copy.deepcopy(body), dict[int, int]()
    for node in nodes_inside(own):
        match node:
            case ast.Return():
                frame.exits.copies += 1
                numbers[node.site] = node.site = -frame.exits.copies  # type: ignore[attr-defined]
            case ast.Assign([ast.Name(name)], ast.Constant(int(site)) as value) if name == frame.exits.returned:
                value.value = numbers[site]  # it follows the return
    return own


def is_over_values(frame: Frame, node: ast.expr) -> bool:
    """Return whether what a loop goes over is a tuple or list, or such by ``zip`` and its like; names
    may be assigned later than this is asked."""
    match node:
        case ast.Tuple() | ast.List():
            return True
        case ast.Name(name) if name in frame.bindings:
            return items_of(lookup(frame, node)) is not None
        case ast.Name(name) if name in frame.assigned:
            assigned = [each for each in all_nodes(frame.source.tree) if isinstance(each, ast.Assign)]
            values = [each.value for each in assigned if any(_is_name(target, name) for target in each.targets)]
            return len(values) == 1 == frame.assigned[name] and isinstance(values[0], ast.Tuple | ast.List)
        case ast.Name(name):
            try:
                return isinstance(frame.source.resolve(name), tuple | list)
            except KeyError:
                return False
        case ast.Subscript(ast.Name() as whole, ast.Slice()):
            return is_over_values(frame, whole)
        case ast.Call(function, [argument]) if is_of_numba(outside_object(frame, function), "literal_unroll"):
            return is_over_values(frame, argument)
        case ast.Call() if _combines(frame, node):
            return any(is_over_values(frame, argument) for argument in node.args)
    return False


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _combines(frame: Frame, node: ast.Call) -> bool:
    """Return whether a call is one of ``enumerate``, ``zip`` or ``reversed``."""
    function = outside_object(frame, node.func)
    return any(function is each for each in (builtins.enumerate, builtins.zip, builtins.reversed))


def _elements_of_call(frame: Frame, node: ast.Call) -> list[ast.expr] | None:
    """The elements of ``enumerate``, ``zip`` and ``reversed`` of tuples; None where one goes over something else."""
    if not _combines(frame, node) or not is_over_values(frame, node):
        return None
    function = outside_object(frame, node.func)
    sources = [_elements(frame, argument) for argument in node.args]
    if function is builtins.enumerate:
        start = node.args[1] if len(node.args) == 2 else next((each.value for each in node.keywords), ast.Constant(0))
        if not sources or sources[0] is None or not isinstance(start, ast.Constant) or not isinstance(start.value, int):
            return None
        pairs: list[list[ast.expr]] = [[ast.Constant(start.value + k), each] for k, each in enumerate(sources[0])]
        return [placed(ast.Tuple(pair, ast.Load()), node) for pair in pairs]
    known = [source for source in sources if source is not None]
    if len(known) < len(sources) or not known:
        return None
    if function is builtins.reversed:
        return known[0][::-1]
    return [placed(ast.Tuple(list(each), ast.Load()), node) for each in zip(*known, strict=False)]


def _elements(frame: Frame, node: ast.expr) -> list[ast.expr] | None:
    """The elements of a tuple or list, of one from outside, or of one that has a name, as expressions."""
    if isinstance(node, ast.Tuple | ast.List):
        return list(node.elts)
    if isinstance(node, ast.Call) and is_of_numba(outside_object(frame, node.func), "literal_unroll") and node.args:
        return _elements(frame, node.args[0])
    if isinstance(node, ast.Call):
        return _elements_of_call(frame, node)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Slice):
        whole, places = _elements(frame, node.value), constant_slice(frame, node.slice)
        return None if whole is None or places is None else whole[places]
    if not isinstance(node, ast.Name):
        return None
    items = items_of(lookup(frame, node))
    if items is None:
        return None
    return [
        placed(ast.Subscript(ast.Name(node.id, ast.Load()), ast.Constant(position), ast.Load()), node)
        for position in range(len(items))
    ]
