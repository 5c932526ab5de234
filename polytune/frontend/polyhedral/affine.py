"""Expressions as isl objects: integer expressions as piecewise affine functions, conditions as sets.

Everything lives in parameter space: loop variables are parameters of their own name until a statement's domain is
made of them, so that an expression means the same at any loop depth.  Objects are built structurally, never by parsing.
"""

from __future__ import annotations

from typing import Any

import islpy as isl

from polytune.frontend.expression import (
    Argument,
    Binary,
    Call,
    Cast,
    Compare,
    Constant,
    Counter,
    Element,
    Expression,
    Iterator,
    Logical,
    ParameterValue,
    Select,
    Unary,
)

INTEGER_TYPES = ("int32", "int64")


class NotAffineError(Exception):
    """An expression is not affine; the message says why, in words that finish "because it ...".

    ``is_wrong`` tells that Python would raise an error for it.
    """

    def __init__(self, reason: str, *, is_wrong: bool = False):
        super().__init__(reason)
        self.is_wrong = is_wrong


class AffineBuilder:
    """Makes isl objects of expressions, in one isl context; results are kept per expression.

    Args:
        parameters: the names of the scalar arguments that may stand as parameters.
        context: the isl context to make objects in; by default a new one.

    Attributes:
        counters: the variables of loops inside of statements, and whether the bounds of each are affine; where they are
            not, nothing is known of its values.
        preserving: conversions of parameters to types of less than 64 bits that hold their values.
    """

    def __init__(self, parameters: frozenset[str] = frozenset(), context: isl.Context | None = None):
        self.context = context if context is not None else isl.Context()
        self.parameters = parameters
        self._empty = isl.Space.params_alloc(self.context, 0)
        self._functions: dict[Expression, isl.PwAff] = {}
        self.counters: dict[str, bool] = {}
        self.preserving: set[Expression] = set()

    def __getstate__(self) -> dict[str, object]:
        """All but the objects that can be made again."""
        names = ("context", "parameters", "counters", "preserving")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(context=state["context"])  # type: ignore[misc]
        self.__dict__ |= state

    def forget_counters(self) -> None:
        """Forget the loops inside of statements: the next walk over a kernel finds its own."""
        self.counters.clear()
        self._functions.clear()

    def universe(self) -> isl.Set:
        return isl.Set.universe(self._empty)

    def integer(self, value: int) -> isl.PwAff:
        """The constant function."""
        zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(self._empty))
        return isl.PwAff.from_aff(zero.set_constant_val(isl.Val(value, self.context)))

    def symbol(self, name: str) -> isl.PwAff:
        """The function ``[name] -> { [(name)] }``."""
        space = isl.Space.params_alloc(self.context, 1).set_dim_name(isl.dim_type.param, 0, name)
        return isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), isl.dim_type.param, 0))

    def is_function(self, expression: Expression) -> bool:
        """Return whether ``function`` would succeed."""
        try:
            self.function(expression)
        except NotAffineError:
            return False
        return True

    def is_condition(self, expression: Expression) -> bool:
        """Return whether ``condition`` would succeed."""
        try:
            self.condition(expression)
        except NotAffineError:
            return False
        return True

    def function(self, expression: Expression) -> isl.PwAff:
        """``[p] -> { [(expression)] }``.

        Raises:
            NotAffineError: the expression is not a piecewise quasi-affine function of loop variables and parameters.
        """
        known = self._functions.get(expression)
        if known is None:
            known = self._functions[expression] = self._function(expression).coalesce()
        return known

    def condition(self, expression: Expression) -> isl.Set:
        """``[p] -> { : expression }``.

        Raises:
            NotAffineError: the condition does not compare affine functions.
        """
        match expression:
            case Constant(value, "bool"):
                return self.universe() if value else isl.Set.empty(self._empty)
            case Unary("not", operand):
                return self.condition(operand).complement()
            case Logical(operator, operands):
                sets = [self.condition(operand) for operand in operands]
                result = sets[0]
                for other in sets[1:]:
                    result = result.intersect(other) if operator == "and" else result.union(other)
                return result
            case Select(condition, then, otherwise, "bool"):
                chosen = self.condition(condition)
                return (chosen & self.condition(then)) | (chosen.complement() & self.condition(otherwise))
            case Compare("<" | "<=" as operator, left, right):
                return self.less(left, right, strictly=operator == "<")
            case Compare(">" | ">=" as operator, left, right):
                return self.less(right, left, strictly=operator == ">")
            case Compare(operator, left, right):
                functions = self.function(left), self.function(right)
                return functions[0].eq_set(functions[1]) if operator == "==" else functions[0].ne_set(functions[1])
        raise NotAffineError("is no comparison of integers")

    def less(self, left: Expression, right: Expression, *, strictly: bool) -> isl.Set:
        """``[p] -> { : left < right }``, or with ``<=``.

        What is less than a minimum is less than both numbers, and so on: that is one convex set, where comparing with
        the minimum as a piecewise function would give one for each of its pieces.

        Args:
            left, right: integers.
            strictly: whether equal numbers are left out.

        Raises:
            NotAffineError: a side is not affine.
        """
        for side, of_both in ((left, "max"), (right, "min")):
            extremum = _extremum(side)
            if extremum is not None:
                operator, *numbers = extremum
                pairs = [(number, right) if side is left else (left, number) for number in numbers]
                first, second = (self.less(*pair, strictly=strictly) for pair in pairs)
                return first.intersect(second) if operator == of_both else first.union(second)
        functions = self.function(left), self.function(right)
        return functions[0].lt_set(functions[1]) if strictly else functions[0].le_set(functions[1])

    def _function(self, expression: Expression) -> isl.PwAff:
        if expression in self.preserving and isinstance(expression, Cast):
            return self.function(expression.operand)
        _require_integer(expression)
        match expression:
            case Constant(value):
                return self.integer(int(value))
            case Counter(name) if not self.counters.get(name):
                raise NotAffineError("counts a loop whose bounds depend on data")
            case Iterator(name) | ParameterValue(name) | Counter(name):
                return self.symbol(name)
            case Argument(name) if name in self.parameters:
                return self.symbol(name)
            case Cast(operand) if operand.dtype in INTEGER_TYPES:
                return self.function(operand)
            case Cast(operand) if operand.dtype == "bool":
                return self._choice(self.condition(operand), self.integer(1), self.integer(0))
            case Unary("-", operand):
                return self.function(operand).neg()
            case Unary("abs", operand):
                signed = self.function(operand)
                return signed.max(signed.neg())
            case Select(condition, then, otherwise):
                return self._choice(self.condition(condition), self.function(then), self.function(otherwise))
            case Binary(operator, left, right):
                return self._arithmetic(operator, self.function(left), self.function(right))
            case Cast():
                raise NotAffineError("rounds a floating-point number")
        raise NotAffineError("is not a function of loop variables and sizes")

    def _arithmetic(self, operator: str, left: isl.PwAff, right: isl.PwAff) -> isl.PwAff:
        match operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "min":
                return left.min(right)
            case "max":
                return left.max(right)
            case "*":
                if left.is_cst() or right.is_cst():
                    return left.mul(right)
                raise NotAffineError("multiplies two values that are only known at run time")
            case "//" | "%":
                return self._division(operator, left, right)
        raise NotAffineError("raises a value that is only known at run time to a power")

    def _division(self, operator: str, left: isl.PwAff, right: isl.PwAff) -> isl.PwAff:
        """Python's floor division and its remainder, which has the sign of the divisor."""
        if not right.is_cst():
            raise NotAffineError("divides by a value that is only known at run time")
        divisor = int(right.max_val().to_python())
        if divisor == 0:
            raise NotAffineError("divides by zero", is_wrong=True)
        size = isl.Val(abs(divisor), self.context)
        if divisor < 0:
            left = left.neg()
        if operator == "//":
            return left.scale_down_val(size).floor()
        remainder = left.mod_val(size)
        return remainder.neg() if divisor < 0 else remainder

    @staticmethod
    def _choice(condition: isl.Set, then: isl.PwAff, otherwise: isl.PwAff) -> isl.PwAff:
        return then.intersect_params(condition).union_add(otherwise.intersect_params(condition.complement()))


def _require_integer(expression: Expression) -> None:
    """Raise ``NotAffineError`` where an expression is data, a call or no integer."""
    match expression:
        case Element(array, ()):
            raise NotAffineError(f"depends on the variable {array}, whose values are only known at run time")
        case Element(array):
            raise NotAffineError(f"depends on elements of {array}")
        case Call(function):
            raise NotAffineError(f"calls {function}")
        case Constant(value) if abs(value) >= 2**63:
            raise NotAffineError("has more than 63 bits")
    if expression.dtype not in INTEGER_TYPES:
        raise NotAffineError("is not an integer")


def _extremum(expression: Expression) -> tuple[str, Expression, Expression] | None:
    """An expression as ``min`` or ``max`` of two others, also where something is added to it, or it is subtracted; None
    for any other."""
    match expression:
        case Binary("min" | "max" as operator, left, right):
            return operator, left, right
        case Binary("+" | "-" as sign, left, right, dtype):
            within = _extremum(left)
            if within is not None:
                extreme, first, second = within
                return extreme, Binary(sign, first, right, dtype), Binary(sign, second, right, dtype)
            within = _extremum(right)
            if within is not None:
                extreme, first, second = within
                if sign == "-":
                    extreme = "min" if extreme == "max" else "max"
                return extreme, Binary(sign, left, first, dtype), Binary(sign, left, second, dtype)
    return None


def as_index(expression: Expression) -> Expression:
    """An affine expression in the form that subscripts and bounds have: all int64, scalar arguments as parameters."""
    match expression:
        case Constant(value):
            return Constant(int(value), "int64")
        case Argument(name):
            return ParameterValue(name)
        case Cast(operand) if operand.dtype in INTEGER_TYPES:
            return as_index(operand)
        case Unary(operator, operand, dtype) if dtype != "bool":
            return Unary(operator, as_index(operand), "int64")
        case Binary(operator, left, right):
            return Binary(operator, as_index(left), as_index(right), "int64")
        case Compare(operator, left, right):
            return Compare(operator, as_index(left), as_index(right))
        case Select(condition, then, otherwise, dtype) if dtype != "bool":
            return Select(as_condition(condition), as_index(then), as_index(otherwise), "int64")
    return expression


def as_condition(expression: Expression) -> Expression:
    """An affine condition with its comparisons in index form."""
    match expression:
        case Compare(operator, left, right):
            return Compare(operator, as_index(left), as_index(right))
        case Logical(operator, operands):
            return Logical(operator, tuple(as_condition(operand) for operand in operands))
        case Unary("not", operand):
            return Unary("not", as_condition(operand), "bool")
    return expression
