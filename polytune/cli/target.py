"""``FILE:KERNEL``: finding a kernel in a file of Python.

The file is imported, as Python would import it: with its own folder (or its package's) on the import path.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer

from polytune.errors import PolytuneError
from polytune.records import dataclass

if TYPE_CHECKING:
    from polytune.kernel import Kernel


@dataclass(frozen=True)
class KernelTarget:
    """A file and the names of kernels in it; no names mean all that it has."""

    file: Path
    kernels: tuple[str, ...] = ()


def parse_target(text: str) -> KernelTarget:
    """Read ``FILE``, ``FILE:KERNEL`` or ``FILE:KERNEL,KERNEL``.

    Raises:
        typer.BadParameter: there is no such file, it is not Python, or what follows the colon is no name.
    """
    path, colon, names = text.rpartition(":")
    kernels = tuple(name.strip() for name in names.split(","))
    if not colon or not all(name.isidentifier() for name in kernels):  # no kernel, or the colon of a drive, C:\...
        path, kernels = text, ()
    file = Path(path)
    if not file.is_file():
        before, _, after = text.partition(".py:")
        if (after and Path(f"{before}.py").is_file()) or text.endswith(".py:"):
            raise typer.BadParameter(
                f"{after!r} is no list of names; a target is FILE.py:KERNEL or FILE.py:KERNEL,KERNEL"
            )
        if file.is_dir():
            raise typer.BadParameter(f"{path!r} is a folder; a target is FILE.py:KERNEL")
        raise typer.BadParameter(f"there is no file {path!r}; a target is FILE.py:KERNEL")
    if file.suffix != ".py":
        raise typer.BadParameter(f"{path!r} is not a Python file; a target is FILE.py:KERNEL")
    return KernelTarget(file, kernels)


def load_kernels(target: KernelTarget) -> tuple[Kernel[..., Any], ...]:
    """The kernels that a target names, in the order named, or all of its file in the order of their names.

    Raises:
        typer.BadParameter: the file has no kernel, or not the one named.
        PolytuneError: importing the file failed.
    """
    return kernels_among(kernels_in(target.file), target)


def kernels_in(file: Path) -> dict[str, Kernel[..., Any]]:
    """All kernels of a file by name.

    Raises:
        typer.BadParameter: it has none.
        PolytuneError: importing the file failed.
    """
    from polytune.kernel import Kernel

    found = {name: value for name, value in vars(import_file(file)).items() if isinstance(value, Kernel)}
    if not found:
        raise typer.BadParameter(f"{file} has no kernel: annotate a function with @polytune.kernel")
    return found


def kernels_among(found: Mapping[str, Kernel[..., Any]], target: KernelTarget) -> tuple[Kernel[..., Any], ...]:
    """The kernels that a target names among those of its file, in the order named, or all of them in that of names.

    Raises:
        typer.BadParameter: the file has not the one named.
    """
    for name in target.kernels:
        if name not in found:
            close = get_close_matches(name, found, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(found))}"
            raise typer.BadParameter(f"{target.file} has no kernel {name!r}; {hint}")
    return tuple(found[name] for name in target.kernels or sorted(found))


def load_kernel(text: str) -> Kernel[..., Any]:
    """The one kernel that ``text`` names; its name may be left out where the file has only one.

    Raises:
        typer.BadParameter: there is no such file or kernel, or the file has several and none is named.
        PolytuneError: importing the file failed.
    """
    target = parse_target(text)
    kernels = load_kernels(target)
    if len(kernels) > 1:
        names = ", ".join(kernel.__name__ for kernel in kernels)
        raise typer.BadParameter(f"name one kernel, for example {target.file}:{kernels[0].__name__}; here: {names}")
    return kernels[0]


def import_file(file: Path) -> ModuleType:
    """Import a file of Python by its path; a module of a package under its full name, so that it finds its siblings.

    Raises:
        PolytuneError: the file raised while being imported.
    """
    file = file.resolve()
    package, root = package_of(file)
    name = f"{package}.{file.stem}" if package else file.stem
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    try:
        if "." in name:
            return importlib.import_module(name)
        return _execute(file, f"polytune_target.{name}")
    except SystemExit as end:
        place = _place(file, end)
        raise PolytuneError(
            f"{place} ends the program when it is imported; put what is not for an import under "
            'if __name__ == "__main__":'
        ) from end
    except Exception as error:
        raise PolytuneError(f"{_place(file, error)} cannot be imported: {type(error).__name__}: {error}") from error


def package_of(file: Path) -> tuple[str, Path]:
    """The full name of the package that a file is in, empty where it is in none, and the folder that has that."""
    package, root = "", file.resolve().parent
    while (root / "__init__.py").is_file():
        package, root = f"{root.name}.{package}".rstrip("."), root.parent
    return package, root


def _place(file: Path, error: BaseException) -> str:
    """The file that was imported, and in which of its lines, as far as that is known."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(file)]
    return f"{file.name}:{lines[-1]}" if lines else file.name


def _execute(file: Path, name: str) -> ModuleType:
    """Import a file that is in no package, under a name that hides no other module, whatever the file is called."""
    specification = importlib.util.spec_from_file_location(name, file)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
