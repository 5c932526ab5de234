"""Loops over arrays, tuples, ``enumerate``, ``zip`` and ``reversed``, as loops over ranges.

A loop over a tuple, whose values are seen in the source, is written out; any other counts what it goes over.
"""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from polytune.frontend.array_expressions.calling import array_meaning
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.bindings import items_of, meaning_of
from polytune.frontend.comprehensions import required
from polytune.frontend.frame import (
    ArrayBinding,
    Frame,
    Meaning,
    ObjectBinding,
    SelectionBinding,
    Unknown,
    ValueBinding,
    ViewBinding,
    assigned_names,
)
from polytune.frontend.jumps import own_jumps
from polytune.frontend.names import lookup, outside_object
from polytune.frontend.outside_calls import is_method
from polytune.frontend.source import nodes_inside

Made = TypeVar("Made", bound=ast.AST)


def counted(frame: Frame, node: ast.For) -> tuple[list[ast.stmt], ast.For] | None:
    """A loop over something else as one over a range; None for one over a range of one variable.

    Returns:
        Assignments before the loop of the arrays that it goes over, unless they have names: they are what they are
            when the loop begins, and are computed once.  And the loop.

    Raises:
        UnsupportedSourceError: what it goes over has no elements that can be counted.
    """
    if _is_range(frame, node.iter) and isinstance(node.target, ast.Name):
        return None
    maker = _Maker(frame, node)
    count = frame.fresh("position")
    values = maker.values(node.target, node.iter, count)
    length = maker.lengths[0] if len(maker.lengths) == 1 else maker.call("min", *maker.lengths)
    loop = ast.copy_location(
        ast.For(maker.name(count, ast.Store()), maker.call("range", length), [*values, *node.body], []), node
    )
    if getattr(node, "is_sequential", False):
        loop.is_sequential = True  # type: ignore[attr-defined]
    return maker.before, loop


def over_subscripts(frame: Frame, node: ast.For) -> ast.For | None:
    """A loop over ``np.ndindex(...)`` or ``np.ndenumerate(A)`` as loops over ranges, one in the other; None for any
    other.

    Raises:
        UnsupportedSourceError: what a subscript is called is not seen in the source, or the loop ends early.
    """
    if not isinstance(node.iter, ast.Call) or node.iter.keywords:
        return None
    function = outside_object(frame, node.iter.func)
    if function is not np.ndindex and function is not np.ndenumerate:
        return None
    target, body = node.target, node.body
    maker = _Maker(frame, node)
    shape = node.iter.args
    if function is np.ndenumerate and len(shape) == 1 and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        (array,), (target, value) = shape, target.elts
        element = ast.Subscript(array, _read(target), ast.Load())
        body = [maker.assignment(value, maker.placed(element)), *body]
        shape = [ast.Attribute(array, "shape", ast.Load())]
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
    for name, extent in zip(reversed(names), reversed(extents), strict=True):
        body = [maker.placed(ast.For(name, maker.call("range", maker.placed(extent)), body, []))]
    (loop,) = body
    assert isinstance(loop, ast.For)
    return loop


def _read(target: ast.expr) -> ast.expr:
    """A copy of what is assigned, to be read."""
    read = copy.deepcopy(target)
    for node in ast.walk(read):
        if isinstance(node, ast.Name | ast.Tuple):
            node.ctx = ast.Load()
    return read


def _is_given(name: str, body: Sequence[ast.stmt]) -> bool:
    """Return whether statements give a name a meaning, or a function in them has an argument of that name."""
    arguments = (node for statement in body for node in ast.walk(statement) if isinstance(node, ast.arg))
    return name in assigned_names(body) or any(argument.arg == name for argument in arguments)


class _Written(ast.NodeTransformer):
    """Replaces a name, where it is read, by a tuple, and items of it by those of the tuple."""

    def __init__(self, name: str, items: Sequence[ast.expr]):
        self.name, self.items = name, items

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.name:
            return node
        return _placed(ast.Tuple([copy.deepcopy(item) for item in self.items], ast.Load()), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(ast.Name(self.name), ast.Constant(int(place))) if place < len(self.items):
                return _placed(copy.deepcopy(self.items[place]), node)
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


def in_steps(frame: Frame, node: ast.For) -> tuple[list[ast.stmt], ast.For]:
    """A loop over ``range(start, stop, step)``, whose step is no constant, as one that counts by 1.

    Returns:
        Assignments before the loop of where it starts and of its step, which the body may change, a test that the step
        is not 0, and the loop.
    """
    maker = _Maker(frame, node)
    assert isinstance(node.iter, ast.Call)
    first, step, count = (frame.fresh(name) for name in ("first", "step", "position"))
    start, stop, size = node.iter.args
    before = [
        maker.assignment(maker.name(first, ast.Store()), start),
        maker.assignment(maker.name(step, ast.Store()), size),
        required(
            ast.Compare(maker.name(step), [ast.NotEq()], [ast.Constant(0)]),
            "the step of a range is 0",
            "pass a step that is above or below 0",
            node,
        ),
    ]
    # The distance over the step, rounded up, for steps of both signs.
    distance = ast.BinOp(maker.name(first), ast.Sub(), stop)
    steps = ast.UnaryOp(ast.USub(), ast.BinOp(distance, ast.FloorDiv(), maker.name(step)))
    moved = ast.BinOp(maker.name(count), ast.Mult(), maker.name(step))
    value = maker.assignment(node.target, maker.placed(ast.BinOp(maker.name(first), ast.Add(), moved)))
    bound = maker.call("max", maker.placed(steps), ast.Constant(0))
    loop = ast.For(maker.name(count, ast.Store()), maker.call("range", bound), [value, *node.body], [])
    ast.copy_location(loop, node)
    if getattr(node, "is_sequential", False):
        loop.is_sequential = True  # type: ignore[attr-defined]
    return before, loop


def written_out(frame: Frame, node: ast.For) -> list[list[ast.stmt]] | None:
    """The iterations of a loop over a tuple, or over tuples by ``zip`` and its like, each with its assignment; None
    for any other loop."""
    texts = _elements(frame, node.iter)
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
            assigned = [each for each in ast.walk(frame.source.tree) if isinstance(each, ast.Assign)]
            values = [each.value for each in assigned if any(_is_name(target, name) for target in each.targets)]
            return len(values) == 1 == frame.assigned[name] and isinstance(values[0], ast.Tuple | ast.List)
        case ast.Name(name):
            try:
                return isinstance(frame.source.resolve(name), tuple | list)
            except KeyError:
                return False
        case ast.Call(function, [argument]) if _is_of_numba(outside_object(frame, function), "literal_unroll"):
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
        return [_placed(ast.Tuple(pair, ast.Load()), node) for pair in pairs]
    known = [source for source in sources if source is not None]
    if len(known) < len(sources) or not known:
        return None
    if function is builtins.reversed:
        return known[0][::-1]
    return [_placed(ast.Tuple(list(each), ast.Load()), node) for each in zip(*known, strict=False)]


def _elements(frame: Frame, node: ast.expr) -> list[ast.expr] | None:
    """The elements of a tuple or list, of one from outside, or of one that has a name, as expressions."""
    if isinstance(node, ast.Tuple | ast.List):
        return list(node.elts)
    if isinstance(node, ast.Call) and _is_of_numba(outside_object(frame, node.func), "literal_unroll") and node.args:
        return _elements(frame, node.args[0])
    if isinstance(node, ast.Call):
        return _elements_of_call(frame, node)
    if not isinstance(node, ast.Name):
        return None
    items = items_of(lookup(frame, node))
    if items is None:
        return None
    return [
        _placed(ast.Subscript(ast.Name(node.id, ast.Load()), ast.Constant(position), ast.Load()), node)
        for position in range(len(items))
    ]


def _is_range(frame: Frame, node: ast.expr) -> bool:
    """Return whether an expression is a call of ``range``, or of Numba's ``prange``, which is one for Python."""
    function = outside_object(frame, node.func) if isinstance(node, ast.Call) else None
    return function is builtins.range or _is_of_numba(function, "prange")


def _is_of_numba(function: object, name: str) -> bool:
    """Return whether a function is Numba's of this name."""
    module = getattr(function, "__module__", None) or ""
    return module.partition(".")[0] == "numba" and getattr(function, "__name__", "") == name


def _holds_constants(meaning: Meaning) -> bool:
    """Return whether a name means a tuple of numbers that are seen in the source, any of which can be asked for."""
    items = items_of(meaning)
    return items is not None and all(
        isinstance(item, ValueBinding) and item.value.constant is not None for item in items
    )


class _Maker:
    """Makes the assignments before a loop and at the start of an iteration, and collects how many elements there are of
    each thing."""

    def __init__(self, frame: Frame, node: ast.For):
        self.frame, self.node = frame, node
        self.before: list[ast.stmt] = []
        self.lengths: list[ast.expr] = []

    def values(self, target: ast.expr, source: ast.expr, count: str) -> list[ast.stmt]:
        """Assignments of what ``source`` gives at a position to a target."""
        function = outside_object(self.frame, source.func) if isinstance(source, ast.Call) else None
        arguments: Sequence[ast.expr] = source.args if isinstance(source, ast.Call) else ()
        if function is builtins.enumerate and 1 <= len(arguments) <= 2:
            index, inner = self.parts(target, 2)
            start = arguments[1] if len(arguments) == 2 else self.keyword(source, "start")
            position: ast.expr = self.name(count)
            if start is not None:
                position = self.placed(ast.BinOp(position, ast.Add(), start))
            return [self.assignment(index, position), *self.values(inner, arguments[0], count)]
        if function is builtins.zip and arguments:
            strict = self.keyword(source, "strict")
            if strict is not None and not (isinstance(strict, ast.Constant) and strict.value is False):
                raise self.not_counted(source)
            targets = self.parts(target, len(arguments))
            pairs = zip(targets, arguments, strict=True)
            return [assigned for inner, each in pairs for assigned in self.values(inner, each, count)]
        if function is builtins.reversed and len(arguments) == 1:
            source = self.named(arguments[0])
            length = self.length(source)
            last = self.placed(ast.BinOp(length, ast.Sub(), ast.Constant(1)))
            place = self.placed(ast.BinOp(last, ast.Sub(), self.name(count)))
            self.lengths.append(length)
            return [self.assignment(target, self.element(source, place))]
        source = self.named(source)
        self.lengths.append(self.length(source))
        return [self.assignment(target, self.element(source, self.name(count)))]

    def length(self, source: ast.expr) -> ast.expr:
        """Return how many elements there are."""
        if isinstance(source, ast.Call) and _is_range(self.frame, source):
            start, stop, step = self.range_of(source)
            if step == 1:
                return self.call("max", self.placed(ast.BinOp(stop, ast.Sub(), start)), ast.Constant(0))
            size = abs(step)
            first, last = (start, stop) if step > 0 else (stop, start)
            distance = ast.BinOp(ast.BinOp(last, ast.Sub(), first), ast.Add(), ast.Constant(size - 1))
            return self.call(
                "max", self.placed(ast.BinOp(distance, ast.FloorDiv(), ast.Constant(size))), ast.Constant(0)
            )
        return self.call("len", source)

    def named(self, source: ast.expr) -> ast.expr:
        """The name of the array that a loop goes over, which gets one before the loop if it has none, or one that means
        another array after an iteration; a range itself.

        Raises:
            UnsupportedSourceError: it is no array.
        """
        if isinstance(source, ast.Call) and _is_range(self.frame, source):
            return source
        if isinstance(source, ast.Name):
            meaning = lookup(self.frame, source)
            if isinstance(meaning, SelectionBinding):  # there is no array of what a mask selects before it is asked for
                name = self.frame.fresh("elements")
                selected = computed(self.frame, source, meaning.selection)
                assert isinstance(selected, ArrayValue)
                self.frame.bindings[name] = array_meaning(self.frame, source, selected)
                return self.name(name)
            if not isinstance(meaning, ArrayBinding | ViewBinding) and not _holds_constants(meaning):
                raise self.not_counted(source)
            if source.id not in assigned_names(self.node.body) or _holds_constants(meaning):
                return source
        if isinstance(source, ast.Tuple | ast.List):
            meaning = meaning_of(self.frame, source)
            if _holds_constants(meaning):
                name = self.frame.fresh("elements")
                self.frame.bindings[name] = meaning
                return self.name(name)
        if not isinstance(source, ast.Attribute | ast.Subscript | ast.Name) and not self.is_array(source):
            for node in ast.walk(source):
                if isinstance(node, ast.Name) and isinstance(self.frame.bindings.get(node.id), Unknown):
                    lookup(self.frame, node)  # which says that it is unknown
            raise self.not_counted(source)
        name = self.frame.fresh("elements")
        self.before.append(self.assignment(self.name(name, ast.Store()), source))
        return self.name(name)

    def is_array(self, source: ast.expr) -> bool:
        """Return whether an expression is one of arrays: operators on them, or a call of NumPy's or of a method."""
        if not isinstance(source, ast.Call):
            return not isinstance(source, ast.List | ast.ListComp) and mentions_arrays(self.frame, source)
        if is_method(self.frame, source.func):
            return mentions_arrays(self.frame, source.func)
        function = outside_object(self.frame, source.func)
        of_numpy = (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"
        return of_numpy or (function is builtins.abs and mentions_arrays(self.frame, source))

    def element(self, source: ast.expr, place: ast.expr) -> ast.expr:
        """The element at a position."""
        if isinstance(source, ast.Call) and _is_range(self.frame, source):
            start, _, step = self.range_of(source)
            moved = ast.BinOp(ast.Constant(step), ast.Mult(), place)
            return self.placed(ast.BinOp(start, ast.Add(), moved))
        return self.placed(ast.Subscript(source, place, ast.Load()))

    def range_of(self, source: ast.Call) -> tuple[ast.expr, ast.expr, int]:
        given = source.args
        step: Any = 1
        if len(given) == 3:
            meaning = given[2]
            sign = -1 if isinstance(meaning, ast.UnaryOp) and isinstance(meaning.op, ast.USub) else 1
            inner = meaning.operand if isinstance(meaning, ast.UnaryOp) else meaning
            step = sign * inner.value if isinstance(inner, ast.Constant) and isinstance(inner.value, int) else 0
        if not 1 <= len(given) <= 3 or not step:
            raise self.not_counted(source)
        return (ast.Constant(0), given[0], step) if len(given) == 1 else (given[0], given[1], step)

    def not_counted(self, source: ast.expr) -> Exception:
        return self.frame.source.refusal(
            source,
            f"a loop over {self.frame.source.segment(source)}",
            "how many iterations there are, and what each is for, must be seen in the source",
            "loop over a range, an array, a tuple of values, or enumerate, zip and reversed of these: for i, x in "
            "enumerate(A)",
        )

    def parts(self, target: ast.expr, number: int) -> list[ast.expr]:
        """The targets of the items of a tuple."""
        if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == number:
            return list(target.elts)
        raise self.frame.source.refusal(
            target,
            f"{number} values in each iteration and one target",
            "each value needs a name",
            "name as many variables as there are values: for i, x in enumerate(A)",
        )

    def keyword(self, source: ast.expr, name: str) -> ast.expr | None:
        keywords = source.keywords if isinstance(source, ast.Call) else []
        return next((keyword.value for keyword in keywords if keyword.arg == name), None)

    def assignment(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        return self.placed(ast.Assign([target], value))

    def name(self, name: str, context: ast.expr_context | None = None) -> ast.Name:
        return self.placed(ast.Name(name, context or ast.Load()))

    def call(self, function: str, *arguments: ast.expr) -> ast.Call:
        """A call of a built-in function, whatever its name means in the source."""
        name = self.frame.fresh(function)
        self.frame.bindings[name] = ObjectBinding(getattr(builtins, function))
        return self.placed(ast.Call(ast.Name(name, ast.Load()), list(arguments), []))

    def placed(self, made: Made) -> Made:
        return _placed(made, self.node.iter)


def _placed(made: Made, place: ast.AST) -> Made:
    """A new node, and what is new below it, at the place of another one."""
    for node in ast.walk(made):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return made
