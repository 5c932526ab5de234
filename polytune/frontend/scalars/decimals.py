"""Python's ``round`` of a number to decimals.

NumPy's numbers are multiplied by a power of ten, rounded and divided again.  Python's own are rounded as they are
written in decimal, however many digits that takes: ``round(2.675, 2)`` is 2.67, as the number is a little less than
2.675.  Here that is decided by what the product with the power of ten leaves out, which is computed exactly (Dekker, A
floating-point technique for extending the available precision, 1971): where the product lies between two integers to
the last bit, the rest says which of them is nearer.  The quotient of that integer by the power of ten, which is exact
up to 10**22, is then the number that is nearest to the decimal fraction.
"""

from __future__ import annotations

import ast

from polytune.frontend.inlining.outside_calls import refused_call
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.stored_scalars import keep
from polytune.frontend.promotion import (
    COMPLEX,
    Value,
    absolute,
    binary,
    call,
    compare,
    constant,
    is_inexact,
    logical,
    rounded,
    select,
)
from polytune.frontend.scalars.numbers import number

_MOST = 22
"""The greatest power of ten that a ``float64`` is exactly."""
_SPLITTING = float(2**27 + 1)
"""The factor that takes the first half of the bits of a ``float64``."""


def rounded_to_decimals(frame: Frame, node: ast.Call) -> Value:
    """Return what ``round(x, decimals)`` is.

    Args:
        frame: where it stands.
        node: the call.

    Raises:
        UnsupportedSourceError: it is not known to how many decimals, or these are of what has none.
    """
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    names = [keyword.arg for keyword in node.keywords]
    if len(given) != 2 or names not in ([], ["ndigits"]):
        raise refused_call(frame, node, f"round(...) takes 2 numbers, not {len(given)}", "pass a number and decimals")
    value, decimals = number(frame, given[0]), number(frame, given[1]).constant
    if not isinstance(decimals, int) or not 0 <= decimals <= _MOST:
        raise refused_call(
            frame,
            node,
            f"round(...) to {'decimals that are only known while the kernel runs' if decimals is None else decimals}",
            f"write a constant from 0 to {_MOST}, as in round(x, 2)",
        )
    if value.dtype in COMPLEX:
        raise refused_call(frame, node, "round(...) of a complex number", "round its parts: round(z.real, 2)")
    if not is_inexact(value.dtype):
        return value
    if value.constant is not None:
        return constant(round(value.constant, decimals))
    if not value.weak:
        scale = constant(10.0**decimals)
        nearest = call("rint", [binary("*", value, scale)], python=False)
        return binary("/", nearest, scale) if decimals else call("rint", [value], python=False)
    # Where no statement can stand, the number is written several times.
    return _nearest_fraction(value if frame.pure else keep(frame, node, value), 10.0**decimals)


def _nearest_fraction(value: Value, scale: float) -> Value:
    """Return the ``float64`` that is nearest to the decimal fraction nearest to one of Python's floats.

    Args:
        value: the float.
        scale: the power of ten of the last decimal.
    """
    ten = constant(scale)
    product = rounded(binary("*", value, ten))
    whole = call("rint", [product], python=True)
    rest = _rounded_off(value, scale, product)
    distance = binary("-", product, whole)
    up = logical("and", [compare("==", distance, constant(0.5)), compare(">", rest, constant(0.0))])
    down = logical("and", [compare("==", distance, constant(-0.5)), compare("<", rest, constant(0.0))])
    # Between 2**52 and 2**53 the product is an integer, and the rest may be half of one: then the even one is nearest.
    half = binary("/", whole, constant(2.0))
    is_odd = compare("!=", call("rint", [half], python=True), half)
    up = logical("or", [up, logical("and", [is_odd, compare("==", rest, constant(0.5))])])
    down = logical("or", [down, logical("and", [is_odd, compare("==", rest, constant(-0.5))])])
    lower = select(down, binary("-", whole, constant(1.0)), whole)
    nearest = select(up, binary("+", whole, constant(1.0)), lower)
    # From there on nothing is to be rounded, and NaN and infinities stay.
    return select(compare("<", absolute(product), constant(2.0**53)), binary("/", nearest, ten), value)


def _rounded_off(value: Value, scale: float, product: Value) -> Value:
    """Return what a product of a float and a power of ten is more than the float that is nearest to it.

    Args:
        value: the float.
        scale: the power of ten.
        product: the float that is nearest to the product.
    """
    great = rounded(binary("*", value, constant(_SPLITTING)))
    first = rounded(binary("-", great, rounded(binary("-", great, value))))
    last = rounded(binary("-", value, first))
    scaled = _SPLITTING * scale
    first_of_scale = scaled - (scaled - scale)
    last_of_scale = scale - first_of_scale
    found = binary("-", binary("*", first, constant(first_of_scale)), product)
    for left, right in ((first, last_of_scale), (last, first_of_scale), (last, last_of_scale)):
        found = binary("+", found, binary("*", left, constant(right)))
    return found
