"""Names that generated code has beside those of the kernel: in every intermediate form they are marked."""

from __future__ import annotations

import re
from collections.abc import Callable

MARK = "$"
"""The first character of a generated name.  No identifier of Python has it, so no name of a kernel is ever taken for
one of these, nor one of these for a name of a kernel."""

WORD = r"[A-Za-z0-9_\u0080-\U0010ffff]+"
"""The characters of Python's identifiers, and a little more."""

_MARKED = re.compile(rf"\{MARK}{WORD}(?:\{MARK}{WORD})*")


def generated(*parts: str) -> str:
    """A marked name, of several parts where some are names of the kernel: ``$A$private`` for a copy of ``A``."""
    return MARK + MARK.join(part.removeprefix(MARK) for part in parts)


REPORT = generated("failed", "subscript")
"""The scalar that says where a subscript was out of range."""


def is_generated(name: str) -> bool:
    """Return whether a name is marked."""
    return name.startswith(MARK)


def plain(name: str) -> str:
    """A marked name for people: ``A_private`` for ``$A$private``."""
    return name.removeprefix(MARK).replace(MARK, "_")


def without_marks(text: str) -> str:
    """Text for people, with the marked names in it as ``plain`` gives them."""
    return replace_marked(text, plain)


def replace_marked(text: str, spelling: Callable[[str], str]) -> str:
    """Text with every marked name in it replaced.

    Args:
        text: any text.
        spelling: gives what stands for a marked name.
    """
    return _MARKED.sub(lambda found: spelling(found[0]), text)
