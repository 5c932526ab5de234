"""Random numbers: calls of the library that read and change the state of NumPy's global generator."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.library import change, library_call
from polytune.frontend.array_expressions.sizes import extent
from polytune.frontend.array_expressions.values import ArrayValue, Operand, Shape
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.promotion import Value

STATE = "random_state"
"""The resource by which calls of random functions keep their order."""


def _drawn(call: ArrayCall, shape: Shape, options: str, arguments: list[ArrayValue | Value], dtype: str) -> Operand:
    name = call.name.rpartition(".")[2]
    size = " size=shape" if shape else ""
    text = f"numpy.random.{name}{options}{size}"
    return library_call(call.frame, call.node, text, arguments, [(shape, dtype)], state=STATE)[0]


def _shape(call: ArrayCall) -> Shape:
    return call.shape("size") if call.given("size") else ()


def _distribution(*parameters: str, dtype: str = "float64") -> Callable[[ArrayCall], Operand]:
    """Return what compiles a function of numbers that are given or have NumPy's defaults, and of a size."""

    def handler(call: ArrayCall) -> Operand:
        given = [name for name in parameters if call.given(name)]
        values = [call.value(name) for name in given]
        if any(isinstance(value, ArrayValue) and value.ndim for value in values):
            raise call.refusal(
                f"arrays as parameters of {call.name}", "draw standard numbers, and compute with them: m + s * x"
            )
        options = "".join(f" {name}=@{place}" for place, name in enumerate(given))
        return _drawn(call, _shape(call), options, values, dtype)

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
    compiles(_function, *_parameters, "size")(_distribution(*_parameters, dtype=_dtype))


def _of_shape(call: ArrayCall) -> Operand:
    """``np.random.rand(n, m)``: numbers of standard distributions, by their name with a size."""
    shape = call.shape("shape") if call.given("shape") else ()
    standard = {"rand": "random_sample", "randn": "standard_normal"}[call.name.rpartition(".")[2]]
    text = f"numpy.random.{standard}{' size=shape' if shape else ''}"
    return library_call(call.frame, call.node, text, [], [(shape, "float64")], state=STATE)[0]


for _standard in (np.random.rand, np.random.randn):
    compiles(_standard, "*shape")(_of_shape)


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


def random_statement(
    call: ast.Call, function: object, frame: Frame, evaluate: Callable[..., Any], computed: Callable[..., Any]
) -> bool:
    """Lower ``np.random.seed(n)`` and ``np.random.shuffle(A)``, which are statements.  Return whether a call is one of
    them.

    Args:
        call: the call.
        function: what is called.
        frame: where it stands.
        evaluate: reads an expression.
        computed: computes the sums of what was read.
    """
    if function is np.random.seed and len(call.args) == 1 and not call.keywords:
        value = computed(frame, call, evaluate(frame, call.args[0]))
        library_call(frame, call, "numpy.random.seed seed=@0", [value], [], state=STATE)
        return True
    if function is np.random.shuffle and len(call.args) == 1 and not call.keywords:
        target = computed(frame, call, evaluate(frame, call.args[0]))
        if isinstance(target, ArrayValue) and target.ndim:
            change(frame, call, "numpy.random.shuffle x=@0", target, state=STATE)
            return True
    return False
