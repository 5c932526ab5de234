"""The order of the measurements: phases with a budget each, and a file that holds every result at once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.program import finite


class Deadline:
    """A moment by which work should be done; what is not reached by then is left out, and the report says so."""

    def __init__(self, seconds: float):
        """
        Args:
            seconds: from now.
        """
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then, at least 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Return whether it has passed."""
        return self.left == 0.0

    def part(self, share: float) -> Deadline:
        """A deadline after a share of what is left."""
        return Deadline(self.left * share)


def deadlines(total: float, shares: Mapping[str, float]) -> dict[str, Deadline]:
    """The end of each phase, if all begin when this is called; what one leaves over is the next one's.

    Args:
        total: seconds of all together.
        shares: by phase, in order; the parts of the total that they get.
    """
    whole, elapsed, found = sum(shares.values()), 0.0, {}
    for phase, share in shares.items():
        elapsed += total * share / whole
        found[phase] = Deadline(elapsed)
    return found


class Results:
    """Results as they come, in a file that is complete JSON at every moment.

    Attributes:
        found: all of them.
    """

    def __init__(self, path: Path | None, **first: Any):
        """
        Args:
            path: the file; None to keep results in memory alone.
            first: what is known from the start.
        """
        self.found: dict[str, Any] = dict(first)
        self._path = path
        self._begin = time.monotonic()
        self.write()

    def put(self, *place: str, value: Any) -> None:
        """Add a result: ``put("speed", "gemm", value=...)`` is ``found["speed"]["gemm"]``."""
        node = self.found
        for name in place[:-1]:
            node = node.setdefault(name, {})
        node[place[-1]] = value
        self.write()

    def leave_out(self, *work: str) -> None:
        """Say that the time was up before some work began."""
        self.put("not_reached", value=[*self.found.get("not_reached", []), *work])

    def write(self) -> None:
        """Replace the file."""
        self.found["seconds"] = round(time.monotonic() - self._begin, 1)
        if self._path is None:
            return
        beside = self._path.with_name(self._path.name + ".new")
        beside.write_text(json.dumps(finite(self.found), indent=2, allow_nan=False) + "\n", encoding="utf-8")
        os.replace(beside, self._path)
