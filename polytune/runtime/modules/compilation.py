"""Compiling one function of a generated module, with Numba's disk cache made safe to rely on.

Numba unpickles its cache files unchecked, and machine code damaged on disk would run.  So an empty *seal* is put beside
each file that was written in good order, its name holding a hash of the file's content.  A file whose content has no
seal is damaged, unless it is so young that another process may be about to seal it.

A seal tells of accidents, not of intent: whoever can write a file can seal it.  So files that others may write, or in
folders where they may, are refused (`polytune.runtime.modules.trust`).

Seals of different contents of one file can lie side by side, so processes that write at the same time need no lock.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import NullCache
from numba.core.errors import NumbaError

from polytune.errors import CacheWarning, CompilationError, WorkingFolderError
from polytune.runtime.calls.collector import collector_paused
from polytune.runtime.modules.trust import UntrustedError, check_folder, keep_private, read_trusted

__all__ = ["code_folder", "compile_for", "is_on_disk", "keeps_code", "warn_damaged", "warn_untrusted"]


def keeps_code(file: str) -> bool:
    """Return whether Numba finds a place on disk for the machine code of functions of a file, see `code_folder`."""
    return code_folder(file) is not None


def code_folder(file: str) -> Path | None:
    """Return where Numba keeps the machine code of functions of a file; None where it finds no place.

    It looks beside the file, then in the user's cache directory; a folder that others may write is none, of which a
    ``CacheWarning`` says so.  Numba refuses to decorate a function with ``cache=True``
    where neither can be written.
    """
    names: dict[str, Any] = {}
    exec(compile("def probe(): pass", file, "exec"), names)
    try:
        probe = numba.njit(cache=True)(names["probe"])
    except RuntimeError:
        return None
    folder = Path(probe.stats.cache_path)
    try:
        check_folder(folder, may_be_link=True)
    except UntrustedError as error:
        warn_untrusted(folder, str(error))
        return None
    except OSError:  # there is none yet
        pass
    return folder


def is_on_disk(function: Any) -> bool:
    """Return whether Numba has kept machine code of a function on disk since its file was written, as far as names and
    times of files tell.

    Numba looks closer before it uses any.  False for functions whose machine code is not kept.

    Args:
        function: what ``numba.njit`` made.
    """
    folder, plain = function.stats.cache_path, function.py_func
    if folder is None:
        return False
    index = f"*.{plain.__qualname__}-*.py{sys.version_info.major}{sys.version_info.minor}*.nbi"
    try:
        written = Path(plain.__code__.co_filename).stat().st_mtime
        return any(found.stat().st_mtime >= written for found in Path(folder).glob(index))
    except OSError:  # another process is deleting them
        return False


def compile_for(function: Any, argument_types: Sequence[Any]) -> None:
    """Have a Numba function ready for arguments of given types: its machine code loaded from disk, else compiled.

    Afterwards a call with such arguments neither compiles nor reads the disk.  Damaged files in Numba's cache are
    deleted, with a ``CacheWarning``, and the function is compiled anew; where the result cannot be written to
    disk, a ``CacheWarning`` says so and the function is ready all the same.

    Args:
        function: what ``numba.njit`` made, with or without ``cache=True``.
        argument_types: a Numba type for each argument, as ``numba.typeof`` gives them.

    Raises:
        CompilationError: Numba cannot compile the function.
        WorkingFolderError: the folder that the process works in has been deleted.
    """
    wanted = tuple(argument_types)
    if wanted in function.overloads:
        return
    folder = Path(function.stats.cache_path) if function.stats.cache_path else None
    try:
        if folder is not None and (damaged := remove_damaged(folder)):
            warn_damaged(folder, f"{damaged[0].name} is not as it was written")
    except UntrustedError as error:
        assert folder is not None
        warn_untrusted(folder, str(error))
        # Numba shall not look there, for this function or any it compiles with it.
        function._cache, folder = NullCache(), None
    problem = _try_compile(function, wanted)
    if wanted not in function.overloads and folder is not None:
        # Unpickling garbled files can raise anything.  Nothing raised: code for other types was found, because two
        # processes that saved different types of one function at the same time have mixed up Numba's index.  A module
        # that is not found is the function's own, under the name that its package had before.
        if not isinstance(problem, ModuleNotFoundError):
            warn_damaged(folder, repr(problem) if problem else "its index is wrong")
        remove_all(folder)
        problem = _try_compile(function, wanted)
    if wanted not in function.overloads:
        raise CompilationError(f"{function.__name__} cannot be compiled for {wanted}: {problem!r}") from problem
    if folder is None:
        return
    try:
        if problem is not None:
            raise problem
        if wanted in function.stats.cache_misses:
            put_seals(folder)
    except Exception as error:  # compiled, but not saved
        _warn_not_kept(folder, repr(error))


def _try_compile(function: Any, wanted: tuple[Any, ...]) -> Exception | None:
    """Compile or load.  Return the exception that came out of it, be it from compiling, loading or saving.

    Raises:
        CompilationError: Numba refuses the function itself.
        WorkingFolderError: the folder that the process works in has been deleted.
    """
    try:
        os.getcwd()  # Numba asks for it wherever it names a place in a source
    except OSError:
        raise WorkingFolderError(
            f"{function.__name__} cannot be compiled: the working folder of this process no longer exists; "
            f"change to one that does, with os.chdir, and call again"
        ) from None
    try:
        with collector_paused():
            function.compile(wanted)
    except NumbaError as error:
        raise CompilationError(f"{function.__name__} cannot be compiled for {wanted}: {error}") from error
    except Exception as error:
        return error
    return None


def warn_damaged(folder: Path, what: str) -> None:
    """Warn that something in a folder is not as it was written."""
    warnings.warn(
        CacheWarning(f"compiled code in {folder} is damaged ({what}); it is deleted and compiled again"), stacklevel=3
    )


@functools.cache
def warn_untrusted(folder: Path, why: str) -> None:
    """Warn, once for a folder, that somebody else may have written what is in it."""
    warnings.warn(
        CacheWarning(
            f"compiled code in {folder} is not used ({why}), as it would be run; functions are compiled in memory. "
            f"Make the folder and its files your own, with nobody else to write them, or delete it"
        ),
        stacklevel=3,
    )


@functools.cache
def _warn_not_kept(folder: Path, why: str) -> None:
    """Warn once for a folder."""
    warnings.warn(
        CacheWarning(f"compiled code cannot be kept in {folder} ({why}); the next process will compile it again"),
        stacklevel=3,
    )


_CACHED = (".nbi", ".nbc")
_SEAL = ".seal"
_YOUNG_SECONDS = 10.0
"""Longer than it takes from writing a file to sealing it."""


def put_seals(folder: Path) -> None:
    """Seal Numba's cache files in ``folder``; call it right after a compilation.

    Raises:
        OSError: a seal cannot be written.
    """
    for file in _cached_files(folder):
        with contextlib.suppress(FileNotFoundError):
            keep_private(file)
            _seal_of(file).touch(0o600)


def remove_damaged(folder: Path) -> list[Path]:
    """Delete Numba's cache files in ``folder`` if any of them is damaged.

    All go together, as the index (``.nbi``) and the code (``.nbc``) belong to each other.

    Returns:
        The files found damaged; empty where all was in order.

    Raises:
        UntrustedError: somebody else may have written one; nothing is deleted.
    """
    with contextlib.suppress(FileNotFoundError):
        check_folder(folder, may_be_link=True)
    damaged = [file for file in _cached_files(folder) if _is_damaged(file)]
    if damaged:
        remove_all(folder)
    return damaged


def remove_all(folder: Path) -> None:
    """Delete all of Numba's cache files in ``folder``, and their seals, as far as they can be deleted."""
    for file in folder.glob("*"):
        if file.suffix in (*_CACHED, _SEAL):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


def _cached_files(folder: Path) -> list[Path]:
    return [file for file in folder.glob("*") if file.suffix in _CACHED]


def _seal_of(file: Path) -> Path:
    digest = hashlib.sha256(read_trusted(file)).hexdigest()[:32]
    return file.with_name(f"{file.name}.{digest}{_SEAL}")


def _is_damaged(file: Path) -> bool:
    try:
        return not _seal_of(file).exists() and time.time() - file.stat().st_mtime > _YOUNG_SECONDS
    except FileNotFoundError:  # another process has just removed it
        return False
    except UntrustedError:
        raise
    except OSError:
        return True
