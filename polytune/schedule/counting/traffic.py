"""The work of a call at least: its arithmetic, and the bytes that no cache can save.

Both are what the roofline model asks for (Williams, Waterman and Patterson, "Roofline", CACM 2009).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import islpy as isl
import numpy as np

from polytune.frontend.expression import (
    Assign,
    Binary,
    Branch,
    Call,
    Checked,
    Element,
    Expression,
    Logical,
    Operation,
    Power,
    Select,
    children,
)
from polytune.frontend.polyhedral.budget import PROOF_BUDGET, within_budget
from polytune.frontend.scop import AccessKind, ArrayRole, Scop
from polytune.schedule.counting.counts import Counts, cardinality
from polytune.schedule.unions import union_of

__all__ = ["OPERATION_KINDS", "least_bytes", "operations_by_kind", "operations_of", "passes", "reads_old_values"]

OPERATION_KINDS = ("additions", "multiplications", "divisions", "minima", "choices", "functions", "others")
"""Sums and differences; products; quotients and remainders; minima and maxima; choices between two values; calls of
functions; operations on bits."""

_KIND_OF_OPERATOR = {
    "+": "additions",
    "-": "additions",
    "*": "multiplications",
    "/": "divisions",
    "//": "divisions",
    "%": "divisions",
    "min": "minima",
    "max": "minima",
}


def operations_of(scop: Scop, parameters: dict[str, int]) -> int | None:
    """Return how many arithmetic operations a call does, as the source writes them: each sum, product, quotient,
    minimum, maximum, choice between two values and call of a function is one; comparisons, conversions and subscripts
    are none.

    Of conditions on data both branches count.

    Args:
        scop: the kernel.
        parameters: the values of its parameters.

    Returns:
        None where it depends on data, as in a loop inside of a statement, or isl does not find out.
    """
    kinds = operations_by_kind(scop, parameters)
    return None if kinds is None else sum(kinds.values())


def operations_by_kind(scop: Scop, parameters: dict[str, int]) -> dict[str, int] | None:
    """Return how many of each kind of arithmetic operation a call does, as `operations_of` counts them.

    Args:
        scop: the kernel.
        parameters: the values of its parameters.

    Returns:
        By ``OPERATION_KINDS``; None where it depends on data, or isl does not find out.
    """
    total = dict.fromkeys(OPERATION_KINDS, 0)
    for statement in scop.statements:
        each = [_operations(operation) for operation in statement.operations]
        if any(count is None for count in each):
            return None
        once = sum((count for count in each if count is not None), Counter())
        if not once.total():
            continue
        instances = cardinality([statement.domain], scop.context)
        if instances is None:
            return None
        times = int(instances.evaluate(**parameters))
        for kind, count in once.items():
            total[kind] += count * times
    return total


def _operations(operation: Operation) -> Counter[str] | None:
    """The arithmetic of one execution; None where that depends on data."""
    match operation:
        case Assign(_, value):
            return _arithmetic(value)
        case Branch(condition, then, otherwise):
            parts = [_operations(each) for each in (*then, *otherwise)]
            known = [part for part in parts if part is not None]
            return None if len(known) < len(parts) else sum(known, _arithmetic(condition))
        case Checked(body=body):
            parts = [_operations(each) for each in body]
            known = [part for part in parts if part is not None]
            return None if len(known) < len(parts) else sum(known, Counter())
        case _:
            return None


def _arithmetic(expression: Expression) -> Counter[str]:
    found: Counter[str] = Counter()
    for node in _counted(expression):
        found[_kind(node)] += _steps(node)
    return found


def _kind(node: Expression) -> str:
    """The kind of operation that a node is, one of ``OPERATION_KINDS``."""
    match node:
        case Power():
            return "multiplications"
        case Binary(operator=operator):
            return _KIND_OF_OPERATOR.get(operator, "others")
        case Select():
            return "choices"
        case _:
            return "functions"


def _steps(node: Expression) -> int:
    """Return how many operations a node stands for, its operands apart."""
    if isinstance(node, Power):  # by squares
        exponent = abs(node.exponent)
        return max(0, exponent.bit_length() + exponent.bit_count() - 2)
    return 1


def _counted(expression: Expression) -> Iterator[Expression]:
    """The nodes that are operations; of a choice between two values, as in ``a if a < b else b``, that is one, and what
    the condition and the values have in common is counted once."""
    match expression:
        case Element():
            return
        case Select(condition, then, otherwise):
            yield expression
            yield from dict.fromkeys(node for part in (condition, then, otherwise) for node in _counted(part))
        case Logical(_, operands):
            for operand in operands:
                yield from _counted(operand)
        case _:
            if isinstance(expression, Binary | Call | Power):
                yield expression
            for child in children(expression):
                yield from _counted(child)


def least_bytes(scop: Scop, counts: Counts, parameters: dict[str, int]) -> int | None:
    """Return how many bytes a call moves at least between processor and memory: each element of the arguments that it
    accesses once, and twice where its old value is read and a new one written.

    Args:
        scop: the kernel.
        counts: what it accesses.
        parameters: the values of its parameters.

    Returns:
        None where isl does not find out.
    """
    total = 0
    for each in counts.arrays:
        array = scop.array(each.array)
        if array.role not in (ArrayRole.ARGUMENT, ArrayRole.RESULT):
            continue
        if each.footprint is None:
            return None
        elements = int(each.footprint.evaluate(**parameters))
        total += elements * np.dtype(array.dtype).itemsize * passes(scop, array.name)
    return total


def passes(scop: Scop, array: str) -> int:
    """Return how often each element of an array has to pass between memory and processor: 2 if it comes and goes."""
    accesses = [access for statement in scop.statements for access in statement.accesses if access.array == array]
    is_written = any(access.is_write for access in accesses)
    return int(is_written) + int(not is_written or reads_old_values(scop, array))


def reads_old_values(scop: Scop, array: str) -> bool:
    """Return whether a kernel reads any element of an array before it has written it.

    True as well where isl does not find out within its budget.
    """
    accesses = [access for statement in scop.statements for access in statement.accesses if access.array == array]
    certain = [access.relation for access in accesses if access.kind is AccessKind.MUST_WRITE]
    writes = union_of((isl.UnionMap.from_map(relation) for relation in certain), scop)

    def is_live_in(relation: isl.Map) -> bool:
        information = isl.UnionAccessInfo.from_sink(isl.UnionMap.from_map(relation))
        flow = information.set_must_source(writes).set_schedule(scop.schedule).compute_flow()
        return not flow.get_must_no_source().intersect_params(scop.context).is_empty()

    context = scop.context.get_ctx()
    reads = [access.relation for access in accesses if access.kind is AccessKind.READ]
    return any(within_budget(context, PROOF_BUDGET, partial(is_live_in, read)) in (True, None) for read in reads)
