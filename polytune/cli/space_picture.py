"""A kernel's search space as a file: the graph of its subspaces as a picture, or T1 JSON for other tuners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from polytune.tuner import Space

__all__ = ["FORMATS", "write_space"]

FORMATS = (".svg", ".dot", ".json")
"""The endings of files that can be written: a picture, Graphviz text, T1."""


def write_space(space: Space, name: str, path: Path) -> None:
    """Write a space in the format that the file's ending names.

    Raises:
        typer.BadParameter: the ending is another, or the file cannot be written.
    """
    from polytune.tuner.spaces.t1 import to_t1

    if path.suffix not in FORMATS:
        raise typer.BadParameter(f"--picture: the file must end in {', '.join(FORMATS)}, not {path.suffix!r}")
    graph = space.graph()
    text = {".svg": graph.to_svg, ".dot": graph.to_dot, ".json": lambda: to_t1(space, name)}[path.suffix]()
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"--picture: {path} cannot be written: {error.strerror}") from None
