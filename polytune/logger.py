"""The logger ``polytune``, to which the package tells what it does, and what ``POLYTUNE_LOG`` has it write.

Modules tell loggers below it, of their own names.  Nothing is told by a call once its kernel is tuned.
"""

from __future__ import annotations

import logging
import sys
import warnings
from typing import TextIO

from polytune.environment import LOG
from polytune.errors import PolytuneWarning

__all__ = ["LEVELS", "configure"]

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_FORMAT = "%(asctime)s polytune %(levelname)s: %(message)s"


class _StandardError(logging.StreamHandler[TextIO]):
    """A handler that writes to what is standard error at the time."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter(_FORMAT, "%H:%M:%S"))

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


def configure() -> None:
    """Have the logger write what the environment asks for, and nothing by itself where that asks for nothing."""
    logger = logging.getLogger("polytune")
    for handler in list(logger.handlers):
        if isinstance(handler, _StandardError):
            logger.removeHandler(handler)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    text = LOG.text.lower()
    if not text:
        return
    if text not in LEVELS:
        known = ", ".join(LEVELS)
        warnings.warn(PolytuneWarning(f"{LOG.name}={text!r} says nothing; write one of {known}"), stacklevel=2)
        return
    logger.addHandler(_StandardError())
    logger.setLevel(LEVELS[text])
