"""``polytune build``: a package that an application imports, without the compiler."""

from __future__ import annotations

import inspect
import keyword
import re
import shutil
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polytune.errors import PolytuneError, SourceLocation
from polytune.files import replace_text
from polytune.history import default_store, machine_key
from polytune.runtime.embedded import text_digest
from polytune.runtime.modules.cache import runtime_digest
from polytune.runtime.teams.threads import maximum_threads
from polytune.tuner import Budget
from polytune.version import __version__

if TYPE_CHECKING:
    from polytune.kernel import Kernel

FIRST_WORDS = '"""Kernels compiled by polytune'
"""The first words of the ``__init__.py`` of every package."""

SUPPORT = "_support"
"""The folder, in packages around a shared library, of what their kernels share."""


def build(kernels: Sequence[Kernel[..., Any]], directory: Path, *, devices: bool = True, tuned: bool = False) -> None:
    """Write a package with one module per kernel, for the types that its annotations and its source give.

    Each kernel keeps what it was annotated with, the defaults of its arguments, and its documentation.  The package
    needs numpy, numba and ``polytune.runtime`` / ``polytune.tuner``, and nothing of the compiler.  All is generated
    before anything is written; modules of an earlier build that are not in this one are deleted.

    Args:
        kernels: what it holds, each of another name.
        directory: where to.
        devices: whether kernels have a version for devices too.  It is used where the application finds any, whether or
            not the machine that builds has one.
        tuned: whether the best configurations that are known on this machine go with the package, one for each size of
            arguments: its kernels try them first, and run them where nothing is tuned.

    Raises:
        UnsupportedSourceError: a kernel's source cannot be compiled.
        PolytuneError: the default of an argument is no number, or the names of kernels make no names of modules.
        OSError: the directory cannot be written.
    """
    check_names([kernel.__name__ for kernel in kernels])
    ordered = sorted(kernels, key=lambda kernel: kernel.__name__)
    modules = {
        f"_{kernel.__name__}.py": kernel.module_text(devices=devices, places=place_in_package) for kernel in ordered
    }
    best = [tuned_configurations(kernel) if tuned else {} for kernel in ordered]
    initial = _initial(ordered, [text_digest(text) for text in modules.values()], best)
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        replace_text(directory / name, text)
    finish(directory, initial, modules)


def place_in_package(place: SourceLocation) -> SourceLocation:
    """Return a place under the name by which messages of a package call its file: that of its module.

    The package is used where the source is not, and the folders of who has built it mean nothing to who uses it.

    Args:
        place: where something stands on this machine.
    """
    file = Path(place.file)
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return replace(place, file=file.relative_to(folder).as_posix())


def finish(directory: Path, initial: str, kept: Collection[str]) -> None:
    """Write the ``__init__.py`` of a package, and delete what an earlier build in the same folder had more.

    Args:
        directory: the package.
        initial: the text.
        kept: the names of all other files of the package.
    """
    earlier = set(_files_of(directory))
    replace_text(directory / "__init__.py", initial)
    for name in earlier - set(kept):
        (directory / name).unlink(missing_ok=True)
    support = directory / SUPPORT
    if earlier - set(kept) and support.is_dir():
        shutil.rmtree(support / "__pycache__", ignore_errors=True)
        if not any(support.iterdir()):
            support.rmdir()


def check_names(names: Sequence[str]) -> None:
    """See to it that each kernel can have a module and a name in a package.

    A kernel's name is whatever its ``__name__`` says, which a decorator may have changed, and becomes part of a file's
    name, on a disk that perhaps does not tell capital letters from small ones.

    Raises:
        PolytuneError: a name is no identifier, belongs to Python, or is that of two kernels.
    """
    first: dict[str, str] = {}
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise PolytuneError(f"the kernel's name {name!r} is no name that Python code can have; set its __name__")
        if name.endswith("__") and name.startswith("_"):
            raise PolytuneError(f"the kernel's name {name!r} is one of those that Python gives; rename it")
        folded = unicodedata.normalize("NFKC", name).casefold()
        if name in first.values():
            raise PolytuneError(f"two kernels are called {name!r}; a package has one of each name")
        if folded in first:
            raise PolytuneError(
                f"the kernels {first[folded]!r} and {name!r} would have one file where capital letters are not told "
                "from small ones; rename one, or build two packages"
            )
        first[folded] = name


def tuned_configurations(kernel: Kernel[..., Any]) -> dict[str, dict[str, Any]]:
    """Return the best configurations that the history knows of a kernel on this machine, by sizes."""
    found: dict[str, dict[str, Any]] = {}
    for measurement in default_store().all(kernel.name_in_history(), None, machine_key(maximum_threads())):
        if measurement.status == "ok":
            found.setdefault(measurement.shape, dict(measurement.configuration))  # the fastest comes first
    return found


def _initial(
    kernels: Sequence[Kernel[..., Any]], digests: Sequence[str], tuned: Sequence[dict[str, dict[str, Any]]]
) -> str:
    """The text of the ``__init__.py``."""
    names = [kernel.__name__ for kernel in kernels]
    arguments = [", ".join(_arguments(*each)) for each in zip(kernels, digests, tuned, strict=True)]
    used = [name for name in ("Budget", "Thresholds") if any(f"{name}(" in text for text in arguments)]
    places = {"Budget": "polytune.tuner", "Thresholds": "polytune.runtime.tuning.rules"}
    lines = [f'{FIRST_WORDS} {__version__}: {", ".join(names)}."""', ""]
    lines += ["from polytune.runtime.embedded import EmbeddedKernel, require_runtime"]
    lines += [f"from {places[name]} import {name}" for name in used]
    lines += ["", f'require_runtime(__name__, "{__version__}", "{runtime_digest()}")', ""]
    lines += [f"from . import _{name}" for name in names]
    lines += ["", f"__all__ = {names!r}", ""]
    # All are made before any has a name: it may be one of those above.
    lines += [f"{', '.join(names)}{',' * (len(names) == 1)} = ("]
    lines += [f"    EmbeddedKernel({text})," for text in arguments]
    return "\n".join([*lines, ")", ""])


def _arguments(kernel: Kernel[..., Any], digest: str, tuned: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Return what an embedded kernel is made from."""
    yield f"_{kernel.__name__}"
    yield f'"{digest}"'
    if kernel.__doc__:
        yield f"text={inspect.cleandoc(kernel.__doc__)!r}"
    if defaults := defaults_text(kernel):
        yield defaults
    if kernel.budget != Budget():
        yield f"budget={_call_text(kernel.budget)}"
    if kernel.thresholds is not None:
        yield f"thresholds={_call_text(kernel.thresholds)}"
    if not kernel.background:
        yield "background=False"
    if tuned:
        yield f"tuned={tuned!r}"


def defaults_text(kernel: Kernel[..., Any]) -> str:
    """The defaults of a kernel's arguments, as an argument of what packages make of it; empty where there are none.

    Raises:
        PolytuneError: one is no number.
    """
    defaults = {
        name: _number_text(kernel.__name__, name, parameter.default)
        for name, parameter in inspect.signature(kernel.__wrapped__).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    if not defaults:
        return ""
    return "defaults={" + ", ".join(f'"{name}": {text}' for name, text in defaults.items()) + "}"


def _number_text(kernel: str, argument: str, value: Any) -> str:
    """The default of an argument as Python reads it."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, (int, float)):
        raise PolytuneError(
            f"the default of argument {argument!r} of {kernel} is {value!r}; a package has numbers for defaults alone"
        )
    return repr(plain) if isinstance(plain, int) or np.isfinite(plain) else f'float("{plain}")'


def _call_text(settings: Any) -> str:
    """The call that makes an instance of a dataclass of numbers."""
    values = ((field.name, getattr(settings, field.name)) for field in fields(settings))
    written = (f"{name}=" + (f'float("{value}")' if value == float("inf") else repr(value)) for name, value in values)
    return f"{type(settings).__name__}({', '.join(written)})"


def _files_of(directory: Path) -> Iterator[str]:
    """The files of an earlier build beside its ``__init__.py``: of all names the ones that its text speaks of."""
    try:
        text = (directory / "__init__.py").read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    if not text.startswith(FIRST_WORDS):
        return
    for line in text.splitlines():
        if line.startswith("from . import _"):
            yield f"{line.removeprefix('from . import ')}.py"
    library = re.search(r'^_library = .*with_name\("(lib\w+\.\w+)"\), "(\w+)"\)$', text, re.MULTILINE)
    if library is not None:
        yield library[1]
        yield f"{library[2]}.h"
        for file in sorted((directory / SUPPORT).glob("*.py")):
            yield f"{SUPPORT}/{file.name}"
