"""``polytune build``: write an importable package from kernels."""

from __future__ import annotations

import keyword
import os
from pathlib import Path
from typing import Annotated, Any

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
    native: Annotated[
        bool,
        typer.Option("--native", help="Write a shared library with a C header, and a package that needs NumPy alone."),
    ] = False,
    level: Annotated[
        list[str] | None,
        typer.Option("--level", help="With --native, a level of processors to have code for; all if none is named."),
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write a package that runs and tunes the kernels without the compiler (without islpy and sympy).

    With --native, write a shared library that runs them, with a header for C and a package that needs NumPy alone.
    """
    if level and not native:
        raise typer.BadParameter("--level is for --native: other packages are compiled on the machine that runs them")
    output = Path(os.path.abspath(output)) if output.name in ("", "..") else output  # . and .. have names, too
    if not output.name.isidentifier() or keyword.iskeyword(output.name):
        raise typer.BadParameter(f"{output.name!r} is no name of a package: letters, digits and _ only, and no keyword")
    check_folder(output)
    kernels = [kernel for text in targets for kernel in load_kernels(parse_target(text))]
    names = [kernel.__name__ for kernel in kernels]
    for name in names:
        if names.count(name) > 1:
            raise typer.BadParameter(f"two kernels are called {name!r}; a package has one of each name")
    with progress.status(f"building {output.name}: {', '.join(names)}"):
        if native:
            _write_library(kernels, output, tuned, level or [], as_json)
        else:
            _write_package(kernels, output, tuned, devices, as_json)


def _write_package(kernels: list[Any], output: Path, tuned: bool, devices: bool, as_json: bool) -> None:
    from polytune.packaging import build as build_package

    build_package(kernels, output, devices=devices, tuned=tuned)
    names = [kernel.__name__ for kernel in kernels]
    if as_json:
        print_json({"package": str(output), "kernels": names})
    else:
        _print_contents(kernels, output)


def _print_contents(kernels: list[Any], output: Path) -> None:
    """Print what a package has, with the types for which it is built."""
    print(f"{output}: {', '.join(kernel.__name__ for kernel in kernels)}")
    for kernel in kernels:
        print(f"    {kernel.__name__}({kernel.stages().signature})")


def _write_library(kernels: list[Any], output: Path, tuned: bool, level: list[str], as_json: bool) -> None:
    if not output.name.isascii():
        raise typer.BadParameter(f"{output.name!r} is no name that functions in C can begin with; use ASCII letters")
    from polytune.shared_library.build import build_library

    built = build_library(kernels, output, tuned=tuned, level_names=level)
    names = [kernel.__name__ for kernel in kernels]
    if as_json:
        files = {"library": str(built.library), "header": str(built.header)}
        told: dict[str, Any] = {"levels": list(built.levels), "without_c": dict(built.without_c)}
        told["measured"] = dict(built.measured)
        print_json({"package": str(output), "kernels": names, **files, **told})
        return
    _print_contents(kernels, output)
    print(f"library {built.library.name}, header {built.header.name}, for {', '.join(built.levels)}")
    if tuned:
        for name, count in built.measured.items():
            sizes = f"{count} size{'' if count == 1 else 's'}"
            print(f"{name}: tuned for {sizes if count else 'no size yet: polytune tune does it, before a build'}")
    for name, obstacle in built.without_c.items():
        print(f"{name} can be called from Python alone: {obstacle}")


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
