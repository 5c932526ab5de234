"""Named tuples: their classes, what calls of these make in a kernel, and how a result gets its class back."""

from __future__ import annotations

import sys
from typing import Any

from polytune.frontend.lowering.meanings import TupleBinding


def named_fields(kind: Any) -> tuple[str, ...]:
    """The names of the items of a class of named tuples; none for anything else."""
    is_named = isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")
    return tuple(kind._fields) if is_named else ()


def class_text(made: TupleBinding) -> tuple[str, tuple[str, ...]]:
    """The text of an expression for the class of a tuple, and the statements that it needs; no text for a plain tuple.

    A class that a module cannot import, and that of an argument, is one of the same fields.
    """
    if not made.fields:
        return "", ()
    kind = made.kind
    name = "named" if kind is None else str(kind.__name__)
    module = "" if kind is None else str(kind.__module__)
    if kind is not None and getattr(sys.modules.get(module), name, None) is kind:
        spelling = f"{module}_{name}".replace(".", "_")
        return spelling, (f"from {module} import {name} as {spelling}",)
    return f"namedtuple({name!r}, {made.fields!r})", ("from collections import namedtuple",)
