"""The extents of arguments that decide the meaning of a kernel where they are 1, as NumPy stretches these."""

from __future__ import annotations

from typing import Any

from polytune.frontend.lowering.frame import Place
from polytune.frontend.lowering.lower import Lowered, lower
from polytune.frontend.lowering.parameters import refused_arguments
from polytune.frontend.syntax.source import read_source
from polytune.signature import Signature


def stretched_extents(
    function: Any, signature: Signature, *, strict: bool = False
) -> tuple[tuple[tuple[Place, ...], ...], Lowered]:
    """Pairs of extents that meet and need not agree where one of them alone is 1, and single extents that meet
    something else: a call in which there is such a 1 needs the kernel compiled for it.

    Args:
        function: a plain function, or an object whose ``__wrapped__`` is one.
        signature: the types of its arguments.
        strict: whether sums keep their source order.

    Returns:
        These, and the program that was made to find them, which ``analyse`` can go on with.

    Raises:
        UnsupportedSourceError: the source is outside the language.
    """
    source = read_source(function)
    lowered = lower(source, signature, strict=strict, refused=refused_arguments(source, signature))
    return tuple(lowered.kernel.stretched), lowered
