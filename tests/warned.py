"""Warnings that a test has caught, without those of others.

What other tests have left running in the process may warn at any time: a history that is written in the background,
an object that the garbage collector finds.  So a test counts those that say what it looks for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

__all__ = ["of_the_code", "saying"]


def saying(
    caught: Iterable[warnings.WarningMessage], category: type[Warning], part: object
) -> list[warnings.WarningMessage]:
    """The warnings of a category, or of one below it, whose text has a part in it.

    Args:
        caught: what `pytest.warns` or `warnings.catch_warnings` has recorded.
        category: the class of the warnings.
        part: what their text contains, such as a path or the name of a kernel.
    """
    return [each for each in caught if issubclass(each.category, category) and str(part) in str(each.message)]


def of_the_code(caught: Iterable[warnings.WarningMessage]) -> list[warnings.WarningMessage]:
    """All warnings but those of files and sockets that the garbage collector finds open, whoever has left them.

    Args:
        caught: what `pytest.warns`, `recwarn` or `warnings.catch_warnings` has recorded.
    """
    return [each for each in caught if not issubclass(each.category, ResourceWarning)]
