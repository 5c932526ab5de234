"""The extents of arguments that decide the meaning of a kernel where they are 1, as NumPy stretches these."""

from __future__ import annotations

from typing import Any

from polytune.frontend.frame import Place
from polytune.frontend.lower import lower
from polytune.frontend.parameters import refused_arguments
from polytune.frontend.source import read_source
from polytune.signature import Signature


def stretched_extents(function: Any, signature: Signature) -> tuple[tuple[Place, ...], ...]:
    """Pairs of extents that meet and need not agree where one of them alone is 1, and single extents that meet
    something else: a call in which there is such a 1 needs the kernel compiled for it.

    Raises:
        UnsupportedSourceError: the source is outside the language.
    """
    source = read_source(function)
    lowered = lower(source, signature, refused=refused_arguments(source, signature))
    return tuple(lowered.kernel.stretched)
