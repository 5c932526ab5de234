"""Things to be done when a process forks; Windows has no forks, and nothing to be done."""

from __future__ import annotations

import os
from collections.abc import Callable

__all__ = ["at_fork"]


def _nothing() -> None:
    pass


def at_fork(
    *,
    before: Callable[[], object] = _nothing,
    after_in_parent: Callable[[], object] = _nothing,
    after_in_child: Callable[[], object] = _nothing,
) -> None:
    """Have functions called at each fork of this process from now on.

    Args:
        before: in the process, before it forks.
        after_in_parent: in it, afterwards.
        after_in_child: in the process that it has become.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=before, after_in_parent=after_in_parent, after_in_child=after_in_child)
