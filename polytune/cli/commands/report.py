"""``polytune report``: write the page of a kernel, or serve it while a program runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polytune.cli.commands.tune import parse_size
from polytune.cli.console import print_json, progress
from polytune.cli.options import Debug, Json
from polytune.cli.target import load_kernel, parse_target

if TYPE_CHECKING:
    from polytune.kernel import Kernel


def report(
    target: Annotated[
        str, typer.Argument(metavar="FILE[:KERNEL]", help="The kernel; with --live the program and its kernel.")
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGUMENT...]", help="With --live: those of the program.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE.html", help="The page; KERNEL.html if not given.")
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A parameter of the kernel, as n=1000, to tune it for; repeatable."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="With --size: how long to tune before; 0 shows what the history knows.")
    ] = 10.0,
    strict: Annotated[bool, typer.Option("--strict", help="Keep the source order of every sum.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Run the file as a program, and serve the page while it runs.")
    ] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Write one page that shows a kernel: what is parallel and why not more, versions, tuning, roofline, code.

    With --size for each size, the kernel is first tuned on random data. With --live the file is run as a program, its
    kernels' pages are served on this machine under an address that is printed, and written when it ends.
    """
    if live and (size or strict):
        raise typer.BadParameter("--size and --strict are not for --live: the program makes its own calls")
    if arguments and not live:
        raise typer.BadParameter("arguments of a program are for --live")
    if live:
        from polytune.cli.live import run_live

        files = run_live(parse_target(target), arguments or [], output)
        written = {name: str(file) for name, file in files.items()}
    else:
        kernel = load_kernel(target)
        written = {kernel.__name__: str(_write(kernel.strict if strict else kernel, output, size or [], seconds))}
    if as_json:
        print_json({"pages": written})
    else:
        for file in written.values():
            print(file)


def _write(kernel: Kernel[..., Any], output: Path | None, size: list[str], seconds: float) -> Path:
    """Write the page of a kernel, tuned for sizes where there are any."""
    if size:
        from polytune.cli.tuning import random_arguments

        sizes = dict(parse_size(text) for text in size)
        with progress.status(f"{kernel.__name__}: analysing"):
            values = random_arguments(kernel, sizes, seed=0).values
            kernel.tuner(*values)
        if seconds > 0:
            kernel.tune(*values, seconds=seconds)
    with progress.status(f"{kernel.__name__}: writing the page"):
        return kernel.report(output or Path(f"{kernel.__name__}.html"))
