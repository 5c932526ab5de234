"""A test that files may be run as one's own: those that nobody else can have written.

What is kept on disk between processes is code, and is run.  So a file is read, and a folder used, only where it belongs
to this process's user, or to root, who can do everything anyway, and where nobody else may write to it, as OpenSSH asks
of keys.  A file is looked at after it was opened, so that no other can take its place in between, and is no link.

A group may write that is the user's own: it has the user's name and no other member, as many systems give every user
one.  Windows has other means, which keep the user's folders apart, and nothing is looked at there.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["UntrustedError", "check_folder", "check_folders", "keep_private", "make_folders", "read_trusted"]

_ROOT = 0


class UntrustedError(OSError):
    """Somebody else may have written a file, or what is in a folder; the message says which, and why."""


def read_trusted(path: Path) -> bytes:
    """The content of a file.

    Raises:
        UntrustedError: somebody else may have written it, or it is a link, or no plain file.
        OSError: it cannot be read.
    """
    with _opened(path, os.O_RDONLY) as descriptor, os.fdopen(os.dup(descriptor), "rb") as file:
        _check(path, descriptor, stat.S_ISREG, "a plain file")
        return file.read()


def check_folder(path: Path, *, may_be_link: bool = False) -> None:
    """Look at a folder.

    Args:
        path: the folder.
        may_be_link: whether it may be a link to one, which then is looked at.

    Raises:
        UntrustedError: somebody else may write into it, or it is a link, or no folder.
        OSError: there is none.
    """
    if not hasattr(os, "geteuid"):  # Windows opens no folders
        return
    with _opened(path, os.O_RDONLY, may_be_link=may_be_link) as descriptor:
        _check(path, descriptor, stat.S_ISDIR, "a folder")


def check_folders(root: Path, folder: Path) -> None:
    """Look at a folder, at the one that it lies in, and so on up to ``root``, which may be a link to a folder.

    Raises:
        UntrustedError, OSError: as for `check_folder`.
    """
    check_folder(root, may_be_link=True)
    for below in _between(root, folder):
        check_folder(below)


def make_folders(root: Path, folder: Path) -> None:
    """Make a folder, and those between it and ``root`` and ``root`` itself, for this user alone where they are new.

    Raises:
        UntrustedError: one that is there cannot be trusted.
        OSError: one cannot be made.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    for below in _between(root, folder):
        below.mkdir(mode=0o700, exist_ok=True)
    check_folders(root, folder)


def keep_private(path: Path) -> None:
    """Take from a file of this user's the permissions of all others."""
    facts = path.lstat()
    if (
        hasattr(os, "geteuid")
        and stat.S_ISREG(facts.st_mode)
        and facts.st_uid == os.geteuid()
        and facts.st_mode & 0o077
    ):
        path.chmod(0o600)


def _between(root: Path, folder: Path) -> list[Path]:
    """The folders below ``root`` down to ``folder``."""
    parts = folder.relative_to(root).parts
    return [root.joinpath(*parts[: count + 1]) for count in range(len(parts))]


@contextlib.contextmanager
def _opened(path: Path, flags: int, *, may_be_link: bool = False) -> Iterator[int]:
    # Without waiting: a pipe that another user has put there would hold the program up.
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not may_be_link:
        if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
            raise UntrustedError(f"{path} is a link")
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if not may_be_link and path.is_symlink():
            raise UntrustedError(f"{path} is a link") from error
        raise
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _check(path: Path, descriptor: int, is_kind: Callable[[int], bool], kind: str) -> None:
    """Raise unless what was opened is of a kind, and nobody else can have written it."""
    facts = os.fstat(descriptor)
    if not is_kind(facts.st_mode):
        raise UntrustedError(f"{path} is not {kind}")
    if not hasattr(os, "geteuid"):
        return
    if facts.st_uid not in (os.geteuid(), _ROOT):
        raise UntrustedError(f"{path} belongs to another user, {_user_name(facts.st_uid)}")
    if facts.st_mode & stat.S_IWOTH:
        raise UntrustedError(f"every user may write to {path}")
    if facts.st_mode & stat.S_IWGRP and not _is_own_group(facts.st_gid):
        raise UntrustedError(f"other users of its group may write to {path}")


@functools.cache
def _is_own_group(group: int) -> bool:
    """Return whether a group is that of this user alone, by the system's lists of users and groups."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


def _user_name(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"number {user}"
