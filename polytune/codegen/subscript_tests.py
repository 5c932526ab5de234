"""Tests of subscripts in the form in which they cost least where all subscripts are what they mostly are: in range, and
counted from the beginning.

An operation with subscripts that may count from the end stands in generated code twice: first for those that do not,
in which case there is less to test and nothing to choose.  So does an innermost loop along which subscripts go in steps
of one size: where the first and the last of them are in range, so are those between, and the loop tests the others
alone.  What is the same in all iterations is tested before it, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polytune.frontend.array_expressions.affine_arithmetic import add, coefficients, integer
from polytune.frontend.expression import (
    Argument,
    Binary,
    Cast,
    Checked,
    Compare,
    Constant,
    Counter,
    Element,
    Expression,
    Extent,
    Iterator,
    Logical,
    Loop,
    ParameterValue,
    Select,
    Unary,
    While,
    arrays_written,
    map_children,
    walk,
)
from polytune.records import dataclass

__all__ = ["LoopTests", "alternatives", "tests_before", "without_negative_subscripts"]

_LARGEST_STEP, _FARTHEST = 1 << 10, 1 << 50
"""The largest steps of subscripts that are tested at the ends of a loop alone, and where an end may lie at most: what
one is times the other, and a constant that is no larger, fits into a word."""


@dataclass(frozen=True)
class LoopTests:
    """The tests that may be made before a loop instead of in each of its iterations.

    Attributes:
        violation: when the loop has to test all itself, if it has iterations.
        remaining: by the identity of each operation under a test, what it is where nothing has to be tested in the loop
            that was tested before it.
    """

    violation: Expression
    remaining: Mapping[int, Checked]


def without_negative_subscripts(operation: Checked) -> Checked | None:
    """An operation under the test that its subscripts are in range and none counts from the end; None where none may.

    Args:
        operation: under the test that its subscripts are in range, from either end.
    """
    nonnegative: list[tuple[Expression, Expression]] = []

    def changed(node: Any) -> Any:
        match node:
            case Compare("<", index, Unary("-", extent)) if Compare(">=", index, extent) in tests:
                nonnegative.append((index, extent))
                return Compare("<", changed(index), Constant(0, "int64"))
            case Select(Compare("<", index, Constant(0)), Binary("+", same, extent), other) if (
                index == same == other and (index, extent) in nonnegative
            ):
                return changed(index)
        return map_children(node, changed)

    tests = [part for part in walk(operation.violation) if isinstance(part, Compare)]
    violation = changed(operation.violation)
    if not nonnegative:
        return None
    return replace(operation, violation=violation, body=tuple(map(changed, operation.body)))


def tests_before(loop: Loop) -> LoopTests | None:
    """Return what may be tested before a loop; None where there is nothing, and for loops with others inside.

    Args:
        loop: inside of a statement.
    """
    parts = [part for operation in loop.body for part in walk(operation)]
    if any(isinstance(part, Loop | While) for part in parts) or (loop.start.dtype, loop.stop.dtype) != 2 * ("int64",):
        return None
    written = frozenset(array for operation in loop.body for array in arrays_written(operation))
    before: dict[Expression, None] = {}
    remaining: dict[int, Checked] = {}
    for part in parts:
        if not isinstance(part, Checked):
            continue
        usual = without_negative_subscripts(part) or part
        rest: list[Expression] = []
        for test in alternatives(usual.violation):
            bound = _at_the_end(test, loop, written)
            if bound is None:
                rest.append(test)
            else:
                before[bound] = None
        left = rest[0] if len(rest) == 1 else Logical("or", tuple(rest)) if rest else Constant(False, "bool")
        remaining[id(part)] = replace(usual, violation=left)
    if not before:
        return None
    conditions = tuple(before)
    return LoopTests(conditions[0] if len(conditions) == 1 else Logical("or", conditions), remaining)


def alternatives(violation: Expression) -> list[Expression]:
    """The conditions each of which alone is a violation, in order, each of them once."""
    if isinstance(violation, Logical) and violation.operator == "or":
        return list(dict.fromkeys(each for operand in violation.operands for each in alternatives(operand)))
    return [violation]


def _at_the_end(test: Expression, loop: Loop, written: frozenset[str]) -> Expression | None:
    """The test ``index < 0`` or ``index >= extent`` at that end of a loop where it is true if it is true anywhere; any
    test that is the same in all iterations; None for others, and where the index does not follow the loop in steps of
    one size.

    Args:
        test: a condition.
        loop: what it stands in.
        written: the arrays and variables that the loop may change.
    """
    match test:
        case Compare(left=left, right=right) if _is_fixed(left, loop, written) and _is_fixed(right, loop, written):
            return test
        case Compare("<" | ">=" as operator, index, bound) if index.dtype == "int64":
            pass
        case _:
            return None
    terms, constant = coefficients(index)
    along = {leaf: factor for leaf, factor in terms.items() if leaf == Counter(loop.counter)}
    around = [leaf for leaf in terms if leaf not in along]
    if len(along) != 1 or not all(_is_fixed(leaf, loop, written) for leaf in (*around, bound)):
        return None
    ((counter, factor),) = along.items()
    last = add(loop.stop, integer(1 if loop.step > 0 else -1), -1)
    is_least_first = (factor > 0) == (loop.step > 0)
    place = loop.start if is_least_first == (operator == "<") else last
    at_place = Compare(operator, add(add(index, counter, -factor), place, factor), bound)
    if abs(factor) == 1:
        return at_place
    if around or abs(factor) > _LARGEST_STEP or abs(constant) > _FARTHEST:
        return None
    # What a large number times the step is does not fit into a word.
    beyond = Compare("<", place, integer(-_FARTHEST)), Compare(">=", place, integer(_FARTHEST))
    return Logical("or", (*beyond, at_place))


_FIXED = (Argument, Cast, Constant, Counter, Extent, Iterator, ParameterValue)


def _is_fixed(expression: Expression, loop: Loop, written: frozenset[str]) -> bool:
    """Return whether a number is the same in all iterations of a loop, and can be computed before it.

    Args:
        expression: the number.
        loop: the loop.
        written: the arrays and variables that it may change.
    """
    for part in walk(expression):
        match part:
            case Counter(name) if name == loop.counter:
                return False
            case Element(array, subscripts) if not subscripts and array not in written:
                pass
            case Binary("+" | "-" | "*") | Unary("-"):
                pass
            case _:
                if not isinstance(part, _FIXED):
                    return False
    return True
