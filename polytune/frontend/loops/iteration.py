"""Loops over arrays, ``enumerate``, ``zip`` and ``reversed``, and in steps that are not constant, as loops over ranges
that count by 1."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import Any, TypeVar

from polytune.frontend.array_expressions.assigning import array_of, names_of, stays_equal
from polytune.frontend.array_expressions.calling import array_meaning
from polytune.frontend.array_expressions.elementwise import computed
from polytune.frontend.array_expressions.flat import is_flat
from polytune.frontend.array_expressions.reading import mentions_arrays
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.inlining.outside_calls import is_method
from polytune.frontend.lowering.bindings import items_of, meaning_of
from polytune.frontend.lowering.frame import Frame, assigned_names
from polytune.frontend.lowering.meanings import (
    ArrayBinding,
    Meaning,
    ObjectBinding,
    SelectionBinding,
    Unknown,
    ValueBinding,
    ViewBinding,
)
from polytune.frontend.lowering.names import is_of_numba, lookup, outside_object
from polytune.frontend.scalars.numbers import number
from polytune.frontend.syntax.comprehensions import placed, required
from polytune.frontend.syntax.jumps import Ending, Turns
from polytune.syntax_trees import all_nodes

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
    maker = LoopMaker(frame, node)
    count = frame.fresh("position")
    values = maker.values(node.target, node.iter, count)
    length = maker.lengths[0] if len(maker.lengths) == 1 else maker.call("min", *maker.lengths)
    loop = ast.copy_location(
        ast.For(maker.name(count, ast.Store()), maker.call("range", length), [*values, *node.body], []), node
    )
    _keep_marks(node, loop, values)
    return maker.before, loop


def in_steps(frame: Frame, node: ast.For) -> tuple[list[ast.stmt], ast.For]:
    """A loop over ``range(start, stop, step)``, whose step is no constant, as one that counts by 1.

    Returns:
        Assignments before the loop of where it starts and of its step, which the body may change, a test that the step
        is not 0, and the loop.
    """
    maker = LoopMaker(frame, node)
    assert isinstance(node.iter, ast.Call)
    first, step, count = (frame.fresh(name) for name in ("first", "step", "position"))
    # Numbers of NumPy's are Python's in a range: differences of unsigned ones would be large, and of short ones wrap.
    start, stop, size = (maker.call("int", each) if number(frame, each).is_integer else each for each in node.iter.args)
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
    _keep_marks(node, loop, [value])
    return before, loop


def _keep_marks(node: ast.For, loop: ast.For, values: Sequence[ast.stmt]) -> None:
    """Mark a loop that stands for another one as that is, see `jumps`.

    Args:
        node: the other one.
        loop: what stands for it.
        values: the statements that its iterations begin with.
    """
    if getattr(node, "is_sequential", False):
        loop.is_sequential = True  # type: ignore[attr-defined]
    instead: Turns | None = getattr(node, "instead", None)
    if instead is not None:
        loop.instead = instead  # type: ignore[attr-defined]
    ending: Ending | None = getattr(node, "ends", None)
    if ending is not None:
        loop.ends = ending.after(values)  # type: ignore[attr-defined]


def _is_range(frame: Frame, node: ast.expr) -> bool:
    """Return whether an expression is a call of ``range``, or of Numba's ``prange``, which is one for Python."""
    function = outside_object(frame, node.func) if isinstance(node, ast.Call) else None
    return function is builtins.range or is_of_numba(function, "prange")


def _holds_constants(meaning: Meaning) -> bool:
    """Return whether a name means a tuple of numbers that are seen in the source, any of which can be asked for."""
    items = items_of(meaning)
    return items is not None and all(
        isinstance(item, ValueBinding) and item.value.constant is not None for item in items
    )


class LoopMaker:
    """Makes the assignments before a loop and at the start of an iteration, and collects how many elements there are of
    each thing.

    Attributes:
        before: the assignments before the loop.
        lengths: for each thing that is gone over at once, how many elements it has.
    """

    def __init__(self, frame: Frame, node: ast.For):
        self.frame, self.node = frame, node
        self.before: list[ast.stmt] = []
        self.lengths: list[ast.expr] = []

    def values(self, target: ast.expr, source: ast.expr, count: str) -> list[ast.stmt]:
        """Assignments of what ``source`` gives at a position to a target.

        Args:
            target: of the loop, or of one of the things that it goes over at once.
            source: what is gone over.
            count: the name of the position.
        """
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
            if strict is not None and not (isinstance(strict, ast.Constant) and isinstance(strict.value, bool)):
                raise self.not_counted(source)
            assignments: list[ast.stmt] = []
            known = len(self.lengths)
            lengths: list[ast.expr] = []
            for inner, gone_over in zip(self.parts(target, len(arguments)), arguments, strict=True):
                assignments += self.values(inner, gone_over, count)
                lengths, known = [*lengths, self.lengths[known]], len(self.lengths)
            if isinstance(strict, ast.Constant) and strict.value:
                self.before += [self._as_long(source, lengths[0], length) for length in lengths[1:]]
            return assignments
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

    def _as_long(self, source: ast.expr, first: ast.expr, other: ast.expr) -> ast.stmt:
        """The test that two things which ``zip(..., strict=True)`` goes over have as many elements."""
        text = self.frame.source.segment(source)
        test = ast.Compare(first, [ast.Eq()], [other])
        return required(test, f"{text} of different lengths", "pass what has as many elements", self.node)

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
        if is_flat(source):
            assert isinstance(source, ast.Attribute)
            return self.placed(ast.Attribute(source.value, "size", ast.Load()))
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
        if is_flat(source) and not self.stays_equal(source):
            return source
        if not isinstance(source, ast.Attribute | ast.Subscript | ast.Name) and not self.is_array(source):
            for node in all_nodes(source):
                if isinstance(node, ast.Name) and isinstance(self.frame.bindings.get(node.id), Unknown):
                    lookup(self.frame, node)  # which says that it is unknown
            raise self.not_counted(source)
        name = self.frame.fresh("elements")
        self.before.append(self.assignment(self.name(name, ast.Store()), source))
        return self.name(name)

    def stays_equal(self, source: ast.expr) -> bool:
        """Return whether the elements of ``A.flat`` may be copied before the loop."""
        assert isinstance(source, ast.Attribute)
        array = array_of(self.frame.bindings.get(source.value.id)) if isinstance(source.value, ast.Name) else None
        return array is not None and stays_equal(self.frame, source, names_of(self.frame, array))

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
        return placed(made, self.node.iter)
