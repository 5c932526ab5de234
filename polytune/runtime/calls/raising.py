"""Exceptions of kernels, raised when they have run."""

from __future__ import annotations

from typing import Never

__all__ = ["raised"]


def raised(error: BaseException | type[BaseException]) -> Never:
    """Raise an exception, in place of a result.

    Args:
        error: the exception that the kernel makes.
    """
    raise error
