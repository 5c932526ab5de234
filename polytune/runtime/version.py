"""What a generated module says of each of its versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Version:
    """One version of a kernel.

    Attributes:
        name: the value of the space's parameter ``version``.
        function: a Numba function of an int64, the address of a context (``polytune.runtime.context``).
        team: whether it shares its work out among workers; then it also takes a worker's number and how many there are.
        tiles: per tile size that it takes, the size to start from.
    """

    name: str
    function: Any
    team: bool
    tiles: tuple[int, ...]
