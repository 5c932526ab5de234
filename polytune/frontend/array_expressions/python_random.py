"""Random numbers of Python's own generator, as ``random.random()`` and ``random.randint(1, 6)``."""

from __future__ import annotations

import random
from typing import Any

from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.drawn_numbers import STATES, drawn_number
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.promotion import COMPLEX, Value, cast, constant, number


def _drawn(call: ArrayCall, name: str, parameters: list[ArrayValue | Value]) -> Operand:
    """A number, of which Python has no NumPy type.

    Raises:
        UnsupportedSourceError: what it depends on is not of the type that compiled code draws with.
    """
    drawn = drawn_number(call, "python", name, parameters)
    if not isinstance(drawn, Value):
        raise call.refusal(f"{call.name} of numbers of these types", "pass integers where it draws integers, or floats")
    return Value(drawn.expression, weak=True)


def _given(call: ArrayCall, *defaults: tuple[str, Any]) -> list[ArrayValue | Value]:
    """The arguments of a call in the order of the parameters, with defaults in place of those that are not there."""
    return [call.value(name) if call.given(name) else constant(default) for name, default in defaults]


@compiles(random.random)
def _random(call: ArrayCall) -> Operand:
    return _drawn(call, "random", [])


@compiles(random.uniform, "a", "b")
def _uniform(call: ArrayCall) -> Operand:
    return _drawn(call, "uniform", [call.value("a"), call.value("b")])


@compiles(random.normalvariate, "mu", "sigma")
def _normal(call: ArrayCall) -> Operand:
    return _drawn(call, "normalvariate", _given(call, ("mu", 0.0), ("sigma", 1.0)))


@compiles(random.expovariate, "lambd")
def _exponential(call: ArrayCall) -> Operand:
    return _drawn(call, "expovariate", _given(call, ("lambd", 1.0)))


@compiles(random.randint, "a", "b")
def _integer(call: ArrayCall) -> Operand:
    return _drawn(call, "randint", [call.value("a"), call.value("b")])


@compiles(random.randrange, "start", "stop")
def _from_range(call: ArrayCall) -> Operand:
    first = call.value("start")
    bounds = [first, call.value("stop")] if call.given("stop") else [constant(0), first]
    return _drawn(call, "randrange", bounds)


def _by_python(function: Any, *parameters: tuple[str, float | None]) -> None:
    """Compile a distribution that compiled code has no form of: Python draws each number.

    Args:
        function: the function of ``random``.
        parameters: its parameters in order, each with its default; None where it has none.
    """
    name = function.__name__

    def handler(call: ArrayCall) -> Operand:
        given = [
            constant(default) if default is not None and not call.given(parameter) else call.value(parameter)
            for parameter, default in parameters
        ]
        numbers = [each for each in given if isinstance(each, Value) and each.dtype not in COMPLEX]
        if len(numbers) != len(given):
            raise call.refusal(f"{call.name} of something other than numbers", "pass a number for each parameter")
        text = " ".join(f"{parameter}=@{place}" for place, (parameter, _) in enumerate(parameters))
        values = [cast(number(each), "float64") for each in numbers]
        drawn = library_call(
            call.frame, call.node, f"python.{name} {text}", values, [((), "float64")], state=STATES["python"]
        )[0]
        assert isinstance(drawn, Value)
        return Value(drawn.expression, weak=True)

    compiles(function, *(parameter for parameter, _ in parameters))(handler)


_by_python(random.gauss, ("mu", 0.0), ("sigma", 1.0))
_by_python(random.triangular, ("low", None), ("high", None), ("mode", None))
_by_python(random.betavariate, ("alpha", None), ("beta", None))
_by_python(random.gammavariate, ("alpha", None), ("beta", None))
_by_python(random.lognormvariate, ("mu", None), ("sigma", None))
_by_python(random.vonmisesvariate, ("mu", None), ("kappa", None))
_by_python(random.paretovariate, ("alpha", None))
_by_python(random.weibullvariate, ("alpha", None), ("beta", None))
