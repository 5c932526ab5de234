"""The disk cache of compiled device kernels.

Below the cache's directory::

    kernels/<first two digits of the key>/<key>/code   SHA-256 of what follows, then the machine code

As with generated modules, what is kept is a function of the key, a file is written beside its place and moved there,
and a cache that fails never stops the program: one ``CacheWarning`` is given, and kernels are kept in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import warnings
from pathlib import Path

import platformdirs

from polytune.environment import CACHE_DIR
from polytune.errors import CacheWarning
from polytune.files import replace_private
from polytune.runtime.modules.cache import evict, limit_from_environment, mark_used
from polytune.runtime.modules.trust import UntrustedError, check_folders, make_folders, read_trusted

__all__ = ["KernelCache", "kernel_cache", "key_of_kernel"]

_STORES_BETWEEN_EVICTIONS = 64
_HASH_BYTES = 32


def key_of_kernel(*parts: str) -> str:
    """The key of compiled code, 64 hexadecimal digits, from everything that it depends on; the order counts."""
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode()
        digest.update(f"{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()


class KernelCache:
    """Compiled kernels by key; safe to use from several threads and processes."""

    def __init__(self, directory: str | os.PathLike[str] | None = None, limit: int | None = None):
        """
        Args:
            directory: where to keep them; by default ``$POLYTUNE_CACHE_DIR``, else the user's cache directory.
            limit: bytes beyond which the kernels not used for the longest time are deleted; by default
                ``$POLYTUNE_CACHE_LIMIT`` megabytes, else 1024 megabytes.
        """
        chosen = directory or CACHE_DIR.text or platformdirs.user_cache_dir("polytune")
        self._root = Path(chosen).expanduser().absolute()
        self._folder = self._root / "kernels"
        self._limit = limit_from_environment() if limit is None else limit
        self._used: set[str] = set()
        self._in_memory: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._stores = 0
        self._usable = True

    def load(self, key: str) -> bytes | None:
        """The code stored under a key; None where there is none that can be used.  A damaged file is deleted."""
        if key in self._in_memory:
            return self._in_memory[key]
        if not self._usable:
            return None
        path = self._path(key)
        try:
            check_folders(self._root, path.parent)
            content = read_trusted(path)
        except UntrustedError as error:
            self._leave(error)
            return None
        except OSError:
            return None
        digest, code = content[:_HASH_BYTES], content[_HASH_BYTES:]
        if hashlib.sha256(code).digest() != digest:
            warnings.warn(CacheWarning(f"{path} is damaged; it is deleted and compiled again"), stacklevel=3)
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        mark_used(path.parent)
        with self._lock:
            self._used.add(key)
        return code

    def store(self, key: str, code: bytes) -> None:
        """Keep code under a key."""
        with self._lock:
            if not self._usable:
                self._in_memory[key] = code
                return
            try:
                _write(self._root, self._path(key), hashlib.sha256(code).digest() + code)
            except OSError as error:
                self._in_memory[key] = code
                self._leave(error)
                return
            self._used.add(key)
            if self._stores % _STORES_BETWEEN_EVICTIONS == 0:
                evict(self._folder, self._limit, keep=self._used)
            self._stores += 1

    def _leave(self, error: OSError) -> None:
        """Go on in memory."""
        self._usable = False
        wanted = "of your own" if isinstance(error, UntrustedError) else "that can be written"
        warnings.warn(
            CacheWarning(
                f"device kernels cannot be kept in {self._folder} ({error}); the next process will compile "
                f"them again. Set POLYTUNE_CACHE_DIR to a directory {wanted}."
            ),
            stacklevel=4,
        )

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key / "code"


_caches: dict[str, KernelCache] = {}


def kernel_cache() -> KernelCache:
    """The cache that devices use: one for each directory that ``$POLYTUNE_CACHE_DIR`` has named in this process."""
    place = CACHE_DIR.text
    if place not in _caches:
        _caches.setdefault(place, KernelCache())
    return _caches[place]


def _write(root: Path, path: Path, content: bytes) -> None:
    """Write a file in one step.

    Raises:
        OSError: it cannot be written, or somebody else could write it.
    """
    make_folders(root, path.parent)
    replace_private(path, content)
