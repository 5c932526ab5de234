"""All functions outside of the language, whatever they are about."""

from __future__ import annotations

from tests.frontend.refused import arrays, calls, loops, numbers, outside, statements, tuples
from tests.frontend.refused.cases import MENDED, REFUSED, Mended

__all__ = ["MENDED", "REFUSED", "TOPICS", "Mended"]

TOPICS = (numbers, calls, arrays, tuples, statements, loops, outside)
