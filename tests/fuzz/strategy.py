"""Random affine programs, as a function of a seed and as a Hypothesis strategy.

What is drawn first is the simplest choice everywhere, so that Hypothesis shrinks a failing program to a short one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.programs import Program, finished
from tests.fuzz.syntax import (
    COMPARISONS,
    Affine,
    Array,
    Assignment,
    Combination,
    Comparison,
    Condition,
    Congruence,
    Extreme,
    Guard,
    Halving,
    Loop,
    Node,
    Reference,
    Tree,
    Variable,
)
from tests.fuzz.values import ValueWriter

ITERATORS = ("i", "j", "k", "l")
TYPES = (
    ("float64",),
    ("float64",),
    ("float64", "int64"),
    ("float32",),
    ("float32", "float64"),
    ("int64",),
    ("float32", "int32"),
    ("int32", "float64", "int64"),
)
"""Element types that programs combine."""


@dataclass(frozen=True)
class Scope:
    """What may be named at a place: iterators, outermost first, and scalar variables that certainly have a value."""

    iterators: tuple[str, ...] = ()
    variables: tuple[Variable, ...] = ()

    def within(self, loop: Loop) -> Scope:
        return replace(self, iterators=(*self.iterators, loop.variable))

    def knowing(self, variable: Variable) -> Scope:
        return replace(self, variables=(*self.variables, variable))


class Author:
    """Writes one program.

    Attributes:
        draw: gives an integer from the first of two numbers to the second.
    """

    def __init__(self, draw: Callable[[int, int], int], statements: int, depth: int):
        self.draw = draw
        self.depth = depth
        self.types = self.choose(TYPES)
        self.parameters = {name: draw(0, 9) for name in "nm"}
        ranks = [self.choose((1, 2, 2, 3)) for _ in range(draw(1, 4))]
        self.arrays = tuple(
            Array(
                name,
                self.choose(self.types),
                rank,
                local="zeros" if self.chance(10) else None,
                layout=self.choose("CCCCCCCCFA"),
            )
            for name, rank in zip("ABCD", ranks, strict=False)
        )
        self.buffers: list[Array] = []
        self.alpha = self.choose((0.5, 1.5, -0.75))
        self.values = ValueWriter(self)
        self.statements = draw(1, statements)
        self.fresh = 0

    def choose(self, options: Sequence[Any]) -> Any:
        return options[self.draw(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases; shrinks to False."""
        return self.draw(0, 99) >= 100 - percent

    # Affine forms

    def index(self, scope: Scope, preferred: int) -> Affine:
        """A subscript, most often an iterator: the one of the same position where there is one."""
        if not scope.iterators:
            return Affine((), self.choose((0, 1, 2)))
        nearest = scope.iterators[min(preferred, len(scope.iterators) - 1)]
        iterator = nearest if not self.chance(30) else self.choose(scope.iterators)
        plain = Affine(((iterator, 1),))
        match self.choose("iiiiiiiiiisssdrc"):
            case "s":
                return plain.plus(self.choose((1, -1, 2, -2)))
            case "d":
                other = self.choose(scope.iterators)
                terms = ((iterator, self.choose((2, 1))),) if other == iterator else ((iterator, 1), (other, 1))
                return Affine(terms, self.choose((0, 1)))
            case "r":
                return Affine(((self.choose("nm"), 1), (iterator, -1)), -1)
            case "c":
                return self.choose((Affine(), Affine((), 1), Affine((("n", 1),), -1), Affine((("m", 1),))))
        return plain

    def reference(self, array: Array, scope: Scope) -> Reference:
        """An element; matrices are transposed now and then by taking the iterators backwards."""
        order = range(array.rank) if not self.chance(20) else range(array.rank - 1, -1, -1)
        shift = max(0, len(scope.iterators) - array.rank) if self.chance(30) else 0
        return Reference(array.name, array.dtype, tuple(self.index(scope, position + shift) for position in order))

    def condition(self, scope: Scope) -> Condition:
        """An affine condition on the iterators and parameters in scope."""
        names = [*scope.iterators, "n", "m"]
        left = Affine(((self.choose(names[: max(1, len(scope.iterators))]), 1),))
        match self.choose("ppcmb"):
            case "c":
                return Comparison(left, self.choose(tuple(COMPARISONS)), Affine((), self.choose((0, 1, 3, 4))))
            case "m":
                modulus = self.choose((2, 3))
                total = Affine((*left.terms, (self.choose(names), 1))) if self.chance(30) else left
                return Congruence(total, modulus, self.draw(0, modulus - 1))
            case "b":
                first = Comparison(Affine(((self.choose(names), 1),), 1), self.choose(("<", ">")), left)
                second = Congruence(left, 2, 0) if self.chance(50) else Comparison(left, ">", Affine((), 1))
                return Combination(not self.chance(40), first, second)
        other = Affine(((self.choose(names), 1),), self.choose((0, 1, -1)))
        return Comparison(left, self.choose(tuple(COMPARISONS)), other)

    # Statements

    def target(self, scope: Scope) -> Reference:
        return self.reference(self.choose(self.arrays), scope)

    def assignment(self, scope: Scope) -> Assignment:
        """An assignment to an element; half of them read it again, as reductions and updates do."""
        return self.values.assignment(self.target(scope), scope)

    def new_variable(self, scope: Scope, kind: str | None = None) -> tuple[Assignment, Variable]:
        """A scalar variable, for values of the given element type, with its first value."""
        self.fresh += 1
        kind = kind or self.choose(self.types)
        variable = Variable(f"{'p' if kind.startswith('int') else 's'}{self.fresh}", self.values.variable_type(kind))
        return self.values.definition(variable, scope), variable

    def loop(self, scope: Scope, depth: int) -> Loop:
        empty = self.header(scope)
        return replace(empty, body=self.block(scope.within(empty), depth - 1))

    def header(self, scope: Scope) -> Loop:
        """A loop without a body: rectangular, triangular, a band or a tail of the outer loops, with any step."""
        variable = ITERATORS[len(scope.iterators)]
        low = Affine((), self.choose((0, 0, 0, 1, 2)))
        high = Affine(((self.choose("nm"), 1),), self.choose((0, 0, 0, -1, 1)))
        start: Affine | Extreme = low
        stop: Affine | Extreme = high
        if scope.iterators and self.chance(35):
            outer = Affine(((self.choose(scope.iterators), 1),))
            match self.choose("ululxyc"):
                case "l":
                    start = outer.plus(self.choose((0, 1, 1)))
                case "u":
                    stop = outer.plus(self.choose((0, 1, 2)))
                case "x":
                    stop = Affine(((self.choose("nm"), 1), (outer.terms[0][0], -1)))
                case "y":
                    start, stop = Extreme("max", low, outer.plus(-1)), Extreme("min", high, outer.plus(2))
                case "c":
                    stop = Affine((), 4)
        step = self.choose((1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, -1, -1, -2))
        if step < 0:
            start, stop = stop.plus(-1), start.plus(-1)
        return Loop(variable, start, stop, step, ())

    def block(self, scope: Scope, depth: int) -> tuple[Node, ...]:
        """One or more nodes; at least one of them assigns."""
        nodes: list[Node] = []
        for _ in range(self.choose((1, 1, 1, 2, 2, 3))):
            if nodes and self.statements <= 0:
                break
            added, scope = self.node(scope, depth)
            nodes += added
        return tuple(nodes)

    def node(self, scope: Scope, depth: int) -> tuple[list[Node], Scope]:
        """Statements that belong together, and the scope after them."""
        self.statements -= 1
        if depth > 0 and not self.chance(25 if scope.iterators else 5):
            self.statements += 1
            if self.chance(20):
                return self.accumulation(scope)
            if self.chance(8) and len(scope.iterators) < 3:
                return self.buffered(scope), scope
            if self.chance(8) and len(scope.iterators) < 2:
                return [self.stencil(scope)], scope
            return [self.loop(scope, depth)], scope
        if self.chance(15):
            definition, variable = self.new_variable(scope)
            after = scope.knowing(variable)
            return [definition, self.values.use(variable, self.target(after), after)], after
        if scope.iterators and self.chance(12):
            otherwise = (self.assignment(scope),) if self.chance(40) else ()
            return [Guard(self.condition(scope), (self.assignment(scope),), otherwise)], scope
        if self.chance(5):
            otherwise = (self.assignment(scope),) if self.chance(40) else ()
            return [Guard(self.values.data_condition(scope), (self.assignment(scope),), otherwise)], scope
        if self.values.has_doubles and self.chance(6):
            definition, variable = self.new_variable(scope, "float64")
            after = scope.knowing(variable)
            halving = Halving(variable, 0.5)
            return [definition, halving, self.values.use(variable, self.target(after), after)], after
        if scope.variables and self.chance(10):
            return [self.values.assignment(self.choose(scope.variables), scope)], scope
        return [self.assignment(scope)], scope

    def accumulation(self, scope: Scope) -> tuple[list[Node], Scope]:
        """``s = e; for ...: s op= e; A[..] = f(s)``, a reduction into a scalar."""
        definition, variable = self.new_variable(scope)
        after = scope.knowing(variable)
        loop = self.filled(after, lambda within: self.values.update(variable, within))
        return [definition, loop, self.values.use(variable, self.target(after), after)], after

    def buffered(self, scope: Scope) -> list[Node]:
        """A local vector written by one loop and read by the next: private to an iteration of the loops around."""
        self.fresh += 1
        buffer = Array(f"T{self.fresh}", self.choose(self.types), 1, local="empty")
        self.buffers.append(buffer)
        loop = self.header(scope)
        within = scope.within(loop)
        element = Reference(buffer.name, buffer.dtype, (Affine(((loop.variable, 1),)),))
        written = Assignment(element, "=", self.values.expression(buffer.dtype, within, 1))
        read = self.values.use(element, self.target(within), within)
        return [replace(loop, body=(written,)), replace(loop, body=(read,))]

    def stencil(self, scope: Scope) -> Loop:
        """A time loop round a sweep over neighbours, in place or to and from another array."""
        time = self.header(scope)
        within = scope.within(time)
        into, source = self.choose(self.arrays), self.choose(self.arrays)
        space = self.header(within)
        centre = Affine(((space.variable, 1),))
        edge = Affine((), self.choose((0, 1)))
        points = [
            Reference(source.name, source.dtype, (*(edge,) * (source.rank - 1), centre.plus(offset)))
            for offset in self.choose(((0, -1), (-1, 0, 1), (1, 0), (-2, 1)))
        ]
        target = Reference(into.name, into.dtype, (*(edge,) * (into.rank - 1), centre))
        body: list[Node] = [replace(space, body=(self.values.average(target, points),))]
        if into != source and self.chance(70):
            back = Reference(source.name, source.dtype, (*(edge,) * (source.rank - 1), centre))
            body.append(replace(space, body=(self.values.average(back, [target]),)))
        return replace(time, body=tuple(body))

    def substitution(self) -> list[Node]:
        """Recurrences, often in a time loop."""
        if not self.chance(30):
            return self.recurrences(Scope())
        time = self.header(Scope())
        return [replace(time, body=tuple(self.recurrences(Scope().within(time))))]

    def recurrences(self, scope: Scope) -> list[Node]:
        """Loops of independent iterations round sweeps of which each element needs the one before: forward and then
        often back again, as substitutions are, in one loop or in two."""
        outer = self.header(scope)
        within = scope.within(outer)
        sweeps: list[tuple[Node, ...]] = []
        for _ in range(self.choose((1, 1, 2))):
            sweeps.append(self.sweep(within))
        if len(sweeps) > 1 and self.chance(50):
            return [replace(outer, body=tuple(node for sweep in sweeps for node in sweep))]
        return [replace(outer, body=sweep) for sweep in sweeps]

    def sweep(self, scope: Scope) -> tuple[Node, ...]:
        """``for j: x[i, j] = f(x[i, j - 1], y[i, j])`` within a loop over i, in either direction, of one or two arrays;
        often what the first iteration reads is set before."""
        lines = scope.iterators[-1]
        loop = self.header(scope)
        if self.chance(40):
            loop = replace(loop, start=loop.stop.plus(-1), stop=loop.start.plus(-1), step=-loop.step)
        inner = Affine(((loop.variable, 1),))
        swept = [array for array in self.arrays if array.rank > 1] or self.arrays
        transposed = self.chance(20)

        def element(array: Array, place: Affine) -> Reference:
            # A vector has an element for each iteration of the loop inside, and then that outside is not independent.
            across = (Affine((), 0),) * (array.rank - 2) + (Affine(((lines, 1),)),) * (array.rank > 1)
            subscripts = (*across, place)
            return Reference(array.name, array.dtype, subscripts[::-1] if transposed else subscripts)

        nodes: list[Node] = []
        body: list[Node] = []
        for _ in range(self.choose((1, 1, 2))):
            array = self.choose(swept)
            before = element(array, inner.plus(-loop.step * self.choose((1, 1, 1, 2))))
            other = element(self.choose(self.arrays), inner.plus(self.choose((0, 0, 0, 1))))
            body.append(self.values.recurrence(element(array, inner), before, other))
            if self.chance(50) and isinstance(loop.start, Affine):
                nodes.append(self.values.assignment(element(array, loop.start.plus(-loop.step)), scope))
        return (*nodes, replace(loop, body=tuple(body)))

    def filled(self, scope: Scope, statement: Callable[[Scope], Node]) -> Loop:
        """A loop round one statement, which is made for the scope inside."""
        loop = self.header(scope)
        return replace(loop, body=(statement(scope.within(loop)),))

    def program(self) -> Program:
        body: list[Node] = []
        scope = Scope()
        for _ in range(self.choose((1, 1, 2, 2, 3))):
            added, scope = self.node(scope, min(self.depth, self.choose((1, 2, 2, 3, 3, 3, 4, 4))))
            body += added
        if self.chance(25):
            body += self.substitution()
        result = self.choose(scope.variables).name if scope.variables and self.chance(70) else None
        padding = {array.name: tuple(self.choose((0, 0, 1, 3)) for _ in range(array.rank)) for array in self.arrays}
        tree = Tree(
            self.parameters,
            {"alpha": self.alpha},
            (*self.arrays, *self.buffers),
            tuple(body),
            result,
            padding,
            shape_parameters=self.chance(50),
        )
        return finished(tree)


@st.composite
def programs(draw: st.DrawFn, statements: int = 8, depth: int = 4) -> Program:
    """Affine programs, each with arguments that are in range by construction.

    Args:
        statements: about the most assignments that a program has.
        depth: the deepest that loops are nested, at most four.
    """
    return Author(lambda low, high: draw(st.integers(low, high)), statements, depth).program()


def program_of(seed: int, statements: int = 8, depth: int = 4) -> Program:
    """The affine program of a seed; see ``programs``."""
    return Author(random.Random(seed).randint, statements, depth).program()
