"""``polytune report``: write the page of a kernel, or serve it while a program runs.

With ``--live`` a program runs, and the pages of its kernels are served meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polytune.cli.commands.tune import parse_size
from polytune.cli.console import print_json, progress
from polytune.cli.options import Debug, Json
from polytune.cli.target import KernelTarget, load_kernel, parse_target
from polytune.errors import PolytuneError
from polytune.files import check_output

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
    check_output(output)
    if live:
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


def run_live(target: KernelTarget, arguments: Sequence[str], output: Path | None) -> dict[str, Path]:
    """Run a program in this process, serve the pages of its kernels until it ends, and write them then.

    Args:
        target: the program's file, and the kernels to show; all that it has where none are named.
        arguments: those of the program.
        output: where to write the page; of several kernels, each gets its name before the ending.

    Returns:
        The pages that were written, by kernel.

    Raises:
        typer.Exit: the program has failed, or ended with another code than 0; the pages are written all the same.
        PolytuneError: it had no kernel, or not those named, or a page cannot be written.
    """
    from polytune.report.live import LiveReport
    from polytune.report.roofs import roofs

    roofs("float64")  # while nothing else runs
    kernels = _ProgramKernels(target)
    code = 0
    with LiveReport(kernels.found) as report:
        print(f"{target.file.name} at {report.address}", file=sys.stderr, flush=True)
        with _as_program(target.file, arguments):
            try:
                _execute(target.file)
            except SystemExit as end:
                code = _exit_code(end)
            except Exception:
                sys.excepthook(*sys.exc_info())
                code = 1
            except KeyboardInterrupt:
                code = 130
            finally:
                found = kernels.found()
    files = {}
    for name, kernel in found.items():
        file = output or Path(f"{name}.html")
        files[name] = kernel.report(file if output is None or len(found) == 1 else _named(file, name))
    if code:
        for file in files.values():
            print(file, file=sys.stderr)
        raise typer.Exit(code)
    if not files:
        wanted = f" called {' or '.join(target.kernels)}" if target.kernels else ""
        raise PolytuneError(f"{target.file} had no kernel{wanted} when it ended; those in functions are not seen")
    return files


def _named(file: Path, name: str) -> Path:
    return file.with_name(f"{file.stem}-{name}{file.suffix}")


def _exit_code(end: SystemExit) -> int:
    """The code that a program ends with, as Python has it: a text is printed, and means 1."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def _execute(file: Path) -> None:
    """Run a file in the module that is now the main one."""
    code = compile(file.read_bytes(), str(file), "exec")
    exec(code, vars(sys.modules["__main__"]))


@contextmanager
def _as_program(file: Path, arguments: Sequence[str]) -> Iterator[None]:
    """Have the command line, the import path and the main module of a program, as ``python FILE ARGUMENT...`` would."""
    argv, path, main = sys.argv[:], sys.path[:], sys.modules["__main__"]
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__file__ = str(file)
    sys.argv[:] = [str(file), *arguments]
    sys.path.insert(0, str(file.resolve().parent))
    try:
        yield
    finally:
        sys.argv[:], sys.path[:], sys.modules["__main__"] = argv, path, main


class _ProgramKernels:
    """The kernels of a program that runs: in its main module, and in modules that lie beside it."""

    def __init__(self, target: KernelTarget):
        self._target = target
        self._folder = target.file.resolve().parent
        self._known: dict[str, Kernel[..., Any]] = {}

    def found(self) -> dict[str, Kernel[..., Any]]:
        """The kernels that there are now, by name, those that were called first."""
        from polytune.kernel import Kernel

        for module in list(sys.modules.values()):
            if self._is_of_program(module):
                for value in list(vars(module).values()):
                    if isinstance(value, Kernel) and self._is_wanted(value.__name__):
                        self._known.setdefault(value.__name__, value)
        return dict(sorted(self._known.items(), key=lambda pair: (not pair[1].tuners, pair[0])))

    def _is_wanted(self, name: str) -> bool:
        return not self._target.kernels or name in self._target.kernels

    def _is_of_program(self, module: ModuleType) -> bool:
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or "site-packages" in file:
            return False
        return Path(file).parent.is_relative_to(self._folder)
