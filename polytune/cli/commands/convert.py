"""``polytune convert``: write a recorded space in the format of another tuner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from polytune.cli.commands.simulate import Description, TimeColumn, Unit
from polytune.cli.console import print_json, results
from polytune.cli.options import Debug, Json
from polytune.files import check_output


def convert(
    space: Annotated[str, typer.Argument(metavar="SPACE", help="A recorded space, or example:NAME.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="What to write.")],
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="ktt-csv, ktt-json, t4 or kernel-tuner.")],
    time: TimeColumn = None,
    unit: Unit = None,
    description: Description = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a recorded space for another tuner: KTT 1.3 (CSV) and 2 (JSON), T4, or Kernel Tuner's cache.

    What is written is read back first, so that a file says what the recording does.
    """
    check_output(output)
    from polytune.lab import load
    from polytune.lab.conversion import convert as write
    from polytune.lab.conversion import formats

    if format not in formats():
        raise typer.BadParameter(f"--format {format!r} is none of {', '.join(formats())}")
    recorded = load(space, time=time, unit=unit, description=description)
    written = write(recorded, output, format)
    if as_json:
        print_json({"space": recorded.name, "file": str(output), "format": format, "configurations": written})
    else:
        left = len(recorded) - written
        without = f"; {left} that failed are left out, as the format has none" if left else ""
        results.print(Text(f"{output}: {written} configurations{without}"))
