"""Affine conditions and quasi-affine forms of parameters as Python text.

isl's AST generator finds the short form of a set of parameters (``n % 3 == 0`` for ``exists k: n = 3 k``); the text
is written from the expression tree that it makes.
"""

from __future__ import annotations

import islpy as isl

_INFIX = {
    "or_": ("or", 1),
    "or_else": ("or", 1),
    "and_": ("and", 2),
    "and_then": ("and", 2),
    "eq": ("==", 3),
    "le": ("<=", 3),
    "lt": ("<", 3),
    "ge": (">=", 3),
    "gt": (">", 3),
    "add": ("+", 4),
    "sub": ("-", 4),
    "mul": ("*", 5),
    "div": ("//", 5),
    "fdiv_q": ("//", 5),
    "pdiv_q": ("//", 5),
    "pdiv_r": ("%", 5),
    "zdiv_r": ("%", 5),
}
"""Python's operator and its precedence, by the name of isl's operation.

isl's divisions differ in what they promise (exact, non-negative, only compared with zero); under each promise
Python's flooring ``//`` and ``%`` give its value.
"""
_COMPARISON, _PRODUCT, _UNARY, _ATOM = 3, 5, 6, 7
_ASSOCIATIVE = ("or", "and", "+")


def condition_text(condition: isl.Set) -> str:
    """Parameters ``[p] -> { : ... }`` as a Python condition; ``"True"`` and ``"False"`` for the trivial."""
    if condition.is_empty():
        return "False"
    if condition.plain_is_universe():
        return "True"
    return _text(_build(condition).expr_from_set(condition))[0]


def floor_text(affine: isl.Aff) -> str:
    """The floor of a quasi-affine form ``[p] -> { [(a p + b) / c] }`` of parameters as a Python expression."""
    denominator = affine.get_denominator_val()
    factors = [
        (affine.get_coefficient_val(isl.dim_type.param, index), str(affine.get_dim_name(isl.dim_type.param, index)))
        for index in range(affine.dim(isl.dim_type.param))
    ]
    factors += [
        (affine.get_coefficient_val(isl.dim_type.div, index), f"({floor_text(affine.get_div(index))})")
        for index in range(affine.dim(isl.dim_type.div))
    ]
    terms = [(value.mul(denominator).to_python(), text) for value, text in factors if not value.is_zero()]
    constant = affine.get_constant_val().mul(denominator).to_python()
    numerator = ""
    for value, text in [*terms, *([(constant, "1")] if constant or not terms else [])]:
        sign = ("-" if value < 0 else "") if not numerator else (" - " if value < 0 else " + ")
        magnitude = str(abs(value)) if text == "1" else text if abs(value) == 1 else f"{abs(value)}*{text}"
        numerator += sign + magnitude
    if denominator.is_one():
        return numerator
    simple = len(terms) + bool(constant) == 1
    return f"{numerator}//{denominator}" if simple else f"({numerator})//{denominator}"


def _build(node: isl.Set) -> isl.AstBuild:
    return isl.AstBuild.from_context(isl.Set.universe(isl.Space.params_alloc(node.get_ctx(), 0)))


def _text(expression: isl.AstExpr) -> tuple[str, int]:
    """The Python text of an expression and the precedence of its outermost operator."""
    kind = expression.get_type()
    if kind == isl.ast_expr_type.int:
        value = expression.get_val().to_python()
        return str(value), _ATOM if value >= 0 else _UNARY
    if kind == isl.ast_expr_type.id:
        return expression.get_id().get_name(), _ATOM
    operation = isl.ast_expr_op_type(expression.get_op_type()).name
    arguments = [_text(expression.get_op_arg(index)) for index in range(expression.get_op_n_arg())]
    if operation == "minus":
        return f"-{_enclosed(*arguments[0], _UNARY)}", _UNARY
    if operation in ("min", "max"):
        return f"{operation}({', '.join(text for text, _ in arguments)})", _ATOM
    if operation in ("cond", "select"):
        (condition, _), (then, _), (otherwise, _) = arguments
        return f"({then} if {condition} else {otherwise})", _ATOM
    symbol, precedence = _INFIX[operation]
    (left, left_precedence), (right, right_precedence) = arguments
    left_least = precedence + 1 if precedence == _COMPARISON else precedence
    right_least = precedence if symbol in _ASSOCIATIVE else precedence + 1
    space = "" if precedence == _PRODUCT else " "
    sides = _enclosed(left, left_precedence, left_least), _enclosed(right, right_precedence, right_least)
    return f"{sides[0]}{space}{symbol}{space}{sides[1]}", precedence


def _enclosed(text: str, precedence: int, least: int) -> str:
    return text if precedence >= least else f"({text})"
