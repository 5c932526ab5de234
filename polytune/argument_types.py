"""The types of a function's arguments where no call says which: those of annotations, and guesses that are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType

from polytune.compiler import import_whole
from polytune.defects import defects_named
from polytune.errors import DefectError, UnsupportedSourceError
from polytune.signature import ArgumentType, Signature

__all__ = ["note_guesses", "types_of_source"]


def types_of_source(
    function: FunctionType, given: Mapping[str, ArgumentType] | None = None, *, strict: bool = False
) -> Signature:
    """The types of a function's arguments, as far as its source gives them.

    Annotations decide.  Of an argument without one the types are tried that its use suggests, and the first count with
    which the function can be compiled; where there are none, those with which least stands in the way.

    Args:
        function: the function.
        given: types of some of its arguments, by name, which annotations do not change.
        strict: whether sums keep their source order.

    Raises:
        UnsupportedSourceError: there is no source, or an annotation names no type that kernels can use.
    """
    import_whole("polytune.frontend.syntax.guesses")
    from polytune.frontend.syntax.guesses import possible_signatures

    known = given or {}
    completed = (
        replace(guess, arguments=tuple((name, known.get(name, kind)) for name, kind in guess.arguments))
        for guess in possible_signatures(function)
    )
    guesses = list(dict.fromkeys(completed))
    if len(guesses) > 1:
        fewest: tuple[int, Signature] | None = None
        for guess in guesses:
            obstacles = _obstacles(function, guess, strict=strict)
            if fewest is None or obstacles < fewest[0]:
                fewest = obstacles, guess
            if not obstacles:
                break
        assert fewest is not None
        return fewest[1]
    return guesses[0]


def _obstacles(function: FunctionType, signature: Signature, *, strict: bool) -> int:
    """Return how much stands in the way of compiling a function for arguments of some types."""
    import_whole("polytune.pipeline")
    from polytune.pipeline import Stages

    try:
        with defects_named(function):
            stages = Stages(function, signature, strict)
            _ = stages.scop, stages.bounds, stages.unassigned
    except UnsupportedSourceError as error:
        return len(error.obstacles)
    except DefectError:
        return 1
    return 0


def note_guesses(error: UnsupportedSourceError, function: FunctionType, types: Signature) -> None:
    """Have a refusal say of which types it speaks, where nothing but the source has said which they are.

    Args:
        error: the refusal.
        function: what is refused.
        types: those of its arguments.
    """
    guessed = [f"{name}: {kind}" for name, kind in types.arguments if name not in function.__annotations__]
    if guessed:
        error.add_note(
            f"The types are guesses: {', '.join(guessed)}. Annotate arguments that are of others, as in "
            f'{types.arguments[0][0]}: "float64[:, ::1]"'
        )
