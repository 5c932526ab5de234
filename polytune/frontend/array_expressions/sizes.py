"""Knowledge of sizes and loop variables at a place, and what a call must be checked for where that is not enough."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import islpy as isl
import numpy as np

from polytune.frontend.array_expressions.affine_arithmetic import (
    ZERO,
    add,
    constant_of,
    distance,
    integer,
    maximum,
    minimum,
    normal,
    quotient,
    subtract,
)
from polytune.frontend.array_expressions.values import Operand, Shape
from polytune.frontend.expression import (
    Binary,
    Cast,
    Checked,
    Compare,
    Counter,
    Element,
    Expression,
    Extent,
    Iterator,
    Logical,
    ParameterValue,
    Select,
    Unary,
    walk,
)
from polytune.frontend.generated_names import REPORT
from polytune.frontend.lowering.frame import Frame, KernelWalk
from polytune.frontend.lowering.parameters import with_products
from polytune.frontend.polyhedral.affine import NotAffineError, as_condition
from polytune.frontend.polyhedral.budget import QUESTION_BUDGET, within_budget
from polytune.frontend.program import Perform
from polytune.frontend.promotion import INTEGERS, ScalarKind, Value, join, kind_of
from polytune.frontend.scop import SizeCondition


def _place(frame: Frame) -> tuple[Any, ...]:
    """Return what ``known`` follows from: where the frame is, and how much the walk has found by now."""
    kernel = frame.kernel
    return (frame.holds, sum(each.nonnegative for each in kernel.parameters.values()), len(kernel.size_conditions))


def known(frame: Frame) -> isl.Set:
    """``[p] -> { : ... }``, what holds where the frame is: of loop variables, of extents, and of what is checked."""
    kernel = frame.kernel
    key = _place(frame)
    found = kernel.known.get(key)
    if found is None:
        nonnegative = [
            Compare(">=", ParameterValue(parameter.name), ZERO)
            for parameter in kernel.parameters.values()
            if parameter.nonnegative
        ]
        found = kernel.affine.universe()
        for condition in (*nonnegative, *frame.holds):
            found = found.intersect(kernel.affine.condition(as_condition(condition)))
        for checked in kernel.size_conditions:
            if checked.is_of_sizes and checked.violated.n_basic_set() == 1:
                found = found.subtract(checked.violated)
        found = kernel.known[key] = found.coalesce()
    return found


def violations(frame: Frame, condition: Expression) -> isl.Set:
    """``[p] -> { : ... }``, where the frame may be although the condition does not hold."""
    return known(frame).intersect(frame.kernel.affine.condition(Unary("not", condition, "bool")))


def always(frame: Frame, condition: Expression) -> bool:
    """Return whether a condition is proven to hold wherever the frame is."""
    decided = _decided(condition)
    if decided is not None:
        return decided
    kernel = frame.kernel
    # The variables of loops inside of statements mean nothing before their loops are come to.
    key = (*_place(frame), frozenset(kernel.affine.counters.items()), condition)
    found = kernel.proven.get(key)
    if found is None:
        context = kernel.affine.context
        try:
            proof = within_budget(
                context, QUESTION_BUDGET, lambda: violations(frame, condition).is_empty(), needed=True
            )
            found = bool(proof)
        except NotAffineError:  # it depends on data
            found = False
        kernel.proven[key] = found
    return found


def _decided(condition: Expression) -> bool | None:
    """Return whether a comparison of numbers whose distance is known holds."""
    if not isinstance(condition, Compare):
        return None
    apart = distance(condition.left, condition.right)
    if apart is None:
        return None
    holds = {
        "<": apart < 0,
        "<=": apart <= 0,
        ">": apart > 0,
        ">=": apart >= 0,
        "==": apart == 0,
        "!=": apart != 0,
    }
    return holds[condition.operator]


def at_least(frame: Frame, left: Expression, right: Expression) -> bool:
    """Return whether ``left >= right`` is proven.

    Args:
        frame: where it is to hold.
        left, right: integers.
    """
    return always(frame, Compare(">=", left, right))


def extent(frame: Frame, difference: Expression) -> Expression:
    """A number of elements: the difference, or 0 where it is negative."""
    difference = normal(difference)
    return difference if at_least(frame, difference, ZERO) else maximum(ZERO, difference)


def loop_bound(extent: Expression) -> Expression:
    """A bound that makes as many iterations from 0 on as there are elements: a loop up to -1 has none as well."""
    match extent:
        case Binary("max", left, right) if left == ZERO:
            return right
        case Binary("max", left, right) if right == ZERO:
            return left
    return extent


def lesser(frame: Frame, left: Expression, right: Expression) -> Expression:
    """``min(left, right)``, or the one of them that is proven to be it.

    Args:
        frame: where it is to hold.
        left, right: integers.
    """
    if at_least(frame, right, left):
        return left
    return right if at_least(frame, left, right) else minimum(left, right)


def greater(frame: Frame, left: Expression, right: Expression) -> Expression:
    """``max(left, right)``, or the one of them that is proven to be it.

    Args:
        frame: where it is to hold.
        left, right: integers.
    """
    if at_least(frame, left, right):
        return left
    return right if at_least(frame, right, left) else maximum(left, right)


def are_equal(frame: Frame, left: Expression, right: Expression) -> bool:
    """Return whether two numbers are proven to be equal.

    Args:
        frame: where it is to hold.
        left, right: integers.
    """
    return always(frame, Compare("==", left, right))


def require(
    frame: Frame,
    node: ast.AST,
    condition: Expression,
    what: str,
    parts: Sequence[str | Expression],
    remedy: str,
    *,
    reason: str = "NumPy raises an error here",
    late: bool = False,
    is_of_sizes: bool = True,
) -> None:
    """See to it that a condition holds: by proof, or else by a check at each call.

    Args:
        frame: where it is to hold.
        node: the expression, for its place.
        condition: a comparison of integers.
        what: what is wrong where it does not hold, in terms of the source.
        parts: the same with the numbers of the call, of texts and expressions in turn.
        remedy: what to do about it.
        reason: why it is wrong.
        late: whether it is tested where the kernel comes to it, if that depends on a condition, so that no call is
            refused for what it does not come to.
        is_of_sizes: see ``SizeCondition``.

    Raises:
        UnsupportedSourceError: it holds for no arguments.
    """
    if always(frame, condition):
        return
    kernel = frame.kernel
    if (late and (frame.conditional or frame.opaque)) or not kernel.affine.is_condition(as_condition(condition)):
        _test(frame, node, condition, what)
        return
    violated = violations(frame, condition)
    for iterator in (*frame.iterators, *kernel.affine.counters):
        position = violated.find_dim_by_name(isl.dim_type.param, iterator)
        if position >= 0:
            violated = violated.project_out(isl.dim_type.param, position, 1)
    violated = violated.coalesce().drop_unused_params()
    if _decided(condition) is False or (not frame.iterators and known(frame).is_subset(violated)):
        raise frame.source.refusal(node, what, f"{reason}, for all sizes that arguments may have", remedy)
    shown = tuple(part for part in parts if isinstance(part, str) or not _has_iterator(part))
    numbers = shown if len(shown) == len(parts) else ()
    location = frame.source.location(node)
    kernel.size_conditions.append(SizeCondition(violated, what, numbers, location, remedy, reason, is_of_sizes))


def require_size(frame: Frame, node: ast.AST, size: Expression) -> None:
    """See to it that an extent of a new array is 0 or more, as NumPy does.

    Args:
        frame: where it is to hold.
        node: what makes the array, for its place.
        size: the extent, an integer.

    Raises:
        UnsupportedSourceError: it is negative for all arguments.
    """
    text = f"the extent {size_text(frame.kernel, size)} of an array is negative"
    require(frame, node, Compare(">=", size, ZERO), text, (f"{text}: ", size), "pass sizes of 0 or more")


def affine_parts(frame: Frame, test: Value) -> tuple[Expression, ...]:
    """Return what a condition says of sizes and loop variables, where it holds.

    Args:
        frame: where it stands.
        test: the condition.
    """
    whole = test.expression
    operands = whole.operands if isinstance(whole, Logical) and whole.operator == "and" else (whole,)
    return tuple(as_condition(each) for each in operands if frame.kernel.affine.is_condition(each))


def supposing(frame: Frame, test: Value) -> Frame:
    """The same place for what is evaluated only where a condition holds, for which no statement may be made.

    Args:
        frame: where the condition stands.
        test: the condition.
    """
    return replace(frame, pure=True, supposed=(*frame.supposed, *affine_parts(frame, test)))


def require_exponent(frame: Frame, node: ast.AST, base: ScalarKind, exponent: Value) -> None:
    """See to it that the exponent of a power of integers is 0 or more, where it does not depend on data.

    Where data decide whether it is come to, calls are refused as if it were.

    Args:
        frame: where it is to hold.
        node: the power, for its place.
        base: the type of the base.
        exponent: a number; constants are looked at when all types are known.
    """
    dtype = join(base, kind_of(exponent)).dtype
    if dtype not in INTEGERS or dtype.startswith("u") or exponent.constant is not None:
        return
    least = Compare(">=", exponent.expression, ZERO)
    if not frame.kernel.affine.is_condition(as_condition(least)):
        return
    text = f"{frame.source.segment(node)} of integers with a negative exponent"
    remedy = "make a float of the base first: float(x) ** n"
    reason = "it is a float in Python, and NumPy raises an error here"
    parts = (f"{text}: ", exponent.expression)
    require(_where_evaluated(frame), node, least, text, parts, remedy, reason=reason)


def require_range(frame: Frame, node: ast.AST, value: Operand, dtype: str) -> None:
    """See to it that a Python integer is one of a NumPy type that it is to become, where it does not depend on data.

    An integer that depends on data wraps round, as a test of each element would cost more than what is done with it.
    Where data decide whether a statement is come to, calls are refused as if it were: an error that says what to do is
    better than numbers that are silently others than Python's.

    Args:
        frame: where it is to hold.
        node: what the integer stands in, for its place.
        value: what becomes one of the type; constants are looked at when all types are known.
        dtype: the type; nothing is done where it is none of integers.
    """
    if not isinstance(value, Value) or not value.weak or value.dtype != "int64" or value.constant is not None:
        return
    if dtype not in INTEGERS or dtype == "int64":
        return
    text, value = size_text(frame.kernel, value.expression), with_products(frame, value)
    if not frame.kernel.affine.is_function(value.expression):
        return
    limits = np.iinfo(dtype)
    what = f"the Python integer {text}, which {dtype} cannot hold, in {frame.source.segment(node)}"
    parts = ("the Python integer ", value.expression, f", which {dtype} cannot hold, in {frame.source.segment(node)}")
    reason = f"{dtype} holds integers from {limits.min} to {limits.max}, and Python raises an OverflowError here"
    remedy = f"make it one of NumPy's integers, which are promoted and cut off as NumPy does: np.int64({text})"
    least = Compare(">=", value.expression, integer(limits.min))
    greatest_one = Compare("<=", value.expression, integer(limits.max))
    for condition in (least,) if dtype == "uint64" else (least, greatest_one):
        require(_where_evaluated(frame), node, condition, what, parts, remedy, reason=reason, is_of_sizes=False)


def _where_evaluated(frame: Frame) -> Frame:
    """The same place with what is supposed of it known to hold, as nothing is evaluated where it does not."""
    return replace(frame, holds=(*frame.holds, *frame.supposed), supposed=()) if frame.supposed else frame


def _test(frame: Frame, node: ast.AST, condition: Expression, what: str) -> None:
    """Test a condition on sizes that depend on data while the kernel runs.

    Args:
        frame: where it is to hold.
        node: the expression, for its place.
        condition: of integers that stay what they are, which the variables of captured bounds do.
        what: what is wrong where it does not hold.
    """
    elements = [part for part in walk(condition) if isinstance(part, Element)]
    if frame.pure or any(element.subscripts for element in elements):
        raise frame.source.refusal(
            node,
            what,
            "sizes that depend on data must be seen to fit",
            "slice all of the arrays by the same bounds: A[first:last] and B[first:last]",
        )
    report = Element(REPORT, (), "int64")
    is_first = Compare("==", report, ZERO)  # what follows from it may not fit either
    violation = Logical("and", (is_first, Unary("not", condition, "bool")))
    operation = Checked(violation, report, 0, (), what=what)
    frame.nodes.append(Perform((operation,), frame.source.location(node), frame.source.segment(node)))


def _has_iterator(expression: Expression) -> bool:
    return any(isinstance(part, Iterator | Counter) for part in walk(expression))


def shape_text(kernel: KernelWalk, shape: Shape) -> str:
    """A shape in terms of the source: ``(n, A.shape[1] - 2)``."""
    texts = [size_text(kernel, extent) for extent in shape]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def size_text(kernel: KernelWalk, expression: Expression) -> str:
    """A number in terms of the source."""
    if any(isinstance(part, Element) for part in walk(expression)):
        return "an extent that depends on data"
    match expression:
        case ParameterValue(name):
            parameter = kernel.parameters.get(name)
            source = parameter.source if parameter is not None else None
            if isinstance(source, Extent) and name not in kernel.source_names:
                return f"{source.array}.shape[{source.dimension}]"
            return name
        case Iterator(name) | Counter(name):
            return kernel.counter_names.get(name, name)
        case Unary("-", operand):
            return f"-{size_text(kernel, operand)}"
        case Binary("min" | "max" as operator, left, right):
            return f"{operator}({size_text(kernel, left)}, {size_text(kernel, right)})"
        case Binary(operator, left, right):
            texts = size_text(kernel, left), size_text(kernel, right)
            if operator in ("*", "//", "%"):
                texts = tuple(  # type: ignore[assignment]
                    f"({text})" if isinstance(side, Binary) and side.operator in ("+", "-") else text
                    for text, side in zip(texts, (left, right), strict=True)
                )
            elif operator == "-" and isinstance(right, Binary) and right.operator in ("+", "-"):
                texts = texts[0], f"({texts[1]})"
            return f"{texts[0]} {operator} {texts[1]}"
    known_value = constant_of(expression)
    return str(known_value) if known_value is not None else "?"


def greatest(frame: Frame, expression: Expression, *, least: bool = False) -> Expression:
    """A bound of an affine expression over all iterations of the loops around: one that depends on sizes alone.

    Args:
        frame: where the loops are around.
        expression: an affine one.
        least: whether the bound is a lower one.
    """
    expression = normal(expression)
    most = frame.kernel.most.get(expression)
    if most is not None:
        return ZERO if least else greatest(frame, most)
    if not any(isinstance(part, Iterator | Counter) or part in frame.kernel.most for part in walk(expression)):
        return expression  # which is the size itself, where the cases below have something above it
    match expression:
        case Iterator(name) | Counter(name):
            bounds = next((each for each in frame.ranges if each.iterator == name), None)
            assert bounds is not None, f"{name} is the iterator of no loop around"
            if (bounds.step > 0) == least:
                return greatest(frame, bounds.start, least=least)
            return add(greatest(frame, bounds.stop, least=least), integer(1), 1 if bounds.step < 0 else -1)
        case Cast(operand):
            if operand.dtype == "bool":
                return ZERO if least else integer(1)
            return greatest(frame, operand, least=least)
        case Unary("-", operand):
            return subtract(ZERO, greatest(frame, operand, least=not least))
        case Unary("abs", operand):
            opposite = subtract(ZERO, greatest(frame, operand, least=True))
            return ZERO if least else maximum(greatest(frame, operand), opposite)
        case Select(_, then, otherwise):
            sides = greatest(frame, then, least=least), greatest(frame, otherwise, least=least)
            return (minimum if least else maximum)(*sides)
        case Binary():
            return _greatest_result(frame, expression, least=least)
    return expression


def _greatest_result(frame: Frame, expression: Binary, *, least: bool) -> Expression:
    """The bound of an operation of two numbers, see ``greatest``."""
    match expression:
        case Binary("+", left, right):
            return add(greatest(frame, left, least=least), greatest(frame, right, least=least))
        case Binary("-", left, right):
            return subtract(greatest(frame, left, least=least), greatest(frame, right, least=not least))
        case Binary("min", left, right):
            return minimum(greatest(frame, left, least=least), greatest(frame, right, least=least))
        case Binary("max", left, right):
            return maximum(greatest(frame, left, least=least), greatest(frame, right, least=least))
        case Binary("*", left, right):
            for factor, other in ((left, right), (right, left)):
                value = constant_of(factor)
                if value is not None:
                    return add(ZERO, greatest(frame, other, least=least if value >= 0 else not least), value)
        case Binary("//", left, right) if (constant_of(right) or 0) > 0:
            return quotient(greatest(frame, left, least=least), constant_of(right) or 1)
        case Binary("//", left, right) if (constant_of(right) or 0) < 0:
            return quotient(subtract(ZERO, greatest(frame, left, least=not least)), -(constant_of(right) or 1))
        case Binary("%", _, right) if (divisor := constant_of(right) or 0) != 0:
            if divisor > 0:
                return ZERO if least else integer(divisor - 1)
            return integer(divisor + 1) if least else ZERO
    return expression
