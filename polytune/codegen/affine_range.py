"""The least and greatest values of index expressions while loop variables run over ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polytune.codegen.ast_conversion import add_constant, substitute
from polytune.frontend.expression import Binary, Constant, Element, Expression, Iterator, Unary, walk
from polytune.records import dataclass


@dataclass(frozen=True)
class Range:
    """The values of a variable: ``first <= variable <= last``, both expressions of other variables."""

    first: Expression
    last: Expression


def mentions(expression: Expression, *names: str) -> bool:
    """Return whether any of the loop variables occurs."""
    return any(isinstance(part, Iterator) and part.name in names for part in walk(expression))


def coefficient(expression: Expression, name: str) -> int | None:
    """The constant by which the expression grows with a loop variable; None where there is no such constant."""
    match expression:
        case Iterator(own):
            return int(own == name)
        case Binary("+" | "-" as operator, left, right):
            parts = coefficient(left, name), coefficient(right, name)
            if parts[0] is None or parts[1] is None:
                return None
            return parts[0] + parts[1] if operator == "+" else parts[0] - parts[1]
        case Binary("*", Constant(factor), other) | Binary("*", other, Constant(factor)):
            inner = coefficient(other, name)
            return None if inner is None else inner * int(factor)
        case Unary("-", operand):
            inner = coefficient(operand, name)
            return None if inner is None else -inner
        case _:
            return None if mentions(expression, name) else 0


def difference(left: Expression, right: Expression) -> int | None:
    """The constant by which one affine expression exceeds another; None where there is no such constant."""
    apart = terms_of(Binary("-", left, right, "int64"))
    constant = apart.pop(None, 0)
    return None if apart else constant


def terms_of(expression: Expression) -> dict[Expression | None, int]:
    """An affine expression as a sum: the factor of each of its terms, and the constant under None; no zeros."""
    terms: dict[Expression | None, int] = {}
    _add_terms(expression, 1, terms)
    return {term: factor for term, factor in terms.items() if factor}


def _add_terms(expression: Expression, factor: int, terms: dict[Expression | None, int]) -> None:
    """Add a multiple of an expression to a sum of terms, each with a factor; the constant stands under None."""
    match expression:
        case Constant(value):
            terms[None] = terms.get(None, 0) + factor * int(value)
        case Binary("+" | "-" as operator, left, right):
            _add_terms(left, factor, terms)
            _add_terms(right, factor if operator == "+" else -factor, terms)
        case Binary("*", Constant(value), other) | Binary("*", other, Constant(value)):
            _add_terms(other, factor * int(value), terms)
        case Unary("-", operand):
            _add_terms(operand, -factor, terms)
        case _:
            terms[expression] = terms.get(expression, 0) + factor


def in_one_order(element: Element) -> Element:
    """The element with sums in its subscripts in one order, so that two ways to name a place are the same one."""
    return replace(element, subscripts=tuple(as_sum(subscript) for subscript in element.subscripts))


def as_sum(index: Expression) -> Expression:
    """An index expression as a sum of its terms, in an order of their own, and its constant."""
    terms = terms_of(index)
    constant = terms.pop(None, 0)
    total: Expression | None = None
    # What is added comes before what is taken away.
    for term, factor in sorted(terms.items(), key=lambda item: (item[1] < 0, repr(item[0]))):
        assert term is not None, "the constant is no term any more"
        product = term if abs(factor) == 1 else Binary("*", Constant(abs(factor), "int64"), term, "int64")
        if total is None:
            total = product if factor > 0 else Unary("-", product, "int64")
        else:
            total = Binary("+" if factor > 0 else "-", total, product, "int64")
    return Constant(constant, "int64") if total is None else add_constant(total, constant)


def greatest(expression: Expression, ranges: Mapping[str, Range]) -> Expression | None:
    """A value that the expression does not exceed while variables run over ranges; the greatest one if it is affine.

    None where the expression depends on the variables in a way that is not followed: neither affine nor a minimum or
    maximum of such.
    """
    return _extreme(expression, ranges, +1)


def least(expression: Expression, ranges: Mapping[str, Range]) -> Expression | None:
    """A value below which the expression does not fall; see ``greatest``."""
    return _extreme(expression, ranges, -1)


def _extreme(expression: Expression, ranges: Mapping[str, Range], sign: int) -> Expression | None:
    if not mentions(expression, *ranges):
        return expression
    if isinstance(expression, Binary) and expression.operator in ("min", "max"):
        # Both grow with either operand, so that bounds of the operands bound the result.
        left, right = _extreme(expression.left, ranges, sign), _extreme(expression.right, ranges, sign)
        return None if left is None or right is None else replace(expression, left=left, right=right)
    values: dict[str, Expression] = {}
    for name, own in ranges.items():
        step = coefficient(expression, name)
        if step is None:
            return None
        values[name] = own.last if sign * step > 0 else own.first
    return substitute(expression, values)


def from_first(first: Expression, count: int) -> Range:
    """The range of so many values."""
    return Range(first, add_constant(first, count - 1))
