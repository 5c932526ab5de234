"""The knowledge of the frontend while it walks a function: what each name means, and what has been found so far.

An integer variable that is an affine function of loop variables and sizes stands for its value, so that ``ip = i + 1``
may be used in a subscript.  Every other variable lives in memory, as an array of rank 0.  Which one it is, and a
scalar's type, may only show after its first use: then ``Knowledge`` grows and the walk starts again.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from types import FunctionType
from typing import Any

import islpy as isl

from polytune.errors import Obstacle, SourceLocation, UnsupportedSourceError
from polytune.frontend.array_expressions.values import ArrayRegion, ArrayValue, Operand, Sum
from polytune.frontend.expression import Compare, Constant, Element, Expression, Iterator
from polytune.frontend.expression import Counter as LoopCounter
from polytune.frontend.lowering.meanings import Binding, Meaning
from polytune.frontend.polyhedral.affine import AffineBuilder
from polytune.frontend.program import ElementLocations, Node
from polytune.frontend.promotion import ScalarKind, Value, VariableKind, kind_of_variable
from polytune.frontend.results import Result
from polytune.frontend.scop import Array, Parameter, SizeCondition
from polytune.frontend.syntax.source import NestedFunction, Source
from polytune.records import dataclass
from polytune.signature import Signature
from polytune.syntax_trees import all_nodes, nodes_inside


class ReconsiderError(Exception):
    """A variable that was taken for an affine value turned out to need memory; the walk starts again."""

    def __init__(self, name: str):
        super().__init__(name)
        self.name = name


class RaisingFunctionError(Exception):
    """A function that is called raises exceptions, which its callers have to pass on; the walk starts again."""


class TupleVariableError(Exception):
    """A name turned out to hold several tuples, one after the other; the walk starts again."""


class SeveralArraysError(Exception):
    """A function that is called returns different arrays at different places; the walk starts again."""


class NumPyLoopError(Exception):
    """A loop turned out to need that NumPy runs it as a whole; the walk starts again."""


class SidesOfBranchError(Exception):
    """A name is read that means one array after one side of a branch, and another one after the other; the walk starts
    again, and copies both into one, or moves what follows the branch into it."""


class NewKnowledgeError(Exception):
    """Something has been found of a variable or a list that what was walked before depends on; the walk starts
    again."""


class ShapesOfDataError(UnsupportedSourceError):
    """An array's shape depends on data, or on how often a loop has run."""


class UnknownNameError(Exception):
    """Something uses what a statement that is refused was to give; it is skipped, and not refused for that."""


@dataclass(frozen=True)
class LoopRange:
    """The values of a loop's iterator: ``range(start, stop, step)``."""

    iterator: str
    start: Expression
    stop: Expression
    step: int


@dataclass(frozen=True)
class Shorter:
    """The way in which a loop makes an array shorter.

    Attributes:
        axis: along which axis.
        elements: by how many each time.
        place: line and column of the assignment.
    """

    axis: int
    elements: int
    place: tuple[int, int]


@dataclass
class Knowledge:
    """The findings of earlier walks: the variables that need memory, the types of those, and the names that refused
    statements assign.  And which functions may write arrays, and which raise exceptions; the loops that NumPy runs, and
    those in which arrays become shorter, by their files and places; the branches after which a name with different
    arrays on their sides is read; the branches into which what follows them is moved, by their files and places; the
    variables that change in loops after a place that asks how great they may be; the types of what lists hold, by their
    arrays; the loops that are to count, by their files and places, and those that cannot; by functions and names, the
    variables that hold several tuples; the functions that return several arrays; and, by functions, the names that
    stand for several variables."""

    in_memory: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    kinds: dict[str, VariableKind] = field(default_factory=dict)
    writing: dict[Any, bool] = field(default_factory=dict)
    raising: set[Any] = field(default_factory=set)
    by_numpy: set[tuple[str, int, int]] = field(default_factory=set)
    shorter: dict[tuple[str, int, int], dict[str, Shorter]] = field(default_factory=dict)
    read_after: set[tuple[str, int, int, str]] = field(default_factory=set)
    divided: set[tuple[str, int, int]] = field(default_factory=set)
    changed_later: set[str] = field(default_factory=set)
    lists: dict[str, frozenset[ScalarKind]] = field(default_factory=dict)
    counting: set[tuple[str, int, int]] = field(default_factory=set)
    not_counting: set[tuple[str, int, int]] = field(default_factory=set)
    tuples: dict[tuple[Any, str], Any] = field(default_factory=dict)
    merged: set[Any] = field(default_factory=set)
    separated: dict[Any, set[str]] = field(default_factory=dict)


@dataclass
class GrowingArray:
    """An array that has the elements of a list.

    Attributes:
        room: the parameter that says how many there may be.
        is_weak: whether they are Python's own numbers.
        sites: where one is added: the place, the count before, and how many assignments of it there have been.
    """

    room: str
    is_weak: bool
    sites: list[tuple[Frame, Expression, int]] = field(default_factory=list)


@dataclass
class Exits:
    """The returns of a function, their places and results: filled while its body is walked.

    Attributes:
        returned: the variable that says at which site it has returned; None where it only returns at its end.
        sites: by number, what is returned there; None for None.
        slots: the scalars that an inlined function of several sites returns its numbers in.
        copies: how many sites are copies of one in a loop that is written out.
        errors: by number, the exception that is raised there.
        passed_on: the sites where exceptions of functions that were called are passed on.
    """

    returned: str | None = None
    sites: dict[int, Meaning | None] = field(default_factory=dict)
    slots: list[str] = field(default_factory=list)
    copies: int = 0
    errors: dict[int, Result] = field(default_factory=dict)
    passed_on: set[int] = field(default_factory=set)


Place = tuple[str, int]
"""A dimension of an array argument."""


@dataclass(frozen=True)
class CapturedValue:
    """A variable that keeps an integer, and the place in a program after which it has its value."""

    variable: Element
    nodes: list[Node]
    position: int


@dataclass(frozen=True)
class AssignedInteger:
    """An assignment of an integer to a variable in memory, as far as the walk has come.

    Attributes:
        variable: what is assigned to.
        value: what is assigned.
        frame: where that stands.
    """

    variable: Element
    value: Expression
    frame: Frame


@dataclass
class KernelWalk:
    """The results of one walk over a kernel and all that is inlined into it.

    Attributes:
        extents: the value of each array's extents, by array and dimension.
        kinds: the kind of each scalar in memory, as far as this walk has seen.
        initial: the scalars that start as the value of an argument.
        taken: the names that a new name must avoid.
        derived: the parameters that stand for products of arguments and extents, by what they are.
        calls: the functions that are being inlined, outermost first.
        preconditions: what Python tests of the arguments, as text.
        constants: the constant arrays that stand for objects from outside, and these, by their identities.
        inline: inlines a call of another function of the user's and gives what it returns, see ``inline_call``.
        evaluate: reads an expression, see ``expressions.evaluate``.
        strict: whether sums keep their source order.
        may_end: whether the code of versions may end loops early.
        source_names: the names that the source itself has for parameters.
        counter_names: those that it has for the variables of loops inside of statements.
        owners: of arrays that the kernel makes, the name that has each, and the function that it is a name in.
        size_conditions: what each call is checked for because it could not be proven.
        stretched: pairs of extents of arguments that must agree unless one of them is 1, which NumPy stretches; a
            single one where it meets something else.
        captured: variables that keep integers which depend on data, by what these are.
        most: of extents that depend on data, what they are at most.
        bounds: the variables of ``captured``.
        assigned_integers: the assignments of integers to variables, by their names, in the order of the walk.
        unchanged: variables that are taken not to change any more in a part of the program, and how many of their
            assignments had been seen then, and the most that they were taken to be.
        asked: the variables of which is being found out how great they may be.
        sized_by_room: the extents of which nothing says that.
        sums: the sums that variables keep, and where these are computed.
        cut_off: of slices with bounds that depend on data, by their first subscripts, their steps and the bounds of the
            loops over them, the extents that all their subscripts are within.
        known: what has been found to hold at places of the program.
        proven: whether conditions are proven to hold there.
        kept: the arrays that one statement writes whole, before anything reads them.
        written_back: where copies in other shapes are made, the arrays that get their elements when the kernel ends,
            and the copies.
        counts: the variables that count the elements which calls of the library give.
        extracted: of what masks select under a name, the arrays that have been made of it, and among which nodes.
        selected: by masks of names, how many elements they select, and among which nodes they have been counted.
        masks: copies of masks, by the arrays that they are copies of.
        lists: the arrays that are lists to Python.
        states: the arrays that stand for states which calls of the library change, by what they are.
        endings: the flags of loops that may end early, by their iterators, see `loops.ending`.
        iterators: those of all loops of the source so far.
        raised: the variable that says which exception a function that is called has raised; empty where none does.
        exceptions: those, by their numbers from 1.
        obstacles: what is refused, as it is found.
        of_shapes: those that are shapes which are not known, and the lines of the loops that they are in.
        skipped: how many statements are left out, refused ones and those that need what these were to give.
    """

    signature: Signature
    affine: AffineBuilder
    knowledge: Knowledge
    inline: Callable[..., Meaning | None]
    evaluate: Callable[[Frame, ast.expr], Operand]
    arrays: dict[str, Array] = field(default_factory=dict)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    extents: dict[tuple[str, int], Value] = field(default_factory=dict)
    kinds: dict[str, VariableKind] = field(default_factory=dict)
    initial: dict[str, str] = field(default_factory=dict)
    scalar_locations: dict[str, SourceLocation] = field(default_factory=dict)
    by_value: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    derived: dict[Expression, str] = field(default_factory=dict)
    calls: list[FunctionType | NestedFunction] = field(default_factory=list)
    results: set[str] = field(default_factory=set)
    locations: ElementLocations = field(default_factory=ElementLocations)
    result: Result | None = None
    preconditions: tuple[str, ...] = ()
    constants: dict[Any, tuple[str, Any]] = field(default_factory=dict)
    strict: bool = False
    may_end: bool = True
    source_names: set[str] = field(default_factory=set)
    counter_names: dict[str, str] = field(default_factory=dict)
    owners: dict[str, tuple[int, str]] = field(default_factory=dict)
    size_conditions: list[SizeCondition] = field(default_factory=list)
    stretched: dict[tuple[Place, ...], None] = field(default_factory=dict)
    captured: dict[Expression, CapturedValue] = field(default_factory=dict)
    endings: dict[str, str] = field(default_factory=dict)
    iterators: set[str] = field(default_factory=set)
    most: dict[Expression, Expression] = field(default_factory=dict)
    bounds: set[str] = field(default_factory=set)
    assigned_integers: dict[str, list[AssignedInteger]] = field(default_factory=dict)
    unchanged: list[tuple[Element, int, list[Node], Expression | None]] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    sized_by_room: set[Expression] = field(default_factory=set)
    sums: dict[str, tuple[Frame, Sum]] = field(default_factory=dict)
    cut_off: dict[tuple[Expression, int | Expression, Expression], Expression] = field(default_factory=dict)
    known: dict[Any, isl.Set] = field(default_factory=dict)
    proven: dict[Any, bool] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    written_back: list[tuple[ast.AST, ArrayValue, ArrayValue]] = field(default_factory=list)
    counts: set[str] = field(default_factory=set)
    extracted: dict[tuple[str, str], tuple[list[Node], ArrayValue]] = field(default_factory=dict)
    selected: dict[str, tuple[list[Node], Element]] = field(default_factory=dict)
    masks: dict[ArrayRegion, tuple[ArrayValue, list[Node], int]] = field(default_factory=dict)
    lists: dict[str, GrowingArray] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    raised: str = ""
    exceptions: list[Result] = field(default_factory=list)
    obstacles: list[Obstacle] = field(default_factory=list)
    of_shapes: dict[Obstacle, range] = field(default_factory=dict)
    skipped: int = 0

    @property
    def signature_names(self) -> set[str]:
        """The names of the arguments."""
        return {name for name, _ in self.signature.arguments}

    def fresh(self, name: str) -> str:
        """A name like ``name`` that nothing else has."""
        candidate, number = name, 0
        while candidate in self.taken:
            number += 1
            candidate = f"{name}_{number}"
        self.taken.add(candidate)
        return candidate

    def scalar(self, name: str) -> Value:
        """The current value of a scalar in memory."""
        return self.value_of(self.variable(name))

    def value_of(self, variable: Element) -> Value:
        """The current value of a scalar in memory; a truth value where nothing else is ever assigned to it."""
        kind = self.kind_of(variable.array)
        if kind.is_truth:
            return Value(Compare("!=", variable, Constant(0, variable.dtype)), kind.may_be_python_truth)
        return Value(variable, kind.kind.weak)

    def variable(self, name: str) -> Element:
        """A scalar in memory, as it is assigned to."""
        return Element(name, (), self.kind_of(name).kind.dtype)

    def kind_of(self, name: str) -> VariableKind:
        """The kind of a scalar in memory, by what is known of it so far."""
        known, seen = self.knowledge.kinds.get(name), self.kinds.get(name)
        if known is not None and seen is not None:
            return known.joined(seen)
        return known or seen or kind_of_variable(ScalarKind("int64", True))

    def widen(self, name: str, kind: ScalarKind, location: SourceLocation) -> None:
        """Record that a value is assigned to a scalar in memory, whose type becomes one that holds it.

        Args:
            name: the scalar's, in the SCoP.
            kind: the type of the value.
            location: where it is assigned.
        """
        known, assigned = self.kinds.get(name), kind_of_variable(kind)
        self.kinds[name] = assigned if known is None else known.joined(assigned)
        self.scalar_locations.setdefault(name, location)


@dataclass
class Frame:
    """One function being walked: the kernel itself, or one that is inlined.

    Attributes:
        nodes: where the program that is made goes.
        around: where the programs go that this one is to be a part of, outermost first.
        assigned: how often each local name is assigned in the function.
        names: the unique names of local names.
        iterators: the iterators of all loops around, those of callers included.
        carried: the names that loops around assign, so that they may have a value from the iteration before.
        conditional: whether an ``if`` or ``while`` stands around.
        on_data: whether data decide if this place is reached, as under a condition on data, or after a ``break``.
        opaque: whether a ``while`` stands around, in which no loop may be.
        repeated: how many loops are around of which nothing says how many iterations they have.
        pure: whether what is being read may not be evaluated at all, so that no statement may be made for it.
        is_kernel: whether this is the kernel itself.
        pinned: the names of arrays that later iterations of loops around may read as they are left.
        ranges: the values of the iterators, outermost first.
        holds: the affine conditions that hold here.
        supposed: the affine conditions under which alone what is being read is evaluated, where it may not be, or what
            follows is come to, behind a ``break`` or ``continue`` in a loop inside of a statement.
        exits: what it returns, and where.
    """

    kernel: KernelWalk
    source: Source
    bindings: dict[str, Binding]
    nodes: list[Node]
    assigned: Counter[str]
    around: tuple[list[Node], ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    iterators: tuple[str, ...] = ()
    carried: frozenset[str] = frozenset()
    conditional: bool = False
    on_data: bool = False
    opaque: bool = False
    repeated: int = 0
    pure: bool = False
    is_kernel: bool = True
    pinned: frozenset[str] = frozenset()
    ranges: tuple[LoopRange, ...] = ()
    holds: tuple[Expression, ...] = ()
    supposed: tuple[Expression, ...] = ()
    exits: Exits = field(default_factory=Exits)

    def unique(self, name: str) -> str:
        """The name in the SCoP of a local name."""
        if self.is_kernel:
            return name
        if name not in self.names:
            self.names[name] = self.kernel.fresh(f"{self.source.name}_{name}")
        return self.names[name]

    def named(self, meaning: Binding) -> ast.Name:
        """A new name for what a synthesised expression reads."""
        name = self.kernel.fresh("part")
        self.bindings[name] = meaning
        return ast.Name(name, ast.Load())

    def in_loop(self, iterator: str, start: Expression, stop: Expression, step: int) -> Frame:
        """The same place within a loop, for what is asked of sizes.

        Args:
            iterator: the loop's variable, unique in the kernel.
            start, stop: affine.
            step: not 0.
        """
        inner = self._within(Iterator(iterator), start, stop, step)
        return replace(inner, iterators=(*self.iterators, iterator))

    def in_sequence(self, counter: str, start: Expression, stop: Expression, step: int) -> Frame:
        """The same place within a loop inside of a statement.

        Args:
            counter: the loop's variable, unique in the kernel.
            start, stop: affine.
            step: not 0.
        """
        return self._within(LoopCounter(counter), start, stop, step)

    def _within(self, variable: Iterator | LoopCounter, start: Expression, stop: Expression, step: int) -> Frame:
        low, high = (start, stop) if step > 0 else (stop, start)
        first, last = ("<=", "<") if step > 0 else ("<", "<=")
        within = Compare(first, low, variable), Compare(last, variable, high)
        ranges = (*self.ranges, LoopRange(variable.name, start, stop, step))
        return replace(self, ranges=ranges, holds=(*self.holds, *within))

    def inside(self, **changes: Any) -> Frame:
        """The same function within a loop or branch: its own nodes and its own copy of the bindings."""
        return replace(self, nodes=[], around=(*self.around, self.nodes), bindings=dict(self.bindings), **changes)

    def fresh(self, name: str) -> str:
        """A local name that neither the function nor anything else has."""
        candidate, number = name, 0
        local = {node.id for node in all_nodes(self.source.tree) if isinstance(node, ast.Name)}
        while candidate in local or candidate in self.bindings or candidate in self.kernel.taken:
            number += 1
            candidate = f"{name}_{number}"
        self.kernel.taken.add(candidate)
        return candidate

    def is_in(self, nodes: list[Node]) -> bool:
        """Return whether the place is in a program that is still being made, or in a part of it."""
        return any(each is nodes for each in (*self.around, self.nodes))

    @property
    def is_top_level(self) -> bool:
        return not (self.iterators or self.conditional or self.opaque)


def assigned_names(statements: Iterable[ast.stmt], *, loop_variables: bool = True) -> Counter[str]:
    """Return how often each name is assigned in the statements."""
    counts: Counter[str] = Counter()
    for node in nodes_inside(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] += 1
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and not loop_variables:
            counts[node.target.id] -= 1
    return +counts
