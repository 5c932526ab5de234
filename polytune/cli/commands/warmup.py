"""``polytune warmup``: compile kernels before a program calls them."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from polytune.cli.console import print_json, progress
from polytune.cli.options import Debug, Json
from polytune.cli.target import load_kernels, parse_target
from polytune.errors import OutputError
from polytune.module_cache import module_cache


def warmup(
    targets: Annotated[
        list[str], typer.Argument(metavar="FILE[:KERNEL,...]...", help="The kernels; all of a file if none is named.")
    ],
    every: Annotated[bool, typer.Option("--all", help="Compile every version, not only what first calls run.")] = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compile kernels into the disk cache, for the types that their annotations and their source give.

    The first calls of a program then load what they would have compiled.
    """
    kernels = [kernel for text in targets for kernel in load_kernels(parse_target(text))]
    found = []
    for kernel in kernels:
        started = time.perf_counter()
        with progress.status(f"compiling {kernel.__name__}"):
            versions = kernel.warm_up(every=every)
        found.append({"kernel": kernel.__name__, "versions": versions, "seconds": time.perf_counter() - started})
        if (left := module_cache().left) is not None:
            raise OutputError(
                f"what was compiled is not kept, as the disk cache {left} cannot be used: make it a folder that this "
                "user alone may write to, or set POLYTUNE_CACHE_DIR to one"
            )
    if as_json:
        print_json({"kernels": found})
        return
    for each in found:
        print(f"{each['kernel']}: {', '.join(each['versions'])} in {each['seconds']:.1f} s")  # type: ignore[arg-type]
