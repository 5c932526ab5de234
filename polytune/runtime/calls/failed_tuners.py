"""Calls whose tuner has failed: they are made all the same, and are not tuned any more.

A tuner, with its models, its log and what it remembers, only chooses among configurations that are all right.  No error
of it is a reason for a call to fail, before the kernel has run or after it has.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from types import TracebackType

from polytune.errors import ArgumentError, HistoryError, MissingLibraryError, SearchError
from polytune.runtime.tuning.tunable import Case
from polytune.tuner import Configuration, OnlineTuner

__all__ = ["FailedTuners"]

_LOGGER = logging.getLogger(__name__)

_OF_USERS = (ArgumentError, SearchError, HistoryError, MissingLibraryError)
"""The errors that are raised on purpose, of what users have asked for: a search or a history that there is not."""


class FailedTuners:
    """The classes of calls of a kernel that are not tuned any more, with the best that was known of each.

    Args:
        name: the kernel's name.
    """

    def __init__(self, name: str):
        self._name = name
        self._best: dict[Case, Configuration | None] = {}

    def __contains__(self, case: Case) -> bool:
        return case in self._best

    def best(self, case: Case) -> tuple[Configuration, ...]:
        """Return what was best when the tuner of a class failed; nothing where that was not known."""
        best = self._best.get(case)
        return () if best is None else (best,)

    def noted(self, case: Case, tuner: OnlineTuner | None = None) -> _Noted:
        """Return a context for what a tuner of a class takes part in: an error ends the block of ``with``, and the
        tuning of the class, and nothing else.  What users have asked for and cannot be is raised.

        Args:
            case: the class.
            tuner: its tuner; None where there is none yet.
        """
        return _Noted(self, case, tuner)

    def add(self, case: Case, tuner: OnlineTuner | None, error: Exception) -> None:
        """Have a class not be tuned any more, and tell the logger why.

        Args:
            case: the class.
            tuner: its tuner; None where there is none yet.
            error: what is wrong.
        """
        if case in self._best:
            return
        best: Configuration | None = None
        with suppress(Exception):
            if tuner is not None and (known := tuner.best) is not None:
                best = known[0]
        self._best[case] = best
        _LOGGER.warning(
            "%s(%s): is not tuned any more, by a defect of polytune: calls run what is best so far",
            *(self._name, case),
            exc_info=error,
        )

    def clear(self) -> None:
        """Have all classes tuned again."""
        self._best.clear()


class _Noted:
    """The block of `FailedTuners.noted`; a class of its own, as calls enter some."""

    __slots__ = ("_case", "_failed", "_tuner")

    def __init__(self, failed: FailedTuners, case: Case, tuner: OnlineTuner | None):
        self._failed, self._case, self._tuner = failed, case, tuner

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception) or isinstance(error, _OF_USERS):
            return False
        self._failed.add(self._case, self._tuner, error)
        return True
