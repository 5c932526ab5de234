"""Complex numbers: their parts, and which operations have no meaning for them."""

from __future__ import annotations

from typing import Any

from polytune.frontend.expression import Binary, Call, Cast, Compare, walk
from polytune.frontend.promotion import COMPLEX, Value, binary, call, cast, constant, number, part

COMPLEX_FUNCTIONS = (
    "sqrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
)
"""The functions of ``Call`` nodes that take complex numbers and give one."""

_MADE = ("complex", "conjugate")


def conjugated(value: Value) -> Value:
    """The complex conjugate; a real number itself."""
    if value.dtype not in COMPLEX:
        return number(value)
    if value.weak and value.constant is not None:
        return constant(complex(value.constant).conjugate())
    return Value(_call("conjugate", value.dtype, value), value.weak)


def combined(real: Value, imaginary: Value) -> Value:
    """``complex(real, imaginary)``, of real numbers; a Python number."""
    if real.constant is not None and imaginary.constant is not None:
        return constant(complex(real.constant, imaginary.constant))
    parts = (cast(number(each), "float64", weak=True) for each in (real, imaginary))
    return Value(_call("complex", "complex128", *parts), weak=True)


def angle(value: Value) -> Value:
    """The angle in the complex plane, in radians."""
    return call("atan2", [part(value, "imag"), part(value, "real")], python=False)


def squared_magnitude(value: Value) -> Value:
    """The square of the magnitude, a real number."""
    if value.dtype not in COMPLEX:
        return binary("*", value, value)
    squares = [binary("*", each, each) for each in (part(value, "real"), part(value, "imag"))]
    return binary("+", *squares)


def _call(function: str, dtype: str, *arguments: Value) -> Call:
    return Call(function, tuple(argument.expression for argument in arguments), dtype)


def what_is_wrong(node: Any) -> tuple[str, str, str] | None:
    """Return what is wrong with the first operation in an expression or operation that complex numbers do not have,
    why, and what to do; None where there is none."""
    for found in walk(node):
        match found:
            case Cast(operand, dtype) if operand.dtype in COMPLEX and dtype not in (*COMPLEX, "bool"):
                return (
                    f"a complex number where {dtype} is computed",
                    "its imaginary part would be lost; Python raises an error here, and NumPy warns",
                    "use z.real, z.imag or abs(z), or a complex array or variable",
                )
            case Compare("<" | "<=" | ">" | ">=" as operator, left) if left.dtype in COMPLEX:
                return _without_order(f"{operator} of complex numbers")
            case Binary("min" | "max" as operator, _, _, dtype) if dtype in COMPLEX:
                return _without_order(f"{operator} of complex numbers")
            case Binary("//" | "%" as operator, _, _, dtype) if dtype in COMPLEX:
                return (
                    f"{operator} of complex numbers",
                    "Python raises an error here",
                    "use /, or the parts z.real and z.imag",
                )
            case Call(function, _, dtype) if dtype in COMPLEX and function not in (*COMPLEX_FUNCTIONS, *_MADE):
                return (
                    f"{function} of a complex number",
                    "it is a function of real numbers",
                    "use abs(z), z.real or z.imag; of complex numbers there are sqrt, exp, log, and the trigonometric "
                    "and hyperbolic functions of NumPy",
                )
    return None


def _without_order(what: str) -> tuple[str, str, str]:
    why = "they have no order: Python raises an error here, and NumPy compares the real parts first"
    return what, why, "compare abs(z), z.real or z.imag"
