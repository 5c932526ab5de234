"""The description, in a generated module, of each of its versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polytune.records import dataclass


@dataclass(frozen=True)
class Version:
    """One version of a kernel.

    Attributes:
        name: the value of the space's parameter ``version``.
        function: a Numba function of an int64, the address of a context (``polytune.runtime.teams.context``).
        team: whether it shares its work out among workers; then it also takes a worker's number and how many there are.
        tiles: per tile size that it takes, the size to start from.
        outer: per tile size, where tiles lie in outer tiles, how many of them an outer tile has to start from; nothing
            where there is one level of tiles.
        work: enters what it has to do, for values of the parameters and sizes, into an account
            (``polytune.runtime.tuning.work``); None where the module does not tell.
        by_library: whether it gives products of matrices to NumPy's library, which has threads of its own.
    """

    name: str
    function: Any
    team: bool
    tiles: tuple[int, ...]
    outer: tuple[int, ...] = ()
    work: Callable[..., None] | None = None
    by_library: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that it takes, by the names of the space's parameters and in the order in which contexts have them,
        each with the value to start from."""
        outer = {f"outer_{member}": size for member, size in enumerate(self.outer)}
        return {f"tile_{member}": size for member, size in enumerate(self.tiles)} | outer
