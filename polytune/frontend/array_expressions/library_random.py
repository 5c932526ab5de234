"""Random numbers: calls of the library that read and change the state of NumPy's global generator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.drawn_numbers import STATES, distribution, drawn_number, of_python
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.sizes import extent
from polytune.frontend.array_expressions.values import ArrayValue, Operand

STATE = STATES["numpy"]

_NAMES = {"random": "random_sample", "ranf": "random_sample", "sample": "random_sample"}
"""Other names of functions."""

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
    compiles(_function, *_parameters, "size")(distribution("numpy", _name, *_parameters, dtype=_dtype))


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
        return of_python(library_call(call.frame, call.node, text, [], [(shape, "float64")], state=STATE)[0])

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
