"""Random numbers: calls of the library that read and change the state of NumPy's global generator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.drawn_numbers import STATES, drawn_number
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.sizes import extent
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.promotion import Value, constant

STATE = STATES["numpy"]

_NAMES = {"random": "random_sample", "ranf": "random_sample", "sample": "random_sample"}
"""Other names of functions."""

DEFAULTS = {
    "uniform": {"low": 0.0, "high": 1.0},
    "normal": {"loc": 0.0, "scale": 1.0},
    "lognormal": {"mean": 0.0, "sigma": 1.0},
    "exponential": {"scale": 1.0},
    "poisson": {"lam": 1.0},
}
"""The parameters that are not given, of the functions that draw one number in compiled code."""


def _number(call: ArrayCall, name: str, given: dict[str, ArrayValue | Value]) -> Operand | None:
    """One number, drawn by compiled code; None where that has no form of it.

    Args:
        call: the call.
        name: of the function that draws it.
        given: the parameters that are given.
    """
    values = {**{key: constant(number) for key, number in DEFAULTS.get(name, {}).items()}, **given}
    if name == "randint" and len(values) == 1:  # the one bound is the upper one
        values = {"low": constant(0), "high": values["low"]}
    return drawn_number(call, "numpy", name, tuple(values.values()))


def _distribution(name: str, *parameters: str, dtype: str = "float64") -> Callable[[ArrayCall], Operand]:
    """Return what compiles a function of numbers that are given or have NumPy's defaults, and of a size.

    Args:
        name: the function's.
        parameters: its parameters before the size.
        dtype: the type of what it gives.
    """

    def handler(call: ArrayCall) -> Operand:
        given = [name for name in parameters if call.given(name)]
        values = [call.value(name) for name in given]
        if any(isinstance(value, ArrayValue) and value.ndim for value in values):
            raise call.refusal(
                f"arrays as parameters of {call.name}", "draw standard numbers, and compute with them: m + s * x"
            )
        shape = call.shape("size") if call.given("size") else ()
        if not shape:
            drawn = _number(call, name, dict(zip(given, values, strict=True)))
            if drawn is not None:
                return drawn
        options = "".join(f" {each}=@{place}" for place, each in enumerate(given))
        text = f"numpy.random.{name}{options}{' size=shape' if shape else ''}"
        return library_call(call.frame, call.node, text, values, [(shape, dtype)], state=STATE)[0]

    return handler


for _function, _parameters, _dtype in (
    (np.random.random, (), "float64"),
    (np.random.random_sample, (), "float64"),
    (np.random.standard_normal, (), "float64"),
    (np.random.normal, ("loc", "scale"), "float64"),
    (np.random.uniform, ("low", "high"), "float64"),
    (np.random.exponential, ("scale",), "float64"),
    (np.random.ranf, (), "float64"),
    (np.random.sample, (), "float64"),
    (np.random.standard_exponential, (), "float64"),
    (np.random.standard_cauchy, (), "float64"),
    (np.random.standard_gamma, ("shape",), "float64"),
    (np.random.standard_t, ("df",), "float64"),
    (np.random.beta, ("a", "b"), "float64"),
    (np.random.chisquare, ("df",), "float64"),
    (np.random.f, ("dfnum", "dfden"), "float64"),
    (np.random.gamma, ("shape", "scale"), "float64"),
    (np.random.gumbel, ("loc", "scale"), "float64"),
    (np.random.laplace, ("loc", "scale"), "float64"),
    (np.random.logistic, ("loc", "scale"), "float64"),
    (np.random.lognormal, ("mean", "sigma"), "float64"),
    (np.random.pareto, ("a",), "float64"),
    (np.random.power, ("a",), "float64"),
    (np.random.rayleigh, ("scale",), "float64"),
    (np.random.triangular, ("left", "mode", "right"), "float64"),
    (np.random.vonmises, ("mu", "kappa"), "float64"),
    (np.random.wald, ("mean", "scale"), "float64"),
    (np.random.weibull, ("a",), "float64"),
    (np.random.geometric, ("p",), "int64"),
    (np.random.hypergeometric, ("ngood", "nbad", "nsample"), "int64"),
    (np.random.logseries, ("p",), "int64"),
    (np.random.negative_binomial, ("n", "p"), "int64"),
    (np.random.zipf, ("a",), "int64"),
    (np.random.poisson, ("lam",), "int64"),
    (np.random.binomial, ("n", "p"), "int64"),
    (np.random.randint, ("low", "high"), "int64"),
):
    _name = _NAMES.get(_function.__name__, _function.__name__)
    compiles(_function, *_parameters, "size")(_distribution(_name, *_parameters, dtype=_dtype))


def _of_shape(name: str) -> Callable[[ArrayCall], Operand]:
    """Return what compiles ``np.random.rand(n, m)`` and its like, whose arguments are a size.

    Args:
        name: of the function that draws the same numbers with a size.
    """

    def handler(call: ArrayCall) -> Operand:
        shape = call.shape("shape") if call.given("shape") else ()
        drawn = None if shape else drawn_number(call, "numpy", name, [])
        if drawn is not None:
            return drawn
        text = f"numpy.random.{name} size=shape"
        return library_call(call.frame, call.node, text, [], [(shape, "float64")], state=STATE)[0]

    return handler


compiles(np.random.rand, "*shape")(_of_shape("random_sample"))
compiles(np.random.randn, "*shape")(_of_shape("standard_normal"))


@compiles(np.random.permutation, "x")
def _permutation(call: ArrayCall) -> Operand:
    given = call.value("x")
    if isinstance(given, ArrayValue) and given.ndim:
        results = [(given.shape, given.dtype)]
        text = "numpy.random.permutation x=@0"
        return library_call(call.frame, call.node, text, [given], results, state=STATE)[0]
    size = extent(call.frame, call.extent(call.arguments["x"]))
    text = "numpy.random.permutation x=length"
    return library_call(call.frame, call.node, text, [], [((size,), "int64")], state=STATE)[0]
