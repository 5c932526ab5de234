"""The parts that benchmark programs share: exit codes, progress, numbers for people, and what machine it was.

Nothing here imports Numba before it is called: how many threads Numba may start is read when it is imported.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from benchmarks.timing import Sample

# Results go to standard output, unabridged where no terminal limits their width.  What is live goes to standard error,
# on a terminal only, so that a log holds no half-drawn lines.
results = Console(width=None if sys.stdout.isatty() else 200)
live = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write all results to this file as JSON, as they come."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Threads = Annotated[int | None, typer.Option(min=1, help="At most so many threads; by default all cores.")]


def application(name: str, description: str) -> typer.Typer:
    """A command line of one command."""
    return typer.Typer(
        name=name, help=description, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
    )


def run(app: typer.Typer, name: str, arguments: Sequence[str] | None = None) -> None:
    """Run a program and end the process with its exit code: 0 done, 1 the work failed, 2 bad usage.

    Args:
        app: the program.
        name: what it is called by.
        arguments: the command line without the program's name; ``sys.argv[1:]`` if None.

    Raises:
        SystemExit: always, unless ``--debug`` lets an error through.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app(arguments, prog_name=name)
    except Exception as error:
        if "--debug" in arguments:
            raise
        fail(_sentence(error), 1)


def _sentence(error: Exception) -> str:
    """The sentence that a person is told of an error; the class has its name in it only where that is a defect."""
    from polytune.errors import PolytuneError
    from polytune.files import failure_of

    if isinstance(error, PolytuneError):
        return str(error)
    if isinstance(error, OSError):
        return failure_of(error)
    return f"{type(error).__name__}: {error} (--debug shows where)"


def fail(message: str, code: int) -> NoReturn:
    """End the process with a sentence on standard error."""
    print(f"error: {message}", file=sys.stderr)
    raise SystemExit(code)


def known_kernels(named: Sequence[str]) -> list[str]:
    """The kernels of the suite that are named, each once.

    Raises:
        SystemExit: the suite has no kernel of a name.
    """
    from polybench.registry import UnknownKernelError, check_name

    wanted = list(dict.fromkeys(named))
    try:
        for name in wanted:
            check_name(name)
    except UnknownKernelError as error:
        fail(str(error), 2)
    return wanted


def check_output(path: Path | None) -> None:
    """End the process where results could not be written, before anything is measured.

    Args:
        path: what ``--output`` names; None where it was not given.

    Raises:
        SystemExit: its folder is not there.
    """
    if path is not None and not path.parent.is_dir():
        fail(f"--output: there is no folder {path.parent}", 2)


def limit_threads(threads: int | None) -> None:
    """Have Numba start at most so many threads, in this process and in those that it starts.

    Raises:
        SystemExit: Numba has been imported.
    """
    if threads is None:
        return
    if "numba" in sys.modules:
        fail("--threads must be given before Numba is imported; start a process of its own for it.", 2)
    os.environ["NUMBA_NUM_THREADS"] = str(threads)


def surroundings() -> dict[str, Any]:
    """The machine, the threads and the versions of the packages."""
    from polytune import __version__
    from polytune.history.machine import machine_key
    from polytune.runtime.machine import machine
    from polytune.runtime.teams.threads import maximum_threads

    packages = {name: version(name) for name in ("numba", "llvmlite", "numpy", "islpy-barvinok")}
    return {
        "machine": machine_key(),
        "processor": str(machine()),
        "threads": maximum_threads(),
        "packages": {"python": platform.python_version(), "polytune": __version__, **packages},
    }


def describe_surroundings(found: dict[str, Any]) -> str:
    """``surroundings`` in two lines."""
    packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
    return f"{found['machine']} ({found['processor']}), {found['threads']} threads\n{packages}"


def print_json(value: Any) -> None:
    """Print JSON; numbers that are not finite become null."""
    print(json.dumps(finite(value), indent=2, allow_nan=False))


def finite(value: Any) -> Any:
    """The same for JSON: NumPy's numbers as Python's, those that are not finite as None."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def duration(seconds: float) -> str:
    """Seconds with three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def spread(sample: Sample) -> str:
    """The median, and how far the quartiles are from it in parts of it."""
    low, high = sample.quartiles
    below, above = (low - sample.median, high - sample.median)
    scale = abs(sample.median) or 1.0
    return f"{duration(sample.median)} {below / scale:+.0%} {above / scale:+.0%}"


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean; NaN of nothing."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan
