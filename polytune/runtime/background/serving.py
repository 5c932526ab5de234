"""The life of a process that works for an application: it ends with that, and writes answers alone."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

__all__ = ["end_with", "only_answers"]

_SECONDS_BETWEEN_LOOKS = 2.0
"""The seconds between two looks at whether the application is still there."""


def end_with(parent: int) -> None:
    """End this process soon after its parent; the end of the input says so too, but not while others hold it open."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(0)


def only_answers() -> TextIO:
    """Standard output for answers alone; what else is printed goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers
