"""The program itself: its commands, and what a person sees of an error.

Exit code 0: done; 1: the work failed; 2: the command line makes no sense; 130: interrupted.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TextIO

import typer

from polytune.cli import commands
from polytune.cli.options import Debug
from polytune.errors import PolytuneError, PolytuneWarning
from polytune.files import failure_of
from polytune.tracebacks import whole_tracebacks
from polytune.version import __version__

app = typer.Typer(
    name="polytune",
    help="Compile, inspect and tune loop nests over NumPy arrays.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"polytune {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Debug = False,
) -> None:
    pass


INTERRUPTED = 130
"""The code that shells give to what an interrupt (Ctrl-C) has ended."""


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Have a command end with `INTERRUPTED`, and with a word where others end with a traceback or with nothing."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    return run


for _file in pkgutil.iter_modules(commands.__path__):
    _command = importlib.import_module(f"{commands.__name__}.{_file.name}")
    _run = _interruptible(getattr(_command, _file.name))
    app.command(_file.name, cls=getattr(_command, "COMMAND_CLASS", None))(_run)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code.

    Args:
        arguments: the command line without the program's name; ``sys.argv[1:]`` if None.

    Raises:
        SystemExit: always, unless ``--debug`` lets an error through.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        # What a command says of an error is a sentence, or with --debug where in polytune it was raised.
        with whole_tracebacks(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app(arguments, prog_name="polytune")
    except Exception as error:
        if "--debug" in arguments:
            raise
        print(f"error: {_sentence(error)}", file=sys.stderr)
        raise SystemExit(1) from None


def _sentence(error: Exception) -> str:
    """Return what to tell a person of an error; anything but polytune's own, the operating system's and a lack of
    memory is a defect."""
    if isinstance(error, PolytuneError):
        return "\n\n".join([str(error), *getattr(error, "__notes__", ())])
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}" if str(error) else "there is not enough memory"
    if isinstance(error, OSError) and error.strerror:
        return failure_of(error)
    return f"{type(error).__name__}: {error}\nThis is a defect of polytune; --debug shows where."


_show_python_warning = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning to the person at the terminal, without the place in polytune, which says nothing to them."""
    if issubclass(category, PolytuneWarning):
        print(f"warning: {message}", file=sys.stderr)
    else:
        _show_python_warning(message, category, filename, lineno, file, line)
