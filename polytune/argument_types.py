"""The types of a function's arguments where no call says which: those of annotations, and guesses that are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType

from polytune.defects import defects_named
from polytune.errors import DefectError, UnsupportedSourceError
from polytune.signature import ArgumentType, Signature

__all__ = ["types_of_source"]


def types_of_source(
    function: FunctionType, given: Mapping[str, ArgumentType] | None = None, *, strict: bool = False
) -> Signature:
    """The types of a function's arguments, as far as its source gives them.

    Annotations decide.  Of an argument without one the types are tried that its use suggests, and the first count with
    which the function can be compiled; the likeliest where there are none.

    Args:
        function: the function.
        given: types of some of its arguments, by name, which annotations do not change.
        strict: whether sums keep their source order.

    Raises:
        UnsupportedSourceError: there is no source, or an annotation names no type that kernels can use.
    """
    from polytune.frontend.guesses import possible_signatures

    known = given or {}
    completed = (
        Signature(tuple((name, known.get(name, kind)) for name, kind in guess.arguments))
        for guess in possible_signatures(function)
    )
    guesses = list(dict.fromkeys(completed))
    if len(guesses) > 1:
        for guess in guesses:
            if _is_accepted(function, guess, strict=strict):
                return guess
    return guesses[0]


def _is_accepted(function: FunctionType, signature: Signature, *, strict: bool) -> bool:
    """Return whether a function can be compiled for arguments of some types."""
    from polytune.pipeline import Stages

    try:
        with defects_named(function):
            stages = Stages(function, signature, strict)
            _ = stages.scop, stages.bounds, stages.unassigned
    except (UnsupportedSourceError, DefectError):
        return False
    return True
