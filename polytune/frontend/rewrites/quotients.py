"""The computation of quotients in sums: as products with the reciprocal of a divisor that stays the same.

A division takes as long as some ten multiplications, and processors have fewer units for it.  Where the divisor is the
same in the whole kernel, a scalar argument or an extent, its reciprocal is computed once: compilers take what stays the
same out of loops.

A product with a reciprocal is rounded twice, so it may differ from the quotient in its last bits: 49.0 * (1.0 / 49.0)
is not 1.0.  That is left to a sum's own rounding, of which the order is free already, and to nothing else: what is
compared, made an integer or stored as it is has the quotient's bits.  Strict kernels have them everywhere.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polytune.frontend.expression import (
    Argument,
    Assign,
    Binary,
    Cast,
    Compare,
    Constant,
    Element,
    Expression,
    Extent,
    ParameterValue,
    Power,
    Select,
    Unary,
    walk,
)
from polytune.frontend.program import Guard, Node, Perform, RangeLoop

MOST_OPERATIONS = 8
"""The most nodes that a divisor may have, as it is written several times."""

_SCALE = {"float32": 2.0**64, "float64": 2.0**128}
"""The factor by type that makes of each denormal number one whose reciprocal is finite, and leaves quotients by it in
range."""

_UNCHANGED = Argument | Extent | ParameterValue | Constant | Cast | Unary | Binary


def choose_quotients(nodes: Sequence[Node], variables: Collection[str], outside: Iterable[Any]) -> tuple[Node, ...]:
    """The program with reciprocals where the quotients by them only go into sums; for kernels that are not strict.

    A quotient goes into a sum alone if it is a factor of a term of an update ``s = s + a / d``, or of a scalar that is
    read as such a factor and nowhere else.

    Args:
        nodes: the program.
        variables: the scalars that are seen by nobody when the kernel has run.
        outside: what reads scalars beside the program, such as what the kernel returns.
    """
    assignments = [each for each in _parts(nodes) if isinstance(each, Assign)]
    targets = (each.target.array for each in assignments if not each.target.subscripts)
    reads = Multiset(_scalars((*_parts(nodes), *outside))) - Multiset(targets)
    as_factors = Multiset(
        scalar
        for each in assignments
        for term in _terms(each.value, each.target) or ()
        for scalar in _scalar_factors(term)
    )
    factors = {name for name, count in as_factors.items() if count == reads[name] and name in variables}
    return tuple(_chosen(node, factors) for node in nodes)


def _parts(nodes: Sequence[Node]) -> Iterable[Any]:
    """The operations, conditions and bounds of a program.  An assignment is one of them where it is a statement by
    itself, and not where control that depends on data may read what it writes."""
    for node in nodes:
        match node:
            case Perform(operations):
                yield operations[0] if len(operations) == 1 else operations
            case Guard(condition, then, otherwise):
                yield condition
                yield from _parts((*then, *otherwise))
            case RangeLoop(start=start, stop=stop, body=body):
                yield from (start, stop)
                yield from _parts(body)


def _scalars(parts: Iterable[Any]) -> Iterable[str]:
    """The scalar variables that are named in parts of a program, each as often as it is."""
    for part in parts:
        for operation in part if isinstance(part, tuple) else (part,):
            yield from (each.array for each in walk(operation) if isinstance(each, Element) and not each.subscripts)


def _chosen(node: Node, factors: Collection[str]) -> Node:
    match node:
        case Perform((Assign(target, value),)):
            terms = _terms(value, target)
            if terms is not None:
                return replace(node, operations=(Assign(target, _with_terms_chosen(value, target)),))
            if not target.subscripts and target.array in factors:
                return replace(node, operations=(Assign(target, _factor(value)),))
            return node
        case Guard(_, then, otherwise):
            then, otherwise = (tuple(_chosen(child, factors) for child in side) for side in (then, otherwise))
            return replace(node, then=then, otherwise=otherwise)
        case RangeLoop(body=body):
            return replace(node, body=tuple(_chosen(child, factors) for child in body))
    return node


def _terms(value: Expression, target: Element) -> list[Expression] | None:
    """Return what an update adds to its target; None where an assignment is no update of a floating-point sum."""
    if not target.dtype.startswith("float"):
        return None
    found = list(_added(value, target.dtype))
    if found.count(target) != 1 or value == target:
        return None
    found.remove(target)
    return found


def _added(value: Expression, dtype: str) -> Iterable[Expression]:
    """The leaves of the tree of sums and differences at an expression's root."""
    match value:
        case Binary("+" | "-", left, right, kind) if kind == dtype:
            yield from _added(left, dtype)
            yield from _added(right, dtype)
        case _:
            yield value


def _with_terms_chosen(value: Expression, target: Element) -> Expression:
    match value:
        case Binary("+" | "-", left, right, kind) if kind == target.dtype:
            left, right = _with_terms_chosen(left, target), _with_terms_chosen(right, target)
            return replace(value, left=left, right=right)
        case _:
            return _factor(value)


def _scalar_factors(value: Expression) -> Iterable[str]:
    """The scalar variables among the factors of a product."""
    match value:
        case Element(array, ()):
            yield array
        case Binary("*" | "/", left, right):
            yield from _scalar_factors(left)
            yield from _scalar_factors(right)
        case Power(operand) | Unary("-", operand):
            yield from _scalar_factors(operand)


def _factor(value: Expression) -> Expression:
    """The same product with reciprocals."""
    match value:
        case Binary("/", left, right, dtype) if dtype in _SCALE and _stays(right):
            return _times_reciprocal(_factor(left), right, dtype)
        case Binary("*" | "/", left, right):
            return replace(value, left=_factor(left), right=_factor(right))
        case Power(operand) | Unary("-", operand):
            return replace(value, operand=_factor(operand))
    return value


def _stays(divisor: Expression) -> bool:
    """Return whether a divisor is the same in the whole kernel, and needs a division: compilers know what a constant's
    reciprocal is, and use it where it is exact."""
    nodes = list(walk(divisor))
    has_operators = all(each.operator in ("+", "-", "*") for each in nodes if isinstance(each, Unary | Binary))
    is_constant = all(isinstance(each, Constant | Cast | Unary | Binary) for each in nodes)
    return (
        len(nodes) <= MOST_OPERATIONS
        and has_operators
        and not is_constant
        and all(isinstance(each, _UNCHANGED) for each in nodes)
    )


def _times_reciprocal(dividend: Expression, divisor: Expression, dtype: str) -> Expression:
    """The quotient as a product, finite wherever that is, and within some units in the last place of it.

    The reciprocal of a denormal number may be infinite, though the quotient is not: such a divisor is multiplied by a
    power of two s first, ``(a * (1 / (d * s))) * s``.  Then neither product overflows unless the quotient does, and as
    both d * s and the dividend lie far enough above 0, none underflows.  For all other divisors s is 1.  Integers have
    no denormal numbers, so nothing is multiplied for them.
    """
    one = Constant(1.0, dtype)
    if isinstance(divisor, Cast) and divisor.operand.dtype.startswith(("int", "uint", "bool")):
        return Binary("*", dividend, Binary("/", one, divisor, dtype), dtype)
    least = Constant(float(np.finfo(dtype).tiny), dtype)
    is_denormal = Compare("<", Unary("abs", divisor, dtype), least)
    scale = Select(is_denormal, Constant(_SCALE[dtype], dtype), one, dtype)
    reciprocal = Binary("/", one, Binary("*", divisor, scale, dtype), dtype)
    return Binary("*", Binary("*", dividend, reciprocal, dtype), scale, dtype)
