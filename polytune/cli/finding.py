"""One line of what ``polytune doctor`` finds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """``ok``; ``absent``: something optional is not there; ``broken``: CPU code cannot run until it is put right."""

    OK = "ok"
    ABSENT = "absent"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``remedy`` says what to do, and is empty where nothing is to be done."""

    name: str
    state: State
    detail: str
    remedy: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "state": self.state.value, "detail": self.detail, "remedy": self.remedy}
