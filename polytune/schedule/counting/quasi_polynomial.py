"""Piecewise quasi-polynomials in the parameters, as exact Python integer expressions.

The number of integer points of a parametric set is a quasi-polynomial on each of finitely many pieces of the
parameter space: a polynomial with rational coefficients in the parameters and in floors of affine forms of them
(Verdoolaege et al., "Counting Integer Points in Parametric Polytopes Using Barvinok's Rational Functions",
Algorithmica 48, 2007).  isl holds such a function as a ``PwQPolynomial``; here it becomes text that needs neither isl
nor sympy to be evaluated.

Coefficients are rational, the value is an integer wherever the piece's condition holds.  So a piece is written as
one integer polynomial over the common denominator of its coefficients, ``n*(n - 1)//2``, and its division is exact.

Of the conditions isl's AST generator finds the short form (``n % 3 == 0`` for ``exists k: n = 3 k``); their text is
written from the expression tree that it makes.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

import islpy as isl

from polytune.errors import MissingLibraryError
from polytune.records import dataclass

if TYPE_CHECKING:
    import sympy


_FACTORED_TERMS, _FACTORED_PIECES = 12, 8
"""Polynomials of more terms, and functions of more pieces, are left expanded: factors take long and clarify nothing."""

_LINE_LENGTH = 110


@dataclass(frozen=True)
class PolynomialPiece:
    """One piece: where ``condition`` holds, the function is ``value``; both Python expressions of the parameters."""

    condition: str
    value: str


@dataclass(frozen=True)
class PiecewiseQuasiPolynomial:
    """An integer-valued function of integer parameters, zero outside its pieces.

    Attributes:
        parameters: the parameters' names, in the order in which the function takes them.
        pieces: disjoint pieces; the condition of a piece that holds everywhere is ``"True"``.
    """

    parameters: tuple[str, ...]
    pieces: tuple[PolynomialPiece, ...]

    @classmethod
    def from_isl(cls, function: isl.PwQPolynomial) -> PiecewiseQuasiPolynomial:
        """The function of an isl piecewise quasi-polynomial ``[p] -> { f(p) : p in D }`` in the parameters alone.

        Raises:
            ValueError: a piece is infinite, NaN, or does not depend on the parameters alone.
        """
        if function.dim(isl.dim_type.in_) > 0:
            raise ValueError(f"not a function of parameters alone: {function}")
        space = function.get_domain_space()
        parameters = tuple(str(space.get_dim_name(isl.dim_type.param, i)) for i in range(space.dim(isl.dim_type.param)))
        pieces = []
        parts = function.coalesce().get_pieces()
        for domain, polynomial in parts:
            value = _value_text(polynomial, parameters, factored=len(parts) <= _FACTORED_PIECES)
            if value != "0":
                pieces.append(PolynomialPiece(condition_text(domain.params()), value))
        return cls(parameters, tuple(piece for piece in pieces if piece.condition != "False"))

    def python(self, name: str) -> str:
        """The source of a plain function of the parameters, ``def name(n, m): ...``, that imports nothing."""
        lines = [f"def {name}({', '.join(self.parameters)}):"]
        for piece in self.pieces:
            if piece.condition == "True":
                return "\n".join([*lines, *_wrapped("    return", piece.value, "")]) + "\n"
            lines += _wrapped("    if", piece.condition, ":") + _wrapped("        return", piece.value, "")
        return "\n".join([*lines, "    return 0"]) + "\n"

    def evaluate(self, **parameters: int) -> int:
        """The value for the parameters given by name; more than the function's own may be given.

        Raises:
            KeyError: a parameter is missing.
        """
        return self._function(*(int(parameters[name]) for name in self.parameters))

    @cached_property
    def _function(self) -> Callable[..., int]:
        names: dict[str, Callable[..., int]] = {}
        exec(self.python("function"), names)
        return names["function"]

    def __str__(self) -> str:
        if not self.pieces:
            return "0"
        return "; ".join(
            piece.value if piece.condition == "True" else f"{piece.value} if {piece.condition}" for piece in self.pieces
        )


def _sympy() -> ModuleType:
    """sympy, which takes as long to import as many a kernel to compile, and is imported when it is first needed.

    Raises:
        MissingLibraryError: it cannot be imported.
    """
    try:
        import sympy
    except ImportError as error:
        raise MissingLibraryError(
            f"counting what a kernel computes needs sympy, which cannot be imported ({error}): pip install sympy"
        ) from error
    module: ModuleType = sympy
    return module


def _value_text(polynomial: isl.QPolynomial, parameters: tuple[str, ...], factored: bool) -> str:
    """One quasi-polynomial as ``P//d`` with an integer polynomial P, in factors if wanted and shorter."""
    if polynomial.is_nan() or polynomial.is_infty() or polynomial.is_neginfty():
        raise ValueError(f"not a finite number: {polynomial}")
    sympy = _sympy()
    coefficients: dict[Any, Fraction] = {}
    for term in polynomial.get_terms():
        monomial = _monomial(term, parameters)
        coefficients[monomial] = coefficients.get(monomial, Fraction(0)) + _fraction(term.get_coefficient_val())
    denominator = math.lcm(*(coefficient.denominator for coefficient in coefficients.values()))
    numerator = sympy.Add(*(int(value * denominator) * monomial for monomial, value in coefficients.items()))
    if factored and numerator.is_Add and len(numerator.args) <= _FACTORED_TERMS:
        numerator = min(sympy.factor(numerator), numerator, key=sympy.count_ops)
    text = str(numerator)
    if denominator == 1:
        return text[1:-1] if numerator.is_Symbol and text.startswith("(") else text
    return f"({text})//{denominator}" if numerator.is_Add else f"{text}//{denominator}"


def _monomial(term: isl.Term, parameters: tuple[str, ...]) -> sympy.Expr:
    """The product of powers of a term.  A floor is one symbol whose name is its Python text."""
    sympy = _sympy()
    factors = [
        sympy.Symbol(name) ** term.get_exp(isl.dim_type.param, index)
        for index, name in enumerate(parameters)
        if term.get_exp(isl.dim_type.param, index)
    ]
    for index in range(term.dim(isl.dim_type.div)):
        exponent = term.get_exp(isl.dim_type.div, index)
        if exponent:
            floor = floor_text(term.get_div(index))
            factors.append(sympy.Symbol(f"({floor})") ** exponent)
    return sympy.Mul(*factors)


def _fraction(value: isl.Val) -> Fraction:
    denominator = value.get_den_val()
    return Fraction(value.mul(denominator).to_python(), denominator.to_python())


def _wrapped(before: str, expression: str, after: str) -> list[str]:
    """A statement on one line, or over several in parentheses where one would be too long."""
    if len(before) + len(expression) <= _LINE_LENGTH:
        return [f"{before} {expression}{after}"]
    indent = " " * (len(before) - len(before.lstrip()) + 4)
    lines = textwrap.wrap(expression, _LINE_LENGTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return [f"{before} (", *(indent + line for line in lines), f"{indent[4:]}){after}"]


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
