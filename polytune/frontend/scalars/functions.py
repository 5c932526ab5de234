"""The functions that may be called on numbers: Python's, those of ``math``, and NumPy's on scalars.

A ``Call`` node carries the ``math`` module's name of a function (``asin``, ``atan2``, ...), whichever module the source
took it from; NumPy's own are ``minimum``, ``maximum`` (NaN wins), ``fmin``, ``fmax`` (NaN loses), ``sign``, and
``rint`` (the nearest integer, of two the even one).
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from polytune.frontend.promotion import (
    COMPLEX,
    Value,
    absolute,
    binary,
    call,
    cast,
    compare,
    constant,
    logical,
    negate,
    negation,
    number,
    part,
    select,
    truth,
)
from polytune.frontend.scalars.bits import bits, inverted
from polytune.frontend.scalars.complex_numbers import COMPLEX_FUNCTIONS, angle, combined, conjugated
from polytune.frontend.syntax.refusals import counted
from polytune.signature import DATA_TYPES, UNSIGNED_TYPES

CALLS = (
    *COMPLEX_FUNCTIONS,
    "cbrt",
    "erf",
    "erfc",
    "gamma",
    "lgamma",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "pow",
    "atan2",
    "hypot",
    "copysign",
    "fmod",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "sign",
)
"""Every function name that a ``Call`` node may carry."""

_BINARY = ("atan2", "hypot", "copysign", "fmod")
_TO_INTEGER = ("floor", "ceil", "trunc")
_KEEP_TRUTH = (bool, np.bool_, np.invert, np.floor, np.ceil, np.trunc, np.fix, np.real)
"""Functions that give a truth value of one."""
NUMPY_NAMES = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "atan2": "arctan2",
}
"""NumPy's names of functions that have another name in ``math``."""

_OF_TRUTHS = {
    np.add: "or",
    np.multiply: "and",
    np.maximum: "or",
    np.fmax: "or",
    np.minimum: "and",
    np.fmin: "and",
    max: "or",
    min: "and",
}
"""The logical operations that NumPy's arithmetic is on truth values, and the extrema of Python."""

_COMPARISONS = {
    np.less: "<",
    np.less_equal: "<=",
    np.greater: ">",
    np.greater_equal: ">=",
    np.equal: "==",
    np.not_equal: "!=",
}


_BITS = {
    np.bitwise_and: "&",
    np.bitwise_or: "|",
    np.bitwise_xor: "^",
    np.left_shift: "<<",
    np.right_shift: ">>",
}


class ArityError(Exception):
    """A function was called with a number of arguments that it does not take."""


def is_known(function: Any) -> bool:
    """Return whether a Python object is a function of the table."""
    try:
        return function in _TABLE
    except TypeError:  # not hashable
        return False


def apply(function: Any, arguments: list[Value]) -> Value:
    """The value of a call of a function of the table.

    Raises:
        ArityError: the number of arguments is wrong.
    """
    least, most, build = _TABLE[function]
    if not least <= len(arguments) <= most:
        wanted = counted(most, "number") if least == most else f"{least} to {most} numbers"
        raise ArityError(f"takes {wanted}, not {len(arguments)}")
    if function in _OF_TRUTHS and all(argument.dtype == "bool" for argument in arguments):
        return logical(_OF_TRUTHS[function], arguments)
    if function in (abs, np.abs) and arguments[0].dtype == "bool":
        return arguments[0]
    keeps_truth = function in _KEEP_TRUTH or function in _BITS
    value = build([argument if keeps_truth else number(argument) for argument in arguments])
    # Whatever NumPy's functions compute of Python's numbers has a type of NumPy's.
    return replace(value, weak=False) if isinstance(function, np.ufunc) else value


def _function(name: str, python: bool, arguments: list[Value]) -> Value:
    return call(name, arguments, python=python)


def _sign(arguments: list[Value]) -> Value:
    """``np.sign``, which keeps the type."""
    argument = arguments[0]
    if not argument.is_integer:
        return call("sign", arguments, python=False)
    signs = (cast(constant(value), argument.dtype, argument.weak) for value in (1, 0))
    positive = select(compare(">", argument, constant(0)), *signs)
    if argument.dtype in UNSIGNED_TYPES:
        return positive
    return select(compare("<", argument, constant(0)), cast(constant(-1), argument.dtype, argument.weak), positive)


def _to_integer(name: str, arguments: list[Value]) -> Value:
    """``math.floor`` and its like, which give a Python int."""
    argument = arguments[0]
    if argument.is_integer:
        return cast(argument, "int64", weak=True)
    rounded = argument if name == "trunc" else call(name, [argument], python=True)
    return cast(rounded, "int64", weak=True)


def _rounded(name: str, arguments: list[Value]) -> Value:
    """``np.floor`` and its like, which keep the type."""
    argument = arguments[0]
    return argument if argument.is_integer or argument.dtype == "bool" else call(name, arguments, python=False)


def _logarithm(arguments: list[Value]) -> Value:
    logarithms = [call("log", [argument], python=True) for argument in arguments]
    return reduce(partial(binary, "/"), logarithms)


def _fold(symbol: str, arguments: list[Value]) -> Value:
    return reduce(partial(binary, symbol), arguments)


def _extremum(symbol: str, name: str, arguments: list[Value]) -> Value:
    """NumPy's extrema differ from Python's for NaN only, which integers have not."""
    if all(argument.is_integer for argument in arguments):
        return binary(symbol, *arguments)
    return call(name, arguments, python=False)


def _remainder_of_sign(arguments: list[Value]) -> Value:
    """``np.fmod``, with the sign of the first number; of integers one of their type, 0 where the second is 0."""
    remainder = binary("%", *arguments)
    if not remainder.is_integer:
        return call("fmod", arguments, python=False)
    if remainder.dtype in UNSIGNED_TYPES:
        return remainder
    left, right = (cast(argument, remainder.dtype, remainder.weak) for argument in arguments)
    zero = constant(0)
    unlike = compare("!=", number(compare("<", left, zero)), number(compare("<", right, zero)))
    is_other = logical("and", [compare("!=", remainder, zero), unlike])
    return select(is_other, binary("-", remainder, right), remainder)


def _fabs(python: bool, arguments: list[Value]) -> Value:
    argument = arguments[0]
    if argument.dtype in COMPLEX:
        return call("fabs", arguments, python=False)
    return absolute(cast(argument, "float64", weak=python) if python or argument.is_integer else argument)


def _is_nan(arguments: list[Value]) -> Value:
    """NaN alone differs from itself."""
    argument = arguments[0]
    return constant(False) if argument.is_integer else compare("!=", argument, argument)


def _against_infinity(symbol: str, arguments: list[Value]) -> Value:
    """The magnitude compared with infinity; NaN is neither infinite nor finite."""
    argument = arguments[0]
    if argument.dtype in COMPLEX:
        parts = [_against_infinity(symbol, [part(argument, name)]) for name in ("real", "imag")]
        return logical("and" if symbol == "<" else "or", parts)
    return constant(symbol == "<") if argument.is_integer else compare(symbol, absolute(argument), constant(math.inf))


def _clipped(arguments: list[Value]) -> Value:
    """``np.clip(x, low, high)`` is defined as ``np.minimum(high, np.maximum(x, low))``, so that NaN stays NaN."""
    value, low, high = arguments
    return _extremum("min", "minimum", [high, _extremum("max", "maximum", [value, low])])


def _to_even(arguments: list[Value]) -> Value:
    """``np.round``: the nearest integer, of two the even one, with the sign of the number."""
    argument = arguments[0]
    return argument if argument.is_integer else call("rint", [argument], python=False)


def _floating(arguments: list[Value]) -> list[Value]:
    """Real numbers as floats, of which Python's take the type of others that they meet."""
    return [cast(argument, _float_of(argument), argument.weak) for argument in arguments]


def _float_of(argument: Value) -> str:
    """The type in which NumPy's functions compute of a number; of 8 bits it is double, as for all functions here."""
    if not argument.is_integer:
        return argument.dtype
    return "float32" if argument.dtype in ("int16", "uint16") else "float64"


def _log_of_sum(exponential: str, arguments: list[Value]) -> Value:
    """``np.logaddexp`` and ``np.logaddexp2``, by NumPy's own expressions."""
    left, right = _floating(arguments)
    distance = binary("-", left, right)
    scale = constant(1.0 if exponential == "exp" else 1.0 / math.log(2.0))

    def side(larger: Value, negative: Value) -> Value:
        power = call(exponential, [negative], python=False)
        return binary("+", larger, binary("*", scale, call("log1p", [power], python=False)))

    one = constant(math.log(2.0) if exponential == "exp" else 1.0)
    is_less = compare("<=", distance, constant(0.0))
    unequal = select(
        compare(">", distance, constant(0.0)),
        side(left, negate(distance)),
        select(is_less, side(right, distance), distance),
    )
    return select(compare("==", left, right), binary("+", left, one), unequal)


def _step(arguments: list[Value]) -> Value:
    """``np.heaviside``: 0 below 0, 1 above it, and what is said at it."""
    value, at_zero = _floating(arguments)
    above = select(compare(">", value, constant(0.0)), constant(1.0), value)  # NaN stays
    below = select(compare("<", value, constant(0.0)), constant(0.0), above)
    return select(compare("==", value, constant(0.0)), at_zero, below)


def _has_sign(arguments: list[Value]) -> Value:
    """``np.signbit``, also of zeros."""
    argument = _floating(arguments)[0]
    return compare("<", call("copysign", [constant(1.0), argument], python=False), constant(0.0))


def _sinc(arguments: list[Value]) -> Value:
    angle_of_it = binary("*", constant(math.pi), _floating(arguments)[0])
    quotient = binary("/", call("sin", [angle_of_it], python=False), angle_of_it)
    return select(compare("==", angle_of_it, constant(0.0)), constant(1.0), quotient)


def _reciprocal(arguments: list[Value]) -> Value:
    """One over a number; of integers, what is left of it: 0 of all but 1 and -1."""
    quotient = binary("/", constant(1.0), arguments[0])
    return cast(quotient, arguments[0].dtype) if arguments[0].is_integer else quotient


def _scaled(name: str, numerator: float, denominator: float, arguments: list[Value]) -> Value:
    """A number times a quotient, which NumPy computes in the number's own type, as floating point."""
    if arguments[0].dtype in COMPLEX:
        return call(name, arguments, python=False)
    (argument,) = _floating(arguments)
    if argument.dtype not in ("float16", "float32"):
        return binary("*", argument, constant(numerator / denominator))
    factor = constant(float(np.float32(numerator) / np.float32(denominator)))
    return cast(binary("*", cast(argument, "float32"), factor), argument.dtype)


def _compared(symbol: str, arguments: list[Value]) -> Value:
    return compare(symbol, *arguments)


def _of_bits(symbol: str, arguments: list[Value]) -> Value:
    return bits(symbol, *arguments)


def _logical(symbol: str, arguments: list[Value]) -> Value:
    return logical(symbol, [truth(argument) for argument in arguments])


def _complex(arguments: list[Value]) -> Value:
    """``complex(z)``, or of two real numbers."""
    return combined(*arguments) if len(arguments) == 2 else cast(arguments[0], "complex128", weak=True)


def _convert(dtype: str, weak: bool, arguments: list[Value]) -> Value:
    return cast(arguments[0], dtype, weak)


_Rule = tuple[int, int, Callable[[list[Value]], Value]]


def _of_complex(name: str, arguments: list[Value]) -> Value:
    """A function of ``cmath``, which gives a complex number of real ones, too."""
    return replace(call(name, [cast(arguments[0], "complex128", weak=True)], python=False), weak=True)


def _own_rules() -> dict[Any, _Rule]:
    """The functions that have a rule each."""
    many = 64
    return {
        abs: (1, 1, lambda arguments: absolute(arguments[0])),
        min: (2, many, partial(_fold, "min")),
        max: (2, many, partial(_fold, "max")),
        pow: (2, 2, partial(_fold, "**")),
        int: (1, 1, partial(_convert, "int64", True)),
        float: (1, 1, partial(_convert, "float64", True)),
        bool: (1, 1, lambda arguments: replace(truth(arguments[0]), weak=True)),
        round: (1, 1, lambda arguments: cast(_to_even(arguments), "int64", weak=True)),
        math.log: (1, 2, _logarithm),
        math.pow: (2, 2, partial(_function, "pow", True)),
        math.fabs: (1, 1, partial(_fabs, True)),
        np.fabs: (1, 1, partial(_fabs, False)),
        np.abs: (1, 1, lambda arguments: absolute(arguments[0])),
        np.add: (2, 2, partial(_fold, "+")),
        np.subtract: (2, 2, partial(_fold, "-")),
        np.multiply: (2, 2, partial(_fold, "*")),
        np.divide: (2, 2, partial(_fold, "/")),
        np.floor_divide: (2, 2, partial(_fold, "//")),
        np.negative: (1, 1, lambda arguments: negate(arguments[0])),
        np.positive: (1, 1, lambda arguments: arguments[0]),
        np.reciprocal: (1, 1, _reciprocal),
        np.degrees: (1, 1, partial(_scaled, "degrees", 180.0, math.pi)),
        np.radians: (1, 1, partial(_scaled, "radians", math.pi, 180.0)),
        np.rint: (1, 1, lambda arguments: _to_even(_floating(arguments))),
        np.fmod: (2, 2, _remainder_of_sign),
        np.round: (1, 1, _to_even),
        np.square: (1, 1, lambda arguments: binary("*", arguments[0], arguments[0])),
        np.power: (2, 2, partial(_fold, "**")),
        np.mod: (2, 2, partial(_fold, "%")),
        np.minimum: (2, 2, partial(_extremum, "min", "minimum")),
        np.maximum: (2, 2, partial(_extremum, "max", "maximum")),
        np.fmin: (2, 2, partial(_extremum, "min", "fmin")),
        np.fmax: (2, 2, partial(_extremum, "max", "fmax")),
        np.sign: (1, 1, _sign),
        np.logaddexp: (2, 2, partial(_log_of_sum, "exp")),
        np.logaddexp2: (2, 2, partial(_log_of_sum, "exp2")),
        np.heaviside: (2, 2, _step),
        np.signbit: (1, 1, _has_sign),
        np.sinc: (1, 1, _sinc),
        np.float_power: (2, 2, lambda arguments: binary("**", *(cast(each, "float64") for each in arguments))),
        np.clip: (3, 3, _clipped),
        np.real: (1, 1, lambda arguments: arguments[0] if arguments[0].dtype == "bool" else part(arguments[0], "real")),
        np.imag: (1, 1, lambda arguments: part(arguments[0], "imag")),
        np.conjugate: (1, 1, lambda arguments: conjugated(arguments[0])),
        np.angle: (1, 1, lambda arguments: angle(arguments[0])),
        complex: (1, 2, _complex),
    }


def _table() -> dict[Any, _Rule]:
    """The functions with a rule of their own, and those of families, as comparisons and what the mathematical library
    has."""
    table = _own_rules()
    for function, symbol in _COMPARISONS.items():
        table[function] = (2, 2, partial(_compared, symbol))
    table |= {function: (2, 2, partial(_of_bits, symbol)) for function, symbol in _BITS.items()}
    table[np.invert] = (1, 1, lambda arguments: inverted(arguments[0]))
    table[np.logical_and] = (2, 2, partial(_logical, "and"))
    table[np.logical_or] = (2, 2, partial(_logical, "or"))
    table[np.logical_not] = (1, 1, lambda arguments: negation(truth(arguments[0])))
    table[np.logical_xor] = (2, 2, lambda arguments: compare("!=", *(number(truth(each)) for each in arguments)))
    table[np.deg2rad], table[np.rad2deg] = table[np.radians], table[np.degrees]
    for module in (math, np):
        table[module.isnan] = (1, 1, _is_nan)
        table[module.isinf] = (1, 1, partial(_against_infinity, "=="))
        table[module.isfinite] = (1, 1, partial(_against_infinity, "<"))
    for name in DATA_TYPES:
        if name != "bool":
            table[np.dtype(name).type] = (1, 1, partial(_convert, name, False))
    table[np.bool_] = (1, 1, lambda arguments: replace(truth(arguments[0]), weak=False))
    for name in CALLS:
        arity = 2 if name in _BINARY else 1
        in_math = getattr(math, name, None)
        if name in _TO_INTEGER:
            table[in_math] = (1, 1, partial(_to_integer, name))
            table[getattr(np, name)] = (1, 1, partial(_rounded, name))
            continue
        if in_math is not None and in_math not in table:
            table[in_math] = (arity, arity, partial(_function, name, True))
        in_numpy = getattr(np, NUMPY_NAMES.get(name, name), None)
        if in_numpy is not None and in_numpy not in table:
            table[in_numpy] = (arity, arity, partial(_function, name, False))
    for name in COMPLEX_FUNCTIONS:
        in_cmath = getattr(cmath, name, None)
        if in_cmath is not None:
            table[in_cmath] = (1, 1, partial(_of_complex, name))
    table[cmath.phase] = (1, 1, lambda arguments: replace(angle(arguments[0]), weak=True))
    table[np.around], table[np.fix] = table[np.round], table[np.trunc]
    return table


_TABLE = _table()
