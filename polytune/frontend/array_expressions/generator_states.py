"""Statements that change the state of a generator, or an array by chance: ``np.random.seed(n)``, ``rng.shuffle(A)``."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from polytune.frontend.array_expressions.drawn_numbers import STATES
from polytune.frontend.array_expressions.library import change, library_call
from polytune.frontend.array_expressions.values import ArrayValue
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import GeneratorMethod
from polytune.frontend.promotion import Value

__all__ = ["change_by_chance"]

_SEEDS = {np.random.seed: ("numpy", "numpy.random.seed seed=@0"), random.seed: ("python", "python.seed a=@0")}
_SHUFFLES = {
    np.random.shuffle: ("numpy", "numpy.random.shuffle x=@0"),
    random.shuffle: ("python", "python.shuffle x=@0"),
}


def change_by_chance(
    call: ast.Call, function: Any, frame: Frame, evaluate: Callable[..., Any], computed: Callable[..., Any]
) -> bool:
    """Lower a statement that seeds a generator, or that shuffles an array.  Return whether a call is one.

    Args:
        call: the call.
        function: what is called.
        frame: where it stands.
        evaluate: reads an expression.
        computed: computes the sums of what was read.
    """
    if len(call.args) != 1 or call.keywords:
        return False
    if isinstance(function, GeneratorMethod):
        return function.name == "shuffle" and _shuffle(
            call,
            frame,
            computed(frame, call, evaluate(frame, call.args[0])),
            ("generator", "generator.shuffle x=@0"),
            function.generator.address,
        )
    if not callable(function):
        return False
    if function in _SEEDS:
        source, text = _SEEDS[function]
        value = computed(frame, call, evaluate(frame, call.args[0]))
        library_call(frame, call, text, [value], [], state=STATES[source])
        return True
    if function in _SHUFFLES:
        return _shuffle(call, frame, computed(frame, call, evaluate(frame, call.args[0])), _SHUFFLES[function])
    return False


def _shuffle(
    call: ast.Call, frame: Frame, target: ArrayValue | Value, said: tuple[str, str], generator: Value | None = None
) -> bool:
    """Lower a call that shuffles an array along its first axis.  Return whether it does.

    Args:
        call: the call.
        frame: where it stands.
        target: what is shuffled.
        said: the generator, and the text of the call.
        generator: its address where it is an argument.
    """
    source, text = said
    # Python exchanges what it gets by subscripts: rows are views, of which one would be lost.
    if not isinstance(target, ArrayValue) or not target.ndim or (source == "python" and target.ndim > 1):
        return False
    change(frame, call, text, target, state=STATES[source], further=[] if generator is None else [generator])
    return True
