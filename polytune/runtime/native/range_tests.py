"""Tests whether a number is in a range from 0, as subscripts have them, in one comparison instead of two.

Of numbers without sign, ``0 <= x and x < n`` is ``x < max(n, 0)``, as those that are negative with a sign are greater
than all others; the maximum is the same in all iterations of a loop, and is computed before it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from llvmlite import ir
from numba.core import types

from polytune.runtime.intrinsics.arithmetic import greatest, least
from polytune.runtime.native.kinds import NativeValue
from polytune.syntax_trees import all_nodes

__all__ = ["range_test", "range_tested"]


_PURE = (greatest, least)
"""The functions that may be called anywhere, and once instead of twice."""


def range_tested(
    is_and: bool, first: ast.expr, second: ast.expr, names: Mapping[str, Any]
) -> tuple[ast.expr, ast.expr] | None:
    """Return the number and the end of the range of which two conditions, ``x >= 0 and x < n`` or ``x < 0 or x >= n``,
    say whether it is in it; None for any others, and where the end must not be evaluated unless the first one asks for
    it.

    Args:
        is_and: whether both are to hold.
        first: a condition.
        second: the one after it.
        names: what names stand for that are no variables.
    """
    match first, second:
        case (
            ast.Compare(left=number, ops=[low], comparators=[ast.Constant(value=0)]),
            ast.Compare(left=same, ops=[high], comparators=[end]),
        ):
            wanted = (ast.GtE, ast.Lt) if is_and else (ast.Lt, ast.GtE)
            is_range = isinstance(low, wanted[0]) and isinstance(high, wanted[1]) and ast.dump(number) == ast.dump(same)
            return (number, end) if is_range and _is_plain(end, names) and not _calls(number, names) else None
    return None


def _is_plain(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether an expression may be evaluated anywhere."""
    plain = ast.Name | ast.Constant | ast.BinOp | ast.Add | ast.Sub | ast.Call | ast.expr_context
    return all(isinstance(part, plain) for part in all_nodes(node)) and not _calls(node, names)


def _calls(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Return whether an expression calls a function that may have effects."""
    functions = (part.func for part in all_nodes(node) if isinstance(part, ast.Call))
    return not all(isinstance(each, ast.Name) and names.get(each.id) in _PURE for each in functions)


def range_test(builder: ir.IRBuilder, is_in: bool, number: NativeValue, end: NativeValue) -> ir.Value | None:
    """Write whether a number is in a range from 0, or is not, as one bit; None for numbers that are no int64.

    Args:
        builder: where the code goes.
        is_in: whether it is to be in the range.
        number: the number.
        end: the end of the range.
    """
    if not all(types.unliteral(each.kind) == types.int64 for each in (number, end)):
        return None
    zero = end.code.type(0)
    limit = builder.select(builder.icmp_signed(">", end.code, zero), end.code, zero)
    return builder.icmp_unsigned("<" if is_in else ">=", number.code, limit)
