"""Imports inside of kernels, of the modules whose functions are compiled: their names mean what they mean outside."""

from __future__ import annotations

import ast
import importlib
from typing import Any

from polytune.frontend.lowering.frame import Frame
from polytune.frontend.lowering.meanings import ObjectBinding
from polytune.frontend.syntax.refusals import refuse_statement

__all__ = ["bind_import"]

_MODULES = ("cmath", "math", "numpy", "numpy.linalg", "numpy.random", "random")
"""The modules that are the same whenever they are imported."""


def bind_import(frame: Frame, node: ast.Import | ast.ImportFrom) -> None:
    """Give the names of an import their meanings.

    Args:
        frame: where it stands.
        node: the statement.

    Raises:
        UnsupportedSourceError: it imports anything else.
    """
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            owner = _module(node.module) if not node.level else None
            thing = getattr(owner, alias.name, None)
        else:
            thing = _module(alias.name if alias.asname else alias.name.partition(".")[0])
        if thing is None or _module(getattr(node, "module", None) or alias.name) is None:
            raise refuse_statement(frame.source, node)
        frame.bindings[alias.asname or alias.name.partition(".")[0]] = ObjectBinding(thing)


def _module(name: str | None) -> Any:
    """A module of these by its name; None for any other."""
    return importlib.import_module(name) if name in _MODULES else None
