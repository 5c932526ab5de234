"""A shared library of kernels, its header, and the Python package around it."""

from __future__ import annotations

import importlib.util
import inspect
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from polytune.codegen.transform import Target
from polytune.errors import PolytuneError
from polytune.files import replace_text
from polytune.packaging import (
    FIRST_WORDS,
    SUPPORT,
    check_names,
    defaults_text,
    finish,
    place_in_package,
    tuned_configurations,
)
from polytune.records import dataclass
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.native.kinds import NotNativeError
from polytune.runtime.teams import admission
from polytune.runtime.teams.context import STATE_LENGTH, array_words
from polytune.shared_library.choices import choices_for
from polytune.shared_library.entry import CEntry, write_entry
from polytune.shared_library.expressions import NotInCError
from polytune.shared_library.levels import Level, levels, team_code, version_code
from polytune.shared_library.linking import Compiler, find_compiler, library_name, link
from polytune.shared_library.texts import MODULES, LevelCode, NativeKernel, header_text, host_text, source_text
from polytune.signature import ArrayType, parse_type
from polytune.version import __version__

if TYPE_CHECKING:
    from polytune.kernel import Kernel

__all__ = ["BuiltLibrary", "build_library"]

_LOGGER = logging.getLogger(__name__)

_BINDING = Path(__file__).parent / "binding"
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class BuiltLibrary:
    """The result of a build.

    Attributes:
        library, header: its files.
        levels: the names of the levels of processors that it has code for.
        without_c: by the names of kernels that have no function in C, why.
        measured: by the names of kernels, for how many sizes what runs was found by tuning, on the highest level.
    """

    library: Path
    header: Path
    levels: tuple[str, ...]
    without_c: Mapping[str, str]
    measured: Mapping[str, int]


def build_library(
    kernels: Sequence[Kernel[..., Any]],
    directory: Path,
    *,
    tuned: bool = False,
    level_names: Sequence[str] = (),
) -> BuiltLibrary:
    """Write a Python package around a shared library of kernels, for the types that their annotations and sources give.

    The package needs NumPy alone, and the library nothing but C's; neither compiles anything, nor tunes.  What runs for
    which sizes is decided now.  All is made before anything is written.

    Args:
        kernels: what it holds, each of another name.
        directory: where to; its name is the package's.
        tuned: whether the best configurations that are known on this machine are what runs, for the sizes next to those
            for which they were found; else it is what is expected to be fastest.
        level_names: the levels of processors that it has code for; all that there are where none is named.

    Raises:
        UnsupportedSourceError: a kernel's source cannot be compiled.
        PolytuneError: a kernel needs the interpreter when it runs, or the library cannot be linked.
        OSError: the directory cannot be written.
    """
    compiler = find_compiler()
    wanted = levels(level_names, compiler)
    names = [kernel.__name__ for kernel in kernels]
    check_names(names)
    package = directory.name
    with tempfile.TemporaryDirectory(prefix="polytune-") as folder:
        work = Path(folder)
        ordered = sorted(kernels, key=lambda kernel: kernel.__name__)
        made = [
            _LibraryMaker(kernel, package, wanted, work).make(tuned_configurations(kernel) if tuned else {})
            for kernel in ordered
        ]
        native = [each.native for each in made]
        objects = [file for each in made for file in each.objects]
        for symbol, code in team_code(wanted[0].processor).items():
            objects.append(_written(work / f"{symbol}.o", code))
        header = work / f"{package}.h"
        header.write_text(header_text(package, native), encoding="utf-8")
        source = work / f"{package}.c"
        source.write_text(source_text(package, native, wanted), encoding="utf-8")
        library = work / library_name(package)
        _link(compiler, source, objects, library)
        files = {f"_{each.name}.py": each.host for each in made}
        files |= {f"{SUPPORT}/{name}": text for name, text in _support().items()}
        initial = _initial(package, ordered, made)
        _write(directory, files, initial, header, library)
    without_c = {kernel.name: kernel.obstacle for kernel in native if kernel.entry is None}
    highest = wanted[-1].name
    measured = {each.name: sum(choice.is_measured for choice in each.code[highest].choices) for each in native}
    names_of_levels = tuple(each.name for each in wanted)
    return BuiltLibrary(directory / library.name, directory / header.name, names_of_levels, without_c, measured)


@dataclass(frozen=True)
class _KernelParts:
    name: str
    native: NativeKernel
    objects: tuple[Path, ...]
    host: str


class _LibraryMaker:
    """Makes the parts of one kernel.

    Args:
        kernel: the kernel.
        package: the name of the package.
        wanted: the levels.
        work: a folder for files that are needed meanwhile.
    """

    def __init__(self, kernel: Kernel[..., Any], package: str, wanted: Sequence[Level], work: Path):
        self.kernel, self.package, self.levels, self.work = kernel, package, wanted, work
        self.name = "".join(letter if letter.isascii() else f"_{ord(letter):x}_" for letter in kernel.__name__)
        self.modules: dict[tuple[int, int], tuple[ModuleType, str]] = {}

    def make(self, tuned: Mapping[str, Mapping[str, Any]]) -> _KernelParts:
        objects: list[Path] = []
        codes: dict[str, LevelCode] = {}
        for level in self.levels:
            codes[level.name] = self.level_code(level, tuned, objects)
        module, text = self.module(self.levels[-1])
        entry, obstacle = self.entry(module, text)
        kinds = [kind for kind in map(parse_type, module.MEMORY) if isinstance(kind, ArrayType)]
        words = sum(map(array_words, kinds)) + len(module.SCALARS) + len(module.PARAMETERS)
        native = NativeKernel(
            self.name,
            inspect.cleandoc(self.kernel.__doc__ or ""),
            str(module.SIGNATURE),
            words,
            len(module.PARAMETERS),
            codes,
            entry,
            obstacle,
        )
        return _KernelParts(self.kernel.__name__, native, tuple(objects), host_text(text))

    def module(self, level: Level) -> tuple[ModuleType, str]:
        """The generated module for a level, and its text."""
        key = level.vector_bytes, level.vector_registers
        if key not in self.modules:
            text = self.kernel.module_text(devices=False, places=place_in_package, target=Target(*key))
            file = self.work / f"{self.name}_{key[0]}_{key[1]}.py"
            file.write_text(text, encoding="utf-8")
            self.modules[key] = _loaded(file), text
        return self.modules[key]

    def entry(self, module: ModuleType, text: str) -> tuple[CEntry | None, str]:
        try:
            return write_entry(self.package, module, text), ""
        except NotInCError as error:
            return None, f"what checks its calls uses {error}, which is not translated"

    def level_code(self, level: Level, tuned: Mapping[str, Mapping[str, Any]], objects: list[Path]) -> LevelCode:
        """The code of the versions that are chosen for a level, of which the object code is written to files."""
        module, _ = self.module(level)
        codes: dict[str, bytes] = {}
        refused: dict[str, str] = {}

        def symbol(name: str) -> str:
            return f"pt_{self.name}_{re.sub(r'[^a-z0-9]', '_', level.name)}_{name}"

        while True:
            available = [version.name for version in module.VERSIONS if version.name not in refused]
            if not available:
                raise self.refusal(refused)
            choices = choices_for(GeneratedKernel(module), tuned, available)
            chosen = list(dict.fromkeys(choice.version for choice in choices))
            versions = {version.name: version for version in module.VERSIONS}
            for name in chosen:
                if name not in codes:
                    try:
                        codes[name] = version_code(versions[name].function, symbol(name), level.processor)
                    except NotNativeError as error:
                        _LOGGER.info("%s: %s cannot be in a library: %s", self.name, name, error)
                        refused[name] = str(error)
            if all(name in codes for name in chosen):
                break
        for name in chosen:
            objects.append(_written(self.work / f"{symbol(name)}.o", codes[name]))
        teams = frozenset(name for name in chosen if versions[name].team)
        return LevelCode({name: symbol(name) for name in chosen}, teams, choices)

    def refusal(self, refused: Mapping[str, str]) -> PolytuneError:
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in refused.items())
        return PolytuneError(
            f"{self.kernel.__name__} cannot be in a library, as each of its versions needs the interpreter when it "
            f"runs:\n{reasons}\ninstead: build it without --native, as a package that needs Numba and polytune's "
            "runtime"
        )


def _loaded(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"polytune_library_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = written
    return module


def _written(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


def _constants() -> str:
    """Return what ``runtime/team.c`` knows of the layouts of contexts and mailboxes."""
    origin = admission.mailbox_length(0)
    for_each = admission.mailbox_length(1) - origin
    first, second = admission.event(1), admission.event(2)
    return "\n".join(
        [
            f"#define PT_STATE_WORDS {STATE_LENGTH}",
            f"#define PT_CORE_WORD {admission.CORE}",
            f"#define PT_MAILBOX_WORDS(helpers) ({origin} + {for_each} * (helpers))",
            f"#define PT_EVENT_WORD(number) ({2 * first - second} + {second - first} * (number))",
        ]
    )


def _link(compiler: Compiler, source: Path, objects: Sequence[Path], library: Path) -> None:
    layout = source.with_name("layout.h")
    layout.write_text(_constants() + "\n", encoding="utf-8")
    link(compiler, [source], objects, library, include=source.parent)


def _support() -> dict[str, str]:
    """The files that every package has a copy of, by their names."""
    files: dict[str, str] = {}
    for file in sorted(_BINDING.glob("*.py")):
        files[file.name] = _within(file.read_text(encoding="utf-8"))
    for module, name in MODULES.items():
        if f"{name}.py" not in files:
            path = _ROOT.parent / f"{module.replace('.', '/')}.py"
            files[f"{name}.py"] = _within(path.read_text(encoding="utf-8"))
    return files


def _within(text: str) -> str:
    """A module's text with the copies that packages have in place of polytune's modules."""
    return re.sub(
        r"^from (polytune[\w.]*) import ", lambda found: f"from .{MODULES[found[1]]} import ", text, flags=re.M
    )


def _initial(package: str, kernels: Sequence[Kernel[..., Any]], made: Sequence[_KernelParts]) -> str:
    """The text of the ``__init__.py``."""
    names = [kernel.__name__ for kernel in kernels]
    lines = [f'{FIRST_WORDS} {__version__} to a shared library: {", ".join(names)}."""', ""]
    lines += ["from pathlib import Path as _Path", ""]
    lines += [f"from . import _{name}" for name in names]
    lines += [f"from .{SUPPORT} import errors as _errors", f"from .{SUPPORT}.kernels import LibraryKernel as _Kernel"]
    lines += [f"from .{SUPPORT}.kernels import Library as _Library", ""]
    lines += [f'_library = _Library(_Path(__file__).with_name("{library_name(package)}"), "{package}")']
    for public, value in (("library", "_library"), ("errors", "_errors")):
        if public not in names:
            lines.append(f"{public} = {value}")
    lines += ["", f"__all__ = {[*names, *(name for name in ('errors', 'library') if name not in names)]!r}", ""]
    for kernel, each in zip(kernels, made, strict=True):
        arguments = [f"_{each.name}", "_library", repr(each.native.name)]
        if kernel.__doc__:
            arguments.append(f"text={inspect.cleandoc(kernel.__doc__)!r}")
        if defaults := defaults_text(kernel):
            arguments.append(defaults)
        lines.append(f"{each.name} = _Kernel({', '.join(arguments)})")
    return "\n".join([*lines, ""])


def _write(directory: Path, files: Mapping[str, str], initial: str, header: Path, library: Path) -> None:
    """Write all files of a package, each in one step, and remove what an earlier build had more."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / SUPPORT).mkdir(exist_ok=True)
    for name, text in files.items():
        replace_text(directory / name, text)
    replace_text(directory / header.name, header.read_text(encoding="utf-8"))
    beside = directory / f"{library.name}.{os.getpid()}.tmp"
    try:
        shutil.copyfile(library, beside)
        shutil.copymode(library, beside)
        os.replace(beside, directory / library.name)
    finally:
        beside.unlink(missing_ok=True)
    finish(directory, initial, {*files, header.name, library.name})
