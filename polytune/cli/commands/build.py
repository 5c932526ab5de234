"""``polytune build``: write an importable package from kernels."""

from __future__ import annotations

import keyword
import os
from pathlib import Path
from typing import Annotated

import typer

from polytune.cli.console import print_json, progress
from polytune.cli.options import Debug, Json
from polytune.cli.target import load_kernels, parse_target


def build(
    targets: Annotated[
        list[str], typer.Argument(metavar="FILE[:KERNEL,...]...", help="The kernels; all of a file if none is named.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PACKAGE", help="The package's folder.")],
    devices: Annotated[
        bool, typer.Option("--devices/--no-devices", help="Whether it can use GPUs, where the application has any.")
    ] = True,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="Whether the best configurations known on this machine go with it.")
    ] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a package that runs and tunes the kernels without the compiler (without islpy and sympy)."""
    output = Path(os.path.abspath(output)) if output.name in ("", "..") else output  # . and .. have names, too
    if not output.name.isidentifier() or keyword.iskeyword(output.name):
        raise typer.BadParameter(f"{output.name!r} is no name of a package: letters, digits and _ only, and no keyword")
    check_folder(output)
    kernels = [kernel for text in targets for kernel in load_kernels(parse_target(text))]
    names = [kernel.__name__ for kernel in kernels]
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(f"two kernels are called {name!r}; a package has one of each name")
    from polytune.packaging import build as build_package

    with progress.status(f"building {output.name}: {', '.join(names)}"):
        build_package(kernels, output, devices=devices, tuned=tuned)
    if as_json:
        print_json({"package": str(output), "kernels": names})
    else:
        print(f"{output}: {', '.join(names)}")


def check_folder(output: Path) -> None:
    """See to it that a package can be written to ``output`` without overwriting anything but an earlier build.

    Raises:
        typer.BadParameter: there is a file of this name, or a folder with other things in it.
    """
    if output.exists() and not output.is_dir():
        raise typer.BadParameter(f"{output} is a file; -o names the folder of the package")
    if output.is_dir() and any(output.iterdir()):
        from polytune.packaging import FIRST_WORDS

        initial = output / "__init__.py"
        if not initial.is_file() or not initial.read_text(encoding="utf-8").startswith(FIRST_WORDS):
            raise typer.BadParameter(f"{output} holds something else; -o names a new folder, or an earlier build")
