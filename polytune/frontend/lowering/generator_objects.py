"""Generators of random numbers as objects: ``rng = np.random.default_rng(seed)``, and other names of generators."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from polytune.draws import MAKING
from polytune.frontend.array_expressions.drawn_numbers import STATES
from polytune.frontend.array_expressions.library import library_call
from polytune.frontend.expression import Element
from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import GeneratorObject, ObjectBinding
from polytune.frontend.lowering.names import outside_object
from polytune.frontend.promotion import Value
from polytune.frontend.scalars.numbers import number

__all__ = ["bind_generator"]


def bind_generator(frame: Frame, node: ast.stmt) -> bool:
    """Give a name its meaning, if a statement assigns a generator to it.  Return whether it does.

    Args:
        frame: where it stands.
        node: any statement.

    Raises:
        UnsupportedSourceError: a loop makes generators.
    """
    match node:
        case ast.Assign([ast.Name(name)], value):
            made = _known(frame, value) or _made(frame, value)
        case _:
            return False
    if made is None:
        return False
    frame.bindings[name] = ObjectBinding(made)
    return True


def _known(frame: Frame, node: ast.expr) -> GeneratorObject | None:
    """The generator that an expression names, as ``np.random.default_rng(rng)`` does too; None for any other."""
    match node:
        case ast.Name(name):
            binding = frame.bindings.get(name)
            value = binding.value if isinstance(binding, ObjectBinding) else None
            return value if isinstance(value, GeneratorObject) else None
        case ast.Call(function, [ast.Name() as given], []) if outside_object(frame, function) is np.random.default_rng:
            return _known(frame, given)
    return None


def _made(frame: Frame, node: ast.expr) -> GeneratorObject | None:
    """The generator that a call makes; None for any other expression."""
    match node:
        case ast.Call(function, arguments, keywords) if len(arguments) + len(keywords) <= 1:
            if outside_object(frame, function) is not np.random.default_rng:
                return None
        case _:
            return None
    if frame.iterators or frame.opaque or frame.repeated:
        raise frame.source.refusal(
            node,
            "a loop makes generators of random numbers",
            "each is kept until the kernel has ended",
            "make one before the loop, and draw from it in there",
        )
    seeds = [number(frame, each) for each in (*arguments, *(keyword.value for keyword in keywords))]
    text = f"{MAKING}{' seed=@0' if seeds else ''}"
    (address,) = library_call(frame, node, text, seeds, [((), "uint64")], state=STATES["generator"])
    assert isinstance(address, Value) and isinstance(address.expression, Element), "it has no shape"
    array = address.expression.array
    # Where none is made there is none to release.
    frame.kernel.arrays[array] = replace(frame.kernel.arrays[array], zeroed=True)
    return GeneratorObject(address)
