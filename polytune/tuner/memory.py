"""The interface that an online tuner asks of whatever keeps measurements between processes.

`polytune.history.HistoryStore` is one; anything with these methods is as good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class Key(NamedTuple):
    """The key that measurements are kept under.

    Attributes:
        kernel: what is tuned: a hash of everything that changes what the code does.
        shape: the class of inputs, for example the array shapes.
        machine: where it runs.
    """

    kernel: str
    shape: str
    machine: str


class RememberedMeasurement(Protocol):
    """One configuration's record.

    `status` is ``"ok"`` or ``"failed"``; `code` tells what ran from other code of the same kernel, such as
    that of another version of its compiler.
    """

    @property
    def shape(self) -> str: ...

    @property
    def machine(self) -> str: ...

    @property
    def configuration(self) -> Mapping[str, Any]: ...

    @property
    def median_seconds(self) -> float | None: ...

    @property
    def count(self) -> int: ...

    @property
    def status(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def code(self) -> str: ...


class Memory(Protocol):
    """Keeps measurements and the state of searches.  Its methods do not raise because of a disk."""

    def all(self, kernel: str, shape: str | None, machine: str | None) -> Sequence[RememberedMeasurement]:
        """Every record under the key; of all shapes, and of all machines, where none is given.

        Args:
            kernel: as in a `Key`.
            shape: as in a `Key`; None for all shapes.
            machine: as in a `Key`; None for all machines.
        """

    def record(
        self,
        kernel: str,
        shape: str,
        machine: str,
        configuration: Mapping[str, Any],
        seconds: float | None,
        status: str = "ok",
        *,
        count: int = 1,
        reason: str = "",
        code: str = "",
    ) -> None:
        """Add to the record of one configuration.

        Args:
            kernel, shape, machine: the key.
            configuration: the parameters' values.
            seconds: the median of the measurements; None where it failed.
            status: ``"ok"`` or ``"failed"``.
            count: how many measurements there were.
            reason: why it failed.
            code: tells what ran from other code of the same kernel.
        """

    def load_search(self, kernel: str, shape: str, machine: str) -> dict[str, Any] | None:
        """Return the state last saved under the key; None where there is none.

        Args:
            kernel, shape, machine: the key.
        """

    def save_search(self, kernel: str, shape: str, machine: str, state: dict[str, Any]) -> None:
        """Replace the state kept under the key.

        Args:
            kernel, shape, machine: the key.
            state: numbers, texts, lists and dictionaries, as JSON has them.
        """
