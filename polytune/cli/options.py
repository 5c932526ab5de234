"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
"""Accepted before and after the command's name; ``main`` looks for it in the command line itself, because it must
also work for an error that keeps the options from being read."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
