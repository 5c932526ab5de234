"""Loops over all subscripts of a shape, by ``np.ndindex``, ``np.ndenumerate`` and ``A.flat``, as loops over ranges."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

import numpy as np

from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.sizes import require_size
from polytune.frontend.loops.iteration import LoopMaker
from polytune.frontend.lowering.frame import Frame, assigned_names
from polytune.frontend.lowering.meanings import ArrayBinding, ViewBinding
from polytune.frontend.lowering.names import lookup, outside_object
from polytune.frontend.lowering.parameters import with_products
from polytune.frontend.polyhedral.affine import as_index
from polytune.frontend.scalars.numbers import number
from polytune.frontend.syntax.comprehensions import placed
from polytune.frontend.syntax.jumps import own_jumps
from polytune.syntax_trees import all_nodes


def over_subscripts(frame: Frame, node: ast.For) -> ast.For | None:
    """A loop over ``np.ndindex(...)``, ``np.ndenumerate(A)`` or ``A.flat`` as loops over ranges, one in the other; None
    for any other.

    Raises:
        UnsupportedSourceError: what a subscript is called is not seen in the source, or the loop ends early.
    """
    target, body = node.target, node.body
    maker = LoopMaker(frame, node)
    shape: list[ast.expr]
    match node.iter:
        case ast.Attribute(ast.Name() as array, "flat") if not own_jumps(node.body):
            function: object = np.ndenumerate
            shape = [array]
            place = maker.name(frame.fresh("place"), ast.Store())
            target = maker.placed(ast.Tuple([place, target], ast.Store()))
        case ast.Call(called, shape, []):
            function = outside_object(frame, called)
        case _:
            return None
    if function is not np.ndindex and function is not np.ndenumerate:
        return None
    if function is np.ndenumerate and len(shape) == 1 and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        (given,), (target, value) = shape, target.elts
        element = ast.Subscript(given, _read(target), ast.Load())
        body = [maker.assignment(value, maker.placed(element)), *body]
        shape = [ast.Attribute(given, "shape", ast.Load())]
    names = target.elts if isinstance(target, ast.Tuple) else []
    extents = _extents(frame, shape)
    if extents and isinstance(target, ast.Name) and not _is_given(target.id, body):
        names = [maker.name(frame.fresh(f"{target.id}_{axis}"), ast.Store()) for axis in range(len(extents))]
        written = _Written(target.id, [_read(name) for name in names])
        body = [written.visit(copy.deepcopy(statement)) for statement in body]
    is_named = all(isinstance(name, ast.Name) for name in names)
    if not extents or len(extents) != len(names) or not is_named or own_jumps(node.body):
        raise frame.source.refusal(
            node.iter,
            f"a loop over {frame.source.segment(node.iter)}",
            "it is compiled as loops over the dimensions, of which there must be as many as names",
            "write for i, j in np.ndindex(A.shape), with a name for each dimension, and without break and return; "
            "or write the loops",
        )
    if function is np.ndindex:
        _require_sizes(frame, node.iter, extents)
    for name, extent in zip(reversed(names), reversed(extents), strict=True):
        body = [maker.placed(ast.For(name, maker.call("range", maker.placed(extent)), body, []))]
    (loop,) = body
    assert isinstance(loop, ast.For)
    return loop


def with_array_named(frame: Frame, node: ast.For) -> tuple[ast.stmt, ast.For] | None:
    """A loop over ``np.ndenumerate`` of an expression as an assignment of it and a loop over what has that name; None
    for any other.

    Args:
        frame: where it stands.
        node: the loop.
    """
    match node.iter:
        case ast.Call(called, [given], []) if not isinstance(given, ast.Name) and mentions_arrays(frame, given):
            if outside_object(frame, called) is not np.ndenumerate:
                return None
            maker, name = LoopMaker(frame, node), frame.fresh("enumerated")
            loop = copy.copy(node)
            loop.iter = ast.copy_location(ast.Call(called, [maker.name(name)], []), node.iter)
            return maker.assignment(maker.name(name, ast.Store()), given), loop
    return None


def _require_sizes(frame: Frame, node: ast.expr, extents: Sequence[ast.expr]) -> None:
    """See to it that the extents of a shape are 0 or more, as NumPy does, where they do not depend on data."""
    for extent in extents:
        size = with_products(frame, number(frame, extent)).expression
        if frame.kernel.affine.is_function(size):
            require_size(frame, node, as_index(size))


def _read(target: ast.expr) -> ast.expr:
    """A copy of what is assigned, to be read."""
    read = copy.deepcopy(target)
    for node in all_nodes(read):
        if isinstance(node, ast.Name | ast.Tuple):
            node.ctx = ast.Load()
    return read


def _is_given(name: str, body: Sequence[ast.stmt]) -> bool:
    """Return whether statements give a name a meaning, or a function in them has an argument of that name."""
    arguments = (node for statement in body for node in all_nodes(statement) if isinstance(node, ast.arg))
    return name in assigned_names(body) or any(argument.arg == name for argument in arguments)


class _Written(ast.NodeTransformer):
    """Replaces a name, where it is read, by a tuple, and items of it by those of the tuple."""

    def __init__(self, name: str, items: Sequence[ast.expr]):
        self.name, self.items = name, items

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.name:
            return node
        return placed(ast.Tuple([copy.deepcopy(item) for item in self.items], ast.Load()), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(ast.Name(self.name), ast.Constant(int(place))) if place < len(self.items):
                return placed(copy.deepcopy(self.items[place]), node)
        return self.generic_visit(node)


def _extents(frame: Frame, shape: Sequence[ast.expr]) -> list[ast.expr] | None:
    """The extents of a shape; None where they are not seen in the source."""
    match shape:
        case [ast.Tuple(elements)]:
            found = elements
        case [ast.Attribute(ast.Name() as array, "shape") as whole] | [
            ast.Starred(ast.Attribute(ast.Name() as array, "shape") as whole)
        ]:
            meaning = lookup(frame, array)
            if isinstance(meaning, ArrayBinding):
                ndim = frame.kernel.arrays[meaning.array].ndim
            elif isinstance(meaning, ViewBinding):
                ndim = meaning.view.ndim
            else:
                return None
            found = [ast.Subscript(whole, ast.Constant(axis), ast.Load()) for axis in range(ndim)]
        case _:
            found = list(shape)
    return None if any(isinstance(each, ast.Starred | ast.Attribute) for each in found) else found
