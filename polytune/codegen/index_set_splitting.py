"""Index set splitting: a loop becomes three where most of its iterations decide a test in the same way.

Filters that take the nearest element inside of an array, ``A[i, min(max(j + d, 0), m - 1)]``, those on a ring, those
with zeros around, ``A[i, j + 1] if j + 1 < m else 0.0``, and those that mirror at borders have tests of loop variables
in their innermost loops.  A compiler makes gathers of them, or no vectors at all.  Here the iterations between two
bounds, in which each test is known to come out as it does in the middle of the loop, are a loop without the tests,
along rows; what comes before and after keeps them.

With the loop ``{ c : start <= c < stop }``, and the tests in the middle one known for ``{ c : low <= c < high }``, the
three are ``start <= c < a``, ``a <= c < b`` and ``b <= c < stop`` with ``a = min(max(start, low), stop)`` and
``b = max(min(stop, high), a)``.  As ``start <= a <= b <= stop`` wherever there are iterations, each of them is in one,
and they run in the order in which they did: nothing has to be legal but the loop itself.

The source is M. Griebl, P. Feautrier and C. Lengauer, "Index Set Splitting", International Journal of Parallel
Programming 28, 2000; which tests are resolved, and where, is chosen here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from polytune.codegen.affine_range import Range, as_sum, coefficient, difference, mentions, terms_of
from polytune.codegen.affine_range import least as least_value
from polytune.codegen.ast_conversion import add_constant, integer, substitute
from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    If,
    Let,
    Node,
    Prefetch,
    Program,
    RegionCall,
    RegionCode,
    Store,
    block,
    map_nodes,
    walk_nodes,
)
from polytune.frontend.expression import (
    Binary,
    Branch,
    Checked,
    Compare,
    Constant,
    Expression,
    Logical,
    Operation,
    ParameterValue,
    Select,
    Unary,
    map_children,
    walk,
)
from polytune.frontend.expression import Iterator as LoopVariable
from polytune.records import dataclass

MOST_PARTS = 3_000
"""The most nodes of expressions that the body of a loop may have that is written three times."""

_INDEX_PARTS = LoopVariable | ParameterValue | Constant | Binary | Unary


def split_index_sets(program: Program) -> Program:
    """The program with its loops split where that takes tests out of them.

    Args:
        program: as isl has made its loops; transforms come later.
    """
    return replace(program, regions=tuple(map(_split_region, program.regions)))


def _split_region(region: RegionCode) -> RegionCode:
    ends = [
        (name, value)
        for names, member in zip(region.windows, region.members, strict=True)
        for name, value in zip(names, (member.lower, member.upper), strict=True)
    ]
    return replace(region, body=_split_nests(region.body, frozenset(region.outer), dict(ends)))


def _split_nests(node: Node, around: frozenset[str], whole: Mapping[str, Expression]) -> Node:
    """The node with loops split.

    Args:
        node: a part of a region.
        around: the variables of the loops around it.
        whole: the ends of the loops of which windows are parts, by the names of the windows' bounds.
    """
    if not isinstance(node, For):
        return map_nodes(node, lambda child: _split_nests(child, around, whole))
    around |= {node.variable}
    inside = [part for part in walk_nodes(node.body) if isinstance(part, For)]
    if node.step == 1 and all(_is_window(each, node, around) for each in inside):
        split = _split(node, whole)
        if split is not None:
            return split
    return replace(node, body=_split_nests(node.body, around, whole))


def _is_window(loop: For, outer: For, around: frozenset[str]) -> bool:
    """Return whether a loop goes over the neighbours of a point: it has so many iterations as a constant says, or is
    tested together with a loop around, and has nothing to do with how long the outer one is."""
    if difference(loop.stop, loop.start) is not None or _is_short(loop):
        return True
    extents = [terms_of(Binary("-", each.stop, each.start, "int64")) for each in (loop, outer)]
    if (extents[0].keys() & extents[1].keys()) - {None}:
        return False
    return any(mentions(test, loop.variable) and mentions(test, *around) for test in _tests(loop.body))


def _is_short(loop: For) -> bool:
    """Return whether a loop has no more iterations than the difference of two constants, and fewer at borders."""
    ends = (loop.start, "max"), (loop.stop, "min")
    return all(
        isinstance(end, Constant)
        or (isinstance(end, Binary) and end.operator == operator and isinstance(end.left, Constant))
        or (isinstance(end, Binary) and end.operator == operator and isinstance(end.right, Constant))
        for end, operator in ends
    )


def _tests(node: Node) -> Iterator[Expression]:
    """The parts that may be tests of loop variables."""
    for part in walk_nodes(node):
        if isinstance(part, If):
            yield part.condition
        elif isinstance(part, Compute):
            for each in walk(_as_one(part.operations)):
                is_extremum = isinstance(each, Binary | Unary) and each.operator in ("min", "max", "abs")
                if isinstance(each, Compare) or (is_extremum and each.dtype == "int64"):
                    yield each


def _as_one(operations: tuple[Operation, ...]) -> Branch:
    """Operations as one node, which a walk goes over."""
    return Branch(Constant(True, "bool"), operations)


def _split(loop: For, whole: Mapping[str, Expression]) -> Node | None:
    """The three loops of one; None where no test is resolved."""
    if sum(1 for part in walk_nodes(loop.body) for _ in _parts(part)) > MOST_PARTS:
        return None
    ends = substitute(loop.start, whole), substitute(loop.stop, whole)
    resolver = _Resolver(loop.variable, *ends)
    body = resolver.node(loop.body, {})
    if not resolver.lows and not resolver.highs:
        return None
    first = loop.start
    for low in resolver.lows:
        first = _greater(first, low)
    first = _lesser(first, loop.stop) if resolver.lows else first
    last = loop.stop
    for high in resolver.highs:
        last = _lesser(last, high)
    last = _greater(last, first) if resolver.highs else last
    parts: list[Node] = []
    if resolver.lows:
        parts.append(replace(loop, stop=first))
    parts.append(replace(loop, start=first, stop=last, body=body))
    if resolver.highs:
        parts.append(replace(loop, start=last))
    return Block(tuple(parts))


def _parts(node: Node) -> Iterator[Any]:
    if isinstance(node, Compute):
        yield from walk(_as_one(node.operations))


def _greater(left: Expression, right: Expression) -> Expression:
    apart = difference(left, right)
    if apart is not None:
        return left if apart >= 0 else right
    return Binary("max", left, right, "int64")


def _lesser(left: Expression, right: Expression) -> Expression:
    apart = difference(left, right)
    if apart is not None:
        return left if apart <= 0 else right
    return Binary("min", left, right, "int64")


@dataclass
class _Resolver:
    """Takes tests out of the body of a loop, and collects where in the loop they come out so.

    Attributes:
        variable: that of the loop.
        start, stop: where the whole loop begins and ends, of which a tile has a part.
        lows: the tests are known from these values of the variable on.
        highs: they are known before these.
        unknown: the variables of loops inside of which no range is known.
        is_violation: whether tests say that a subscript is out of range, so that all of them are to be false.
    """

    variable: str
    start: Expression
    stop: Expression
    lows: list[Expression] = field(default_factory=list)
    highs: list[Expression] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    is_violation: bool = False

    def node(self, node: Node, ranges: Mapping[str, Range]) -> Node:
        """The node without the tests.

        Args:
            node: a part of the loop's body.
            ranges: the values of the variables of the loops between it and the loop.
        """
        match node:
            case For(variable, start, stop):
                start, stop = self.expression(start, ranges), self.expression(stop, ranges)
                if mentions(start, self.variable, *ranges, *self.unknown) or mentions(
                    stop, self.variable, *ranges, *self.unknown
                ):
                    self.unknown.add(variable)
                    inner = {name: each for name, each in ranges.items() if name != variable}
                else:
                    self.unknown.discard(variable)
                    inner = {**ranges, variable: Range(start, add_constant(stop, -1))}
                return replace(node, start=start, stop=stop, body=self.node(node.body, inner))
            case If(condition, then, otherwise):
                condition = self.expression(condition, ranges)
                if isinstance(condition, Constant):
                    chosen = then if condition.value else otherwise
                    return Block(()) if chosen is None else self.node(chosen, ranges)
                other = None if otherwise is None else self.node(otherwise, ranges)
                return If(condition, self.node(then, ranges), other)
            case Block(children):
                return block(*(self.node(child, ranges) for child in children))
            case Compute(operations=operations):
                return replace(node, operations=tuple(self.operations(operations, ranges)))
            case Let() | Store() | Prefetch() | RegionCall():
                return node

    def operations(self, operations: Iterable[Operation], ranges: Mapping[str, Range]) -> Iterator[Operation]:
        """Operations without the tests; of a branch on one, the side that is taken."""
        for operation in operations:
            if isinstance(operation, Branch):
                condition = self.expression(operation.condition, ranges)
                if isinstance(condition, Constant):
                    yield from self.operations(operation.then if condition.value else operation.otherwise, ranges)
                else:
                    then, otherwise = (
                        tuple(self.operations(side, ranges)) for side in (operation.then, operation.otherwise)
                    )
                    yield Branch(condition, then, otherwise)
            else:
                yield self.expression(operation, ranges)

    def expression(self, part: Any, ranges: Mapping[str, Range]) -> Any:
        """An expression, or an operation, without the tests."""
        if isinstance(part, Checked) and not self.is_violation:
            self.is_violation = True
            part = replace(part, violation=self.expression(part.violation, ranges))
            self.is_violation = False
        part = map_children(part, lambda child: self.expression(child, ranges))
        match part:
            case Binary("min" | "max" as operator, left, right, "int64"):
                apart = Binary("-", left, right, "int64")
                is_more = self.choice(apart, Unary("-", apart, "int64"), ranges)
                return part if is_more is None else left if is_more == (operator == "max") else right
            case Unary("abs", operand, "int64"):
                is_positive = self.choice(operand, Unary("-", operand, "int64"), ranges)
                return part if is_positive is None else operand if is_positive else Unary("-", operand, "int64")
            case Compare(operator, left, right) if left.dtype == right.dtype == "int64":
                return self.comparison(part, ranges)
            case Select(Constant(value), then, otherwise):
                return then if value else otherwise
            case Unary("not", Constant(value)):
                return Constant(not value, "bool")
            case Logical(operator, operands):
                return _folded(operator, operands)
            case _:
                return part

    def comparison(self, test: Compare, ranges: Mapping[str, Range]) -> Expression:
        """A comparison of integers, or what it is known to be."""
        more, less = (
            Binary("-", left, right, "int64") for left, right in ((test.left, test.right), (test.right, test.left))
        )
        match test.operator:
            case ">=":
                known = self.choice(more, add_constant(less, -1), ranges)
            case ">":
                known = self.choice(add_constant(more, -1), less, ranges)
            case "<=":
                known = self.choice(less, add_constant(more, -1), ranges)
            case "<":
                known = self.choice(add_constant(less, -1), more, ranges)
            case _:  # apart on one side or the other
                if self.choice(add_constant(more, -1), add_constant(less, -1), ranges) is None:
                    return test
                known = test.operator == "!="
        return test if known is None else Constant(known, "bool")

    def choice(self, first: Expression, second: Expression, ranges: Mapping[str, Range]) -> bool | None:
        """Return which of ``first >= 0`` and ``second >= 0`` holds in the middle of the loop, where one of them is
        made to hold; None where nothing is known of either.

        Args:
            first, second: each the negative of the other, or less.
            ranges: the values of variables of loops inside.
        """
        halves = [self.half(first, ranges), self.half(second, ranges)]
        for number, half in enumerate(halves):
            if half is True:
                return number == 0
        limits = [half for half in halves if isinstance(half, _Half)]
        if len(limits) < 2:
            return None
        nearer = limits[1] if self.is_violation else min(limits, key=self.distance)
        (self.lows if nearer.is_low else self.highs).append(nearer.end)
        return nearer is halves[0]

    def half(self, expression: Expression, ranges: Mapping[str, Range]) -> _Half | bool | None:
        """The part of the loop in which an expression is never negative: all of it (True), what a bound says, or None
        where it depends on more than the loop, or not on the loop."""
        if not all(isinstance(each, _INDEX_PARTS) for each in walk(expression)) or mentions(expression, *self.unknown):
            return None
        found = least_value(_with_one_kind_of_name(expression), ranges)
        if found is None:
            return None
        terms = terms_of(found)
        if not terms.keys() - {None}:
            return True if terms.get(None, 0) >= 0 else None
        step = coefficient(found, self.variable)
        if not step:
            return None
        rest = substitute(found, {self.variable: integer(0)})
        if step > 0:  # step * c + rest >= 0
            return _Half(True, as_sum(Unary("-", _quotient(rest, step), "int64")))
        return _Half(False, as_sum(add_constant(_quotient(rest, -step), 1)))

    def distance(self, half: _Half) -> tuple[int, int]:
        """The distance of an end of a part from the end of the loop that it is at: how many terms it takes to say it,
        and the number that it is where it is a constant."""
        ends = (half.end, self.start) if half.is_low else (self.stop, half.end)
        terms = terms_of(Binary("-", *ends, "int64"))
        constant = terms.pop(None, 0)
        return len(terms), constant


@dataclass(frozen=True)
class _Half:
    """The values of a loop variable from an ``end`` on, or those before it."""

    is_low: bool
    end: Expression


def _with_one_kind_of_name(part: Any) -> Any:
    """An index expression with parameters named as loops name them in their bounds."""
    if isinstance(part, ParameterValue):
        return LoopVariable(part.name)
    return map_children(part, _with_one_kind_of_name)


def _quotient(dividend: Expression, divisor: int) -> Expression:
    """The quotient, rounded down."""
    return dividend if divisor == 1 else Binary("//", dividend, integer(divisor), "int64")


def _folded(operator: str, operands: tuple[Expression, ...]) -> Expression:
    """``and`` or ``or`` of some operands, of which those that are known decide it or are left out."""
    left: list[Expression] = []
    for operand in operands:
        if not isinstance(operand, Constant):
            left.append(operand)
        elif bool(operand.value) != (operator == "and"):
            left.append(operand)
            break
    if not left:
        return Constant(operator == "and", "bool")
    return left[0] if len(left) == 1 else Logical(operator, tuple(left))
