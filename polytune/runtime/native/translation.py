"""A function of a generated module as machine code: from memory, from disk, or made by LLVM.

On disk object code lies beside what Numba keeps there, and a file says what its content is worth: its name holds the
digest of everything that the code follows from, and its first line the digest of the rest.  A file that is damaged, or
that somebody else may have written, is not used; it is written anew where that is possible.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import weakref
from collections.abc import Collection
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite
import numba

from polytune.environment import NATIVE, VERIFY
from polytune.files import replace_private
from polytune.forking import at_fork, renew_lock_at_fork
from polytune.runtime.calls.collector import collector_paused
from polytune.runtime.modules.compilation import warn_damaged, warn_untrusted
from polytune.runtime.modules.trust import UntrustedError, check_folder, read_trusted
from polytune.runtime.native.kinds import NotNativeError
from polytune.runtime.native.lowering import lower
from polytune.runtime.native.machine_code import host, load, object_code
from polytune.runtime.native.source import lines_of, parsed
from polytune.version import __version__

__all__ = ["address_of", "is_at_hand", "is_enabled", "is_translatable"]

_LOGGER = logging.getLogger(__name__)

_FORMAT = "6"
"""Changes with the translation, of the same text."""


def is_enabled() -> bool:
    """Return whether functions are translated here at all: ``POLYTUNE_NATIVE=0`` leaves all of them to Numba."""
    return not NATIVE.is_off


class _Function:
    """A function of a generated module that Numba could compile, and what its machine code follows from.

    Args:
        function: what ``numba.njit`` made.
        optimise: whether the machine code is to be fast, rather than soon there.
    """

    def __init__(self, function: Any, optimise: bool):
        plain = function.py_func
        self._plain, self._optimise = plain, optimise
        fastmath = function.targetoptions.get("fastmath", ())
        self._fastmath: Collection[str] = {"fast"} if fastmath is True else (fastmath or ())
        self._folder = Path(function.stats.cache_path) if function.stats.cache_path else None
        facts = (
            *(_FORMAT, __version__, llvmlite.__version__, numba.__version__, host()),
            *(*sorted(self._fastmath), *(() if optimise else ("not optimised",)), *_meant(plain)),
        )
        digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:32]
        self._symbol = f"polytune_{digest}"
        self._name = f"{plain.__name__[:80]}-{digest}"
        self._lock = threading.RLock()
        """Two threads that want the same code make it once."""
        renew_lock_at_fork(self)
        self._address: int | None = None
        self._refusal: NotNativeError | None = None

    @property
    def may_be_translated(self) -> bool:
        """Return whether it has not been refused."""
        return self._refusal is None

    @property
    def is_kept(self) -> bool:
        """Return whether there is object code in memory, or on disk."""
        if self._address is not None:
            return True
        return self._folder is not None and is_kept(self._folder, self._name)

    def address(self) -> int:
        """Return where the code is, ready to be called.

        Raises:
            NotNativeError: it is Numba's.
        """
        with self._lock:
            if self._refusal is not None:
                raise self._refusal
            if self._address is None:
                try:
                    with collector_paused():
                        self._address = self._made()
                except NotNativeError as refusal:
                    self._refusal = refusal
                    raise
                except Exception as error:
                    # What fails here as it never should is no reason to fail: Numba compiles the function.
                    if VERIFY.is_on or isinstance(error, MemoryError):
                        raise
                    _LOGGER.warning("%s is left to Numba, by a defect of polytune", self._name, exc_info=error)
                    self._refusal = NotNativeError(f"{type(error).__name__}: {error}")
                    raise self._refusal from error
            return self._address

    def _made(self) -> int:
        code = None if self._folder is None else kept(self._folder, self._name)
        if code is None:
            strict = not self._fastmath
            module = lower(parsed(self._plain), self._plain.__globals__, self._symbol, strict=strict)
            code = object_code(module, self._fastmath, optimise=self._optimise)
            if self._folder is not None:
                keep(self._folder, self._name, code)
        return load(code, self._symbol)


def _meant(plain: FunctionType) -> list[str]:
    """A function's lines and what the names in it stand for, with those of the functions that it calls."""
    told = list(lines_of(plain.__code__))
    for name in plain.__code__.co_names:
        found = plain.__globals__.get(name)
        if isinstance(found, FunctionType):
            told += [f"{name}:", *_meant(found)]
        else:
            meaning = repr(found) if isinstance(found, int | float | str) else getattr(found, "__name__", "")
            told.append(f"{name}={meaning}")
    return told


_known: weakref.WeakKeyDictionary[Any, _Function] = weakref.WeakKeyDictionary()
_known_not_optimised: weakref.WeakKeyDictionary[Any, _Function] = weakref.WeakKeyDictionary()

# Locks may be held by threads that a forked process does not have.
at_fork(after_in_child=_known.clear)
at_fork(after_in_child=_known_not_optimised.clear)


def _described(function: Any, optimise: bool = True) -> _Function:
    known = _known if optimise else _known_not_optimised
    if function not in known:
        known[function] = _Function(function, optimise)
    return known[function]


def address_of(function: Any, *, optimise: bool = True) -> int:
    """The address of a function's machine code, which takes as many int64 as the function has parameters.

    Args:
        function: what ``numba.njit`` made of a function of a generated module.
        optimise: whether the code is to be fast; else it is made in a quarter of the time.

    Raises:
        NotNativeError: it is Numba's to compile.
    """
    if not is_enabled():
        raise NotNativeError("POLYTUNE_NATIVE is off")
    return _described(function, optimise).address()


def is_translatable(function: Any) -> bool:
    """Return whether nothing is known that would leave a function to Numba."""
    return is_enabled() and _described(function).may_be_translated


def is_at_hand(function: Any) -> bool:
    """Return whether object code of a function is on disk or in memory."""
    return is_enabled() and _described(function).is_kept


SUFFIX = ".native"
_DIGEST = 64
"""Characters of a digest."""


def is_kept(folder: Path, name: str) -> bool:
    """Return whether there is a file; what it is worth is seen when it is read."""
    return (folder / f"{name}{SUFFIX}").exists()


def kept(folder: Path, name: str) -> bytes | None:
    """Return what was kept under a name; None where nothing was, or nothing that can be used, of which a
    ``CacheWarning`` tells.

    Args:
        folder: where Numba keeps the machine code of the module's functions.
        name: what tells this code from all other.
    """
    try:
        check_folder(folder, may_be_link=True)
        content = read_trusted(folder / f"{name}{SUFFIX}")
    except UntrustedError as error:
        warn_untrusted(folder, str(error))
        return None
    except OSError:
        return None
    digest, code = content[:_DIGEST], content[_DIGEST:]
    if digest == hashlib.sha256(code).hexdigest().encode():
        return code
    warn_damaged(folder, f"{name}{SUFFIX} is not as it was written")
    return None


def keep(folder: Path, name: str, code: bytes) -> bool:
    """Keep code under a name, in one step.  Return whether that was possible.

    Args:
        folder: where to; made if it is not there.
        name: the file's, without its suffix; it has to tell this code from any other.
        code: an object file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_folder(folder, may_be_link=True)
        replace_private(folder / f"{name}{SUFFIX}", hashlib.sha256(code).hexdigest().encode() + code)
    except (UntrustedError, OSError):
        return False
    return True
