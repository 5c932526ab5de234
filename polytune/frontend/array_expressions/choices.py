"""Elements that are chosen by chance: ``random.choice(A)``, ``np.random.choice(A, size)``, ``rng.choice(n, p=p)``."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable

import numpy as np

from polytune.frontend.array_expressions.calls import ArrayCall, compiles
from polytune.frontend.array_expressions.drawn_numbers import STATES, drawn_number, of_python
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.array_expressions.values import ArrayValue, Operand
from polytune.frontend.lowering.meanings import ValueBinding
from polytune.frontend.promotion import Value, constant
from polytune.frontend.syntax.comprehensions import placed

_INTEGERS = {"numpy": "randint", "generator": "integers", "python": "randrange"}
"""The functions that draw the place of an element."""


def _chosen(source: str, name: str) -> Callable[[ArrayCall], Operand]:
    """Return what compiles a function that chooses among the elements of an array, or among the first integers.

    Args:
        source: the generator, see ``polytune.draws``.
        name: of the parameter that says among which.
    """

    def handler(call: ArrayCall) -> Operand:
        among = call.value(name)
        generator = [call.value("generator")] if source == "generator" else []
        is_array = isinstance(among, ArrayValue) and among.ndim > 0
        if any(call.given(each) for each in ("size", "p", "axis")):
            return _by_library(call, source, among, generator)
        if is_array:
            count = Value(call.vector(name).shape[0], weak=True)
        else:
            count = among if isinstance(among, Value) else among.at(())
        place = drawn_number(call, source, _INTEGERS[source], [*generator, constant(0), count])
        if not isinstance(place, Value):
            raise call.refusal(f"{call.name} of something that is no array and no integer", "pass one of these")
        if not is_array:
            return of_python(place)
        element = ast.Subscript(call.argument(name), call.frame.named(ValueBinding(place)), ast.Load())
        return call.evaluate(call.frame, placed(element, call.node))

    return handler


def _by_library(
    call: ArrayCall, source: str, among: ArrayValue | Value, generator: list[ArrayValue | Value]
) -> Operand:
    """Several elements, or one by probabilities, which NumPy chooses.

    Args:
        call: the call.
        source: the generator.
        among: what is chosen from.
        generator: its address, where it is an argument.
    """
    if call.given("axis") or (isinstance(among, ArrayValue) and among.ndim > 1):
        raise call.refusal(f"{call.name} of rows", "draw their numbers, rng.integers(0, len(A)), and use these")
    shape = call.shape("size") if call.given("size") else ()
    probabilities = [call.value("p")] if call.given("p") else []
    options = " a=@0" + (" p=@1" if probabilities else "") + (" size=shape" if shape else "")
    if not call.constant("replace", True):
        options += " replace=False"
    owner = "generator" if generator else "numpy.random"
    dtype = among.dtype if isinstance(among, ArrayValue) and among.ndim else "int64"
    given = [among, *probabilities, *generator]
    text = f"{owner}.choice{options}"
    (found,) = library_call(call.frame, call.node, text, given, [(shape, dtype)], state=STATES[source])
    return found if isinstance(among, ArrayValue) and among.ndim else of_python(found)


compiles(random.choice, "seq")(_chosen("python", "seq"))
compiles(np.random.choice, "a", "size", "replace", "p")(_chosen("numpy", "a"))
compiles(np.random.Generator.choice, "generator", "a", "size", "replace", "p", "axis")(_chosen("generator", "a"))
