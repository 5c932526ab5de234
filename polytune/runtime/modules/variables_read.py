"""The variables that a function of a generated module reads: what it does depends on the values of no others."""

from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any

__all__ = ["variables_read"]


def variables_read(function: Callable[..., Any]) -> set[str]:
    """Return the names of a function's variables that it reads, or that a function inside of it may read."""
    code = function.__code__
    found = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("LOAD_FAST"):  # of two variables at once in later versions of Python
            found.update((instruction.argval,) if isinstance(instruction.argval, str) else instruction.argval)
    return found
