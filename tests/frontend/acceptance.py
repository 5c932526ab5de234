"""The register of functions that are accepted, each with functions that make its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ACCEPTED: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = []


def accepted(*arguments: Callable[[], tuple[Any, ...]]) -> Callable[[Any], Any]:
    """Register a function, with functions that make its arguments."""

    def register(function: Any) -> Any:
        ACCEPTED.extend((function, make) for make in arguments)
        return function

    return register
