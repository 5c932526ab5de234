"""Results of a phase that may leave some of them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Attempted(Generic[Result]):
    """What a phase could make, and the names of what it left out because isl gave up."""

    made: tuple[Result, ...]
    given_up: tuple[str, ...]
