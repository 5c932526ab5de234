"""Tests of subscripts that neighbouring operations make together, and in as few comparisons as say the same.

Of ``upper = p * A[i, j] + q * A[i, j + 1]`` and, right behind it, ``lower = p * A[i + 1, j] + q * A[i + 1, j + 1]`` all
subscripts are in range where ``0 <= i < n - 1`` and ``0 <= j < m - 1``.  Where that does not hold, each operation tests
its own, one after the other, as if there were no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from polytune.codegen.loops import Compute, Node
from polytune.codegen.subscript_tests import alternatives
from polytune.frontend.array_expressions.affine_arithmetic import ZERO, add, coefficients, integer
from polytune.frontend.expression import (
    Assign,
    Checked,
    Compare,
    Constant,
    Element,
    Expression,
    Extent,
    Logical,
    Operation,
    ParameterValue,
    arrays_written,
    walk,
)
from polytune.records import dataclass

__all__ = ["JoinedTests", "fewer_tests", "joined", "joined_statements"]

_NEVER = Constant(False, "bool")

_FARTHEST = 1 << 20
"""The most that is added in subscripts that are tested together: an extent less twice that does not wrap round."""


@dataclass(frozen=True)
class JoinedTests:
    """Operations that follow one another and make their tests together.

    Attributes:
        violation: when one of them may have a subscript that is out of range, or counts from the end.
        usual: what they do otherwise.
        tested: the operations, each with its own test.
    """

    violation: Expression
    usual: tuple[Operation, ...]
    tested: tuple[Operation, ...]


def joined_statements(nodes: Sequence[Node]) -> list[Node]:
    """Nodes with the operations of statements that follow one another in one, as tests of theirs may be made
    together."""
    found: list[Node] = []
    for node in nodes:
        match node, found:
            case Compute(operations=operations), [*_, Compute(operations=before) as last]:
                found[-1] = replace(last, operations=(*before, *operations))
            case _:
                found.append(node)
    return found


def joined(
    operations: Sequence[Operation], usual: Callable[[Checked], Checked | None]
) -> Iterator[Operation | JoinedTests]:
    """Give operations in their order, those together that may make their tests together.

    No test comes before one that an operation before it makes, and none reads what such an operation writes: it finds
    what it would have found behind that.

    Args:
        operations: those of a body.
        usual: gives the form of an operation that it mostly has, with fewer tests; None where it has none.
    """
    waiting = list(operations)
    while waiting:
        run = _run(waiting, usual)
        if len(run) < 2:
            yield waiting.pop(0)
            continue
        tests = [test for _, form in run if isinstance(form, Checked) for test in alternatives(form.violation)]
        bodies = (form.body if isinstance(form, Checked) else (form,) for _, form in run)
        usually = tuple(part for body in bodies for part in body)
        yield JoinedTests(fewer_tests(tests), usually, tuple(operation for operation, _ in run))
        del waiting[: len(run)]


def _run(
    operations: Sequence[Operation], usual: Callable[[Checked], Checked | None]
) -> list[tuple[Operation, Operation]]:
    """The operations at the beginning that may make their tests together, each with the form that it mostly has: from
    one under a test to another one, and assignments between them.

    Args:
        operations: those of a body.
        usual: as for `joined`.
    """
    found: list[tuple[Operation, Operation]] = []
    written: set[str] = set()
    end = 0
    for operation in operations:
        match operation:
            case Checked(body=body) if all(isinstance(each, Assign) for each in body):
                form = usual(operation)
                if form is None or not written.isdisjoint(_arrays_read(form.violation)):
                    break
                found.append((operation, form))
                end = len(found)
            case Assign() if found:
                found.append((operation, operation))
            case _:
                break
        written |= {*arrays_written(operation)}
    return found[:end]


def _arrays_read(expression: Expression) -> set[str]:
    return {part.array for part in walk(expression) if isinstance(part, Element)}


def fewer_tests(tests: Sequence[Expression]) -> Expression:
    """Return a condition that is true wherever one of some tests is.

    Of those whether sums ``i + a`` are below 0 and not below an extent, for several a, one of the least a and one for
    the largest, b, are left: ``i + a < 0`` and ``i + a >= extent - (b - a)``.  Where both are false no other sum has
    wrapped round, as it lies between two that have not.

    Args:
        tests: in the order in which they are to be made, as one may be needed to evaluate the next one.
    """
    lows: dict[_Terms, list[int]] = {}
    highs: dict[_Terms, dict[Expression, list[int]]] = {}
    for test in tests:
        match test:
            case Compare("<", index, bound) if bound == ZERO and index.dtype == "int64":
                terms, offset = _sum(index)
                lows.setdefault(terms, []).append(offset)
            case Compare(">=", index, Extent() | ParameterValue() as extent) if index.dtype == "int64":
                terms, offset = _sum(index)
                highs.setdefault(terms, {}).setdefault(extent, []).append(offset)
            case _:
                pass
    found: dict[Expression, None] = {}
    for test in (each for each in tests if each != _NEVER):
        found.update(dict.fromkeys(_in_place_of(test, lows, highs)))
    conditions = tuple(found) or (_NEVER,)
    return conditions[0] if len(conditions) == 1 else Logical("or", conditions)


_Terms = frozenset[tuple[Expression, int]]


def _sum(index: Expression) -> tuple[_Terms, int]:
    """The leaves of a sum, each with how often it is added, and the constant."""
    terms, constant = coefficients(index)
    return frozenset(terms.items()), constant


def _in_place_of(
    test: Expression, lows: Mapping[_Terms, Sequence[int]], highs: Mapping[_Terms, Mapping[Expression, Sequence[int]]]
) -> tuple[Expression, ...]:
    """The tests that are made where one was; itself where it is not one of a range, or of one that is too long.

    Args:
        test: a condition.
        lows: by the leaves of sums, the constants of those that may be below 0.
        highs: the same of those that may not be below an extent, by that.
    """
    match test:
        case Compare("<" | ">=", index, _) if index.dtype == "int64":
            terms, offset = _sum(index)
        case _:
            return (test,)
    own, ends = lows.get(terms, ()), highs.get(terms, {})
    if not own or not ends:
        return (test,)
    least, largest = min(own), max(*own, *(each for offsets in ends.values() for each in offsets))
    if max(abs(least), abs(largest)) > _FARTHEST or not _is_of_range(test, ends):
        return (test,)
    first = add(index, integer(least - offset))
    pairs = ((Compare("<", first, ZERO), Compare(">=", first, _moved(end, least, [*own, *ends[end]]))) for end in ends)
    return tuple(each for pair in pairs for each in pair)


def _is_of_range(test: Compare, ends: Mapping[Expression, Sequence[int]]) -> bool:
    return test.right in ends if test.operator == ">=" else test.right == ZERO


def _moved(extent: Expression, least: int, offsets: Sequence[int]) -> Expression:
    """The extent for a sum with the least constant where it is given for that with the largest of some constants."""
    return add(extent, integer(max(*offsets, least) - least), -1)
