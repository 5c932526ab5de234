"""Random numbers of generators that are arguments, ``rng.normal(0.0, 1.0)`` with ``rng = np.random.default_rng()``."""

from __future__ import annotations

import numpy as np

from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.drawn_numbers import GENERATOR, STATES, distribution, drawn_number
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.sizes import extent
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Shape
from polytune.frontend.promotion import Value, binary, constant

_DISTRIBUTIONS = {
    "random": (),
    "uniform": ("low", "high"),
    "standard_normal": (),
    "normal": ("loc", "scale"),
    "lognormal": ("mean", "sigma"),
    "standard_exponential": (),
    "exponential": ("scale",),
    "poisson": ("lam",),
    "standard_cauchy": (),
    "standard_gamma": ("shape",),
    "standard_t": ("df",),
    "beta": ("a", "b"),
    "chisquare": ("df",),
    "f": ("dfnum", "dfden"),
    "gamma": ("shape", "scale"),
    "gumbel": ("loc", "scale"),
    "laplace": ("loc", "scale"),
    "logistic": ("loc", "scale"),
    "pareto": ("a",),
    "power": ("a",),
    "rayleigh": ("scale",),
    "triangular": ("left", "mode", "right"),
    "vonmises": ("mu", "kappa"),
    "wald": ("mean", "scale"),
    "weibull": ("a",),
    "geometric": ("p",),
    "hypergeometric": ("ngood", "nbad", "nsample"),
    "logseries": ("p",),
    "negative_binomial": ("n", "p"),
    "zipf": ("a",),
    "binomial": ("n", "p"),
}
"""The methods that draw numbers of a distribution, and their parameters before the size."""

_OF_INTEGERS = ("poisson", "geometric", "hypergeometric", "logseries", "negative_binomial", "zipf", "binomial")


def _call(
    call: ArrayCall, method: str, arguments: list[ArrayValue | Value], result: tuple[Shape, str], options: str = ""
) -> Operand:
    """A call of the generator's method by Python.

    Args:
        call: the call.
        method: the name of the method.
        arguments: its arguments.
        result: the shape and type of what it gives.
        options: how it is given them; see ``polytune.runtime.intrinsics.library.run``, where the generator is the
            argument after the others.
    """
    generator = call.value(GENERATOR)
    return library_call(
        call.frame,
        call.node,
        f"generator.{method}{options}",
        [*arguments, generator],
        [result],
        state=STATES["generator"],
    )[0]


def _size(shape: Shape) -> str:
    return " size=shape" if shape else ""


for _name, _parameters in _DISTRIBUTIONS.items():
    _method = getattr(np.random.Generator, _name)
    _dtype = "int64" if _name in _OF_INTEGERS else "float64"
    compiles(_method, GENERATOR, *_parameters, "size")(distribution("generator", _name, *_parameters, dtype=_dtype))


@compiles(np.random.Generator.integers, GENERATOR, "low", "high", "size", "dtype", "endpoint")
def _integers(call: ArrayCall) -> Operand:
    dtype = call.dtype("dtype", "int64")
    low = call.value("low")
    high = call.value("high") if call.given("high") else None
    if any(isinstance(each, ArrayValue) and each.ndim for each in (low, high)):
        raise call.refusal(f"arrays as bounds of {call.name}", "draw numbers in a loop over the bounds")
    includes_end = bool(call.constant("endpoint", False))
    shape = call.shape("size") if call.given("size") else ()
    if not shape and dtype == "int64" and isinstance(low, Value) and (high is None or isinstance(high, Value)):
        last = low if high is None else high
        stop = binary("+", last, constant(1)) if includes_end else last
        drawn = drawn_number(
            call, "generator", "integers", [call.value(GENERATOR), constant(0) if high is None else low, stop]
        )
        if drawn is not None:
            return drawn
    values = [low] if high is None else [low, high]
    options = "".join(f" {each}=@{place}" for place, each in enumerate(("low", "high")[: len(values)]))
    options += f" dtype={dtype!r}" + (" endpoint=True" if includes_end else "") + _size(shape)
    return _call(call, "integers", values, (shape, dtype), options)


@compiles(np.random.Generator.permutation, GENERATOR, "x")
def _permutation(call: ArrayCall) -> Operand:
    given = call.value("x")
    if isinstance(given, ArrayValue) and given.ndim:
        return _call(call, "permutation", [given], (given.shape, given.dtype), " x=@0")
    size = extent(call.frame, call.extent(call.argument("x")))
    return _call(call, "permutation", [], ((size,), "int64"), " x=length")
