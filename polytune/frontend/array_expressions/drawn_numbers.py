"""Random numbers drawn one at a time, by compiled code, in the order of the source."""

from __future__ import annotations

from collections.abc import Sequence

from polytune.draws import draw_of, draw_text
from polytune.frontend.array_expressions.calls import ArrayCall, Handler
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.promotion import Value, cast, constant

__all__ = ["GENERATOR", "STATES", "distribution", "drawn_number", "of_python"]

GENERATOR = "generator"
"""The name of the parameter that is a generator, of methods of one."""

STATES = {"numpy": "random_state", "generator": "generator_state", "python": "python_random_state"}
"""The resources by which calls of random functions keep their order: of NumPy's global generator, of all that are
arguments, as two of these may be one, and of Python's."""


def drawn_number(call: ArrayCall, source: str, name: str, parameters: Sequence[ArrayValue | Value]) -> Operand | None:
    """One number, drawn by compiled code; None where that has no form of it.

    Args:
        call: the call.
        source: the generator, see ``polytune.draws``.
        name: of its function.
        parameters: what the number depends on, numbers.
    """
    text = draw_text(source, name)
    drawn = None if text is None else draw_of(text)
    if text is None or drawn is None or len(parameters) != len(drawn.parameters):
        return None
    arguments: list[ArrayValue | Value] = []
    for value, dtype in zip(parameters, drawn.parameters, strict=True):
        one = value if isinstance(value, Value) else value.at(())
        if (dtype == "int64" and not one.is_integer) or one.dtype.startswith("complex"):
            return None
        arguments.append(cast(one, dtype))
    (number,) = library_call(call.frame, call.node, text, arguments, [((), drawn.dtype)], state=STATES[source])
    return number if (source, name) == ("generator", "integers") else of_python(number)


def of_python(operand: ArrayValue | Value) -> ArrayValue | Value:
    """A number that is drawn as one of Python's, which NumPy gives but for ``rng.integers(...)``: what it meets says of
    which type results are; an array itself."""
    return Value(operand.expression, weak=True) if isinstance(operand, Value) else operand


_DEFAULTS = {
    "uniform": {"low": 0.0, "high": 1.0},
    "normal": {"loc": 0.0, "scale": 1.0},
    "lognormal": {"mean": 0.0, "sigma": 1.0},
    "exponential": {"scale": 1.0},
    "poisson": {"lam": 1.0},
}
"""The parameters that are not given, of the functions that draw one number in compiled code."""


def distribution(source: str, name: str, *parameters: str, dtype: str = "float64") -> Handler:
    """Return what compiles a function of numbers that are given or have NumPy's defaults, and of a size.

    Args:
        source: ``numpy``, or ``generator`` for a method of one, see ``polytune.draws``.
        name: the function's.
        parameters: its parameters before the size.
        dtype: the type of what it gives.
    """
    owner = "numpy.random" if source == "numpy" else source

    def handler(call: ArrayCall) -> Operand:
        given = [each for each in parameters if call.given(each)]
        values = [call.value(each) for each in given]
        if any(isinstance(value, ArrayValue) and value.ndim for value in values):
            raise call.refusal(
                f"arrays as parameters of {call.name}", "draw standard numbers, and compute with them: m + s * x"
            )
        shape = call.shape("size") if call.given("size") else ()
        generator = [call.value(GENERATOR)] if source == "generator" else []
        if not shape:
            known: dict[str, ArrayValue | Value] = {
                each: constant(number) for each, number in _DEFAULTS.get(name, {}).items()
            }
            of_one = list({**known, **dict(zip(given, values, strict=True))}.values())
            if name == "randint" and len(of_one) == 1:  # the one bound is the upper one
                of_one = [constant(0), *of_one]
            drawn = drawn_number(call, source, name, [*generator, *of_one])
            if drawn is not None:
                return drawn
        options = "".join(f" {each}=@{place}" for place, each in enumerate(given))
        text = f"{owner}.{name}{options}{' size=shape' if shape else ''}"
        results = [(shape, dtype)]
        return of_python(
            library_call(call.frame, call.node, text, [*values, *generator], results, state=STATES[source])[0]
        )

    return handler
